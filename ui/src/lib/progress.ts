/** What workers report of how far they are: any JSON, of which the usual forms are understood. */

import { numberOf, textOf } from "./happenings";
import { type JsonNode, type JsonText, parseJson } from "./json";

export interface Progress {
  /** Between 0 and 1; null if it does not say. */
  share: number | null;
  /** `450/1000`, `45%`; null if there is no number. */
  figure: string | null;
  words: string | null;
}

const DONE = ["current", "done", "processed", "completed", "value", "step"];
const ALL = ["total", "max", "of", "steps", "count"];
const PERCENT = ["percent", "percentage", "pct"];
const SHARE = ["fraction", "ratio", "share"];
const WORDS = ["message", "msg", "status", "text", "detail", "stage", "description"];

/** How far it is, as far as one can tell. */
export function readProgress(text: JsonText): Progress {
  const node = parseJson(text);
  if (node.kind === "string") return { share: null, figure: null, words: node.value };
  if (node.kind === "number") return ofNumber(Number(node.text));
  if (node.kind !== "object") return { share: null, figure: null, words: null };
  const words = first(node, WORDS, textOf) ?? null;
  const percent = first(node, PERCENT, numberOf);
  if (percent !== undefined) return { ...ofShare(percent / 100), words };
  const share = first(node, SHARE, numberOf);
  if (share !== undefined) return { ...ofShare(share), words };
  const done = first(node, DONE, countOf);
  const all = first(node, ALL, countOf);
  if (done === undefined) return { share: null, figure: null, words };
  if (all === undefined || Number(all) <= 0) return { share: null, figure: done, words };
  return { share: within(Number(done) / Number(all)), figure: `${done}/${all}`, words };
}

function first<T>(node: JsonNode, names: string[], read: (node: JsonNode, name: string) => T | undefined) {
  for (const name of names) {
    const value = read(node, name);
    if (value !== undefined) return value;
  }
  return undefined;
}

/** A number, digit by digit. */
function countOf(node: JsonNode, name: string): string | undefined {
  return numberOf(node, name) === undefined ? undefined : textOf(node, name);
}

/** A number alone is a share up to 1, and a percentage above. */
function ofNumber(value: number): Progress {
  if (value < 0 || value > 100) return { share: null, figure: String(value), words: null };
  return { ...ofShare(value <= 1 ? value : value / 100), words: null };
}

function ofShare(share: number): { share: number; figure: string } {
  return { share: within(share), figure: `${Math.round(share * 1000) / 10}%` };
}

const within = (share: number) => Math.min(1, Math.max(0, share));
