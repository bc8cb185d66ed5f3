import { expect, test } from "vitest";
import type { Happening } from "./happenings";
import { drawToScale, queueTime, type Span, spansOf, totalsOf } from "./timeline";

const T = Date.parse("2026-02-11T10:00:00Z");
const iso = (ms: number) => new Date(T + ms).toISOString();
const event = (ms: number, type: string, more: Partial<Happening> = {}): Happening => ({
  seq: ms,
  type,
  at: T + ms,
  queue: "q",
  ...more,
});
const job = (more: Partial<Parameters<typeof spansOf>[0]> = {}) => ({
  state: "active",
  attempt: 1,
  created_at: iso(0),
  scheduled_at: null,
  started_at: null,
  completed_at: null,
  failed_at: null,
  ...more,
});
const short = (spans: Span[]) =>
  spans.map(
    (span) =>
      `${span.kind} ${span.from - T}-${span.to - T}${span.isOpen ? " open" : ""}${span.isAhead ? " ahead" : ""}`,
  );

test("a job that fails once waits, runs, backs off, waits in line and runs again", () => {
  const events = [
    event(0, "enqueued"),
    event(124, "started", { attempt: 1, worker: "a" }),
    event(4301, "failed", { status: "retrying" }),
    event(14301, "promoted"),
    event(14401, "started", { attempt: 2, worker: "b" }),
    event(15100, "progress"),
  ];
  const spans = spansOf(job({ attempt: 2 }), events, T + 20_000);
  expect(short(spans)).toEqual([
    "waiting 0-124",
    "running 124-4301",
    "backoff 4301-14301",
    "waiting 14301-14401",
    "running 14401-20000 open",
  ]);
  expect(spans[4]).toMatchObject({ attempt: 2, worker: "b" });
  expect(queueTime(spans)).toBe(100);
  expect(totalsOf(spans).get("running")).toBe(4177 + 5599);
});

test("what is planned lies ahead: a backoff reaches to the time of the next attempt", () => {
  const events = [event(0, "enqueued"), event(0, "started"), event(50, "failed", { status: "retrying" })];
  const spans = spansOf(job({ state: "retrying", scheduled_at: iso(10_050) }), events, T + 3_000);
  expect(short(spans)).toEqual(["running 0-50", "backoff 50-3000 open", "backoff 3000-10050 ahead"]);
  expect(totalsOf(spans).get("backoff")).toBe(2950);
});

test("a job for later is scheduled until it is due, and then in line", () => {
  const events = [event(0, "enqueued"), event(60_000, "promoted"), event(61_000, "started")];
  expect(short(spansOf(job(), events, T + 62_000))).toEqual([
    "scheduled 0-60000",
    "waiting 60000-61000",
    "running 61000-62000 open",
  ]);
  expect(
    short(spansOf(job({ state: "scheduled", scheduled_at: iso(60_000) }), events.slice(0, 1), T + 5_000)),
  ).toEqual(["scheduled 0-5000 open", "scheduled 5000-60000 ahead"]);
});

test("nothing is drawn behind the end, but the time between an end and a retry is", () => {
  const events = [
    event(0, "enqueued"),
    event(10, "started"),
    event(20, "failed", { status: "dead" }),
    event(20, "dead"),
    event(500, "retried"),
    event(510, "started"),
    event(530, "completed"),
  ];
  expect(short(spansOf(job({ state: "completed" }), events, T + 9_999))).toEqual([
    "waiting 0-10",
    "running 10-20",
    "ended 20-500",
    "waiting 500-510",
    "running 510-530",
  ]);
});

test("a run that took no time is still a run, and being moved changes nothing", () => {
  const events = [event(0, "enqueued"), event(5, "moved"), event(7, "started"), event(7, "completed")];
  expect(short(spansOf(job({ state: "completed" }), events, T + 100))).toEqual([
    "waiting 0-7",
    "running 7-7",
  ]);
});

test("a held job is held until somebody approves it", () => {
  const events = [event(0, "enqueued"), event(10, "held"), event(90, "approved")];
  expect(short(spansOf(job({ state: "pending" }), events, T + 100))).toEqual([
    "waiting 0-10",
    "held 10-90",
    "waiting 90-100 open",
  ]);
});

test("without events the job's own times tell what they can", () => {
  const done = job({ state: "completed", started_at: iso(5), completed_at: iso(9) });
  expect(short(spansOf(done, [], T + 100))).toEqual(["waiting 0-5", "running 5-9"]);
  expect(short(spansOf({ ...done, attempt: 3 }, [], T + 100))).toEqual(["unknown 0-5", "running 5-9"]);
  expect(short(spansOf(job({ state: "pending" }), [], T + 100))).toEqual(["waiting 0-100 open"]);
  const rest = [event(50, "started"), event(60, "completed")];
  expect(short(spansOf(done, rest, T + 100))).toEqual(["unknown 0-50", "running 50-60"]);
});

test("pieces are as wide as they were long, and ticks stand where the time is", () => {
  const spans: Span[] = [
    { kind: "waiting", from: T, to: T + 1000 },
    { kind: "running", from: T + 1000, to: T + 4000 },
  ];
  const { pieces, ticks } = drawToScale(spans, 4);
  expect(pieces.map(({ left, width }) => [left, width])).toEqual([
    [0, 0.25],
    [0.25, 0.75],
  ]);
  expect(ticks).toEqual([
    { left: 0, label: "0" },
    { left: 0.25, label: "1s" },
    { left: 0.5, label: "2s" },
    { left: 0.75, label: "3s" },
  ]);
});

test("days between an end and a retry are cut, and there is no tick in them", () => {
  const day = 86_400_000;
  const spans: Span[] = [
    { kind: "running", from: T, to: T + 500 },
    { kind: "ended", from: T + 500, to: T + 2 * day },
    { kind: "running", from: T + 2 * day, to: T + 2 * day + 500 },
  ];
  const { pieces, ticks } = drawToScale(spans, 6);
  expect(pieces[1]).toMatchObject({ isCut: true });
  expect(pieces[1]!.width).toBeCloseTo(80 / 1080);
  expect(pieces[2]!.left + pieces[2]!.width).toBeCloseTo(1);
  expect(ticks.length).toBeLessThanOrEqual(8);
  expect(ticks.every(({ left }) => left <= pieces[1]!.left || left >= pieces[2]!.left)).toBe(true);
});

test("a life of no length has places all the same", () => {
  const { pieces, ticks } = drawToScale([{ kind: "running", from: T, to: T }]);
  expect(pieces).toMatchObject([{ left: 0, width: 1 }]);
  expect(ticks).toEqual([]);
  expect(drawToScale([]).pieces).toEqual([]);
});
