/** A job's life as spans of time, and those spans drawn to scale. Pure: whoever calls says what time it is. */

import type { Happening } from "./happenings";
import type { JobView } from "./records";
import { DAY, formatDuration, HOUR, instant, MINUTE, SECOND } from "./time";

export type SpanKind = "waiting" | "scheduled" | "running" | "backoff" | "held" | "ended" | "unknown";

export interface Span {
  kind: SpanKind;
  from: number;
  to: number;
  attempt?: number;
  worker?: string;
  /** It goes on. */
  isOpen?: boolean;
  /** It has not been yet. */
  isAhead?: boolean;
}

type Times = Pick<
  JobView,
  "state" | "attempt" | "created_at" | "scheduled_at" | "started_at" | "completed_at" | "failed_at"
>;

/** What a job is doing after an event; null if the event changes nothing about it. */
function kindAfter(event: Happening, waitsForItsTime: boolean): SpanKind | null {
  switch (event.type) {
    case "started":
      return "running";
    case "failed":
      return event.status === "dead" ? "ended" : "backoff";
    case "completed":
    case "dead":
    case "cancelled":
    case "expired":
    case "rejected":
    case "deleted":
      return "ended";
    case "held":
      return "held";
    case "enqueued":
    case "restored":
    case "released":
    case "replaced":
    case "rescheduled":
      return waitsForItsTime ? "scheduled" : "waiting";
    case "approved":
    case "retried":
    case "promoted":
    case "reclaimed":
    case "continued":
      return "waiting";
    default:
      return null;
  }
}

const OF_STATE: Record<string, SpanKind> = {
  pending: "waiting",
  scheduled: "scheduled",
  retrying: "backoff",
  active: "running",
  held: "held",
};

/** The job's life from its creation until it ended, until now, or until it is due. */
export function spansOf(job: Times, events: readonly Happening[], now: number): Span[] {
  const turns = events.filter((event) => kindAfter(event, false) !== null);
  if (turns.length === 0) return spansWithoutEvents(job, now);
  const spans: Span[] = [];
  const created = instant(job.created_at);
  if (turns[0]!.at > created && turns[0]!.type !== "enqueued") {
    spans.push({ kind: "unknown", from: created, to: turns[0]!.at });
  }
  turns.forEach((turn, place) => {
    const next = turns[place + 1];
    const isLast = next === undefined;
    const waitsForItsTime = isLast ? job.state === "scheduled" : next.type === "promoted";
    const kind = kindAfter(turn, waitsForItsTime)!;
    if (isLast && kind === "ended") return;
    const to = isLast ? Math.max(now, turn.at) : next.at;
    if (to <= turn.at && kind !== "running" && !isLast) return;
    const before = spans.at(-1);
    if (before?.kind === kind && kind !== "running" && before.to === turn.at) {
      before.to = to;
      before.isOpen = isLast;
      return;
    }
    const span: Span = { kind, from: turn.at, to, isOpen: isLast };
    if (kind === "running") Object.assign(span, { attempt: turn.attempt, worker: turn.worker });
    spans.push(span);
  });
  return withWhatIsAhead(spans, job, now);
}

/** Events are not kept for ever; the job's own times are. */
function spansWithoutEvents(job: Times, now: number): Span[] {
  const created = instant(job.created_at);
  const ended = job.completed_at ?? (["dead", "cancelled"].includes(job.state) ? job.failed_at : null);
  const open = OF_STATE[job.state];
  const spans: Span[] = [];
  let at = created;
  if (job.started_at !== null) {
    const started = instant(job.started_at);
    spans.push({ kind: job.attempt > 1 ? "unknown" : "waiting", from: created, to: started });
    at = started;
    const isRunning = job.state === "active";
    const stopped = ended ?? job.failed_at;
    const to = isRunning ? Math.max(now, started) : stopped === null ? started : instant(stopped);
    if (to >= started) {
      spans.push({ kind: "running", from: started, to, attempt: job.attempt, isOpen: isRunning });
      at = to;
    }
  }
  if (open !== undefined && open !== "running") {
    spans.push({ kind: open, from: at, to: Math.max(now, at), isOpen: true });
  }
  return withWhatIsAhead(
    spans.filter((span) => span.to > span.from || span.kind === "running" || span.isOpen),
    job,
    now,
  );
}

