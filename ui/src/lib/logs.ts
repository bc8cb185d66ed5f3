/** Lines of a job's log: how loud they are, and which of them are shown. */

import type { LogLineView } from "./records";

const LOUDNESS: Record<string, number> = {
  trace: 0,
  debug: 0,
  verbose: 0,
  warn: 2,
  warning: 2,
  error: 3,
  err: 3,
  exception: 3,
  critical: 3,
  fatal: 3,
  panic: 3,
};

/** 0 for what is only of use when one looks for a mistake, 1 as usual, 2 for warnings, 3 for errors. */
export function loudness(level: string): number {
  return LOUDNESS[level] ?? 1;
}

export type Quietest = "all" | "info" | "warn" | "error";
const LEAST: Record<Quietest, number> = { all: 0, info: 1, warn: 2, error: 3 };

/** The lines that are at least so loud. */
export function loudLines(lines: readonly LogLineView[], quietest: Quietest): readonly LogLineView[] {
  const least = LEAST[quietest];
  return least === 0 ? lines : lines.filter((line) => loudness(line.level) >= least);
}

/** Lines that are kept, with those that came behind them; of both at most so many, the oldest go first. */
export function withMore(
  lines: readonly LogLineView[],
  more: readonly LogLineView[],
  most: number,
): LogLineView[] {
  const last = lines.at(-1)?.n ?? 0;
  return [...lines, ...more.filter((line) => line.n > last)].slice(-most);
}
