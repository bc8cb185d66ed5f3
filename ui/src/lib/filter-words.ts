/** Filters in words, and what the server says against them. */

import { ALONE, ALONE_FIELDS, type Alone, type JobFilter, TIMES, toInstant } from "./filters";
import { formatAbsolute, parseDuration } from "./time";

const WORDS: Record<Alone, string> = {
  queue: "queue is",
  priority: "priority is",
  payload: "payload contains",
  jq: "jq",
  error: "error contains",
  errorMatches: "last error is",
  id: "id begins with",
  worker: "worker is",
  batch: "batch is",
  chain: "chain is",
  parent: "parent is",
  dependsOn: "depends on",
  unique: "unique key is",
  createdAfter: "created after",
  createdBefore: "created before",
  startedAfter: "started after",
  startedBefore: "started before",
  completedAfter: "completed after",
  completedBefore: "completed before",
  scheduledAfter: "due after",
  scheduledBefore: "due before",
  expiresAfter: "expires after",
  expiresBefore: "expires before",
  attemptMin: "attempt at least",
  attemptMax: "attempt at most",
};

/** A part of a filter in words. */
export interface FilterPart {
  field: keyof JobFilter;
  /** What it is set to, as one would type it. */
  value: string;
  label: string;
  /** What to set to be without it. */
  without: Partial<JobFilter>;
}

/** A time of a filter as one reads it: `1h ago`, `2026-02-10 14:30`. */
export function sayTime(text: string): string {
  if (parseDuration(text) !== null) return `${text} ago`;
  const time = Date.parse(toInstant(text));
  return Number.isNaN(time) ? text : formatAbsolute(time).slice(0, 16);
}

/** One field in words. */
export function sayField(field: Alone, value: string): string {
  return `${WORDS[field]} ${field in TIMES ? sayTime(value) : value}`;
}

/** The filter in words, part by part. */
export function describeFilter(filter: JobFilter): FilterPart[] {
  const told: FilterPart[] = ALONE_FIELDS.filter((field) => filter[field] !== "").map((field) => ({
    field,
    value: filter[field],
    label: sayField(field, filter[field]),
    without: { [field]: "" },
  }));
  if (filter.states.length) {
    told.push({
      field: "states",
      value: "",
      label: `state is ${filter.states.join(" or ")}`,
      without: { states: [] },
    });
  }
  for (const tag of filter.tags) {
    const tags = filter.tags.filter((other) => other !== tag);
    told.push({ field: "tags", value: tag, label: `tag ${tag}`, without: { tags } });
  }
  if (filter.errors) {
    const label = filter.errors === "yes" ? "has errors" : "has no errors";
    told.push({ field: "errors", value: "", label, without: { errors: "" } });
  }
  return told;
}

/** Whether anything is filtered, apart from the queue if the page is about one. */
export function isNarrow(filter: JobFilter, apartFromQueue = false): boolean {
  return describeFilter(apartFromQueue ? { ...filter, queue: "" } : filter).length > 0;
}

/** What is wrong with a filter, and with which field of it. */
export interface FilterFault {
  field: keyof JobFilter;
  message: string;
}

/** The field that a message of the server is about; null if it is about none. */
export function filterFault(message: string): FilterFault | null {
  const [, name, rest] = /^(\w+): (.*)$/s.exec(message) ?? [];
  const field = name === "state" ? "states" : ALONE_FIELDS.find((one) => ALONE[one][1] === name);
  return field === undefined || rest === undefined ? null : { field, message: rest };
}
