import { describe, expect, it } from "vitest";
import { FILTER_FIELDS, fieldOf, offersFor, splitField } from "./filter-fields";
import { ALL, type JobFilter, readFilter, writeFilter } from "./filters";

const KNOWN = {
  queue: ["emails.send", "emails.retry", "invoices"],
  tags: ["tenant:acme", "n:=5"],
  worker: ["w-1"],
};

function offered(text: string, field: string | null = null, filter: JobFilter = ALL) {
  return offersFor(text, field === null ? null : fieldOf(field)!, filter, KNOWN);
}

describe("what is offered", () => {
  it("is every field, while nothing is typed", () => {
    expect(offered("").map(({ field }) => field)).toEqual(FILTER_FIELDS);
  });

  it("covers everything a filter can hold", () => {
    const fields = new Set<string>(FILTER_FIELDS.map(({ id }) => id));
    const held = Object.keys(ALL).filter((name) => !["sort", "order"].includes(name));
    expect(held.filter((name) => !fields.has(name))).toEqual([]);
  });

  it("is all that a text may mean, the closest first", () => {
    expect(offered("dead")[0]!.change).toEqual({ states: ["dead"] });
    expect(offered("emails").map(({ label }) => label)).toEqual([
      "queue is emails.send",
      "queue is emails.retry",
      "payload contains emails",
      "error contains emails",
    ]);
    expect(offered("emails.send")[0]!.change).toEqual({ queue: "emails.send" });
    expect(offered("w-1")[0]!.change).toEqual({ worker: "w-1" });
    expect(offered("tenant:x")[0]!.change).toEqual({ tags: ["tenant:x"] });
    expect(offered("job_01")[0]!.change).toEqual({ id: "job_01" });
    expect(offered(".a == 1")[0]!.change).toEqual({ jq: ".a == 1" });
  });

  it("adds states and tags to those that are there", () => {
    const filter: JobFilter = { ...ALL, states: ["dead"], tags: ["a:b"] };
    expect(offered("pend", "states", filter)[0]!.change).toEqual({ states: ["pending", "dead"] });
    expect(offered("acme", "tags", filter)[0]!.change).toEqual({ tags: ["a:b", "tenant:acme"] });
  });

  it("completes what is begun and takes what is whole", () => {
    expect(offered("inv", "queue").map(({ change }) => change)).toEqual([
      { queue: "invoices" },
      { queue: "inv" },
    ]);
    expect(offered("new", "queue")[0]!.change).toEqual({ queue: "new" });
    expect(offered("invoices", "queue")[0]!.change).toEqual({ queue: "invoices" });
  });

  it("knows times, and says what one looks like", () => {
    expect(offered("", "createdAfter").map(({ change }) => change?.createdAfter)).toContain("24h");
    expect(offered("90m", "createdAfter")[0]!.change).toEqual({ createdAfter: "90m" });
    expect(offered("2026-02-10", "createdAfter")[0]!.change).toEqual({ createdAfter: "2026-02-10" });
    expect(offered("soon", "createdAfter")[0]!.fault).toContain("Such as");
  });

  it("tells yes from no", () => {
    expect(offered("no", "errors").map(({ change }) => change)).toEqual([{ errors: "no" }]);
    expect(offered("yes", "errors").map(({ change }) => change)).toEqual([{ errors: "yes" }]);
    expect(offered("", "errors")).toHaveLength(2);
  });

  it("refuses what can never be right", () => {
    expect(offered("acme x", "tags")[0]!.fault).toBe("Written as name:value");
    expect(offered("two", "attemptMin")[0]!.fault).toBe("A whole number");
    expect(offered("zzz", "states")).toEqual([]);
  });

  it("stands in the address as it was chosen", () => {
    for (const field of FILTER_FIELDS) {
      const change = offered(field.example, field.id)[0]!.change!;
      expect(readFilter(writeFilter({ ...ALL, ...change })), field.id).toEqual({ ...ALL, ...change });
    }
  });
});

it.each([
  ["queue:em", ["queue", "em"]],
  ['jq: .a == "b:c"', ["jq", '.a == "b:c"']],
  ["state:", ["states", ""]],
  ["tenant:acme", null],
  ["queue", null],
])("reads the field in %s", (text, found) => {
  const split = splitField(text);
  expect(split && [split[0].id, split[1]]).toEqual(found);
});
