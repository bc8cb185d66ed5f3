/** A job among others: what it waits for, the chain and the batch it is part of, placed in columns for a small graph. */

import { textOf } from "./happenings";
import { type JsonNode, type JsonText, parseJson } from "./json";
import { formatCount } from "./numbers";
import type { JobBatchView, JobView } from "./records";

/** As much of another job as the graph shows. */
export interface Relative {
  id: string;
  queue: string | null;
  state: string;
  chain_step?: number | null;
}

export interface Relations {
  job: JobView;
  parent: Relative | null;
  dependencies: Relative[];
  children: { jobs: Relative[]; total: number };
  /** Those of the chain's jobs that there are. */
  chain: Relative[];
  batch: JobBatchView | null;
}

export interface GraphNode {
  key: string;
  kind: "job" | "planned" | "batch" | "more";
  /** What it is to this job, in a word or two. */
  role: string;
  title: string;
  id?: string;
  state?: string;
  isThis?: boolean;
  column: number;
  row: number;
}

export interface GraphEdge {
  from: string;
  to: string;
  isPlanned: boolean;
}

export interface Graph {
  nodes: GraphNode[];
  edges: GraphEdge[];
  columns: number;
  rows: number;
}

const MOST_IN_COLUMN = 5;
const STEPS_AROUND = 3;

export interface ChainPlan {
  steps: string[];
  onExit: string | null;
  onFailure: string | null;
}

/** The queues a chain goes through; null if there is none. */
export function readChain(config: JsonText | null): ChainPlan | null {
  if (config === null) return null;
  const node = parseJson(config);
  const member = (name: string) =>
    node.kind === "object" ? node.entries.find(([key]) => key === name)?.[1] : undefined;
  const steps = member("steps");
  if (steps?.kind !== "array") return null;
  return {
    steps: steps.items.map((step) => textOf(step, "queue") ?? "?"),
    onExit: handler(member("on_exit")),
    onFailure: handler(member("on_failure")),
  };
}

function handler(node: JsonNode | undefined): string | null {
  if (node === undefined) return null;
  if (node.kind === "string") return ["", "stop", "continue"].includes(node.value) ? null : node.value;
  return textOf(node, "queue") ?? null;
}

/** The graph; null if the job stands alone. */
export function drawRelations({
  job,
  parent,
  dependencies,
  children,
  chain,
  batch,
}: Relations): Graph | null {
  const nodes: GraphNode[] = [];
  const edges: GraphEdge[] = [];
  const filled = new Map<number, number>();
  function place(node: Omit<GraphNode, "row">): GraphNode {
    const row = filled.get(node.column) ?? 0;
    filled.set(node.column, row + 1);
    const placed = { ...node, row };
    nodes.push(placed);
    return placed;
  }
  function join(from: string, to: string, isPlanned = false): void {
    edges.push({ from, to, isPlanned });
  }
  function placeJob(other: Relative, role: string, column: number): string {
    place({
      key: other.id,
      kind: "job",
      role,
      title: other.queue ?? other.id,
      id: other.id,
      state: other.state,
      column,
    });
    return other.id;
  }

  const here = placeSteps();
  if (parent !== null) join(placeJob(parent, "parent", here - 1), job.id);
  const first = dependencies.filter((other) => other.id !== parent?.id);
  for (const other of first.slice(0, MOST_IN_COLUMN)) join(placeJob(other, "waits for", here - 1), job.id);
  const hidden = first.length - MOST_IN_COLUMN;
  if (hidden > 0) {
    place({
      key: "more-before",
      kind: "more",
      role: "waits for",
      title: `${formatCount(hidden)} more`,
      column: here - 1,
    });
    join("more-before", job.id);
  }
  if (batch !== null) {
    const done = batch.total - batch.pending;
    place({
      key: batch.id,
      kind: "batch",
      role: "batch",
      title: `${formatCount(done)} of ${formatCount(batch.total)} ended`,
      id: batch.id,
      column: here + 1,
    });
    join(job.id, batch.id);
    if (batch.callback_queue) {
      place({
        key: "callback",
        kind: "planned",
        role: "when all have ended",
        title: batch.callback_queue,
        column: here + 2,
      });
      join(batch.id, "callback", batch.pending > 0);
    }
  }
  for (const other of children.jobs.slice(0, MOST_IN_COLUMN))
    join(job.id, placeJob(other, "child", here + 1));
  if (children.total > MOST_IN_COLUMN) {
    const more = children.total - MOST_IN_COLUMN;
    place({
      key: "more-behind",
      kind: "more",
      role: "children",
      title: `${formatCount(more)} more`,
      column: here + 1,
    });
    join(job.id, "more-behind");
  }
  return nodes.length < 2 ? null : inOrder(nodes, edges);

  /** The steps of the chain with this job among them, or this job alone; its column. */
  function placeSteps(): number {
    const plan = readChain(job.chain_config);
    const own = job.chain_step;
    if (plan === null || own === null || job.chain_id === null) {
      place({
        key: job.id,
        kind: "job",
        role: "this job",
        title: job.queue,
        id: job.id,
        state: job.state,
        isThis: true,
        column: 0,
      });
      return 0;
    }
    const known = new Map(
      chain.filter((other) => other.chain_step != null).map((other) => [other.chain_step!, other]),
    );
    known.set(own, job);
    const centre = own >= 0 ? own : plan.steps.length - 1;
    const first = Math.max(0, centre - STEPS_AROUND);
    const last = Math.min(plan.steps.length - 1, centre + STEPS_AROUND);
    let before: string | null = null;
    if (first > 0)
      before = place({
        key: "earlier",
        kind: "more",
        role: "earlier",
        title: `${first} more`,
        column: first - 1,
      }).key;
    for (let step = first; step <= last; step += 1) {
      const key = placeStep(step, `step ${step + 1} of ${plan.steps.length}`, plan.steps[step]!, step);
      if (before !== null) join(before, key, !known.has(step));
      before = key;
    }
    if (last < plan.steps.length - 1) {
      const later = plan.steps.length - 1 - last;
      const key = place({
        key: "later",
        kind: "more",
        role: "later",
        title: `${later} more`,
        column: last + 1,
      }).key;
      join(before!, key, true);
    } else {
      const end = plan.steps.length;
      if (plan.onExit !== null) join(before!, placeStep(-1, "at the end", plan.onExit, end), !known.has(-1));
      if (plan.onFailure !== null)
        join(before!, placeStep(-2, "if a step dies", plan.onFailure, end), !known.has(-2));
    }
    return nodes.find((node) => node.isThis)!.column;

    function placeStep(step: number, role: string, queue: string, column: number): string {
      const other = known.get(step);
      if (other === undefined) {
        return place({ key: `step ${step}`, kind: "planned", role, title: queue, column }).key;
      }
      const isThis = other.id === job.id;
      return place({
        key: other.id,
        kind: "job",
        role,
        title: other.queue ?? queue,
        id: other.id,
        state: other.state,
        isThis,
        column,
      }).key;
    }
  }
}

/** Columns from 0 on. */
function inOrder(nodes: GraphNode[], edges: GraphEdge[]): Graph {
  const first = Math.min(...nodes.map((node) => node.column));
  const moved = nodes.map((node) => ({ ...node, column: node.column - first }));
  return {
    nodes: moved,
    edges,
    columns: Math.max(...moved.map((node) => node.column)) + 1,
    rows: Math.max(...moved.map((node) => node.row)) + 1,
  };
}
