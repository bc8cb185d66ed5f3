/** The fields one can filter jobs by, and what is offered as one types. */

import { sayField } from "./filter-words";
import {
  type Alone,
  type JobFilter,
  PRIORITIES,
  readTag,
  STATES,
  type State,
  TIMES,
  toInstant,
} from "./filters";

export interface FilterField {
  id: Alone | "states" | "tags" | "errors";
  label: string;
  /** What one may type before a colon to mean it. */
  name: string;
  example: string;
  /** Only what is offered counts. */
  isClosed?: boolean;
}

export const FILTER_FIELDS: FilterField[] = [
  { id: "queue", label: "Queue", name: "queue", example: "emails.send" },
  { id: "states", label: "State", name: "state", example: "dead", isClosed: true },
  { id: "tags", label: "Tag", name: "tag", example: "tenant:acme" },
  { id: "payload", label: "Payload contains", name: "payload", example: "user@example.com" },
  { id: "jq", label: "Payload condition (jq)", name: "jq", example: '.template == "welcome"' },
  { id: "error", label: "Error contains", name: "error", example: "SMTP timeout" },
  { id: "errorMatches", label: "Last error is", name: "error_matches", example: "timeout after * s" },
  { id: "createdAfter", label: "Created after", name: "created_after", example: "1h" },
  { id: "createdBefore", label: "Created before", name: "created_before", example: "2026-02-10 14:30" },
  { id: "priority", label: "Priority", name: "priority", example: "high", isClosed: true },
  { id: "id", label: "Job id begins with", name: "id", example: "job_01HX7" },
  { id: "worker", label: "Worker", name: "worker", example: "worker-1" },
  { id: "errors", label: "Has errors", name: "errors", example: "yes", isClosed: true },
  { id: "attemptMin", label: "Attempt at least", name: "attempt_min", example: "2" },
  { id: "attemptMax", label: "Attempt at most", name: "attempt_max", example: "5" },
  { id: "batch", label: "Batch", name: "batch", example: "batch_01HX7" },
  { id: "chain", label: "Chain", name: "chain", example: "chain_01HX7" },
  { id: "parent", label: "Parent", name: "parent", example: "job_01HX7" },
  { id: "dependsOn", label: "Depends on", name: "depends_on", example: "job_01HX7" },
  { id: "unique", label: "Unique key", name: "unique", example: "welcome-7" },
  { id: "startedAfter", label: "Started after", name: "started_after", example: "15m" },
  { id: "startedBefore", label: "Started before", name: "started_before", example: "1h" },
  { id: "completedAfter", label: "Completed after", name: "completed_after", example: "15m" },
  { id: "completedBefore", label: "Completed before", name: "completed_before", example: "7d" },
  { id: "scheduledAfter", label: "Due after", name: "scheduled_after", example: "2026-02-10" },
  { id: "scheduledBefore", label: "Due before", name: "scheduled_before", example: "2026-02-11" },
  { id: "expiresAfter", label: "Expires after", name: "expire_after", example: "2026-02-10" },
  { id: "expiresBefore", label: "Expires before", name: "expire_before", example: "2026-02-11" },
];

/** The field of this name. */
export function fieldOf(id: string): FilterField | undefined {
  return FILTER_FIELDS.find((field) => field.id === id);
}

export const isTime = (field: FilterField) => field.id in TIMES;

/** What there is to choose from, by field. */
export type Known = Partial<Record<FilterField["id"], string[]>>;

/** Something that is offered: a field to go on with, or a change of the filter. */
export interface Offer {
  id: string;
  group: string;
  label: string;
  note?: string;
  field?: FilterField;
  change?: Partial<JobFilter>;
  /** Why it cannot be taken yet. */
  fault?: string;
}

const AGES: [string, string][] = [
  ["15m", "15 minutes ago"],
  ["1h", "an hour ago"],
  ["6h", "6 hours ago"],
  ["24h", "a day ago"],
  ["7d", "7 days ago"],
];
const CONDITIONS: [string, string][] = [
  ['.template == "welcome"', "equal to a text, number, true, false or null"],
  [".user.age >= 18", "compared"],
  ['.to | startswith("a@")', "begins with"],
  ['.roles | contains("admin")', "has the item, or the text"],
  [".items | length > 2", "how many items or characters"],
];
const MOST = 8;
/** Fields of which one types a part. */
const PARTS: FilterField["id"][] = ["payload", "error", "id"];

/** A field written before a colon: `queue:emails` is the queue field and `emails`. */
export function splitField(text: string): [FilterField, string] | null {
  const [, name, rest] = /^\s*([a-z_]+):(.*)$/s.exec(text) ?? [];
  const field = FILTER_FIELDS.find((one) => one.name === name);
  return field ? [field, rest!.trimStart()] : null;
}

