/**
 * One connection for the whole app. It tells what changed on the server, and queries that show it ask again.
 * It reconnects with backoff, says when what is shown may be stale, and rests while nobody looks.
 */

import type { Query, QueryClient } from "@tanstack/react-query";
import { ApiError } from "./api";
import { auth } from "./auth";
import { backoff } from "./backoff";
import { api } from "./endpoints";
import type { ChangeView } from "./records";
import { framesOf } from "./sse";
import { createStore } from "./store";

export type LiveState =
  | { kind: "connecting" }
  | { kind: "live" }
  | { kind: "paused" }
  | { kind: "stale"; since: number; retryAt: number; reason: string };

export type Change = ChangeView;
/** Whether a change concerns a query. Said in a query's `meta.live`. */
export type Concerns = (change: Change) => boolean;

declare module "@tanstack/react-query" {
  interface Register {
    queryMeta: { live?: Concerns };
  }
}

export const live = createStore<LiveState>({ kind: "connecting" });

const EVERY = "1s";
/** The server shows a sign of life every 15 s; one that is silent for longer is gone. */
const SILENCE = 20_000;
/** A window that nobody sees gives its connection back after so long: browsers allow but a few for each server. */
const HIDDEN_FOR = 5_000;
/** A query that took long is not asked again before so many times as long has passed. */
const REST = 5;
/** How soon to look again whether an answer has come. */
const UNDER_WAY = 250;

/** Concerns of the usual kinds. */
export const concerns = {
  any: (() => true) as Concerns,
  queue:
    (name: string): Concerns =>
    (change) =>
      change.queues.includes(name),
  job:
    (id: string): Concerns =>
    (change) =>
      change.is_partial || change.job_ids.includes(id),
  events:
    (...types: string[]): Concerns =>
    (change) =>
      types.some((type) => type in change.events),
};

/** Keep the app's queries up to date until the returned function is called. */
export function goLive(client: QueryClient): () => void {
  let abort = new AbortController();
  let hiddenTimer: ReturnType<typeof setTimeout> | undefined;
  let retryTimer: ReturnType<typeof setTimeout> | undefined;
  let attempt = 0;
  let lastGood = Date.now();
  const costs = watchCosts(client);

  async function connect(): Promise<void> {
    clearTimeout(retryTimer);
    abort.abort();
    abort = new AbortController();
    const mine = abort;
    if (live.get().kind !== "stale") live.set({ kind: "connecting" });
    let silence: ReturnType<typeof setTimeout> | undefined;
    const listen = () => {
      clearTimeout(silence);
      silence = setTimeout(() => mine.abort(new Error("silent")), SILENCE);
    };
    try {
      listen();
      const response = await api.changeStream(EVERY, mine.signal);
      for await (const frame of framesOf(response)) {
        listen();
        lastGood = Date.now();
        if (frame.event === "position") {
          attempt = 0;
          live.set({ kind: "live" });
          void client.invalidateQueries({ refetchType: "active" }, { cancelRefetch: false });
        } else if (frame.event === "change") {
          tell(client, costs, JSON.parse(frame.data) as Change);
        }
      }
      if (mine === abort) wait("the server has closed the connection");
    } catch (error) {
      if (mine !== abort) return;
      if (error instanceof ApiError && error.status === 401) {
        live.set({ kind: "paused" });
        return;
      }
      wait(error instanceof ApiError ? error.message : "the connection was lost");
    } finally {
      clearTimeout(silence);
    }
  }

  function wait(reason: string): void {
    const delay = backoff(attempt, Math.random());
    attempt += 1;
    live.set({ kind: "stale", since: lastGood, retryAt: Date.now() + delay, reason });
    retryTimer = setTimeout(connect, delay);
  }

  function pause(): void {
    clearTimeout(retryTimer);
    abort.abort();
    abort = new AbortController();
    live.set({ kind: "paused" });
  }

  function look(): void {
    clearTimeout(hiddenTimer);
    if (document.hidden) hiddenTimer = setTimeout(pause, HIDDEN_FOR);
    else if (live.get().kind === "paused") void connect();
  }

  document.addEventListener("visibilitychange", look);
  // A page that browsers keep for the way back would keep its connection too, and others would wait for it.
  window.addEventListener("pagehide", pause);
  window.addEventListener("pageshow", look);
  window.addEventListener("online", retryNow);
  const unwatch = auth.subscribe(() => {
    if (auth.get().refused === null) void connect();
  });
  reconnect = () => void connect();
  void connect();
  return () => {
    document.removeEventListener("visibilitychange", look);
    window.removeEventListener("pagehide", pause);
    window.removeEventListener("pageshow", look);
    window.removeEventListener("online", retryNow);
    unwatch();
    costs.stop();
    clearTimeout(hiddenTimer);
    clearTimeout(retryTimer);
    abort.abort();
  };
}

let reconnect = () => {};

/** Try to connect now instead of waiting. */
export function retryNow(): void {
  if (live.get().kind === "stale") reconnect();
}

interface Asking {
  /** Ask a query again: at once, or as soon as it has rested. */
  ask(query: Query): void;
  stop(): void;
}

/** Remembers how long each query took, so that dear ones are asked less often. What was told is never forgotten. */
function watchCosts(client: QueryClient): Asking {
  const begun = new WeakMap<Query, number>();
  const taken = new WeakMap<Query, number>();
  const owed = new Map<Query, ReturnType<typeof setTimeout>>();
  const unwatch = client.getQueryCache().subscribe((event) => {
    if (event.type !== "updated") return;
    if (event.action.type === "fetch") begun.set(event.query, Date.now());
    if (event.action.type === "success") {
      taken.set(event.query, Date.now() - (begun.get(event.query) ?? Date.now()));
    }
  });
  function ask(query: Query): void {
    if (owed.has(query)) return;
    // An answer that is under way may be older than the change.
    const isAsking = query.state.fetchStatus === "fetching";
    const rest = query.state.dataUpdatedAt + REST * (taken.get(query) ?? 0) - Date.now();
    if (!isAsking && rest <= 0) {
      const filters = { queryKey: query.queryKey, exact: true, refetchType: "active" } as const;
      void client.invalidateQueries(filters, { cancelRefetch: false });
      return;
    }
    const wait = isAsking ? Math.max(rest, UNDER_WAY) : rest;
    owed.set(
      query,
      setTimeout(() => {
        owed.delete(query);
        ask(query);
      }, wait),
    );
  }
  return {
    ask,
    stop() {
      unwatch();
      for (const timer of owed.values()) clearTimeout(timer);
    },
  };
}

function tell(client: QueryClient, costs: Asking, change: Change): void {
  for (const query of client.getQueryCache().getAll()) {
    if (query.meta?.live?.(change)) costs.ask(query);
  }
}
