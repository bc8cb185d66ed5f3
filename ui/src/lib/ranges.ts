/** How far charts look back. */

import type { SpanQuery } from "./endpoints";

export type Range = "15m" | "1h" | "6h" | "24h";

export const RANGES: Record<Range, Omit<SpanQuery, "queue"> & { words: string }> = {
  "15m": { minutes: 15, step: 1, words: "the last 15 minutes" },
  "1h": { minutes: 60, step: 1, words: "the last hour" },
  "6h": { minutes: 360, step: 5, words: "the last 6 hours" },
  "24h": { minutes: 1440, step: 20, words: "the last 24 hours" },
};

/** The range an address asks for; an hour if it asks for none. */
export function readRange(text: string): Range {
  return text in RANGES ? (text as Range) : "1h";
}