/** What to offer for a text: with a field its values, without one everything it may mean. */
export function offersFor(text: string, field: FilterField | null, filter: JobFilter, known: Known): Offer[] {
  return field === null ? meanings(text.trim(), filter, known) : values(text.trim(), field, filter, known);
}

function meanings(text: string, filter: JobFilter, known: Known): Offer[] {
  const wanted = text.toLowerCase();
  const fields = FILTER_FIELDS.filter(
    ({ label, name }) => label.toLowerCase().includes(wanted) || name.includes(wanted),
  ).map(
    (field): Offer => ({
      id: `field ${field.id}`,
      group: "Filter by",
      label: field.label,
      note: field.example,
      field,
    }),
  );
  if (wanted === "") return fields;
  const offers: Offer[] = [];
  for (const id of ["states", "queue", "priority", "tags", "worker"] as const) {
    const found = values(text, fieldOf(id)!, filter, known).filter(
      ({ fault, id: key }) =>
        !fault && (!key.endsWith(" typed") || id === "tags" || known[id]?.includes(text)),
    );
    offers.push(...found.slice(0, 4));
  }
  if (wanted.startsWith(".") && text.length > 1) offers.unshift(typed(fieldOf("jq")!, text, filter)!);
  if (/^job_\w/.test(wanted)) offers.unshift(typed(fieldOf("id")!, text, filter)!);
  for (const id of ["payload", "error"])
    offers.push({ ...typed(fieldOf(id)!, text, filter)!, group: "Jobs whose" });
  return [...offers, ...fields];
}

function values(text: string, field: FilterField, filter: JobFilter, known: Known): Offer[] {
  const wanted = text.toLowerCase();
  const offer = (value: string, label: string, change: Partial<JobFilter>, note?: string): Offer => ({
    id: `${field.id} ${value}`,
    group: field.label,
    label,
    note,
    change,
  });
  if (field.id === "states") {
    return STATES.filter((state) => state.includes(wanted)).map((state) =>
      offer(state, `state is ${state}`, { states: withState(filter.states, state) }),
    );
  }
  if (field.id === "errors") {
    const both = [
      offer("yes", "has errors", { errors: "yes" }),
      offer("no", "has no errors", { errors: "no" }),
    ];
    return both.filter(({ change, label }) => change?.errors?.startsWith(wanted) || label.includes(wanted));
  }
  if (field.id === "priority") {
    return PRIORITIES.filter((name) => name.includes(wanted)).map((priority) =>
      offer(priority, `priority is ${priority}`, { priority }),
    );
  }
  const own = typed(field, text, filter);
  if (isTime(field)) {
    const ages = AGES.filter(([age, words]) => age.startsWith(wanted) || words.includes(wanted));
    const offered = ages.map(([age, words]) => offer(age, words, { [field.id]: age }));
    return own && !ages.some(([age]) => age === text) ? [own, ...offered] : offered;
  }
  if (field.id === "jq") {
    const examples = CONDITIONS.map(([condition, words]) => ({
      ...offer(condition, condition, { jq: condition }, words),
      group: "Such as",
    }));
    return own ? [own, ...examples] : examples;
  }
  const found = [...new Set(known[field.id] ?? [])]
    .filter((value) => value.toLowerCase().includes(wanted) && value !== text)
    .slice(0, MOST);
  const offered = found.map((value) =>
    field.id === "tags"
      ? offer(value, `tag ${value}`, { tags: withTag(filter.tags, value) })
      : offer(value, sayField(field.id as Alone, value), { [field.id]: value }),
  );
  if (own === null) return offered;
  // A name that is only begun is completed; what is typed whole, or is but a part of something, is meant as it is.
  const isMeant = PARTS.includes(field.id) || known[field.id]?.includes(text) || found.length === 0;
  return isMeant ? [own, ...offered] : [...offered, own];
}

/** What is typed, taken as it is. */
function typed(field: FilterField, text: string, filter: JobFilter): Offer | null {
  if (text === "" || field.isClosed) return null;
  const base = { id: `${field.id} typed`, group: field.label };
  if (field.id === "tags") {
    return readTag(text) === null
      ? { ...base, label: `tag ${text}`, fault: "Written as name:value" }
      : { ...base, label: `tag ${text}`, change: { tags: withTag(filter.tags, text) } };
  }
  const id = field.id as Alone;
  const label = sayField(id, text);
  const change = { [id]: text };
  if (isTime(field) && Number.isNaN(Date.parse(toInstant(text)))) {
    return { ...base, label, fault: "Such as 1h, 2d, 2026-02-10 or 2026-02-10 14:30" };
  }
  if ((id === "attemptMin" || id === "attemptMax") && !/^\d+$/.test(text)) {
    return { ...base, label, fault: "A whole number" };
  }
  return { ...base, label, change };
}

function withState(states: readonly State[], state: State): State[] {
  return STATES.filter((one) => one === state || states.includes(one));
}

function withTag(tags: readonly string[], tag: string): string[] {
  return [...new Set([...tags, tag])];
}
