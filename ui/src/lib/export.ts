/** All jobs that a search finds, page by page, each as the line that the server wrote. */

import { ApiError } from "./api";
import { backoff } from "./backoff";
import { api } from "./endpoints";
import { splitArray } from "./json";
import type { SearchRequest } from "./records";

const PAGE = 1000;
/** How often a page is asked for again before one gives up. */
const PATIENCE = 6;

export interface ExportPage {
  lines: string[];
  /** How many jobs there are; only the first page says so, as it takes long to count them. */
  total: number | null;
  /** Where to go on; null: that was all. */
  cursor: string | null;
}

/** The pages from a cursor on. Raises ApiError, or when it is aborted what the browser raises then. */
export async function* exportPages(
  request: SearchRequest,
  from: string | null,
  signal: AbortSignal,
): AsyncGenerator<ExportPage> {
  let cursor = from;
  do {
    const isFirst = cursor === null;
    const wanted = { ...request, limit: PAGE, cursor, total_up_to: isFirst ? undefined : 0 };
    const page = await patiently(() => api.searchLines(wanted, signal), signal);
    cursor = page.cursor;
    yield { lines: splitArray(page.jobs), total: isFirst ? page.total : null, cursor };
  } while (cursor !== null);
}

async function patiently<T>(ask: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof ApiError && error.isPassing) || attempt + 1 >= PATIENCE) throw error;
      await new Promise((go) => setTimeout(go, backoff(attempt, Math.random())));
      signal.throwIfAborted();
    }
  }
}

/** Offer a file to be saved. */
export function saveFile(name: string, file: Blob): void {
  const url = URL.createObjectURL(file);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** `jobs-2026-02-10-143000.ndjson`. */
export function exportName(now: Date): string {
  const two = (value: number) => String(value).padStart(2, "0");
  const day = `${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())}`;
  return `jobs-${day}-${two(now.getHours())}${two(now.getMinutes())}${two(now.getSeconds())}.ndjson`;
}
