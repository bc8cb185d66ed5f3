/** What is looked for among jobs, as the address bar says it and as the API wants it. */

import { type JsonText, parseJson, printJson } from "./json";
import type { SearchRequest } from "./records";
import { MINUTE, parseDuration } from "./time";

/** The search part of an address: every value is text. */
export type Params = Record<string, string | string[] | undefined>;

export const STATES = [
  "pending",
  "active",
  "scheduled",
  "retrying",
  "held",
  "completed",
  "dead",
  "cancelled",
] as const;
export type State = (typeof STATES)[number];

export const PRIORITIES = ["critical", "high", "normal"] as const;
export const SORTS = ["created_at", "priority", "started_at", "completed_at", "attempt"] as const;
export type Sort = (typeof SORTS)[number];

export interface JobFilter {
  queue: string;
  states: State[];
  priority: string;
  /** `key:value` for text, `key:=5` for any other JSON value. */
  tags: string[];
  payload: string;
  jq: string;
  error: string;
  /** The first line of the last error, with `*` for what varies. */
  errorMatches: string;
  id: string;
  worker: string;
  batch: string;
  chain: string;
  parent: string;
  dependsOn: string;
  unique: string;
  errors: "" | "yes" | "no";
  createdAfter: string;
  createdBefore: string;
  startedAfter: string;
  startedBefore: string;
  completedAfter: string;
  completedBefore: string;
  scheduledAfter: string;
  scheduledBefore: string;
  expiresAfter: string;
  expiresBefore: string;
  attemptMin: string;
  attemptMax: string;
  sort: Sort;
  order: "asc" | "desc";
}

/** Fields that hold one text each, with their names in the address and in the API. */
const TEXTS = {
  queue: ["queue", "queue"],
  priority: ["priority", "priority"],
  payload: ["payload", "payload_contains"],
  jq: ["jq", "payload_jq"],
  error: ["error", "error_contains"],
  errorMatches: ["error_matches", "error_matches"],
  id: ["id", "job_id_prefix"],
  worker: ["worker", "worker_id"],
  batch: ["batch", "batch_id"],
  chain: ["chain", "chain_id"],
  parent: ["parent", "parent_id"],
  dependsOn: ["depends_on", "depends_on"],
  unique: ["unique", "unique_key"],
} as const;

export const TIMES = {
  createdAfter: ["created_after", "created_after"],
  createdBefore: ["created_before", "created_before"],
  startedAfter: ["started_after", "started_after"],
  startedBefore: ["started_before", "started_before"],
  completedAfter: ["completed_after", "completed_after"],
  completedBefore: ["completed_before", "completed_before"],
  scheduledAfter: ["scheduled_after", "scheduled_after"],
  scheduledBefore: ["scheduled_before", "scheduled_before"],
  expiresAfter: ["expire_after", "expire_after"],
  expiresBefore: ["expire_before", "expire_before"],
} as const;

const COUNTS = {
  attemptMin: ["attempt_min", "attempt_min"],
  attemptMax: ["attempt_max", "attempt_max"],
} as const;

export const ALONE = { ...TEXTS, ...TIMES, ...COUNTS };
export type Alone = keyof typeof ALONE;
export const ALONE_FIELDS = Object.keys(ALONE) as Alone[];

/** Everything, newest first. */
export const ALL: JobFilter = {
  ...(Object.fromEntries(ALONE_FIELDS.map((field) => [field, ""])) as Record<Alone, string>),
  states: [],
  tags: [],
  errors: "",
  sort: "created_at",
  order: "desc",
};

const one = (value: string | string[] | undefined) =>
  Array.isArray(value) ? (value[0] ?? "") : (value ?? "");
const many = (value: string | string[] | undefined) =>
  value === undefined ? [] : (Array.isArray(value) ? value : [value]).filter((part) => part !== "");

