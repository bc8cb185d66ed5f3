/** The records of the API. Made by tools/make_ui_records.py from the server's own description: do not edit. */

import type { JsonText } from "./json";

/** How many were taken, and the jobs whose lease was lost. */
export interface AckBatchAnswer {
  acked: number;
  lost: string[];
}

/** One of many jobs that are done. */
export interface AckBatchItem {
  /** From fetch; 409 `LEASE_LOST` if the job has been taken away since. Without it that is not checked */
  lease_token?: string | null;
  /** Kept on the job; any JSON value */
  result?: JsonText;
  /** Replaces the stored one */
  checkpoint?: JsonText;
  /** What the attempt has cost */
  usage?: UsageReport | null;
  /** Agent jobs: `continue`, `done` or `hold` */
  agent_status?: string | null;
  /** Agent jobs: why it holds */
  hold_reason?: string | null;
  /** Chain steps: `continue` or `exit` */
  step_status?: string | null;
  /** Chain steps: handed to the chain's `on_exit` */
  exit_reason?: string | null;
  /** Required */
  job_id: string;
}

/** Jobs that are done. */
export interface AckBatchRequest {
  /** Required. 1 to 512 items */
  acks: AckBatchItem[] | null;
}

/** The job is done. */
export interface AckRequest {
  /** From fetch; 409 `LEASE_LOST` if the job has been taken away since. Without it that is not checked */
  lease_token?: string | null;
  /** Kept on the job; any JSON value */
  result?: JsonText;
  /** Replaces the stored one */
  checkpoint?: JsonText;
  /** What the attempt has cost */
  usage?: UsageReport | null;
  /** Agent jobs: `continue`, `done` or `hold` */
  agent_status?: string | null;
  /** Agent jobs: why it holds */
  hold_reason?: string | null;
  /** Chain steps: `continue` or `exit` */
  step_status?: string | null;
  /** Chain steps: handed to the chain's `on_exit` */
  exit_reason?: string | null;
}

/** An agent's limits, and how far it is. */
export interface AgentRecord {
  /** 0 = no limit */
  max_iterations?: number | null;
  /** 0 = no limit */
  max_cost_usd?: number | null;
  /** A duration; a hint for workers */
  iteration_timeout?: string | null;
  /** The one it is in, 1 by default */
  iteration?: number | null;
  /** What it has cost so far */
  total_cost_usd?: number | null;
}

/** Limits of an agent job; 0 means none. */
export interface AgentRequest {
  /** 0 = no limit */
  max_iterations?: number | null;
  /** 0 = no limit */
  max_cost_usd?: number | null;
  /** A duration; a hint for workers */
  iteration_timeout?: string | null;
}

/** How many lines were added, and the number of the last. */
export interface AppendLogsAnswer {
  status: string;
  appended: number;
  last: number;
}

/** Lines for a job's log. */
export interface AppendLogsRequest {
  /** Required. 1 to 1,000 lines; 10,000 of a job are kept, the oldest go first */
  lines: LogLineRequest[] | null;
  /** From fetch; 409 `LEASE_LOST` if the job has been taken away since. Without it that is not checked */
  lease_token?: string | null;
}

/** A job, whole, with what it needs to go on as before. */
export interface BackedUpJob {
  id: string;
  queue: string;
  state: string;
  payload: JsonText;
  priority: number;
  priority_name: string;
  attempt: number;
  max_retries: number;
  retry_backoff: string;
  retry_base_delay_ms: number;
  retry_max_delay_ms: number;
  retry_base_delay: string;
  retry_max_delay: string;
  max_lost_leases: number;
  unique_key: string | null;
  unique_period: number | null;
  batch_id: string | null;
  worker_id: string | null;
  hostname: string | null;
  worker: WorkerRef | null;
  tags: JsonText | null;
  progress: JsonText | null;
  checkpoint: JsonText | null;
  result: JsonText | null;
  created_at: string;
  scheduled_at: string | null;
  started_at: string | null;
  completed_at: string | null;
  failed_at: string | null;
  lease_expires_at: string | null;
  expire_at: string | null;
  expire_after: string | null;
  parent_id: string | null;
  chain_id: string | null;
  chain_step: number | null;
  chain_config: JsonText | null;
  depends_on: string[] | null;
  agent: JsonText | null;
  hold_reason: string | null;
  traceparent: string | null;
  errors: ErrorView[];
  internal: Internal;
}

/** A queue's settings. */
export interface BackedUpQueue {
  name: string;
  paused: boolean;
  max_concurrency: number | null;
  rate_limit: number | null;
  rate_window_ms: number | null;
  created_at: string;
}

/** A schedule, and when it ran. */
export interface BackedUpSchedule {
  id: string;
  name: string;
  queue: string;
  cron: string;
  timezone: string;
  payload: JsonText;
  unique_key: string | null;
  max_retries: number;
  enabled: boolean;
  overlap: string;
  missed: string;
  last_run: string | null;
  next_run: string | null;
  created_at: string;
}

/** All jobs, by creation, and all settings of a namespace, without its prefix. */
export interface BackupDocument {
  namespace: string;
  created_at: string;
  jobs: BackedUpJob[];
  queues: BackedUpQueue[];
  budgets: Record<string, JsonText>[];
  schedules: BackedUpSchedule[];
  meta: Meta;
}

/** What a worker reports of a job it works on. */
export interface BeatRequest {
  /** From fetch */
  lease_token?: string | null;
  /** Any JSON value; told as an event */
  progress?: JsonText;
  /** What another attempt would go on from */
  checkpoint?: JsonText;
  /** What the attempt has cost so far */
  usage?: UsageReport | null;
  /** Seconds that the lease lasts from now; as granted, and 60 at the least, by default */
  lease_duration?: number | null;
}

/** It is in line: so many go first. `eta` is when its turn comes if the queue goes on as in the last minutes. */
export interface BehindOthers {
  code: "behind_others";
  detail: string;
  ahead: number;
  eta: string | null;
}

/** How many were not above a bound. */
export interface Bucket {
  le: string;
  count: number;
}

/** What was done. */
export interface BulkAnswer {
  affected: number;
  errors: number;
  skipped: number;
  duration_ms: number;
}

