import { describe, expect, it } from "vitest";
import { allSlots, connected, slotsText, slotsWords, stateOf, unserved } from "./workers";

const now = Date.parse("2026-02-10T12:00:00Z");
const live = { queues: ["a"], last_heartbeat: "2026-02-10T11:59:30.000Z", draining: false };
const gone = { queues: ["b"], last_heartbeat: "2026-02-10T11:57:59.000Z", draining: false };
const draining = { ...live, queues: ["d"], draining: true };
const queue = (name: string, pending: number, paused = false) => ({ name, pending, paused });

describe("workers", () => {
  it("are silent after two minutes, whatever they have said before", () => {
    expect(stateOf(live, now)).toBe("live");
    expect(stateOf(draining, now)).toBe("draining");
    expect(stateOf(gone, now)).toBe("silent");
    expect(stateOf({ ...gone, draining: true }, now)).toBe("silent");
  });

  it("are connected until they are silent", () => {
    expect(connected([live, gone, draining], now)).toEqual([live, draining]);
  });

  it("who are silent or drain serve no queue", () => {
    const queues = [
      queue("a", 5),
      queue("b", 1),
      queue("c", 3),
      queue("d", 2),
      queue("empty", 0),
      queue("paused", 9, true),
    ];
    expect(unserved(queues, [live, gone, draining], now).map(({ name }) => name)).toEqual(["c", "d", "b"]);
  });

  it("show their jobs and their slots", () => {
    expect(slotsText({ active_jobs: 3, slots: 10 })).toBe("3/10");
    expect(slotsText({ active_jobs: 3, slots: null })).toBe("3");
    expect(slotsWords({ active_jobs: 1, slots: 10 })).toBe("1 job, runs 10 at a time");
    expect(slotsWords({ active_jobs: 2, slots: null })).toBe("2 jobs");
  });

  it("have slots together only if all have said how many", () => {
    expect(allSlots([{ slots: 10 }, { slots: 5 }])).toBe(15);
    expect(allSlots([{ slots: 10 }, { slots: null }])).toBeNull();
    expect(allSlots([])).toBeNull();
  });
});
