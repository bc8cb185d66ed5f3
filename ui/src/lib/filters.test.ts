import { describe, expect, it } from "vitest";
import { describeFilter, filterFault, isNarrow } from "./filter-words";
import {
  ALL,
  type JobFilter,
  readFilter,
  readTag,
  tagFilters,
  toInstant,
  toRequest,
  writeFilter,
} from "./filters";
import { formatParams, parseParams } from "./params";

const FULL: JobFilter = {
  queue: "a/b & c",
  states: ["active", "dead"],
  priority: "high",
  tags: ["tenant:acme", "n:=5"],
  payload: "user@example.com",
  jq: '.template == "welcome"',
  error: "SMTP 100%",
  errorMatches: "SMTP * after * s",
  id: "job_01",
  worker: "w-1",
  batch: "batch_1",
  chain: "chn_1",
  parent: "job_0",
  dependsOn: "job_9",
  unique: "k",
  errors: "yes",
  createdAfter: "2026-02-10T00:00",
  createdBefore: "2026-02-11T00:00",
  startedAfter: "2026-02-10T01:00",
  startedBefore: "2026-02-10T02:00",
  completedAfter: "2026-02-10T03:00",
  completedBefore: "2026-02-10T04:00",
  scheduledAfter: "1h",
  scheduledBefore: "2026-02-10T05:00",
  expiresAfter: "2026-02-10T06:00",
  expiresBefore: "2026-02-10T07:00",
  attemptMin: "1",
  attemptMax: "3",
  sort: "attempt",
  order: "asc",
};

describe("a filter in the address", () => {
  it("comes back as it was, with everything in it", () => {
    expect(readFilter(parseParams(formatParams(writeFilter(FULL))))).toEqual(FULL);
  });

  it("of everything says nothing", () => {
    expect(formatParams(writeFilter(ALL))).toBe("");
    expect(readFilter({})).toEqual(ALL);
  });

  it("is readable", () => {
    expect(formatParams(writeFilter({ ...ALL, states: ["dead"], tags: ["tenant:acme"] }))).toBe(
      "?state=dead&tag=tenant%3Aacme",
    );
  });

  it("leaves out what it does not know", () => {
    expect(
      readFilter({ state: ["dead", "gone"], sort: "colour", order: "up", errors: "maybe", x: "1" }),
    ).toEqual({
      ...ALL,
      states: ["dead"],
    });
  });

  it("takes the first of a field that is given twice", () => {
    expect(readFilter({ queue: ["a", "b"] }).queue).toBe("a");
  });
});

describe("a filter as a request", () => {
  it("has only what is asked for", () => {
    expect(toRequest(ALL)).toEqual({});
    expect(toRequest({ ...ALL, queue: " a ", states: ["dead"], sort: "priority" })).toEqual({
      queue: "a",
      state: ["dead"],
      sort: "priority",
    });
  });

  it("has tags with the kind of value that is meant", () => {
    expect(toRequest({ ...ALL, tags: ["tenant:acme", "n:=5", "on:=true", "text:5"] }).tags).toEqual({
      tenant: "acme",
      n: 5,
      on: true,
      text: "5",
    });
  });

  it("has times as instants and counts as numbers", () => {
    const request = toRequest({
      ...ALL,
      createdAfter: "2026-02-10T00:00:00Z",
      attemptMin: "2",
      attemptMax: "x",
      errors: "no",
    });
    expect(request).toEqual({ created_after: "2026-02-10T00:00:00.000Z", attempt_min: 2, has_errors: false });
  });

  it("has times that go along with the clock, to the minute", () => {
    const now = Date.parse("2026-02-10T12:34:56Z");
    expect(toInstant("1h30m", now)).toBe("2026-02-10T11:04:00.000Z");
    expect(toInstant("7d", now)).toBe("2026-02-03T12:34:00.000Z");
  });

  it("leaves a time that is none to the server, which says so", () => {
    expect(toInstant("yesterday")).toBe("yesterday");
  });
});

it.each([
  ["a:b", ["a", "b"]],
  ["url:http://x", ["url", "http://x"]],
  ["n:=null", ["n", null]],
  ["n:={", ["n", "={"]],
  ["nothing", null],
  [":x", null],
])("reads the tag %s", (text, tag) => {
  expect(readTag(text)).toEqual(tag);
});

it("a job's tags are filters that find it", () => {
  const filters = tagFilters('{"tenant":"acme","n":5,"on":true}');
  expect(filters).toEqual(["tenant:acme", "n:=5", "on:=true"]);
  expect(toRequest({ ...ALL, tags: filters }).tags).toEqual({ tenant: "acme", n: 5, on: true });
  expect(tagFilters(null)).toEqual([]);
});

describe("a filter in words", () => {
  it("says each part, and how to be without it", () => {
    const told = describeFilter({ ...ALL, error: "SMTP", states: ["dead", "held"], tags: ["a:1", "b:2"] });
    expect(told.map(({ field, label, without }) => [field, label, without])).toEqual([
      ["error", "error contains SMTP", { error: "" }],
      ["states", "state is dead or held", { states: [] }],
      ["tags", "tag a:1", { tags: ["b:2"] }],
      ["tags", "tag b:2", { tags: ["a:1"] }],
    ]);
  });

  it("says times as one reads them", () => {
    const told = describeFilter({
      ...ALL,
      createdAfter: "1h",
      createdBefore: "2026-02-10",
      startedAfter: "x",
    });
    expect(told.map(({ label }) => label)).toEqual([
      "created after 1h ago",
      "created before 2026-02-10 00:00",
      "started after x",
    ]);
  });

  it("does not count the queue where the page is about one", () => {
    expect(isNarrow({ ...ALL, queue: "a" })).toBe(true);
    expect(isNarrow({ ...ALL, queue: "a" }, true)).toBe(false);
  });
});

it.each([
  [
    "payload_jq: at character 4: expected the end",
    { field: "jq", message: "at character 4: expected the end" },
  ],
  ["created_after: invalid time 'x'", { field: "createdAfter", message: "invalid time 'x'" }],
  ["state: 'x' is not one of pending", { field: "states", message: "'x' is not one of pending" }],
  ["the search took too long", null],
  ["colour: no", null],
])("knows which field is meant by %s", (message, fault) => {
  expect(filterFault(message)).toEqual(fault);
});