/** Where to look how far it is. */
export interface BulkBegun {
  bulk_operation_id: string;
  status: string;
  estimated_total: number;
  progress_url: string;
}

/** A job that a bulk operation could not change. */
export interface BulkFailure {
  job_id: string;
  /** Why, in words for people */
  error: string;
}

/** A filter of `/jobs/search`. A field that it does not have is refused: without it, too many jobs would match. */
export interface BulkFilter {
  /** Jobs of this queue */
  queue?: string | null;
  /** Jobs in any of these states */
  state?: string[] | string | null;
  /** Jobs of this priority: `critical`, `high`, `normal` or 0, 1, 2 */
  priority?: string | number | null;
  /** Jobs that have all these tags */
  tags?: Record<string, string | number | boolean | null> | null;
  /** Text in the payload's compact JSON; ASCII letters of either case */
  payload_contains?: string | null;
  /** A condition on the payload like `.user.age >= 18` or `.to | length > 2` */
  payload_jq?: string | null;
  /** Created later than this: RFC 3339, or a day like `2026-02-10` */
  created_after?: string | null;
  /** Created earlier than this: RFC 3339, or a day like `2026-02-10` */
  created_before?: string | null;
  /** Due later than this: RFC 3339, or a day like `2026-02-10` */
  scheduled_after?: string | null;
  /** Due earlier than this: RFC 3339, or a day like `2026-02-10` */
  scheduled_before?: string | null;
  /** Last fetched later than this: RFC 3339, or a day like `2026-02-10` */
  started_after?: string | null;
  /** Last fetched earlier than this: RFC 3339, or a day like `2026-02-10` */
  started_before?: string | null;
  /** Completed later than this: RFC 3339, or a day like `2026-02-10` */
  completed_after?: string | null;
  /** Completed earlier than this: RFC 3339, or a day like `2026-02-10` */
  completed_before?: string | null;
  /** Expiring later than this: RFC 3339, or a day like `2026-02-10` */
  expire_after?: string | null;
  /** Expiring earlier than this: RFC 3339, or a day like `2026-02-10` */
  expire_before?: string | null;
  /** At least so many attempts */
  attempt_min?: number | null;
  /** At most so many attempts */
  attempt_max?: number | null;
  /** Jobs enqueued with this unique key */
  unique_key?: string | null;
  /** Jobs of this batch */
  batch_id?: string | null;
  /** Jobs that this worker has, or has finished */
  worker_id?: string | null;
  /** Jobs with this parent */
  parent_id?: string | null;
  /** Jobs of this chain */
  chain_id?: string | null;
  /** Jobs that wait, or have waited, for the job with this id */
  depends_on?: string | null;
  /** Whether any attempt has failed */
  has_errors?: boolean | null;
  /** Text in any of the job's errors; ASCII letters of either case */
  error_contains?: string | null;
  /** The first line of the job's last error, in which `*` stands for anything without a space; empty: it says nothing */
  error_matches?: string | null;
  /** Jobs whose id begins with this */
  job_id_prefix?: string | null;
  /** `created_at` (default), `priority`, `started_at`, `completed_at` or `attempt` */
  sort?: string | null;
  /** `desc` (default) or `asc`; ties by id in the same direction */
  order?: string | null;
  /** Jobs a page: 50 by default, 1000 at the most */
  limit?: number | null;
  /** The `cursor` of the page before, with the same sort and order */
  cursor?: string | null;
  /** Count no more matches than these, unless their number is known without counting; by default all */
  total_up_to?: number | null;
}

/** The jobs that there are, whole, in the order of the ids. */
export interface BulkGetAnswer {
  jobs: JobView[];
}

/** Which jobs. */
export interface BulkGetRequest {
  /** At most 1000 ids */
  job_ids?: string[] | null;
}

/** Which jobs, and what is to be done to them. */
export interface BulkRequest {
  /** The jobs. If there are any, `filter` does not count */
  job_ids?: string[] | null;
  /** Or all the jobs that a search with it finds */
  filter?: BulkFilter | null;
  /** Required: `retry`, `delete`, `cancel`, `move`, `requeue`, `change_priority`, `hold`, `approve`, `reject` */
  action: string | null;
  /** Where to `move` them */
  move_to_queue?: string | null;
  /** What to `change_priority` to */
  priority?: string | number | null;
  /** Answer at once and go on in the background, as always with more than 10000 jobs */
  async?: boolean | null;
}

/** How far a bulk operation is. */
export interface BulkView {
  id: string;
  status: string;
  action: string;
  total: number;
  processed: number;
  affected: number;
  errors: number;
  error: string | null;
  created_at: string;
  updated_at: string;
  finished_at: string | null;
  /** The first 100 jobs that could not be changed: of all, `processed` minus `affected` */
  failures: BulkFailure[];
}

/** What changed up to the event `seq`; `is_partial`: there was more than is named. */
export interface ChangeView {
  seq: number;
  events: Record<string, number>;
  queues: string[];
  job_ids: string[];
  is_partial: boolean;
}

/** How many jobs went. */
export interface ClearAnswer {
  status: string;
  deleted: number;
}

/** Anything a worker or a producer has to say; each item stands alone. */
export interface ClientFrame {
  /** Required. Any integer; the answer to the frame has the same */
  id: number | null;
  /** Jobs to add, as in `/enqueue` */
  enqueue?: EnqueueRequest[] | null;
  /** Jobs that are done, as in `/ack/batch`; at most 512 */
  ack?: AckBatchItem[] | null;
  /** Attempts that failed, as in `/fail`, with `job_id`; at most 512 */
  fail?: FailItem[] | null;
  /** Jobs handed back, as in `/release`, with `job_id`; at most 512 */
  release?: ReleaseItem[] | null;
  /** Jobs still worked on: the body of `/heartbeat`, or only its map of ids */
  heartbeat?: JsonText;
  /** Which jobs to push, and how many, until a new `want` */
  want?: WantRequest | null;
  /** Ids of pushed jobs that have arrived */
  got?: string[] | null;
}

