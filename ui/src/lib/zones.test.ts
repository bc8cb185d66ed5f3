import { describe, expect, it } from "vitest";
import { formatSlot, formatSlotUtc } from "./zones";

const at = Date.parse("2026-07-15T22:30:00Z");

describe("a slot", () => {
  it("is shown by the clocks of its zone", () => {
    expect(formatSlot(at, "UTC")).toBe("Wed 15 Jul, 22:30 UTC");
    expect(formatSlot(at, "Asia/Tokyo")).toMatch(/^Thu 16 Jul, 07:30 /);
  });

  it("is shown in UTC with the day only where that differs", () => {
    expect(formatSlotUtc(at, "Asia/Tokyo")).toBe("Wed 15 Jul, 22:30 UTC");
    expect(formatSlotUtc(at, "Europe/London")).toBe("22:30 UTC");
  });

  it("of a zone that the browser does not know is shown in UTC", () => {
    expect(formatSlot(at, "Mars/Base")).toBe("Wed 15 Jul, 22:30 UTC");
  });
});
