/** Every call that a page makes. One line each; what goes in and out is in records.ts. */

import { call, send } from "./api";
import type { JsonText } from "./json";
import { Exact, parseAnswer } from "./json";
import type * as r from "./records";

const v1 = (path: string) => `api/v1/${path}`;
const at = (part: string) => encodeURIComponent(part);

type Signal = AbortSignal | undefined;

/** The last so many minutes, in steps of so many, of all queues or of one. */
export interface SpanQuery {
  minutes: number;
  step: number;
  queue?: string;
}

/** A job to add, its JSON as text. */
export interface NewJob
  extends Omit<r.EnqueueRequest, "payload" | "checkpoint" | "tags" | "chain" | "agent"> {
  payload?: JsonText;
  checkpoint?: JsonText;
  tags?: JsonText;
  chain?: JsonText;
  agent?: JsonText;
}

export interface BulkTarget {
  job_ids?: string[];
  filter?: r.SearchRequest;
}

export type BulkAction =
  | "retry"
  | "delete"
  | "cancel"
  | "move"
  | "requeue"
  | "change_priority"
  | "hold"
  | "approve"
  | "reject";

const JOBS: ReadonlySet<string> = new Set(["jobs"]);

const exact = (text: JsonText | undefined) => (text === undefined ? undefined : new Exact(text));