/** The state of a single node. */
export interface ClusterStatus {
  mode: string;
  status: string;
  state: string;
  node_id: string;
  leader_id: string;
  applied_index: number;
  commit_index: number;
  nodes: NodeStatus[];
  apply_pending_now: number;
  apply_max_pending: number;
  overload_total: number;
  fetch_overload_total: number;
  applied_total: number;
  queue_time_hist: Spread;
  apply_time_hist: Spread;
  snapshot: Snapshot;
  sqlite_mirror: Mirror;
  sqlite_rebuild: Rebuild;
}

/** At most so many at a time; 0, null or nothing lifts the limit. */
export interface ConcurrencyRequest {
  /** 0, null or nothing lifts the limit */
  max?: number | null;
}

/** When a cron line comes next. */
export interface CronView {
  cron: string;
  timezone: string;
  next_runs: string[];
}

/** Dead jobs whose last errors differ in numbers and ids only; a search for `error_matches` finds them all. */
export interface DeadGroup {
  error: string;
  error_matches: string;
  jobs: number;
  queues: string[];
  first_at: string;
  last_at: string;
  job_ids: string[];
}

/** Groups, the largest first, of the newest of all dead jobs; `is_partial`: not all of them were looked at. */
export interface DeadGroupsView {
  groups: DeadGroup[];
  looked_at: number;
  total: number;
  is_partial: boolean;
}

/** One attempt to deliver an event, and what was answered. */
export interface DeliveryView {
  event_seq: number;
  event_type: string;
  attempt: number;
  outcome: string;
  status_code: number;
  error: string | null;
  answer: string | null;
  duration_ms: number;
  at: string;
}

/** A job that must complete first, with its state, or `deleted` if it is gone. */
export interface DependencyState {
  job_id: string;
  state: string;
}

/** What became of the job. */
export interface EnqueueAnswer {
  job_id: string;
  status: string;
  unique_existing: boolean;
}

/** What became of the jobs. */
export interface EnqueueBatchAnswer {
  job_ids: string[];
  batch_id?: string | null;
}

/** Jobs to add, all or none. */
export interface EnqueueBatchRequest {
  /** Required. Jobs as in `/enqueue` */
  jobs: EnqueueRequest[] | null;
  /** Follow them together */
  batch?: JobBatchRequest | null;
}

/** A job to add. */
export interface EnqueueRequest {
  /** Required. Up to 255 bytes; the queue comes into being with its first job */
  queue: string;
  /** Any JSON value, `{}` if absent; at most 256 KiB unless the server says otherwise */
  payload?: JsonText;
  /** `critical`, `high` or `normal` (or 0, 1, 2); any other name means normal */
  priority?: string | number | null;
  /** While a job of the queue holds this key, an equal enqueue finds that job instead of adding one */
  unique_key?: string | null;
  /** Seconds for which the key is held at the most, 3600 by default */
  unique_period?: number | null;
  /** `keep` (default), `replace` or `reschedule` the waiting job that holds the key */
  unique_on_conflict?: string | null;
  /** Attempts in all, 3 by default; 0 and 1 both mean a single one */
  max_retries?: number | null;
  /** Dead after losing its lease this often in a row, 5 by default, 0 = never */
  max_lost_leases?: number | null;
  /** `none`, `fixed`, `linear` or `exponential` (default) */
  retry_backoff?: string | null;
  /** A duration like `5s` (default) or `1m30s` */
  retry_base_delay?: string | null;
  /** A duration, `10m` by default; `0s` = no limit */
  retry_max_delay?: string | null;
  /** RFC 3339 time; the job waits for it */
  scheduled_at?: string | null;
  /** A duration; a job that has not begun by then is dead */
  expire_after?: string | null;
  /** Names with strings, numbers, booleans or null */
  tags?: Record<string, string | number | boolean | null> | null;
  /** What the first attempt is to go on from; any JSON value */
  checkpoint?: JsonText;
  /** Makes it an agent job: it runs again and again until it says done */
  agent?: AgentRequest | null;
  /** `{"steps": [{"queue", "payload"}, …], "on_failure", "on_exit"}`; the first step is this job */
  chain?: JsonText;
  /** Ids of jobs that must have completed first */
  depends_on?: string[] | null;
  /** A free link to another job */
  parent_id?: string | null;
  /** Raw link to a chain; `chain` makes one */
  chain_id?: string | null;
  /** Raw link to a chain; `chain` makes one */
  chain_step?: number | null;
  /** Raw link to a chain; `chain` makes one */
  chain_config?: Record<string, JsonText> | null;
  /** The caller's own id: 1 to 128 of `A-Z a-z 0-9 . _ : -`; 409 if taken */
  job_id?: string | null;
}

/** What went wrong. */
export interface ErrorAnswer {
  error: string;
  code: string;
}

/** A failed attempt. */
export interface ErrorRecord {
  /** Its number */
  attempt?: number | null;
  /** What went wrong */
  error?: string | null;
  /** Where */
  backtrace?: string | null;
  /** When; now if absent */
  created_at?: string | null;
}

/** One failed attempt. */
export interface ErrorView {
  id: number;
  job_id: string;
  attempt: number;
  error: string;
  backtrace: string | null;
  created_at: string;
  at: string;
}

/** Something that happened to a job. */
export interface EventView {
  seq: number;
  type: string;
  at_ns: number;
  job_id?: string | null;
  queue?: string | null;
  data?: JsonText | null;
}

/** Events, oldest first. */
export interface EventsAnswer {
  events: EventView[];
}

/** What becomes of the job: `retrying`, `dead` or `cancelled`. */
export interface FailAnswer {
  status: string;
  next_attempt_at: string | null;
  attempts_remaining: number;
  attempt: number;
}

/** One of the attempts that have failed. */
export interface FailItem {
  /** From fetch */
  lease_token?: string | null;
  /** What went wrong */
  error?: string | null;
  /** Where */
  backtrace?: string | null;
  /** A duration: the next attempt, if one is left, comes after exactly this long, whatever the job's backoff */
  retry_after?: string | null;
  /** `dead`: there is no further attempt, however many are left; `cancelled`: the job is not to be done */
  end?: string | null;
  /** Required */
  job_id: string;
}

