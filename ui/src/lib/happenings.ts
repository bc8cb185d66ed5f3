/** What happened to a job: its events, read once and told in words. */

import { type JsonNode, type JsonText, parseJson, printJson } from "./json";
import type { EventView } from "./records";
import { formatDuration, instant } from "./time";

/** An event of a job with what its data says. */
export interface Happening {
  seq: number;
  type: string;
  /** Milliseconds since 1970. */
  at: number;
  queue: string | null;
  attempt?: number;
  worker?: string;
  error?: string;
  /** Of a failure: `retrying` or `dead`. */
  status?: string;
  nextAt?: number;
  reason?: string;
  delay?: number;
  from?: string;
  to?: string;
  progress?: JsonText;
}

/** The value of a member as text, whatever it is; undefined if there is none or it is null. */
export function textOf(node: JsonNode, name: string): string | undefined {
  if (node.kind !== "object") return undefined;
  const value = node.entries.find(([key]) => key === name)?.[1];
  if (value === undefined || value.kind === "null") return undefined;
  return value.kind === "string" ? value.value : printJson(value);
}

/** The same as a number. */
export function numberOf(node: JsonNode, name: string): number | undefined {
  const text = textOf(node, name);
  const number = text === undefined ? Number.NaN : Number(text);
  return Number.isFinite(number) ? number : undefined;
}

/** What an event says. */
export function readEvent(event: EventView): Happening {
  const told: Happening = {
    seq: event.seq,
    type: event.type,
    at: Math.round(event.at_ns / 1e6),
    queue: event.queue ?? null,
  };
  if (!event.data) return told;
  if (event.type === "progress") return { ...told, progress: event.data };
  const data = parseJson(event.data);
  const next = textOf(data, "next_attempt_at");
  return {
    ...told,
    attempt: numberOf(data, "attempt"),
    worker: textOf(data, "worker_id"),
    error: textOf(data, "error"),
    status: textOf(data, "status"),
    nextAt: next === undefined ? undefined : instant(next),
    reason: textOf(data, "reason"),
    delay: numberOf(data, "delay_ms"),
    from: textOf(data, "from"),
    to: textOf(data, "to"),
  };
}

export type Tone = "plain" | "good" | "bad" | "work" | "wait";

/** A happening in words: the verb, then what there is to say about it. */
export function tell(event: Happening): { verb: string; rest: string; tone: Tone } {
  const because = event.reason ? `: ${event.reason}` : "";
  switch (event.type) {
    case "started": {
      const by = event.worker ? `by ${event.worker}` : "";
      const attempt = (event.attempt ?? 1) > 1 ? ` (attempt ${event.attempt})` : "";
      return { verb: "started", rest: by + attempt, tone: "work" };
    }
    case "progress":
      return { verb: "progress", rest: "", tone: "plain" };
    case "completed":
      return { verb: "completed", rest: "", tone: "good" };
    case "failed": {
      const wait =
        event.nextAt === undefined ? "" : ` · next attempt in ${formatDuration(event.nextAt - event.at)}`;
      return { verb: "failed", rest: `${event.error ?? ""}${wait}`, tone: "bad" };
    }
    case "dead":
      return { verb: "dead", rest: "it is not tried again", tone: "bad" };
    case "expired":
      return { verb: "expired", rest: "it had not begun in time", tone: "bad" };
    case "rejected":
      return { verb: "rejected", rest: "by a person", tone: "bad" };
    case "cancelled":
      return { verb: "cancelled", rest: event.reason ?? "", tone: "plain" };
    case "reclaimed":
      return { verb: "reclaimed", rest: "the worker went silent and its lease ran out", tone: "bad" };
    case "released": {
      const later = event.delay ? ` for ${formatDuration(event.delay)}` : "";
      return { verb: "released", rest: `handed back by its worker${later}${because}`, tone: "wait" };
    }
    case "held":
      return { verb: "held", rest: event.reason ?? "", tone: "wait" };
    case "approved":
      return { verb: "approved", rest: "by a person", tone: "plain" };
    case "promoted":
      return { verb: "due", rest: "its time has come", tone: "plain" };
    case "retried":
      return { verb: "retried", rest: "on request", tone: "plain" };
    case "moved":
      return { verb: "moved", rest: between(event), tone: "plain" };
    case "reprioritized":
      return { verb: "priority changed", rest: between(event), tone: "plain" };
    case "continued":
      return { verb: "continued", rest: `the agent goes on${because}`, tone: "plain" };
    default:
      return { verb: event.type, rest: "", tone: "plain" };
  }
}

function between({ from, to }: Happening): string {
  return [from && `from ${from}`, to && `to ${to}`].filter(Boolean).join(" ");
}

/** An event in a list, with how many like it right before it are not shown. */
export interface Entry {
  event: Happening;
  folded: number;
}

const ALIKE = 3;

/** The events, but of long runs of progress only the last. */
export function fold(events: readonly Happening[]): Entry[] {
  const entries: Entry[] = [];
  let at = 0;
  while (at < events.length) {
    let end = at;
    while (events[at]!.type === "progress" && events[end + 1]?.type === "progress") end += 1;
    const isLong = end - at + 1 > ALIKE;
    for (let place = isLong ? end : at; place <= end; place += 1) {
      entries.push({ event: events[place]!, folded: isLong ? end - at : 0 });
    }
    at = end + 1;
  }
  return entries;
}

const PAGE = 1000;
const MOST_PAGES = 10;

/** The known events with all that came since, read page by page. */
export async function readOn(
  known: readonly EventView[],
  read: (after: number, limit: number) => Promise<EventView[]>,
): Promise<EventView[]> {
  const all = [...known];
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const more = await read(all.at(-1)?.seq ?? 0, PAGE);
    all.push(...more);
    if (more.length < PAGE) break;
  }
  return all;
}
