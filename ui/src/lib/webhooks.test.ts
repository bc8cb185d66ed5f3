import { describe, expect, it } from "vitest";
import { healthOf, newSecret, urlFault } from "./webhooks";

describe("a webhook", () => {
  const quiet = { enabled: true, failing_since: null, last_delivery_at: null };

  it("says how it is doing", () => {
    expect(healthOf(quiet)).toBe("idle");
    expect(healthOf({ ...quiet, last_delivery_at: "2026-02-10T12:00:00Z" })).toBe("good");
    expect(healthOf({ ...quiet, failing_since: "2026-02-10T12:00:00Z" })).toBe("failing");
    expect(healthOf({ ...quiet, enabled: false, failing_since: "2026-02-10T12:00:00Z" })).toBe("disabled");
  });

  it.each(["", "example.com", "ftp://example.com", "http://", "javascript:alert(1)"])(
    "has no address like %s",
    (text) => expect(urlFault(text)).not.toBeNull(),
  );

  it.each(["https://example.com/a?b=c", "http://127.0.0.1:9000/", " https://example.com "])(
    "may have the address %s",
    (text) => expect(urlFault(text)).toBeNull(),
  );

  it("gets a secret that nobody guesses", () => {
    expect(newSecret()).toMatch(/^whsec_[0-9a-f]{64}$/);
    expect(newSecret()).not.toBe(newSecret());
  });
});