/** The attempt has failed. */
export interface FailRequest {
  /** From fetch */
  lease_token?: string | null;
  /** What went wrong */
  error?: string | null;
  /** Where */
  backtrace?: string | null;
  /** A duration: the next attempt, if one is left, comes after exactly this long, whatever the job's backoff */
  retry_after?: string | null;
  /** `dead`: there is no further attempt, however many are left; `cancelled`: the job is not to be done */
  end?: string | null;
}

/** Attempts whose errors differ in numbers only. All of them contain the text `contains`. */
export interface FailureGroup {
  error: string;
  pattern: string;
  contains: string;
  attempts: number;
  jobs: number;
  dead: number;
  queues: string[];
  first_at: string;
  last_at: string;
  last_job_id: string;
  last_queue: string;
  last_attempt: number;
  max_retries: number;
}

/** Groups, the largest first; `is_partial`: there were more failures than were looked at. */
export interface FailuresView {
  groups: FailureGroup[];
  attempts: number;
  is_partial: boolean;
}

/** Jobs to work on. */
export interface FetchBatchAnswer {
  jobs: FetchedJob[];
}

/** The same, for several jobs at once. */
export interface FetchBatchRequest {
  /** Required. Names of queues */
  queues: string[] | null;
  /** Names the worker in `/workers` and on the job */
  worker_id?: string | null;
  /** Where it runs */
  hostname?: string | null;
  /** Seconds until the job goes to somebody else unless heartbeats renew it, 60 by default */
  lease_duration?: number | null;
  /** Seconds to wait for a job, 30 by default, 60 at the most */
  timeout?: number | null;
  /** How many jobs at the most, 1 by default, 512 at the most */
  count?: number | null;
}

/** The same, and for how long to wait. */
export interface FetchRequest {
  /** Required. Names of queues */
  queues: string[] | null;
  /** Names the worker in `/workers` and on the job */
  worker_id?: string | null;
  /** Where it runs */
  hostname?: string | null;
  /** Seconds until the job goes to somebody else unless heartbeats renew it, 60 by default */
  lease_duration?: number | null;
  /** Seconds to wait for a job, 30 by default, 60 at the most */
  timeout?: number | null;
}

/** A job to work on. */
export interface FetchedJob {
  job_id: string;
  queue: string;
  payload: JsonText;
  attempt: number;
  max_retries: number;
  lease_duration: number;
  lease_token: string;
  checkpoint: JsonText | null;
  tags: JsonText | null;
  agent: JsonText | null;
  priority: number;
  /** W3C trace context of whoever enqueued it, if there is one */
  traceparent?: string | null;
}

/** It has ended. */
export interface Finished {
  code: "finished";
  detail: string;
  at: string;
}

/** What was asked, and the jobs that were found, newest first. */
export interface FullTextAnswer {
  q: string;
  results: FullTextHit[];
}

/** A job that was found; payload and tags are JSON text. */
export interface FullTextHit {
  id: string;
  queue: string;
  state: string;
  payload: string;
  tags: string;
  created_at: string;
}

/** What collecting garbage costs. */
export interface Garbage {
  collections: number;
  last_pause_ns: number;
  total_pause_ns: number;
  counts: number[];
}

/** Whether the server can do its work. */
export interface Health {
  status: string;
  raft_state: string;
  leader: boolean;
}

/** What each of them is to do, and the same as lists. */
export interface HeartbeatAnswer {
  jobs: Record<string, Status>;
  acked: string[];
  unknown: string[];
  canceled: string[];
}

/** Jobs that are still worked on, by id. */
export interface HeartbeatRequest {
  /** Jobs that are still worked on, by id; `{}` is enough for each */
  jobs?: Record<string, BeatRequest | null> | null;
}

/** It waits for a person. */
export interface Held {
  code: "held";
  detail: string;
  hold_reason: string | null;
  since: string;
}

/** Why. */
export interface HoldRequest {
  /** Shown as `hold_reason` */
  reason?: string | null;
}

/** What runs here. */
export interface Info {
  server_version: string;
  api_version: string;
}

/** What a job needs to go on as before, beyond what the API shows of it. Absent fields have their defaults. */
export interface Internal {
  /** Failed attempts since it last began anew */
  failures?: number;
  /** Leases lost in a row */
  lost_leases?: number;
  /** `requeue` (if absent), `retry_now` or `back_off` */
  on_lost_lease?: string | null;
  /** Its place in line is by when it was due */
  order_by_due?: boolean;
  /** Its place in line, if that is not its age */
  in_line_since?: string | null;
  /** It has completed before, so nobody waits for it */
  was_completed?: boolean;
  /** Since when it is held */
  held_at?: string | null;
  /** Its maker's, if that is not the document's */
  namespace?: string | null;
  /** `traceparent` of its maker */
  trace?: string | null;
  /** Up to when it holds its unique key */
  unique_until?: string | null;
  /** Dependencies that are gone unfinished */
  gone_dependencies?: number;
  /** What another API keeps with it */
  face?: Record<string, JsonText> | null;
  /** The URL that is told how it ended */
  callback?: string | null;
  /** It is dead because its result says so */
  by_result?: boolean;
}

/** Follow the jobs together; enqueue a job when all have ended. */
export interface JobBatchRequest {
  /** Where one job is enqueued when all have ended */
  callback_queue?: string | null;
  /** Its payload; the counts are added under `batch` */
  callback_payload?: JsonText;
}

/** How far a job batch is. */
export interface JobBatchView {
  id: string;
  total: number;
  pending: number;
  succeeded: number;
  failed: number;
  callback_queue: string | null;
  callback_payload: JsonText | null;
  created_at: string;
}

