import { expect, test } from "vitest";
import { fold, type Happening, readEvent, readOn, tell } from "./happenings";
import { loudLines, loudness, withMore } from "./logs";
import { readProgress } from "./progress";
import type { EventView, LogLineView } from "./records";

const event = (seq: number, type: string, data?: string): EventView => ({
  seq,
  type,
  at_ns: 1_794_745_871_602_000_000,
  job_id: "j",
  queue: "q",
  data,
});
const words = (type: string, data?: string) => {
  const { verb, rest } = tell(readEvent(event(1, type, data)));
  return `${verb} ${rest}`.trim();
};

test("events are told in words", () => {
  expect(words("started", '{"attempt":1,"worker_id":"w-1"}')).toBe("started by w-1");
  expect(words("started", '{"attempt":2,"worker_id":"w-1"}')).toBe("started by w-1 (attempt 2)");
  expect(words("failed", '{"error":"SMTP timeout","status":"dead","next_attempt_at":null}')).toBe(
    "failed SMTP timeout",
  );
  expect(
    words("failed", '{"error":"x","status":"retrying","next_attempt_at":"2026-11-15T12:31:21.602Z"}'),
  ).toBe("failed x · next attempt in 10s");
  expect(words("moved", '{"from":"a","to":"b"}')).toBe("moved from a to b");
  expect(words("released", '{"reason":"shutdown","delay_ms":5000}')).toBe(
    "released handed back by its worker for 5s: shutdown",
  );
  expect(words("something_new")).toBe("something_new");
});

test("an event's time is in milliseconds, and its progress stays as it was written", () => {
  const told = readEvent(event(1, "progress", '{"current":9007199254740993}'));
  expect(told.at).toBe(1_794_745_871_602);
  expect(told.progress).toBe('{"current":9007199254740993}');
});

test("of a long run of progress only the last report is shown, with how many went before", () => {
  const run = (count: number, from: number): Happening[] =>
    Array.from({ length: count }, (_, at) => readEvent(event(from + at, "progress", "1")));
  const entries = fold([
    readEvent(event(1, "started")),
    ...run(3, 2),
    readEvent(event(9, "failed")),
    ...run(4, 10),
  ]);
  expect(entries.map((entry) => [entry.event.seq, entry.folded])).toEqual([
    [1, 0],
    [2, 0],
    [3, 0],
    [4, 0],
    [9, 0],
    [13, 3],
  ]);
  expect(fold([])).toEqual([]);
});

test("events are read on from the last known one, page by page", async () => {
  const store = Array.from({ length: 2500 }, (_, at) => event(at + 1, "progress"));
  const asked: number[] = [];
  const read = async (after: number, limit: number) => {
    asked.push(after);
    return store.filter(({ seq }) => seq > after).slice(0, limit);
  };
  expect(await readOn(store.slice(0, 10), read)).toHaveLength(2500);
  expect(asked).toEqual([10, 1010, 2010]);
  expect(await readOn(store, read)).toHaveLength(2500);
});

test("progress is understood in the forms people use", () => {
  expect(readProgress('{"current":450,"total":1000,"message":"Sending batch"}')).toEqual({
    share: 0.45,
    figure: "450/1000",
    words: "Sending batch",
  });
  expect(readProgress("0.4")).toMatchObject({ share: 0.4, figure: "40%" });
  expect(readProgress("45")).toMatchObject({ share: 0.45, figure: "45%" });
  expect(readProgress('{"percent":12.34}')).toMatchObject({ share: 0.1234, figure: "12.3%" });
  expect(readProgress('{"fraction":0.5,"stage":"b"}')).toMatchObject({ share: 0.5, words: "b" });
  expect(readProgress('{"done":3}')).toMatchObject({ share: null, figure: "3" });
  expect(readProgress('{"current":9007199254740993,"total":9007199254740995}').figure).toBe(
    "9007199254740993/9007199254740995",
  );
});

test("progress in any other form does no harm", () => {
  expect(readProgress('"halfway"')).toEqual({ share: null, figure: null, words: "halfway" });
  expect(readProgress("[1,2]")).toEqual({ share: null, figure: null, words: null });
  expect(readProgress('{"current":5,"total":0}').share).toBeNull();
  expect(readProgress('{"current":7,"total":5}').share).toBe(1);
  expect(readProgress("-3").share).toBeNull();
});

test("log lines are shown by how loud they are; a level nobody knows is as loud as info", () => {
  const line = (n: number, level: string): LogLineView => ({ n, level, at: "", message: "", attempt: 1 });
  const lines = ["debug", "info", "notice", "warning", "fatal"].map((level, at) => line(at + 1, level));
  expect(loudLines(lines, "all")).toHaveLength(5);
  expect(loudLines(lines, "info").map(({ level }) => level)).toEqual(["info", "notice", "warning", "fatal"]);
  expect(loudLines(lines, "error").map(({ level }) => level)).toEqual(["fatal"]);
  expect(loudness("critical")).toBe(3);
  expect(withMore(lines, [line(5, "info"), line(6, "info")], 3).map(({ n }) => n)).toEqual([4, 5, 6]);
});
