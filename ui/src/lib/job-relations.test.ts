import { expect, test } from "vitest";
import { readChain } from "./chains";
import type { JobView } from "./records";
import { drawRelations, type Graph, HANDFUL, type Relations } from "./relations";
import { curlFor, pythonFor, requestFor } from "./same-job";

const JOB = {
  id: "job_1",
  queue: "mail",
  state: "pending",
  payload: "{}",
  priority_name: "normal",
  max_retries: 3,
  retry_backoff: "exponential",
  retry_base_delay: "5s",
  retry_max_delay: "10m",
  max_lost_leases: 5,
  unique_key: null,
  unique_period: null,
  expire_after: null,
  tags: null,
  agent: null,
  chain_id: null,
  chain_step: null,
  chain_config: null,
  depends_on: null,
  parent_id: null,
} as unknown as JobView;

const NONE = { jobs: [], total: 0 };
const alone: Relations = {
  job: JOB,
  parent: null,
  dependencies: NONE,
  dependents: NONE,
  children: NONE,
  chain: [],
  batch: null,
};
const other = (id: string, chain_step?: number, state = "completed") => ({
  id,
  queue: `q-${id}`,
  state,
  chain_step,
});
const some = (prefix: string, total: number, most = HANDFUL) => ({
  jobs: Array.from({ length: Math.min(total, most + 1) }, (_, at) => other(`${prefix}${at}`)),
  total,
  most,
});
const places = (graph: Graph | null) =>
  graph?.nodes.map((node) => `${node.column}.${node.row} ${node.kind} ${node.key}${node.isThis ? " *" : ""}`);
const roleOf = (graph: Graph | null, key: string) => graph?.nodes.find((node) => node.key === key)?.role;

test("a job that stands alone has no graph", () => {
  expect(drawRelations(alone)).toBeNull();
});

test("what must be done first is on the left, what comes after is on the right", () => {
  const graph = drawRelations({
    ...alone,
    parent: other("p"),
    dependencies: some("d", 7),
    children: some("c", 1),
    dependents: some("w", 2),
  });
  expect(places(graph)).toEqual([
    "0.0 job p",
    "0.1 job d0",
    "0.2 job d1",
    "0.3 job d2",
    "0.4 job d3",
    "0.5 more more dependencies",
    "1.2.5 job job_1 *",
    "2.1.5 job c0",
    "2.2.5 job w0",
    "2.3.5 job w1",
  ]);
  expect(graph).toMatchObject({ columns: 3, rows: 6 });
  expect(graph!.edges).toContainEqual({ from: "d3", to: "job_1", isPlanned: false });
  expect(graph!.edges).toContainEqual({ from: "job_1", to: "w1", isPlanned: false });
  expect(roleOf(graph, "w1")).toBe("waits for this");
});

test("of many a handful is drawn, and the rest is a link to the list of all", () => {
  const graph = drawRelations({ ...alone, children: some("c", 1200), dependents: some("w", 6) });
  const more = graph!.nodes.filter(({ kind }) => kind === "more");
  expect(more.map(({ title, filter }) => [title, filter])).toEqual([
    ["1,196 more", { parent: "job_1" }],
    ["2 more", { depends_on: "job_1" }],
  ]);
  expect(graph!.nodes.filter(({ key }) => /^[cw]/.test(key))).toHaveLength(2 * HANDFUL);
});

test("a last one takes the place that it would take to say that there is one more", () => {
  const graph = drawRelations({ ...alone, dependents: some("w", HANDFUL + 1) });
  expect(graph!.nodes.map(({ kind }) => kind)).toEqual(Array(HANDFUL + 2).fill("job"));
});

test("more dependencies are drawn for whoever wants to see them", () => {
  const graph = drawRelations({ ...alone, dependencies: some("d", 40, 24) });
  expect(graph!.nodes).toHaveLength(24 + 2);
  expect(graph!.nodes.find(({ kind }) => kind === "more")).toMatchObject({ title: "16 more" });
});

test("a job that is two things to another is drawn once", () => {
  const graph = drawRelations({
    ...alone,
    parent: other("p"),
    dependencies: { jobs: [other("p")], total: 1 },
    children: { jobs: [other("c")], total: 1 },
    dependents: { jobs: [other("p"), other("c")], total: 2 },
  });
  expect(places(graph)).toEqual(["0.0 job p", "1.0 job job_1 *", "2.0 job c"]);
  expect(graph!.edges).toHaveLength(2);
  expect(roleOf(graph, "p")).toBe("parent, dependency, waits for this");
  expect(roleOf(graph, "c")).toBe("child, waits for this");
});

test("nobody waits any longer for a job that has completed", () => {
  const job = { ...JOB, state: "completed" } as JobView;
  expect(roleOf(drawRelations({ ...alone, job, dependents: some("w", 1) }), "w0")).toBe("waited for this");
});

const PLAN = '{"steps":[{"queue":"a"},{"queue":"b"},{"queue":"c"}],"on_exit":{"queue":"x"},"on_failure":"f"}';
const step = (chain_step: number, state = "pending", chain_config: string | null = PLAN) =>
  ({ ...JOB, chain_id: "chn_1", chain_step, chain_config, state }) as JobView;

test("a chain shows the steps that were, the one that is, and those to come", () => {
  const graph = drawRelations({ ...alone, job: step(1), chain: [other("first", 0), other("job_1", 1)] });
  expect(places(graph)).toEqual([
    "0.0 job first",
    "1.0 job job_1 *",
    "2.0 planned step 2",
    "3.0 planned step -1",
    "3.1 planned step -2",
  ]);
  expect(graph!.edges).toContainEqual({ from: "first", to: "job_1", isPlanned: false });
  expect(graph!.edges).toContainEqual({ from: "job_1", to: "step 2", isPlanned: true });
});

