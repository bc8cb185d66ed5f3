import { expect, it } from "vitest";
import { backoff } from "./backoff";
import { Chords } from "./chords";
import { FrameCutter } from "./sse";

it("reads one key, and two after each other", () => {
  const chords = new Chords(new Set(["/", "g q", "g o", "q"]));
  expect(chords.press("/", 0)).toBe("/");
  expect(chords.press("g", 100)).toBeNull();
  expect(chords.press("q", 200)).toBe("g q");
  expect(chords.press("q", 300)).toBe("q");
  expect(chords.press("g", 400)).toBeNull();
  expect(chords.press("q", 5000)).toBe("q");
  expect(chords.press("x", 6000)).toBeNull();
});

it("cuts a stream into frames wherever its pieces end", () => {
  const text =
    'id: 7\nevent: change\ndata: {"seq":7}\n\n:keepalive\n\nevent: position\ndata: 1\ndata: 2\n\nid: 8\nda';
  const cutter = new FrameCutter();
  const frames = [...text].flatMap((sign) => cutter.cut(sign));
  expect(frames).toEqual([
    { id: "7", event: "change", data: '{"seq":7}' },
    { id: null, event: "", data: "" },
    { id: null, event: "position", data: "1\n2" },
  ]);
});

it("waits longer from attempt to attempt, up to a limit, and never all at once", () => {
  expect([0, 1, 2, 20].map((attempt) => backoff(attempt, 0.5))).toEqual([500, 1000, 2000, 15_000]);
  expect(backoff(0, 0)).toBeLessThan(backoff(0, 1));
});