/** A job as in `/enqueue`, with its past. Only `queue` is required. */
export interface JobRecord {
  /** Required. Up to 255 bytes; the queue comes into being with its first job */
  queue: string;
  /** Any JSON value, `{}` if absent; at most 256 KiB unless the server says otherwise */
  payload?: JsonText;
  /** `critical`, `high` or `normal` (or 0, 1, 2); any other name means normal */
  priority?: string | number | null;
  /** While a job of the queue holds this key, an equal enqueue finds that job instead of adding one */
  unique_key?: string | null;
  /** Seconds for which the key is held at the most, 3600 by default */
  unique_period?: number | null;
  /** `keep` (default), `replace` or `reschedule` the waiting job that holds the key */
  unique_on_conflict?: string | null;
  /** Attempts in all, 3 by default; 0 and 1 both mean a single one */
  max_retries?: number | null;
  /** Dead after losing its lease this often in a row, 5 by default, 0 = never */
  max_lost_leases?: number | null;
  /** `none`, `fixed`, `linear` or `exponential` (default) */
  retry_backoff?: string | null;
  /** A duration like `5s` (default) or `1m30s` */
  retry_base_delay?: string | null;
  /** A duration, `10m` by default; `0s` = no limit */
  retry_max_delay?: string | null;
  /** RFC 3339 time; the job waits for it */
  scheduled_at?: string | null;
  /** A duration; a job that has not begun by then is dead */
  expire_after?: string | null;
  /** Names with strings, numbers, booleans or null */
  tags?: Record<string, string | number | boolean | null> | null;
  /** What the first attempt is to go on from; any JSON value */
  checkpoint?: JsonText;
  /** An agent's limits, and how far it is */
  agent?: AgentRecord | null;
  /** `{"steps": [{"queue", "payload"}, …], "on_failure", "on_exit"}`; the first step is this job */
  chain?: JsonText;
  /** Ids of jobs that must have completed first */
  depends_on?: string[] | null;
  /** A free link to another job */
  parent_id?: string | null;
  /** Raw link to a chain; `chain` makes one */
  chain_id?: string | null;
  /** Raw link to a chain; `chain` makes one */
  chain_step?: number | null;
  /** Raw link to a chain; `chain` makes one */
  chain_config?: Record<string, JsonText> | null;
  /** The caller's own id: 1 to 128 of `A-Z a-z 0-9 . _ : -`; 409 if taken */
  job_id?: string | null;
  /** A job whose id is there already is skipped; without one it gets a new id */
  id?: string | null;
  /** `pending` by default; `active` comes back as `pending` */
  state?: string | null;
  /** Goes before `retry_base_delay` */
  retry_base_delay_ms?: number | null;
  /** Goes before `retry_max_delay` */
  retry_max_delay_ms?: number | null;
  /** Attempts so far */
  attempt?: number | null;
  /** Kept as a link; the batch itself does not come back */
  batch_id?: string | null;
  /** Who ended it */
  worker_id?: string | null;
  /** Where that was */
  hostname?: string | null;
  /** Any JSON value */
  progress?: JsonText;
  /** Any JSON value */
  result?: JsonText;
  /** Now if absent */
  created_at?: string | null;
  /** When it was last begun */
  started_at?: string | null;
  /** When it was completed */
  completed_at?: string | null;
  /** When it last failed */
  failed_at?: string | null;
  /** `expire_after` from `created_at` if absent */
  expire_at?: string | null;
  /** Why it is held */
  hold_reason?: string | null;
  /** Failed attempts, oldest first */
  errors?: ErrorRecord[] | null;
  /** What a backup says beyond the job object */
  internal?: Internal | null;
}

/** A job in a list; `last_error` is the newest of its errors. */
export interface JobSummary {
  id: string;
  queue: string;
  state: string;
  payload: JsonText;
  priority: number;
  priority_name: string;
  attempt: number;
  max_retries: number;
  unique_key: string | null;
  batch_id: string | null;
  worker_id: string | null;
  tags: JsonText | null;
  parent_id: string | null;
  chain_id: string | null;
  chain_step: number | null;
  scheduled_at: string | null;
  created_at: string;
  started_at: string | null;
  completed_at: string | null;
  failed_at: string | null;
  expire_at: string | null;
  hold_reason: string | null;
  last_error: string | null;
}

/** A job, whole. */
export interface JobView {
  id: string;
  queue: string;
  state: string;
  payload: JsonText;
  priority: number;
  priority_name: string;
  attempt: number;
  max_retries: number;
  retry_backoff: string;
  retry_base_delay_ms: number;
  retry_max_delay_ms: number;
  retry_base_delay: string;
  retry_max_delay: string;
  max_lost_leases: number;
  unique_key: string | null;
  unique_period: number | null;
  batch_id: string | null;
  worker_id: string | null;
  hostname: string | null;
  worker: WorkerRef | null;
  tags: JsonText | null;
  progress: JsonText | null;
  checkpoint: JsonText | null;
  result: JsonText | null;
  created_at: string;
  scheduled_at: string | null;
  started_at: string | null;
  completed_at: string | null;
  failed_at: string | null;
  lease_expires_at: string | null;
  expire_at: string | null;
  expire_after: string | null;
  parent_id: string | null;
  chain_id: string | null;
  chain_step: number | null;
  chain_config: JsonText | null;
  depends_on: string[] | null;
  agent: JsonText | null;
  hold_reason: string | null;
  traceparent: string | null;
  errors: ErrorView[];
}

/** A node that wants to be a member. */
export interface JoinRequest {
  /** Required. Its name */
  node_id: string | null;
  /** Required. Its cluster address */
  addr: string | null;
  /** Of a sharded cluster */
  shard?: number | null;
  /** Of a sharded cluster; must be the cluster's own */
  shard_count?: number | null;
}

/** What the server was started with. Rates are calls a second of one caller; null: not limited. */
export interface LimitFigures {
  max_payload_bytes: number;
  reads_per_second: number | null;
  writes_per_second: number | null;
  max_streams: number;
  retention_ms: number;
}

/** Something to remember of a job's work. */
export interface LogLineRequest {
  /** Required. The text; it may be empty */
  message: string | null;
  /** When, as RFC 3339; now by default */
  at?: string | null;
  /** Up to 32 characters, kept in lower case; `info` by default */
  level?: string | null;
  /** Of which attempt; the job's current one by default */
  attempt?: number | null;
}

/** One line of a job's log. Lines are numbered from 1, without gaps. */
export interface LogLineView {
  n: number;
  at: string;
  level: string;
  message: string;
  attempt: number;
}

