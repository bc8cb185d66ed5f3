import { describe, expect, it } from "vitest";
import { estimateDrain, recentRate } from "./drain";
import {
  formatBytes,
  formatCount,
  formatRate,
  formatShare,
  formatShort,
  formatTotal,
  plural,
} from "./numbers";
import { errorShare, problemOf, worstFirst } from "./problems";
import type { QueueFigures, QueueView } from "./records";

const NOW = Date.UTC(2026, 1, 11, 10);

function queue(changes: Partial<QueueView> = {}): QueueView {
  return {
    name: "q",
    paused: false,
    max_concurrency: null,
    rate_limit: null,
    rate_window_ms: null,
    created_at: "2026-02-11T00:00:00Z",
    pending: 0,
    active: 0,
    held: 0,
    completed: 0,
    dead: 0,
    scheduled: 0,
    retrying: 0,
    cancelled: 0,
    enqueued: 0,
    failed: 0,
    oldest_pending_at: null,
    throughput_per_min: 0,
    ...changes,
  };
}

function figures(completed: number[], failed: number[]): QueueFigures {
  return { name: "q", enqueued: [], completed, failed, wait: null, run: null, unique_locks: 0 };
}

describe("when a queue will be empty", () => {
  const pace = { waiting: 100, arrivals: 10, departures: 30, paused: false };
  it("follows from what comes and what goes", () => {
    expect(estimateDrain(pace)).toEqual({ kind: "in", ms: 5 * 60_000 });
  });
  it("is never, if more comes than goes", () => {
    expect(estimateDrain({ ...pace, arrivals: 50 })).toEqual({ kind: "growing", perMinute: 20 });
  });
  it("is not in sight, if about as many come as go", () => {
    expect(estimateDrain({ ...pace, arrivals: 30 })).toEqual({ kind: "steady" });
    expect(estimateDrain({ ...pace, arrivals: 29 })).toEqual({ kind: "steady" });
    expect(estimateDrain({ ...pace, arrivals: 31 })).toEqual({ kind: "steady" });
  });
  it("is not known while nothing goes or it is paused", () => {
    expect(estimateDrain({ ...pace, departures: 0 })).toEqual({ kind: "idle" });
    expect(estimateDrain({ ...pace, paused: true })).toEqual({ kind: "paused" });
  });
  it("is now, if nothing waits", () => {
    expect(estimateDrain({ ...pace, waiting: 0, paused: true })).toEqual({ kind: "empty" });
  });
  it("is reckoned from steps that are over", () => {
    expect(recentRate([9, 9, 10, 20, 30, 40, 50, 999], 5)).toBe(30 / 5);
    expect(recentRate([7], 1)).toBe(0);
  });
});

describe("a queue's problems", () => {
  const long = new Date(NOW - 600_000).toISOString();
  it("are none while all is well", () => {
    expect(problemOf(queue({ completed: 5 }), figures([50], [1]), 1, NOW)).toEqual({
      weight: 0,
      reasons: [],
      isStuck: false,
      isFailing: false,
      isLate: false,
    });
  });
  it("are many failures, but not one of two", () => {
    expect(problemOf(queue(), figures([6], [4]), 1, NOW).reasons).toEqual(["40% of attempts fail"]);
    expect(problemOf(queue(), figures([1], [1]), 1, NOW).weight).toBe(0);
  });
  it("are jobs that nobody runs", () => {
    const waits = queue({ pending: 3, oldest_pending_at: long });
    expect(problemOf(waits, undefined, 1, NOW)).toMatchObject({
      reasons: ["jobs wait and none is run"],
      isStuck: true,
    });
    expect(problemOf({ ...waits, active: 1 }, undefined, 1, NOW)).toMatchObject({
      reasons: ["the oldest has waited 10m"],
      isStuck: false,
      isLate: true,
    });
  });
  it("are jobs behind a pause, which is less bad: somebody meant it", () => {
    const paused = problemOf(queue({ paused: true, pending: 3, oldest_pending_at: long }), undefined, 1, NOW);
    expect(paused).toEqual({
      weight: 1,
      reasons: ["paused with 3 waiting"],
      isStuck: false,
      isFailing: false,
      isLate: false,
    });
  });
  it("put the worst first", () => {
    const row = (name: string, weight: number, pending = 0) => ({
      queue: queue({ name, pending }),
      problem: { weight, reasons: [], isStuck: false, isFailing: false, isLate: false },
    });
    const names = worstFirst([row("b", 0), row("a", 0), row("busy", 0, 9), row("bad", 3)]).map(
      (one) => one.queue.name,
    );
    expect(names).toEqual(["bad", "busy", "a", "b"]);
  });
  it("count failures among attempts that ended", () => {
    expect(errorShare(figures([3, 0], [0, 1]))).toBe(0.25);
    expect(errorShare(undefined)).toBe(0);
  });
});

it("says numbers as people read them", () => {
  expect(formatCount(1203)).toBe("1,203");
  expect([0, 999, 9_999, 12_449, 892_000, 1_999_999, 3e9].map(formatShort)).toEqual([
    "0",
    "999",
    "9,999",
    "12.4k",
    "892k",
    "1.9M",
    "3B",
  ]);
  expect([0, 0.34, 18, 124_000].map(formatRate)).toEqual(["0/min", "0.3/min", "18/min", "124k/min"]);
  expect([0, 0.0001, 0.042, 0.5, 1].map(formatShare)).toEqual(["0%", "<0.1%", "4.2%", "50%", "100%"]);
  expect([plural(1, "job"), plural(2000, "job")]).toEqual(["1 job", "2,000 jobs"]);
  expect([formatBytes(999), formatBytes(4_320_000)]).toEqual(["999 B", "4.3 MB"]);
});

it("a total that was not counted to the end says so", () => {
  expect(formatTotal(10_000, true)).toBe("10,000+");
  expect(formatTotal(10_000, false)).toBe("10,000");
});
