import { expect, test } from "vitest";
import type { JobView } from "./records";
import { drawRelations, type Graph, type Relations, readChain } from "./relations";
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

const alone: Relations = {
  job: JOB,
  parent: null,
  dependencies: [],
  children: { jobs: [], total: 0 },
  chain: [],
  batch: null,
};
const other = (id: string, chain_step?: number) => ({ id, queue: `q-${id}`, state: "completed", chain_step });
const places = (graph: Graph | null) =>
  graph?.nodes.map((node) => `${node.column}.${node.row} ${node.kind} ${node.key}${node.isThis ? " *" : ""}`);

test("a job that stands alone has no graph", () => {
  expect(drawRelations(alone)).toBeNull();
});

test("what must be done first is on the left, children are on the right", () => {
  const graph = drawRelations({
    ...alone,
    parent: other("p"),
    dependencies: Array.from({ length: 7 }, (_, at) => other(`d${at}`)),
    children: { jobs: [other("c")], total: 1 },
  });
  expect(places(graph)).toEqual([
    "1.0 job job_1 *",
    "0.0 job p",
    "0.1 job d0",
    "0.2 job d1",
    "0.3 job d2",
    "0.4 job d3",
    "0.5 job d4",
    "0.6 more more-before",
    "2.0 job c",
  ]);
  expect(graph).toMatchObject({ columns: 3, rows: 7 });
  expect(graph!.edges).toContainEqual({ from: "d4", to: "job_1", isPlanned: false });
  expect(graph!.edges).toContainEqual({ from: "job_1", to: "c", isPlanned: false });
});

test("a chain shows the steps that were, the one that is, and those to come", () => {
  const chain_config =
    '{"steps":[{"queue":"a"},{"queue":"b"},{"queue":"c"}],"on_exit":{"queue":"x"},"on_failure":"f"}';
  const job = { ...JOB, chain_id: "chn_1", chain_step: 1, chain_config } as JobView;
  const graph = drawRelations({ ...alone, job, chain: [other("first", 0), other("job_1", 1)] });
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

test("of a long chain only the steps around the job are drawn", () => {
  const steps = Array.from({ length: 40 }, (_, at) => ({ queue: `s${at}` }));
  const job = {
    ...JOB,
    chain_id: "chn_1",
    chain_step: 20,
    chain_config: JSON.stringify({ steps }),
  } as JobView;
  const graph = drawRelations({ ...alone, job });
  expect(graph!.nodes).toHaveLength(9);
  expect(graph!.nodes.filter(({ kind }) => kind === "more").map(({ title }) => title)).toEqual([
    "17 more",
    "16 more",
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
  expect(graph!.edges).toContainEqual({ from: "batch_1", to: "callback", isPlanned: true });
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
