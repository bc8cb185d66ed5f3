import { expect, test } from "vitest";
import { attemptsOf } from "./attempts";
import type { Happening } from "./happenings";
import type { ErrorView } from "./records";

const T = Date.parse("2026-02-11T10:00:00Z");
const event = (ms: number, type: string, more: Partial<Happening> = {}): Happening => ({
  seq: ms,
  type,
  at: T + ms,
  queue: "q",
  ...more,
});
const error = (ms: number, attempt: number, text: string, backtrace: string | null = null): ErrorView => {
  const at = new Date(T + ms).toISOString();
  return { id: ms, job_id: "j", attempt, error: text, backtrace, created_at: at, at };
};
const job = (more: Partial<Parameters<typeof attemptsOf>[0]> = {}) => ({
  state: "active",
  attempt: 1,
  started_at: null,
  completed_at: null,
  worker_id: null,
  errors: [] as ErrorView[],
  ...more,
});

test("an attempt has its worker, its time and the error it ended with", () => {
  const events = [
    event(0, "enqueued"),
    event(10, "started", { attempt: 1, worker: "a" }),
    event(40, "failed", { error: "boom", status: "retrying" }),
    event(90, "promoted"),
    event(100, "started", { attempt: 2, worker: "b" }),
  ];
  const attempts = attemptsOf(job({ errors: [error(40, 1, "boom", "Traceback")] }), events);
  expect(attempts).toMatchObject([
    {
      number: 1,
      startedAt: T + 10,
      endedAt: T + 40,
      worker: "a",
      outcome: "failed",
      words: "boom",
      backtrace: "Traceback",
    },
    { number: 2, startedAt: T + 100, endedAt: null, worker: "b", outcome: "running", words: null },
  ]);
});

test("a lost lease is told from a failure, and attempts are counted anew after a retry", () => {
  const events = [
    event(0, "started", { attempt: 1 }),
    event(5, "reclaimed"),
    event(6, "started", { attempt: 1 }),
    event(9, "failed", { error: "x", status: "dead" }),
    event(9, "dead"),
    event(20, "retried"),
    event(21, "started", { attempt: 1 }),
    event(30, "completed"),
  ];
  const attempts = attemptsOf(job({ state: "completed", errors: [error(9, 1, "x")] }), events);
  expect(attempts.map(({ outcome, round }) => [outcome, round])).toEqual([
    ["lost", 1],
    ["failed", 1],
    ["completed", 2],
  ]);
});

test("errors whose events are gone are attempts without a beginning", () => {
  const attempts = attemptsOf(job({ state: "dead", errors: [error(9, 1, "x"), error(30, 2, "y")] }), []);
  expect(attempts).toMatchObject([
    { number: 1, startedAt: null, endedAt: T + 9, outcome: "failed", words: "x" },
    { number: 2, startedAt: null, endedAt: T + 30, outcome: "failed", words: "y" },
  ]);
});

test("without events the job tells of its last attempt", () => {
  const started_at = new Date(T + 10).toISOString();
  const running = attemptsOf(job({ attempt: 2, started_at, worker_id: "w" }), []);
  expect(running).toMatchObject([{ number: 2, startedAt: T + 10, outcome: "running", worker: "w" }]);
  const dead = attemptsOf(job({ state: "dead", attempt: 2, started_at, errors: [error(40, 2, "z")] }), []);
  expect(dead).toMatchObject([
    { number: 2, startedAt: T + 10, endedAt: T + 40, outcome: "failed", words: "z" },
  ]);
});

test("a job that was cancelled, held or handed back while it ran says so", () => {
  for (const [type, outcome] of [
    ["cancelled", "cancelled"],
    ["held", "held"],
    ["released", "released"],
  ]) {
    const attempts = attemptsOf(job({ state: "cancelled" }), [
      event(0, "started"),
      event(5, type!, { reason: "why" }),
    ]);
    expect(attempts).toMatchObject([{ outcome, words: "why", endedAt: T + 5 }]);
  }
});