test("a chain is a straight line, and everything else is below it", () => {
  const graph = drawRelations({
    ...alone,
    job: step(1),
    chain: [other("first", 0)],
    dependencies: some("d", 1),
    children: some("c", 2),
    dependents: some("w", 1),
  });
  expect(places(graph)).toEqual([
    "0.0 job first",
    "0.1 job d0",
    "1.0 job job_1 *",
    "2.0 planned step 2",
    "2.1 job c0",
    "2.2 job c1",
    "2.3 job w0",
    "3.0 planned step -1",
    "3.1 planned step -2",
  ]);
  expect(graph).toMatchObject({ columns: 4, rows: 4 });
});

test("what the first step of a chain waits for is below the line, too", () => {
  const graph = drawRelations({ ...alone, job: step(0), dependencies: some("d", 1) });
  expect(places(graph)!.slice(0, 2)).toEqual(["0.1 job d0", "1.0 job job_1 *"]);
});

test("a chain that went to a handler has no steps to come", () => {
  const chain = [other("first", 0, "dead"), other("handler", -2, "pending")];
  const graph = drawRelations({ ...alone, job: { ...step(-2), id: "handler" } as JobView, chain });
  expect(places(graph)).toEqual(["0.0 job first", "1.0 job handler *"]);
  const exited = drawRelations({ ...alone, job: step(0, "completed"), chain: [other("end", -1)] });
  expect(places(exited)).toEqual(["0.0 job job_1 *", "1.0 job end"]);
});

test("a chain whose dead step was retried goes on", () => {
  const graph = drawRelations({ ...alone, job: step(0), chain: [other("handler", -2)] });
  expect(graph!.nodes.map(({ key }) => key)).toEqual(["job_1", "step 1", "step 2", "step -1", "handler"]);
});

test("a chain that has gone through all steps cannot fail any more", () => {
  const chain = [other("first", 0), other("second", 1)];
  const graph = drawRelations({ ...alone, job: step(2, "completed"), chain });
  expect(graph!.nodes.map(({ key }) => key)).toEqual(["first", "second", "job_1"]);
});

test("jobs of a chain that nobody has planned are drawn as far as they are known", () => {
  const graph = drawRelations({ ...alone, job: step(4, "active", null), chain: [other("first", 2)] });
  expect(graph!.nodes.map(({ key, role }) => [key, role])).toEqual([
    ["first", "step 3"],
    ["job_1", "step 5"],
  ]);
});

test("of a long chain only the steps around the job are drawn", () => {
  const steps = Array.from({ length: 40 }, (_, at) => ({ queue: `s${at}` }));
  const graph = drawRelations({ ...alone, job: step(20, "active", JSON.stringify({ steps })) });
  expect(graph!.nodes).toHaveLength(7);
  expect(
    graph!.nodes.filter(({ kind }) => kind === "more").map(({ title, filter }) => [title, filter]),
  ).toEqual([
    ["18 more", { chain: "chn_1" }],
    ["17 more", { chain: "chn_1" }],
  ]);
});

test("a batch is told by how much of it has ended, with what comes then", () => {
  const batch = {
    id: "batch_1",
    total: 3,
    pending: 1,
    succeeded: 2,
    failed: 0,
    callback_queue: "done",
    callback_payload: null,
    created_at: "",
  };
  const graph = drawRelations({ ...alone, batch });
  expect(graph!.nodes.map(({ title }) => title)).toEqual(["mail", "2 of 3 ended", "done"]);
  expect(places(graph)).toEqual(["0.0.5 job job_1 *", "1.0 batch batch_1", "1.1 planned callback"]);
  expect(graph!.edges).toContainEqual({ from: "batch_1", to: "callback", isPlanned: true });
  const over = drawRelations({ ...alone, batch: { ...batch, pending: 0 } });
  expect(over!.nodes.at(-1)).toMatchObject({ kind: "queue", role: "all have ended" });
});

test("a chain's settings that are none are no chain", () => {
  expect(readChain(null)).toBeNull();
  expect(readChain('{"depends_on":["x"]}')).toBeNull();
  expect(readChain('{"steps":[{"queue":"a"}],"on_failure":"stop"}')).toEqual({
    steps: ["a"],
    onExit: null,
    onFailure: null,
  });
});

test("the same job is asked for with what is not the rule anyway", () => {
  expect(requestFor(JOB)).toEqual([
    ["queue", '"mail"'],
    ["payload", "{}"],
  ]);
  const job = {
    ...JOB,
    priority_name: "high",
    max_retries: 7,
    tags: '{"a":1}',
    unique_key: "k",
    unique_period: 60,
  } as JobView;
  expect(Object.fromEntries(requestFor(job))).toMatchObject({
    priority: '"high"',
    max_retries: "7",
    tags: '{"a":1}',
    unique_key: '"k"',
    unique_period: "60",
  });
});

test("a curl command keeps every digit and survives quotes", () => {
  const job = { ...JOB, payload: `{"n":9007199254740993,"s":"it's"}` } as JobView;
  expect(curlFor(job, "http://h/base/", false)).toBe(
    `curl http://h/base/api/v1/enqueue \\\n  -d '{"queue":"mail","payload":{"n":9007199254740993,"s":"it'\\''s"}}'`,
  );
});

test("Python code has Python's words for true, false and null", () => {
  const job = { ...JOB, payload: '{"a":[true,null,1.50],"b":{}}', priority_name: "high" } as JobView;
  expect(pythonFor(job, "http://h/")).toBe(`from rookery import Client

with Client("http://h") as client:
    client.enqueue(
        "mail",
        {
            "a": [
                True,
                None,
                1.50,
            ],
            "b": {},
        },
        priority="high",
    )
`);
});
