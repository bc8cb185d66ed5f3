/** What follows the question mark of an address, as plain names and texts. */

import type { Params } from "./filters";

/** `?state=dead&state=held` is `{state: ["dead", "held"]}`. */
export function parseParams(text: string): Params {
  const params: Params = {};
  for (const [name, value] of new URLSearchParams(text)) {
    const before = params[name];
    params[name] = before === undefined ? value : [...(Array.isArray(before) ? before : [before]), value];
  }
  return params;
}

/** The other way round, with its question mark; empty values are left out. */
export function formatParams(params: Params): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    for (const part of Array.isArray(value) ? value : [value]) {
      if (part !== undefined && part !== "") search.append(name, part);
    }
  }
  const text = search.toString();
  return text && `?${text}`;
}

/** One parameter as text. */
export function param(params: Params, name: string, otherwise = ""): string {
  const value = params[name];
  return (Array.isArray(value) ? value[0] : value) ?? otherwise;
}