/** Lines of a job's log, oldest first. */
export interface LogPage {
  job_id: string;
  lines: LogLineView[];
  dropped: number;
  has_more: boolean;
  next_after: number | null;
}

/** About the document itself. */
export interface Meta {
  format?: number;
}

/** What happened in one minute, or from it on for one step: jobs enqueued, jobs completed, attempts failed. */
export interface MinuteView {
  minute: string;
  enqueued: number;
  completed: number;
  failed: number;
}

/** How far the copies of the store are behind it. */
export interface Mirror {
  lag?: number;
  dropped?: number;
  queued?: number;
  applied?: number;
  async?: boolean;
}

/** Where to, and what to begin anew. */
export interface MoveRequest {
  /** Required. The target */
  queue: string;
  /** Begin to count attempts anew */
  reset_attempt?: boolean | null;
  /** A new priority */
  priority?: string | number | null;
}

/** No worker has asked for its queue in the last 60 seconds. */
export interface NoWorkers {
  code: "no_workers";
  detail: string;
  last_seen: string | null;
}

/** One member. */
export interface NodeStatus {
  id: string;
  role: string;
  status: string;
  self: boolean;
  voter: boolean;
  version: string;
  started_at: string;
}

/** As many jobs of its queue run as may. */
export interface QueueAtConcurrency {
  code: "queue_at_concurrency";
  detail: string;
  active: number;
  max: number;
}

/** The pace of a queue: in each step of a span what was enqueued, completed and failed, oldest first. */
export interface QueueFigures {
  name: string;
  enqueued: number[];
  completed: number[];
  failed: number[];
  wait: Times | null;
  run: Times | null;
  unique_locks: number;
}

/** Its queue hands out nothing. */
export interface QueuePaused {
  code: "queue_paused";
  detail: string;
  since: string;
}

/** A queue's settings; what is not given stays as it is. */
export interface QueueRecord {
  /** Required */
  name: string;
  /** Whether it hands out no jobs */
  paused?: boolean | null;
  /** 0 or null lifts the limit */
  max_concurrency?: number | null;
  /** Claims in a window; null lifts the limit */
  rate_limit?: number | null;
  /** The window */
  rate_window_ms?: number | null;
  /** For a queue that is new here */
  created_at?: string | null;
}

/** A queue's settings and counts. */
export interface QueueView {
  name: string;
  paused: boolean;
  max_concurrency: number | null;
  rate_limit: number | null;
  rate_window_ms: number | null;
  created_at: string;
  pending: number;
  active: number;
  held: number;
  completed: number;
  dead: number;
  scheduled: number;
  retrying: number;
  cancelled: number;
  enqueued: number;
  failed: number;
  oldest_pending_at: string | null;
  throughput_per_min: number;
}

/** As many jobs of its queue have begun in the period as may. */
export interface RateLimited {
  code: "rate_limited";
  detail: string;
  rate: number;
  period: string;
  next_slot_at: string;
}

/** When such a copy was last made anew. */
export interface Rebuild {
  ran: boolean;
  last_started_at?: string | null;
  last_duration_ms?: number | null;
  last_success?: boolean | null;
}

/** The index was made anew. */
export interface RebuildAnswer {
  status: string;
  rebuilt: boolean;
  duration_ms: number;
}

/** One of the jobs that are handed back. */
export interface ReleaseItem {
  /** From fetch */
  lease_token?: string | null;
  /** A duration to wait before the job is ready again */
  delay?: string | null;
  /** What the next attempt is to go on from */
  checkpoint?: JsonText;
  /** For the timeline */
  reason?: string | null;
  /** Required */
  job_id: string;
}

/** The job is handed back. */
export interface ReleaseRequest {
  /** From fetch */
  lease_token?: string | null;
  /** A duration to wait before the job is ready again */
  delay?: string | null;
  /** What the next attempt is to go on from */
  checkpoint?: JsonText;
  /** For the timeline */
  reason?: string | null;
}

/** How many jobs came back, and how many were there already. */
export interface RestoreAnswer {
  status: string;
  restored_jobs: number;
  skipped_jobs: number;
  namespace: string;
}

/** A backup document. */
export interface RestoreRequest {
  /** Where to; a caller of another than the default one has only its own */
  namespace?: string | null;
  /** Settings of queues */
  queues?: QueueRecord[] | null;
  /** Must be empty: there are no budgets here */
  budgets?: JsonText[] | null;
  /** Schedules; one of the same name is changed */
  schedules?: ScheduleRecord[] | null;
  /** `format` must be 1 */
  meta?: Meta | null;
  /** Jobs with their past */
  jobs?: JobRecord[] | null;
}

/** An attempt has failed, and the time of the next one has not come. */
export interface RetryBackoff {
  code: "retry_backoff";
  detail: string;
  at: string;
  in: string;
}

/** A worker has it. */
export interface Running {
  code: "running";
  detail: string;
  worker_id: string | null;
  since: string;
}

/** Figures of the process. */
export interface Runtime {
  version: string;
  python: string;
  pid: number;
  started_at: string;
  uptime_seconds: number;
  cpu_count: number;
  cpu_seconds: number;
  threads: number;
  tasks: number;
  connections: number;
  requests_in_flight: number;
  operations_waiting: number;
  resident_bytes: number;
  heap_bytes: number;
  stack_bytes: number;
  gc: Garbage;
  store: StoreFigures;
  limits: LimitFigures;
}

/** Which webhook it was. */
export interface SavedAnswer {
  status: string;
  id: string;
}

/** What to change of a schedule; what is absent stays as it is. */
export interface ScheduleChanges {
  /** Required. Up to 255 bytes; no other schedule may have it */
  name?: string | null;
  /** Required. Where the jobs go */
  queue?: string | null;
  /** Required. Five fields: minute, hour, day of month, month, day of week; `* , - /` and names; or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`. If both days are restricted, either will do */
  cron?: string | null;
  /** By whose clocks: a name like `Europe/Paris`, `UTC` by default */
  timezone?: string | null;
  /** Of each job: any JSON value, `{}` by default */
  payload?: JsonText;
  /** Of each job, for an hour; while a job of the queue holds it, no other is added */
  unique_key?: string | null;
  /** Of each job: attempts in all, 3 by default */
  max_retries?: number | null;
  /** `false` makes it wait until it is resumed */
  enabled?: boolean | null;
  /** While the job of the last run has not ended: `allow` another (default) or `skip` the slot */
  overlap?: string | null;
  /** Slots that came while no server ran: `once` for all (default), `skip` them, or `all`, at most 100 */
  missed?: string | null;
}