export const api = {
  // Looking on
  info: (signal?: Signal) => call<r.Info>("GET", v1("info"), { signal }),
  cluster: (signal?: Signal) => call<r.ClusterStatus>("GET", v1("cluster/status"), { signal }),
  runtime: (signal?: Signal) => call<r.Runtime>("GET", v1("debug/runtime"), { signal }),
  throughput: (query: SpanQuery, signal?: Signal) =>
    call<r.MinuteView[]>("GET", v1("metrics/throughput"), { query: { ...query }, signal }),
  figures: (query: SpanQuery, signal?: Signal) =>
    call<r.QueueFigures[]>("GET", v1("metrics/queues"), { query: { ...query }, signal }),
  failures: (query: { minutes: number; queue?: string }, signal?: Signal) =>
    call<r.FailuresView>("GET", v1("metrics/failures"), { query, signal }),
  workers: (signal?: Signal) => call<r.WorkerView[]>("GET", v1("workers"), { signal }),
  batch: (id: string, signal?: Signal) => call<r.JobBatchView>("GET", v1(`batches/${at(id)}`), { signal }),
  events: (
    query: { after_seq?: number; limit?: number; queues?: string; job_ids?: string; types?: string },
    signal?: Signal,
  ) => call<r.EventsAnswer>("GET", v1("cluster/events"), { query, signal }),

  // Queues
  queues: (signal?: Signal) => call<r.QueueView[]>("GET", v1("queues"), { signal }),
  queue: (name: string, signal?: Signal) => call<r.QueueView>("GET", v1(`queues/${at(name)}`), { signal }),
  pauseQueue: (name: string) => call<r.Status>("POST", v1(`queues/${at(name)}/pause`)),
  resumeQueue: (name: string) => call<r.Status>("POST", v1(`queues/${at(name)}/resume`)),
  drainQueue: (name: string) => call<r.Status>("POST", v1(`queues/${at(name)}/drain`)),
  clearQueue: (name: string) => call<r.ClearAnswer>("POST", v1(`queues/${at(name)}/clear`)),
  deleteQueue: (name: string) =>
    call<r.Status>("DELETE", v1(`queues/${at(name)}`), { query: { confirm: true } }),
  setConcurrency: (name: string, max: number | null) =>
    call<r.Status>("POST", v1(`queues/${at(name)}/concurrency`), { body: { max } }),
  setThrottle: (name: string, rate: number, period: string) =>
    call<r.Status>("POST", v1(`queues/${at(name)}/throttle`), { body: { rate, period } }),
  removeThrottle: (name: string) => call<r.Status>("DELETE", v1(`queues/${at(name)}/throttle`)),

  // Jobs
  enqueue: ({ payload, checkpoint, tags, chain, agent, ...job }: NewJob) =>
    call<r.EnqueueAnswer>("POST", v1("enqueue"), {
      body: {
        ...job,
        payload: exact(payload),
        checkpoint: exact(checkpoint),
        tags: exact(tags),
        chain: exact(chain),
        agent: exact(agent),
      },
    }),
  search: (body: r.SearchRequest, signal?: Signal) =>
    call<r.SearchAnswer>("POST", v1("jobs/search"), { body, signal }),
  /** A page whose jobs stay one text, as the server wrote it. */
  searchLines: async (body: r.SearchRequest, signal?: Signal) => {
    const response = await send("POST", v1("jobs/search"), { body, signal });
    return parseAnswer(await response.text(), JOBS) as Omit<r.SearchAnswer, "jobs"> & { jobs: JsonText };
  },
  deadGroups: (query: { queue?: string }, signal?: Signal) =>
    call<r.DeadGroupsView>("GET", v1("dead/groups"), { query, signal }),
  fulltext: (q: string, limit: number, signal?: Signal) =>
    call<r.FullTextAnswer>("GET", v1("search/fulltext"), { query: { q, limit }, signal, plain: true }),
  job: (id: string, signal?: Signal) => call<r.JobView>("GET", v1(`jobs/${at(id)}`), { signal }),
  jobs: (job_ids: string[], signal?: Signal) =>
    call<r.BulkGetAnswer>("POST", v1("jobs/bulk-get"), { body: { job_ids }, signal }),
  why: (id: string, signal?: Signal) => call<r.WhyView>("GET", v1(`jobs/${at(id)}/why`), { signal }),
  retryJob: (id: string) => call<r.Status>("POST", v1(`jobs/${at(id)}/retry`)),
  cancelJob: (id: string) => call<r.Status>("POST", v1(`jobs/${at(id)}/cancel`)),
  moveJob: (id: string, body: r.MoveRequest) => call<r.Status>("POST", v1(`jobs/${at(id)}/move`), { body }),
  holdJob: (id: string, reason?: string) =>
    call<r.Status>("POST", v1(`jobs/${at(id)}/hold`), { body: { reason } }),
  approveJob: (id: string) => call<r.Status>("POST", v1(`jobs/${at(id)}/approve`)),
  rejectJob: (id: string) => call<r.Status>("POST", v1(`jobs/${at(id)}/reject`)),
  deleteJob: (id: string) => call<r.Status>("DELETE", v1(`jobs/${at(id)}`)),

  // Many jobs
  bulk: (
    target: BulkTarget,
    action: BulkAction,
    more: { move_to_queue?: string; priority?: string; async?: boolean } = {},
  ) => call<r.BulkAnswer | r.BulkBegun>("POST", v1("jobs/bulk"), { body: { ...target, action, ...more } }),
  bulkStatus: (id: string, signal?: Signal) => call<r.BulkView>("GET", v1(`bulk/${at(id)}`), { signal }),
  cancelBulk: (id: string) => call<r.BulkView>("POST", v1(`bulk/${at(id)}/cancel`)),

  // Schedules
  schedules: (signal?: Signal) => call<r.ScheduleView[]>("GET", v1("schedules"), { signal }),
  createSchedule: ({ payload, ...rest }: Omit<r.ScheduleRequest, "payload"> & { payload?: JsonText }) =>
    call<r.ScheduleView>("POST", v1("schedules"), { body: { ...rest, payload: exact(payload) } }),
  changeSchedule: (
    id: string,
    { payload, ...rest }: Omit<Partial<r.ScheduleRequest>, "payload"> & { payload?: JsonText },
  ) => call<r.ScheduleView>("PUT", v1(`schedules/${at(id)}`), { body: { ...rest, payload: exact(payload) } }),
  deleteSchedule: (id: string) => call<r.Status>("DELETE", v1(`schedules/${at(id)}`)),
  pauseSchedule: (id: string) => call<r.ScheduleView>("POST", v1(`schedules/${at(id)}/pause`)),
  resumeSchedule: (id: string) => call<r.ScheduleView>("POST", v1(`schedules/${at(id)}/resume`)),
  nextRuns: (query: { cron: string; timezone: string }, signal?: Signal) =>
    call<r.CronView>("GET", v1("cron/next"), { query, signal }),
  runSchedule: (id: string) => call<r.EnqueueAnswer>("POST", v1(`schedules/${at(id)}/run`)),

  // Webhooks
  webhooks: (signal?: Signal) => call<r.WebhookView[]>("GET", v1("webhooks"), { signal }),
  saveWebhook: (body: r.WebhookRequest) => call<r.SavedAnswer>("POST", v1("webhooks"), { body }),
  deleteWebhook: (id: string) => call<r.SavedAnswer>("DELETE", v1(`webhooks/${at(id)}`)),
  deliveries: (id: string, signal?: Signal) =>
    call<r.DeliveryView[]>("GET", v1(`webhooks/${at(id)}/deliveries`), { signal, plain: true }),
  testWebhook: (id: string) => call<r.TrialAnswer>("POST", v1(`webhooks/${at(id)}/test`), { plain: true }),

  // Streams: the caller reads the body
  changeStream: (every: string, signal: AbortSignal) =>
    send("GET", v1("changes"), { query: { every }, signal }),
  logStream: (id: string, after: number, signal: AbortSignal) =>
    send("GET", v1(`jobs/${at(id)}/logs/stream`), { query: { after }, signal }),
  backup: (signal?: Signal) => send("GET", v1("admin/backup"), { signal }),
};
