import { describe, expect, it } from "vitest";
import { isSilent, unserved } from "./workers";

const now = Date.parse("2026-02-10T12:00:00Z");
const live = { queues: ["a"], last_heartbeat: "2026-02-10T11:59:30.000Z" };
const gone = { queues: ["b"], last_heartbeat: "2026-02-10T11:57:59.000Z" };
const queue = (name: string, pending: number, paused = false) => ({ name, pending, paused });

describe("workers", () => {
  it("are silent after two minutes", () => {
    expect(isSilent(live, now)).toBe(false);
    expect(isSilent(gone, now)).toBe(true);
  });

  it("who are silent serve no queue", () => {
    const queues = [queue("a", 5), queue("b", 1), queue("c", 3), queue("empty", 0), queue("paused", 9, true)];
    expect(unserved(queues, [live, gone], now).map(({ name }) => name)).toEqual(["c", "b"]);
  });
});
