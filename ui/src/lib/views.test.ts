import { expect, it } from "vitest";
import {
  lastingParams,
  readViews,
  showsSame,
  type View,
  withDefault,
  withName,
  withoutView,
  withView,
} from "./views";

const VIEWS: View[] = [
  { name: "dead", params: { state: "dead" } },
  { name: "mails", params: { queue: "emails" }, isDefault: true },
];

it("a view keeps the search and not the page one was on", () => {
  expect(lastingParams({ state: "dead", cursor: "x", page: "3", view: "a", q: "", size: "100" })).toEqual({
    size: "100",
    state: "dead",
  });
});

it("the same search is the same in any order and on any page", () => {
  expect(showsSame({ a: "1", b: ["2", "3"] }, { b: ["2", "3"], a: "1", cursor: "x" })).toBe(true);
  expect(showsSame({ a: "1" }, { a: "2" })).toBe(false);
});

it("a view is added at the end, or replaced where it stands", () => {
  expect(withView(VIEWS, "new", { x: "1", page: "2" }).at(-1)).toEqual({ name: "new", params: { x: "1" } });
  expect(withView(VIEWS, "mails", { x: "1" })[1]).toEqual({
    name: "mails",
    params: { x: "1" },
    isDefault: true,
  });
});

it("a view gets another name, and takes that of another's place", () => {
  expect(withName(VIEWS, "dead", "gone").map(({ name }) => name)).toEqual(["gone", "mails"]);
  expect(withName(VIEWS, "dead", "mails")).toEqual([{ name: "mails", params: { state: "dead" } }]);
  expect(withName(VIEWS, "dead", "dead")).toEqual(VIEWS);
});

it("one view at most is the first", () => {
  expect(withDefault(VIEWS, "dead").map(({ isDefault }) => isDefault)).toEqual([true, undefined]);
  expect(withDefault(VIEWS, null).some(({ isDefault }) => isDefault)).toBe(false);
  expect(withoutView(VIEWS, "mails")).toEqual([VIEWS[0]]);
});

it.each([[null], ["x"], [{}], [[null, 1, { name: 1 }, { name: "a" }, { name: "a", params: null }]]])(
  "what makes no sense is left out: %j",
  (kept) => {
    expect(readViews(kept)).toEqual([]);
  },
);
