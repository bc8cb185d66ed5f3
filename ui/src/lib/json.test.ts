import { describe, expect, it } from "vitest";
import {
  Exact,
  encodeBody,
  faultOf,
  parseAnswer,
  parseJson,
  prettyJson,
  printJson,
  splitArray,
  tagPairs,
} from "./json";

describe("a JSON text", () => {
  it.each([
    "12345678901234567890123",
    "1.10",
    "-0",
    "1e400",
    "0.1000000000000000055511151231257827",
    "true",
    "null",
    '"a\\nb"',
    "[]",
    "{}",
    '{"b":1,"a":2,"b":3}',
    '[1,[2,{"a":[]}]]',
  ])("comes back as it was: %s", (text) => {
    expect(printJson(parseJson(text))).toBe(text);
  });

  it("is put in order without a digit being changed", () => {
    expect(prettyJson('{"id":9007199254740993,"list":[1.0,{"x":null}]}')).toBe(
      '{\n  "id": 9007199254740993,\n  "list": [\n    1.0,\n    {\n      "x": null\n    }\n  ]\n}',
    );
  });

  it("may hold any character", () => {
    expect(parseJson('"\\u00e9\\ud83d\\ude00\\/\\"</script>"')).toEqual({
      kind: "string",
      value: 'é😀/"</script>',
    });
  });

  it("may have white space anywhere", () => {
    expect(printJson(parseJson(' {\n"a" :\t[ 1 , 2 ]\r\n} '))).toBe('{"a":[1,2]}');
  });
});

describe("a mistake", () => {
  it.each([
    ["", 1, 1, "ends too early"],
    ['{"a":1,}', 1, 8, "expected a name"],
    ['{"a" 1}', 1, 6, 'expected ":"'],
    ["[1 2]", 1, 4, 'expected "," or "]"'],
    ['{\n  "a": nope\n}', 2, 8, "expected a value"],
    ['"a', 1, 3, "does not end"],
    ['"a\nb"', 1, 3, "line break"],
    ['"\\x"', 1, 2, "unknown escape"],
    ['"\\u12"', 1, 2, "hexadecimal"],
    ["01", 1, 2, "behind the end"],
    ["1 2", 1, 3, "behind the end"],
    ["{'a':1}", 1, 2, "expected a name"],
  ])("in %j is found at line %i, column %i", (text, line, column, reason) => {
    const fault = faultOf(text);
    expect(fault).not.toBeNull();
    expect([fault?.line, fault?.column]).toEqual([line, column]);
    expect(fault?.message).toContain(reason);
  });

  it("of nesting without end is refused, not run into", () => {
    expect(faultOf("[".repeat(100_000))?.reason).toBe("nested too deeply");
  });
});

describe("an answer of the API", () => {
  const raw = new Set(["payload", "tags"]);

  it("leaves what belongs to users as text", () => {
    const answer = parseAnswer(
      '{"jobs":[{"id":"a","payload":{"n": 1.10},"tags":null,"attempt":2}],"total":1}',
      raw,
    );
    expect(answer).toEqual({ jobs: [{ id: "a", payload: '{"n": 1.10}', tags: null, attempt: 2 }], total: 1 });
  });

  it("keeps a payload that is null apart from none", () => {
    expect(parseAnswer('{"payload":null}', raw)).toEqual({ payload: "null" });
  });
});

describe("a request's body", () => {
  it("carries JSON as it was written, and leaves out what is undefined", () => {
    const body = encodeBody({
      queue: "a",
      payload: new Exact('{"n": 12345678901234567890}'),
      priority: undefined,
      max: null,
    });
    expect(body).toBe('{"queue":"a","payload":{"n": 12345678901234567890},"max":null}');
  });

  it("has lists and texts as JSON has them", () => {
    expect(encodeBody({ ids: ["a", 'b"'], on: true })).toBe('{"ids":["a","b\\""],"on":true}');
  });
});

it("shows tags as pairs of text", () => {
  expect(tagPairs('{"tenant":"acme","n":1.50,"on":true}')).toEqual([
    ["tenant", "acme"],
    ["n", "1.50"],
    ["on", "true"],
  ]);
  expect(tagPairs(null)).toEqual([]);
});

describe("an array", () => {
  it("falls into its items, each as it was written", () => {
    expect(splitArray(' [ {"id": 9007199254740993},1.0 , "a,]" ] ')).toEqual([
      '{"id": 9007199254740993}',
      "1.0",
      '"a,]"',
    ]);
    expect(splitArray("[]")).toEqual([]);
  });

  it("is nothing else", () => {
    expect(() => splitArray("{}")).toThrow("expected an array");
  });
});
