import { describe, expect, it } from "vitest";
import {
  DAY,
  formatAbsolute,
  formatClock,
  formatDuration,
  formatRelative,
  HOUR,
  MINUTE,
  parseDuration,
  SECOND,
} from "./time";

it.each([
  [0, "0ms"],
  [0.4, "<1ms"],
  [850, "850ms"],
  [4_250, "4.2s"],
  [9_999, "9.9s"],
  [12_900, "12s"],
  [MINUTE, "1m"],
  [12 * MINUTE + 5 * SECOND, "12m 5s"],
  [4 * HOUR + 22 * MINUTE + 59 * SECOND, "4h 22m"],
  [3 * DAY + 4 * HOUR, "3d 4h"],
  [-1500, "-1.5s"],
  [Number.NaN, "–"],
])("%d ms are %s", (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});

describe("a time relative to now", () => {
  const now = Date.UTC(2026, 1, 11, 10);
  it.each([
    [now - 500, "just now"],
    [now + 500, "now"],
    [now - 42 * SECOND, "42s ago"],
    [now - 119 * SECOND, "1m ago"],
    [now + 3 * HOUR + 1, "in 3h"],
    [now - 8 * DAY, "8d ago"],
  ])("%d is %s", (at, text) => {
    expect(formatRelative(at, now)).toBe(text);
  });
});

it("says a time in full in any zone", () => {
  const at = Date.UTC(2026, 1, 11, 10, 0, 0, 124);
  expect(formatAbsolute(at, "UTC")).toBe("2026-02-11 10:00:00.124 UTC");
  expect(formatAbsolute(at, "Asia/Kolkata")).toContain("2026-02-11 15:30:00.124");
  expect(formatClock(at, { ms: true, zone: "UTC" })).toBe("10:00:00.124");
  expect(formatClock(Date.UTC(2026, 1, 11), { zone: "UTC" })).toBe("00:00:00");
});

it.each([
  ["1h30m", 90 * MINUTE],
  ["82.972us", 0.082972],
  ["5s", 5_000],
  ["1.5h", 90 * MINUTE],
  ["2d", 2 * DAY],
  ["", null],
  ["5", null],
  ["5 s", null],
  ["5x", null],
])("reads the duration %j", (text, ms) => {
  const read = parseDuration(text);
  ms === null ? expect(read).toBeNull() : expect(read).toBeCloseTo(ms, 9);
});
