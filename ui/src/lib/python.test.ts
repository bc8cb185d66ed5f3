import { expect, it } from "vitest";
import { literal, pythonSearch } from "./python";

it("a search in Python has its filters, and the key from the environment", () => {
  const text = pythonSearch(
    "http://localhost:8080/",
    { queue: "a", tags: { on: true }, state: ["dead"] },
    true,
  );
  expect(text).toBe(`import os

from rookery import Client

with Client("http://localhost:8080", api_key=os.environ["ROOKERY_API_KEY"]) as client:
    for job in client.search(
        queue="a",
        tags={"on": True},
        state=["dead"],
    ):
        print(job.id, job.queue, job.state)
`);
});

it("a search for everything needs no filters", () => {
  expect(pythonSearch("http://h/x/", {}, false)).toContain(
    'with Client("http://h/x") as client:\n    for job in client.search():',
  );
});

it.each([
  [null, "None"],
  [false, "False"],
  [[1, 'a\n"b"'], '[1, "a\\n\\"b\\""]'],
])("%j is %s", (value, text) => {
  expect(literal(value)).toBe(text);
});
