/**
 * What pages ask the server, under which key, and which changes make them ask again.
 * A page uses `useQuery(queries.queue(name))`; what events do not tell (workers, schedules, settings) is asked every few seconds.
 */

import { keepPreviousData, QueryClient, queryOptions } from "@tanstack/react-query";
import { ApiError } from "./api";
import { api, type SpanQuery } from "./endpoints";
import { STATES, type State } from "./filters";
import { readOn } from "./happenings";
import { concerns } from "./live";
import type { EventView, SearchRequest } from "./records";

const SOMETIMES = 5_000;
const SELDOM = 30_000;

/** The cache of all answers. */
export const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 2_000,
      refetchOnWindowFocus: true,
      retry: (count, error) => error instanceof ApiError && error.isPassing && count < 2,
      retryDelay: (attempt) => Math.min(4_000, 500 * 2 ** attempt),
    },
  },
});

export const queries = {
  info: () =>
    queryOptions({ queryKey: ["info"], queryFn: ({ signal }) => api.info(signal), staleTime: SELDOM }),
  cluster: () =>
    queryOptions({
      queryKey: ["cluster"],
      queryFn: ({ signal }) => api.cluster(signal),
      refetchInterval: SOMETIMES,
    }),
  runtime: () =>
    queryOptions({
      queryKey: ["runtime"],
      queryFn: ({ signal }) => api.runtime(signal),
      refetchInterval: SOMETIMES,
    }),
  throughput: (span: SpanQuery) =>
    queryOptions({
      queryKey: ["throughput", span],
      queryFn: ({ signal }) => api.throughput(span, signal),
      placeholderData: keepPreviousData,
      refetchInterval: SELDOM,
      meta: { live: span.queue === undefined ? concerns.any : concerns.queue(span.queue) },
    }),
  figures: (span: SpanQuery) =>
    queryOptions({
      queryKey: ["figures", span],
      queryFn: ({ signal }) => api.figures(span, signal),
      placeholderData: keepPreviousData,
      refetchInterval: SELDOM,
      meta: { live: span.queue === undefined ? concerns.any : concerns.queue(span.queue) },
    }),
  failures: (query: { minutes: number; queue?: string }) =>
    queryOptions({
      queryKey: ["failures", query],
      queryFn: ({ signal }) => api.failures(query, signal),
      placeholderData: keepPreviousData,
      refetchInterval: SELDOM,
      meta: { live: concerns.events("failed", "dead", "retried", "deleted", "expired") },
    }),
  queues: () =>
    queryOptions({
      queryKey: ["queues"],
      queryFn: ({ signal }) => api.queues(signal),
      refetchInterval: SELDOM,
      meta: { live: concerns.any },
    }),
  queue: (name: string) =>
    queryOptions({
      queryKey: ["queue", name],
      queryFn: ({ signal }) => api.queue(name, signal),
      refetchInterval: SELDOM,
      meta: { live: concerns.queue(name) },
    }),
  workers: () =>
    queryOptions({
      queryKey: ["workers"],
      queryFn: ({ signal }) => api.workers(signal),
      refetchInterval: SOMETIMES,
      meta: { live: concerns.events("started", "completed", "failed") },
    }),
  search: (request: SearchRequest) =>
    queryOptions({
      queryKey: ["search", request],
      queryFn: ({ signal }) => api.search(request, signal),
      placeholderData: keepPreviousData,
      meta: { live: request.queue ? concerns.queue(request.queue) : concerns.any },
    }),
  stateCounts: (request: SearchRequest) =>
    queryOptions({
      queryKey: ["state-counts", request],
      queryFn: async ({ signal }) => {
        const answers = await Promise.all(
          STATES.map((state) => api.search({ ...request, state: [state], limit: 1 }, signal)),
        );
        return Object.fromEntries(STATES.map((state, at) => [state, answers[at]!.total])) as Record<
          State,
          number
        >;
      },
      meta: { live: request.queue ? concerns.queue(request.queue) : concerns.any },
    }),
  deadGroups: (queue: string) =>
    queryOptions({
      queryKey: ["dead-groups", queue],
      queryFn: ({ signal }) => api.deadGroups({ queue: queue || undefined }, signal),
      placeholderData: keepPreviousData,
      refetchInterval: SELDOM,
      meta: {
        live: concerns.events("dead", "expired", "rejected", "retried", "deleted", "moved", "restored"),
      },
    }),
  holds: (ids: string[]) =>
    queryOptions({
      queryKey: ["holds", ids],
      queryFn: ({ signal }) => api.events({ job_ids: ids.join(","), types: "held", limit: 1000 }, signal),
      placeholderData: keepPreviousData,
      enabled: ids.length > 0,
    }),
  fulltext: (q: string, limit = 8) =>
    queryOptions({
      queryKey: ["fulltext", q, limit],
      queryFn: ({ signal }) => api.fulltext(q, limit, signal),
      placeholderData: keepPreviousData,
      enabled: q.trim() !== "",
    }),
  job: (id: string) =>
    queryOptions({
      queryKey: ["job", id],
      queryFn: ({ signal }) => api.job(id, signal),
      refetchInterval: SELDOM,
      meta: { live: concerns.job(id) },
    }),
  why: (id: string) =>
    queryOptions({
      queryKey: ["why", id],
      queryFn: ({ signal }) => api.why(id, signal),
      refetchInterval: SOMETIMES,
      meta: { live: concerns.job(id) },
    }),
  jobEvents: (id: string) =>
    queryOptions({
      queryKey: ["job-events", id],
      queryFn: ({ client, queryKey, signal }) =>
        readOn(client.getQueryData<EventView[]>(queryKey) ?? [], async (after_seq, limit) => {
          const { events } = await api.events({ job_ids: id, after_seq, limit }, signal);
          return events;
        }),
      meta: { live: concerns.job(id) },
    }),
  jobs: (ids: string[]) =>
    queryOptions({
      queryKey: ["jobs", ids],
      queryFn: ({ signal }) => api.jobs(ids, signal),
      placeholderData: keepPreviousData,
      enabled: ids.length > 0,
      meta: { live: (change) => ids.some((id) => concerns.job(id)(change)) },
    }),
  batch: (id: string) =>
    queryOptions({
      queryKey: ["batch", id],
      queryFn: ({ signal }) => api.batch(id, signal),
      meta: { live: concerns.any },
    }),
  bulk: (id: string) =>
    queryOptions({
      queryKey: ["bulk", id],
      queryFn: ({ signal }) => api.bulkStatus(id, signal),
      refetchInterval: (query) => (query.state.data?.finished_at ? false : 500),
    }),
  schedules: () =>
    queryOptions({
      queryKey: ["schedules"],
      queryFn: ({ signal }) => api.schedules(signal),
      refetchInterval: SOMETIMES,
    }),
  nextRuns: (cron: string, timezone: string) =>
    queryOptions({
      queryKey: ["next-runs", cron, timezone],
      queryFn: ({ signal }) => api.nextRuns({ cron, timezone }, signal),
      enabled: cron !== "",
    }),
  webhooks: () =>
    queryOptions({
      queryKey: ["webhooks"],
      queryFn: ({ signal }) => api.webhooks(signal),
      refetchInterval: SOMETIMES,
    }),
  deliveries: (id: string) =>
    queryOptions({
      queryKey: ["deliveries", id],
      queryFn: ({ signal }) => api.deliveries(id, signal),
      refetchInterval: SOMETIMES,
      meta: { live: concerns.any },
    }),
};

/** After an action: what is on screen is asked again. */
export function refresh(...roots: string[]): Promise<void> {
  return client.invalidateQueries({
    predicate: (query) => roots.length === 0 || roots.includes(String(query.queryKey[0])),
  });
}