function withWhatIsAhead(spans: Span[], job: Times, now: number): Span[] {
  const last = spans.at(-1);
  if (!last?.isOpen || job.scheduled_at === null || !["scheduled", "retrying"].includes(job.state))
    return spans;
  const due = instant(job.scheduled_at);
  if (due > now) spans.push({ kind: last.kind, from: last.to, to: due, isAhead: true });
  return spans;
}

/** How long it waited in line before its last start; null if it has not started. */
export function queueTime(spans: readonly Span[]): number | null {
  const at = spans.findLastIndex((span) => span.kind === "running");
  if (at < 0) return null;
  const before = spans[at - 1];
  return before?.kind === "waiting" ? before.to - before.from : 0;
}

/** How long it has been doing what, in all. */
export function totalsOf(spans: readonly Span[]): Map<SpanKind, number> {
  const totals = new Map<SpanKind, number>();
  for (const span of spans) {
    if (!span.isAhead) totals.set(span.kind, (totals.get(span.kind) ?? 0) + span.to - span.from);
  }
  return totals;
}

export interface Piece {
  span: Span;
  /** Where it is, and how wide, of 1. */
  left: number;
  width: number;
  /** Drawn shorter than it was. */
  isCut: boolean;
}

export interface Tick {
  left: number;
  label: string;
}

const REST: ReadonlySet<SpanKind> = new Set(["ended", "unknown"]);
/** Time in which nothing was to be done takes at most so much of the rest. */
const CUT_TO = 0.08;
const STEPS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((count) => count * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE),
  ...[1, 2, 3, 6, 12].map((count) => count * HOUR),
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].map((count) => count * DAY),
];

/** The spans side by side, as wide as they were long, with ticks that tell the time since the first. */
export function drawToScale(spans: readonly Span[], ticks = 6): { pieces: Piece[]; ticks: Tick[] } {
  const lived = spans
    .filter((span) => !REST.has(span.kind))
    .reduce((sum, span) => sum + span.to - span.from, 0);
  const longestRest = lived > 0 ? lived * CUT_TO : Number.POSITIVE_INFINITY;
  const lengths = spans.map((span) =>
    REST.has(span.kind) ? Math.min(span.to - span.from, longestRest) : span.to - span.from,
  );
  const whole = lengths.reduce((sum, length) => sum + length, 0);
  if (whole <= 0) {
    return {
      pieces: spans.map((span) => ({ span, left: 0, width: 1 / spans.length, isCut: false })),
      ticks: [],
    };
  }
  let at = 0;
  const pieces = spans.map((span, place): Piece => {
    const piece = {
      span,
      left: at / whole,
      width: lengths[place]! / whole,
      isCut: lengths[place]! < span.to - span.from,
    };
    at += lengths[place]!;
    return piece;
  });
  return { pieces, ticks: ticksOf(pieces, whole, ticks) };
}

function ticksOf(pieces: Piece[], whole: number, most: number): Tick[] {
  const step = STEPS.find((size) => whole / size <= most) ?? STEPS.at(-1)!;
  const start = pieces[0]!.span.from;
  const found: Tick[] = [];
  for (const { span, left, width, isCut } of pieces) {
    if (isCut || span.to <= span.from) continue;
    const last = span.to - start;
    for (let tick = Math.ceil((span.from - start) / step) * step; tick < last; tick += step) {
      const share = (start + tick - span.from) / (span.to - span.from);
      found.push({ left: left + share * width, label: tick === 0 ? "0" : formatDuration(tick) });
    }
  }
  return found;
}
