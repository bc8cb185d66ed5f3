/** The address bar as state: what follows the question mark, as plain names and texts. */

import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";
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

/** The parameters of this page, and a way to change some of them. Changes replace the address unless told to push. */
export function useParams(): [Params, (changes: Params, how?: { push?: boolean; clear?: boolean }) => void] {
  const params = useSearch({ strict: false }) as Params;
  const navigate = useNavigate();
  const change = useCallback(
    (changes: Params, how: { push?: boolean; clear?: boolean } = {}) => {
      void navigate({
        to: ".",
        search: ((before: Params) => ({ ...(how.clear ? {} : before), ...changes })) as never,
        replace: !how.push,
        resetScroll: false,
      });
    },
    [navigate],
  );
  return [params, change];
}

/** One parameter as text. */
export function param(params: Params, name: string, otherwise = ""): string {
  const value = params[name];
  return (Array.isArray(value) ? value[0] : value) ?? otherwise;
}