/** The filter that an address stands for. What it does not know is left out. */
export function readFilter(params: Params): JobFilter {
  const errors = one(params.errors);
  const sort = one(params.sort);
  return {
    ...(Object.fromEntries(ALONE_FIELDS.map((field) => [field, one(params[ALONE[field][0]])])) as Record<
      Alone,
      string
    >),
    states: STATES.filter((state) => many(params.state).includes(state)),
    tags: [...new Set(many(params.tag))],
    errors: errors === "yes" || errors === "no" ? errors : "",
    sort: SORTS.find((known) => known === sort) ?? "created_at",
    order: one(params.order) === "asc" ? "asc" : "desc",
  };
}

/** The address of a filter; what is not said is not in it. */
export function writeFilter(filter: JobFilter): Params {
  const params: Params = {};
  for (const field of ALONE_FIELDS) if (filter[field] !== "") params[ALONE[field][0]] = filter[field];
  if (filter.states.length) params.state = [...filter.states];
  if (filter.tags.length) params.tag = [...filter.tags];
  if (filter.errors) params.errors = filter.errors;
  if (filter.sort !== ALL.sort) params.sort = filter.sort;
  if (filter.order !== ALL.order) params.order = filter.order;
  return params;
}

type TagValue = string | number | boolean | null;

/** A tag's key and value; null if the text has no colon. */
export function readTag(text: string): [string, TagValue] | null {
  const colon = text.indexOf(":");
  if (colon <= 0) return null;
  const key = text.slice(0, colon).trim();
  const value = text.slice(colon + 1);
  if (!value.startsWith("=")) return [key, value.trim()];
  try {
    const parsed: unknown = JSON.parse(value.slice(1));
    if (parsed === null || ["string", "number", "boolean"].includes(typeof parsed))
      return [key, parsed as TagValue];
  } catch {
    // Not JSON: then it was meant as text.
  }
  return [key, value.trim()];
}

/** A tag as it stands in a filter, from its key and the JSON node's text. */
export function writeTag(key: string, value: string, isText: boolean): string {
  return isText ? `${key}:${value}` : `${key}:=${value}`;
}

/** The tags of a job as filters that find it. */
export function tagFilters(tags: JsonText | null): string[] {
  const node = tags === null ? null : parseJson(tags);
  if (node?.kind !== "object") return [];
  return node.entries.map(([key, value]) =>
    value.kind === "string" ? writeTag(key, value.value, true) : writeTag(key, printJson(value), false),
  );
}

/** The request of a search, without its page. */
export function toRequest(filter: JobFilter): SearchRequest {
  const request: Record<string, unknown> = {};
  for (const field of Object.keys(TEXTS) as (keyof typeof TEXTS)[]) {
    const text = filter[field].trim();
    if (text) request[TEXTS[field][1]] = text;
  }
  for (const field of Object.keys(TIMES) as (keyof typeof TIMES)[]) {
    const time = toInstant(filter[field]);
    if (time) request[TIMES[field][1]] = time;
  }
  for (const field of Object.keys(COUNTS) as (keyof typeof COUNTS)[]) {
    if (/^\d+$/.test(filter[field])) request[COUNTS[field][1]] = Number(filter[field]);
  }
  if (filter.states.length) request.state = filter.states;
  const tags = filter.tags.map(readTag).filter((tag) => tag !== null);
  if (tags.length) request.tags = Object.fromEntries(tags);
  if (filter.errors) request.has_errors = filter.errors === "yes";
  if (filter.sort !== ALL.sort) request.sort = filter.sort;
  if (filter.order !== ALL.order) request.order = filter.order;
  return request as SearchRequest;
}

/**
 * The API's time for what a time field holds: `1h` is an hour ago, to the minute, so that a view goes along with the clock;
 * a date, or a date and time, is local; absolute times stay as they are.
 */
export function toInstant(text: string, now = Date.now()): string {
  if (text === "") return "";
  const ago = parseDuration(text);
  if (ago !== null) return new Date(Math.floor((now - ago) / MINUTE) * MINUTE).toISOString();
  const local = /^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00` : text;
  const time = new Date(local);
  return Number.isNaN(time.getTime()) ? text : time.toISOString();
}