/** A schedule as in `/schedules`, with its past. */
export interface ScheduleRecord {
  /** Required. Up to 255 bytes; no other schedule may have it */
  name: string | null;
  /** Required. Where the jobs go */
  queue: string | null;
  /** Required. Five fields: minute, hour, day of month, month, day of week; `* , - /` and names; or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`. If both days are restricted, either will do */
  cron: string | null;
  /** By whose clocks: a name like `Europe/Paris`, `UTC` by default */
  timezone?: string | null;
  /** Of each job: any JSON value, `{}` by default */
  payload?: JsonText;
  /** Of each job, for an hour; while a job of the queue holds it, no other is added */
  unique_key?: string | null;
  /** Of each job: attempts in all, 3 by default */
  max_retries?: number | null;
  /** `false` makes it wait until it is resumed */
  enabled?: boolean | null;
  /** While the job of the last run has not ended: `allow` another (default) or `skip` the slot */
  overlap?: string | null;
  /** Slots that came while no server ran: `once` for all (default), `skip` them, or `all`, at most 100 */
  missed?: string | null;
  /** Kept for a schedule that is new here */
  id?: string | null;
  /** When it last ran */
  last_run?: string | null;
  /** When it was made */
  created_at?: string | null;
}

/** A schedule to make. */
export interface ScheduleRequest {
  /** Required. Up to 255 bytes; no other schedule may have it */
  name: string | null;
  /** Required. Where the jobs go */
  queue: string | null;
  /** Required. Five fields: minute, hour, day of month, month, day of week; `* , - /` and names; or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`. If both days are restricted, either will do */
  cron: string | null;
  /** By whose clocks: a name like `Europe/Paris`, `UTC` by default */
  timezone?: string | null;
  /** Of each job: any JSON value, `{}` by default */
  payload?: JsonText;
  /** Of each job, for an hour; while a job of the queue holds it, no other is added */
  unique_key?: string | null;
  /** Of each job: attempts in all, 3 by default */
  max_retries?: number | null;
  /** `false` makes it wait until it is resumed */
  enabled?: boolean | null;
  /** While the job of the last run has not ended: `allow` another (default) or `skip` the slot */
  overlap?: string | null;
  /** Slots that came while no server ran: `once` for all (default), `skip` them, or `all`, at most 100 */
  missed?: string | null;
}

/** A schedule, and when it runs. */
export interface ScheduleView {
  id: string;
  name: string;
  queue: string;
  cron: string;
  timezone: string;
  payload: JsonText;
  unique_key: string | null;
  max_retries: number;
  enabled: boolean;
  overlap: string;
  missed: string;
  last_run: string | null;
  next_run: string | null;
  next_runs: string[];
  created_at: string;
}

/** Its time has not come. */
export interface Scheduled {
  code: "scheduled";
  detail: string;
  at: string;
  in: string;
}

/** A page of jobs, and how many match in all; `is_partial`: more than `total` do, but no more were counted. */
export interface SearchAnswer {
  jobs: JobSummary[];
  total: number;
  is_partial: boolean;
  cursor: string | null;
  has_more: boolean;
  duration_ms: number;
}

/** Which jobs, in which order, and which page. Filters are combined with AND. */
export interface SearchRequest {
  /** Jobs of this queue */
  queue?: string | null;
  /** Jobs in any of these states */
  state?: string[] | string | null;
  /** Jobs of this priority: `critical`, `high`, `normal` or 0, 1, 2 */
  priority?: string | number | null;
  /** Jobs that have all these tags */
  tags?: Record<string, string | number | boolean | null> | null;
  /** Text in the payload's compact JSON; ASCII letters of either case */
  payload_contains?: string | null;
  /** A condition on the payload like `.user.age >= 18` or `.to | length > 2` */
  payload_jq?: string | null;
  /** Created later than this: RFC 3339, or a day like `2026-02-10` */
  created_after?: string | null;
  /** Created earlier than this: RFC 3339, or a day like `2026-02-10` */
  created_before?: string | null;
  /** Due later than this: RFC 3339, or a day like `2026-02-10` */
  scheduled_after?: string | null;
  /** Due earlier than this: RFC 3339, or a day like `2026-02-10` */
  scheduled_before?: string | null;
  /** Last fetched later than this: RFC 3339, or a day like `2026-02-10` */
  started_after?: string | null;
  /** Last fetched earlier than this: RFC 3339, or a day like `2026-02-10` */
  started_before?: string | null;
  /** Completed later than this: RFC 3339, or a day like `2026-02-10` */
  completed_after?: string | null;
  /** Completed earlier than this: RFC 3339, or a day like `2026-02-10` */
  completed_before?: string | null;
  /** Expiring later than this: RFC 3339, or a day like `2026-02-10` */
  expire_after?: string | null;
  /** Expiring earlier than this: RFC 3339, or a day like `2026-02-10` */
  expire_before?: string | null;
  /** At least so many attempts */
  attempt_min?: number | null;
  /** At most so many attempts */
  attempt_max?: number | null;
  /** Jobs enqueued with this unique key */
  unique_key?: string | null;
  /** Jobs of this batch */
  batch_id?: string | null;
  /** Jobs that this worker has, or has finished */
  worker_id?: string | null;
  /** Jobs with this parent */
  parent_id?: string | null;
  /** Jobs of this chain */
  chain_id?: string | null;
  /** Jobs that wait, or have waited, for the job with this id */
  depends_on?: string | null;
  /** Whether any attempt has failed */
  has_errors?: boolean | null;
  /** Text in any of the job's errors; ASCII letters of either case */
  error_contains?: string | null;
  /** The first line of the job's last error, in which `*` stands for anything without a space; empty: it says nothing */
  error_matches?: string | null;
  /** Jobs whose id begins with this */
  job_id_prefix?: string | null;
  /** `created_at` (default), `priority`, `started_at`, `completed_at` or `attempt` */
  sort?: string | null;
  /** `desc` (default) or `asc`; ties by id in the same direction */
  order?: string | null;
  /** Jobs a page: 50 by default, 1000 at the most */
  limit?: number | null;
  /** The `cursor` of the page before, with the same sort and order */
  cursor?: string | null;
  /** Count no more matches than these, unless their number is known without counting; by default all */
  total_up_to?: number | null;
}

