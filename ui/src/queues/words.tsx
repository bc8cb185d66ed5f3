/** A queue's pace and limits in words. */

import { type Drain, estimateDrain, recentRate } from "@/lib/drain";
import { formatCount, formatRate } from "@/lib/numbers";
import type { QueueFigures, QueueView } from "@/lib/records";
import { formatDuration } from "@/lib/time";

/** When it will be empty. */
export function drainOf(queue: QueueView, figures: QueueFigures | undefined, step: number): Drain {
  return estimateDrain({
    waiting: queue.pending + queue.retrying,
    arrivals: recentRate(figures?.enqueued ?? [], step),
    departures: Math.max(recentRate(figures?.completed ?? [], step), queue.throughput_per_min),
    paused: queue.paused,
  });
}

export function DrainText({ drain }: { drain: Drain }) {
  switch (drain.kind) {
    case "empty":
      return <span className="text-ink-3">empty</span>;
    case "paused":
      return <span className="text-ink-3">paused</span>;
    case "idle":
      return (
        <span className="text-ink-3" title="Nothing has been completed lately">
          –
        </span>
      );
    case "steady":
      return (
        <span className="text-ink-3" title="As many jobs come as are done">
          steady
        </span>
      );
    case "growing":
      return (
        <span className="text-warn" title={`More jobs come than are done, by ${formatRate(drain.perMinute)}`}>
          growing
        </span>
      );
    case "in":
      return (
        <span title="If it goes on as in the last minutes">~{formatDuration(Math.max(1000, drain.ms))}</span>
      );
  }
}

/** What there is to say about the estimate. */
export function drainNote(drain: Drain): string {
  if (drain.kind === "growing") return `by ${formatRate(drain.perMinute)}`;
  if (drain.kind === "steady") return "as many come as go";
  if (drain.kind === "paused") return "until it is resumed";
  if (drain.kind === "empty") return "nothing waits";
  return drain.kind === "idle" ? "nothing was done lately" : "at the present pace";
}

const PERIODS: Record<number, string> = { 1000: "s", 60000: "min", 3600000: "h", 86400000: "d" };

/** `200/min`, or that there is none. */
export function rateLimitOf(queue: QueueView): string | null {
  if (queue.rate_limit === null || queue.rate_window_ms === null) return null;
  const period = PERIODS[queue.rate_window_ms] ?? formatDuration(queue.rate_window_ms);
  return `${formatCount(queue.rate_limit)}/${period}`;
}
