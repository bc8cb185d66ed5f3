/** Which queues need somebody to look at them, and why. */

import { recentRate } from "./drain";
import { formatCount, formatShare } from "./numbers";
import type { QueueFigures, QueueView } from "./records";
import { formatDuration, instant, MINUTE } from "./time";

export interface Problem {
  /** The higher, the worse; 0 if all is well. */
  weight: number;
  reasons: string[];
  /** Jobs wait, and nobody takes them. */
  isStuck: boolean;
  /** Many attempts fail. */
  isFailing: boolean;
  /** Jobs wait too long. */
  isLate: boolean;
}

const MANY_FAIL = 0.1;
const FEW_ATTEMPTS = 5;
const LONG_WAIT = 5 * MINUTE;

/** Of all attempts that ended in the span, how many failed. */
export function errorShare(figures: Pick<QueueFigures, "completed" | "failed"> | undefined): number {
  const failed = sum(figures?.failed);
  const ended = failed + sum(figures?.completed);
  return ended === 0 ? 0 : failed / ended;
}

/** What is wrong with a queue. */
export function problemOf(
  queue: QueueView,
  figures: QueueFigures | undefined,
  step: number,
  now: number,
): Problem {
  const reasons: string[] = [];
  let weight = 0;
  const share = errorShare(figures);
  const ended = sum(figures?.failed) + sum(figures?.completed);
  const isFailing = share >= MANY_FAIL && ended >= FEW_ATTEMPTS;
  if (isFailing) {
    reasons.push(`${formatShare(share)} of attempts fail`);
    weight += 2 + share;
  }
  const waited = queue.oldest_pending_at === null ? 0 : now - instant(queue.oldest_pending_at);
  const isMoving = recentRate(figures?.completed ?? [], step) > 0 || queue.throughput_per_min > 0;
  const isStuck = !queue.paused && queue.pending > 0 && waited > MINUTE && !isMoving && queue.active === 0;
  const isLate = !queue.paused && waited > LONG_WAIT;
  if (queue.paused && queue.pending > 0) {
    reasons.push(`paused with ${formatCount(queue.pending)} waiting`);
    weight += 1;
  } else if (isStuck) {
    reasons.push("jobs wait and none is run");
    weight += 3;
  } else if (isLate) {
    reasons.push(`the oldest has waited ${formatDuration(waited)}`);
    weight += 2;
  }
  if (sum(figures?.failed) > 0 && queue.dead > 0) weight += 0.5;
  return { weight, reasons, isStuck, isFailing, isLate };
}

/** The worst first, then those with most to do, then by name. */
export function worstFirst<T extends { problem: Problem; queue: QueueView }>(rows: T[]): T[] {
  return [...rows].sort(
    (a, b) =>
      b.problem.weight - a.problem.weight ||
      b.queue.pending + b.queue.active - (a.queue.pending + a.queue.active) ||
      a.queue.name.localeCompare(b.queue.name),
  );
}

export function sum(values: number[] | undefined): number {
  return (values ?? []).reduce((total, value) => total + value, 0);
}