/** The last snapshot of the log; a single node makes none. */
export interface Snapshot {
  latest_index?: number;
}

/** How long something takes. Durations are text; with nothing counted there is only the count. */
export interface Spread {
  count: number;
  avg?: string | null;
  p50?: string | null;
  p90?: string | null;
  p99?: string | null;
  buckets?: Bucket[] | null;
}

/** A word on how it went. */
export interface Status {
  status: string;
}

/** The SQLite file. */
export interface StoreFigures {
  sqlite_version: string;
  page_size: number;
  pages: number;
  free_pages: number;
  file_bytes: number;
  wal_bytes: number;
}

/** So many claims in a period (`1m`) or in so many milliseconds. */
export interface ThrottleRequest {
  /** Required. Claims */
  rate: number | null;
  /** in a duration like `1m` */
  period?: string | null;
  /** or in so many milliseconds */
  window_ms?: number | null;
}

/** How long something took, in milliseconds, since the server started. */
export interface Times {
  count: number;
  p50_ms: number;
  p90_ms: number;
  p99_ms: number;
}

/** What came of a trial: `delivered` or `failed`, with what was answered. */
export interface TrialAnswer {
  status: string;
  status_code: number;
  error: string | null;
  answer: string | null;
  duration_ms: number;
}

/** The same for one queue, model or provider; those who named none are under an empty key. */
export interface UsageGroup {
  input_tokens: number;
  output_tokens: number;
  cache_creation_tokens: number;
  cache_read_tokens: number;
  cost_usd: number;
  count: number;
  key: string;
}

/** What an attempt has cost. */
export interface UsageReport {
  input_tokens?: number | null;
  output_tokens?: number | null;
  cache_creation_tokens?: number | null;
  cache_read_tokens?: number | null;
  model?: string | null;
  provider?: string | null;
  cost_usd?: number | null;
}

/** What was reported in a while, in all and by group, dearest first. */
export interface UsageSummary {
  period: string;
  from: string;
  to: string;
  totals: UsageTotals;
  groups?: UsageGroup[] | null;
}

/** Tokens and costs of so many reports. */
export interface UsageTotals {
  input_tokens: number;
  output_tokens: number;
  cache_creation_tokens: number;
  cache_read_tokens: number;
  cost_usd: number;
  count: number;
}

/** Other jobs must complete first. */
export interface WaitingForDependencies {
  code: "waiting_for_dependencies";
  detail: string;
  job_ids: string[];
  dependencies: DependencyState[];
}

/** Standing credit: the server pushes jobs as they become claimable, never more than this. */
export interface WantRequest {
  /** Required. Names of queues */
  queues: string[] | null;
  /** Names the worker in `/workers` and on the job */
  worker_id?: string | null;
  /** Where it runs */
  hostname?: string | null;
  /** Seconds until the job goes to somebody else unless heartbeats renew it, 60 by default */
  lease_duration?: number | null;
  /** How many jobs may be pushed from now on, 1 by default, 512 at the most; each ack, fail or release of a pushed job gives one back; 0 = no more */
  count?: number | null;
}

/** A webhook to make, or to change if the id is known; what is absent then stays as it is. */
export interface WebhookRequest {
  /** Of the webhook to change; a new one may bring its own, or gets one */
  id?: string | null;
  /** Required for a new one. `http://` or `https://`; redirects are not followed */
  url?: string | null;
  /** Types of events, in any case; all (`*`) by default */
  events?: string[] | null;
  /** Only events of these queues; all by default */
  queues?: string[] | null;
  /** Signs every delivery; never shown again. An empty one takes it away */
  secret?: string | null;
  /** true by default; nothing is delivered or gathered while it is false */
  enabled?: boolean | null;
  /** Attempts in all, 1 to 100; 3 by default, also for 0 */
  retry_limit?: number | null;
}

/** A webhook; whether it has a secret is said, the secret is not. */
export interface WebhookView {
  id: string;
  url: string;
  events: string[];
  queues: string[];
  enabled: boolean;
  disabled_reason: string | null;
  retry_limit: number;
  secret_set: boolean;
  namespace: string;
  waiting: number;
  dropped: number;
  behind: number;
  failures: number;
  failing_since: string | null;
  last_status_code: number | null;
  last_error: string | null;
  last_delivery_at: string | null;
  created_at: string;
}

/** Why a job is not running. It is runnable if a claim would hand it out once nobody is ahead of it. */
export interface WhyView {
  job_id: string;
  state: string;
  runnable: boolean;
  reasons: (Finished | Running | Held | Scheduled | RetryBackoff | WaitingForDependencies | QueuePaused | QueueAtConcurrency | RateLimited | NoWorkers | BehindOthers)[];
  position?: number | null;
  ahead?: number | null;
}

/** Which worker it was. */
export interface WorkerAnswer {
  status: string;
  id: string;
}

/** The worker that has, or had, a job. */
export interface WorkerRef {
  id: string;
  hostname: string | null;
}

/** What a worker says of itself; what is absent stays as it is. */
export interface WorkerRequest {
  /** Where it runs; up to 512 characters */
  hostname?: string | null;
  /** The queues it takes jobs from; every fetch says so too */
  queues?: string[] | null;
  /** How many jobs it runs at a time, 1 to 1,000,000 */
  slots?: number | null;
  /** Whether it takes no more jobs and finishes those it has. It ends by `false`, and by a fetch that comes more than a minute later */
  draining?: boolean | null;
}

/** A worker that was heard of. */
export interface WorkerView {
  id: string;
  hostname: string | null;
  queues: string[];
  last_heartbeat: string;
  started_at: string;
  active_jobs: number;
  slots: number | null;
  draining: boolean;
}
