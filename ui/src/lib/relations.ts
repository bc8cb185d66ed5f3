/** A job among others, as a small graph: what must be done first, its chain and batch, and what comes after it. */

import { type ChainStep, pathOf, type Relative } from "./chains";
import type { Params } from "./filters";
import { formatCount } from "./numbers";
import type { JobBatchView, JobView } from "./records";

/** The first of some jobs, how many there are, and how many to draw. */
export interface Some {
  jobs: Relative[];
  total: number;
  most?: number;
}

export interface Relations {
  job: JobView;
  parent: Relative | null;
  dependencies: Some;
  dependents: Some;
  children: Some;
  /** Those of the chain's jobs that there are. */
  chain: Relative[];
  batch: JobBatchView | null;
}

export interface GraphNode {
  key: string;
  kind: "job" | "planned" | "queue" | "batch" | "more";
  /** What it is to this job, in a word or two. */
  role: string;
  title: string;
  id?: string;
  state?: string;
  isThis?: boolean;
  /** The filter that shows the jobs it stands for. */
  filter?: Params;
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

/** So many jobs of a kind are drawn, and one more if that is the last: it takes no more room than to say so. */
export const HANDFUL = 4;
const ON_LINE = -1;
const WAIT: Role = ["waits for this", "wait for this"];
const WAITED: Role = ["waited for this", "waited for this"];

/** What one job is to this one, and what several are. */
type Role = [string, string];
/** Before this job, or after it. */
type Side = -1 | 1;

/** The graph; null if the job stands alone. */
export function drawRelations(relations: Relations): Graph | null {
  const { job, parent, dependencies, dependents, children, batch } = relations;
  const nodes: GraphNode[] = [];
  const edges: GraphEdge[] = [];

  function place(node: Omit<GraphNode, "row">, row = 0): string {
    nodes.push({ ...node, row });
    return node.key;
  }
  function join(from: string, to: string, isPlanned = false): void {
    if (!edges.some((edge) => edge.from === from && edge.to === to)) edges.push({ from, to, isPlanned });
  }
  function joinThis(key: string, side: Side): void {
    if (side < 0) join(key, job.id);
    else join(job.id, key);
  }
  /** Draw a job beside this one; one that is there already has two roles. */
  function relate(other: Relative, role: string, side: Side): void {
    const twin = nodes.find((node) => node.id === other.id);
    if (twin === undefined) place(jobNode(other, role, here + side));
    else twin.role += `, ${role}`;
    if (twin === undefined || Math.sign(twin.column - here) === side) joinThis(other.id, side);
  }
  function relateSome(
    { jobs, total, most = HANDFUL }: Some,
    [role, roles]: Role,
    side: Side,
    filter?: Params,
  ) {
    const shown = jobs.slice(0, total > most + 1 ? most : total);
    for (const other of shown) relate(other, role, side);
    const hidden = total - shown.length;
    if (hidden === 0) return;
    const title = `${formatCount(hidden)} more`;
    joinThis(
      place({ key: `more ${roles}`, kind: "more", role: roles, title, filter, column: here + side }),
      side,
    );
  }

  const isChained = placeChain();
  const here = nodes.find((node) => node.isThis)!.column;
  if (parent !== null) relate(parent, "parent", -1);
  relateSome(dependencies, ["dependency", "dependencies"], -1);
  if (batch !== null) placeBatch(batch);
  relateSome(children, ["child", "children"], 1, { parent: job.id });
  relateSome(dependents, job.state === "completed" ? WAITED : WAIT, 1, { depends_on: job.id });
  return nodes.length < 2 ? null : arrange(nodes, edges, isChained);

  function placeChain(): boolean {
    const path = pathOf(job, relations.chain);
    if (path === null) {
      place({ ...jobNode(job, "this job", 0), isThis: true });
      return false;
    }
    const filter = { chain: job.chain_id! };
    const placeStep = (step: ChainStep, column: number, row = ON_LINE) =>
      step.job === null
        ? place(
            { key: `step ${step.step}`, kind: "planned", role: step.role, title: step.queue, column },
            row,
          )
        : place({ ...jobNode(step.job, step.role, column), isThis: step.job.id === job.id }, row);
    let before: string | null = null;
    let column = 0;
    if (path.earlier > 0) {
      const title = `${formatCount(path.earlier)} more`;
      before = place({ key: "earlier", kind: "more", role: "earlier", title, filter, column }, ON_LINE);
      column += 1;
    }
    for (const step of path.steps) {
      const key = placeStep(step, column);
      if (before !== null) join(before, key, step.job === null);
      before = key;
      column += 1;
    }
    if (path.later > 0) {
      const title = `${formatCount(path.later)} more`;
      join(
        before!,
        place({ key: "later", kind: "more", role: "later", title, filter, column }, ON_LINE),
        true,
      );
    }
    for (const end of [path.onExit, path.onFailure]) {
      if (end === null) continue;
      const isAside = end === path.onFailure && (path.onExit !== null || end.job === null);
      const key = placeStep(end, column, isAside ? 0 : ON_LINE);
      if (before !== null) join(before, key, end.job === null);
    }
    return true;
  }

  function placeBatch({ id, total, pending, callback_queue }: JobBatchView): void {
    const title = `${formatCount(total - pending)} of ${formatCount(total)} ended`;
    place({ key: id, kind: "batch", role: "batch", title, filter: { batch: id }, column: here + 1 });
    join(job.id, id);
    if (!callback_queue) return;
    const kind = pending > 0 ? "planned" : "queue";
    const role = pending > 0 ? "when all have ended" : "all have ended";
    place({ key: "callback", kind, role, title: callback_queue, column: here + 1 });
    join(id, "callback", pending > 0);
  }
}

function jobNode(other: Relative, role: string, column: number): Omit<GraphNode, "row"> {
  const { id, queue, state } = other;
  return { key: id, kind: "job", role, title: queue ?? (state || "…"), id, state, column };
}

/**
 * Columns from 0 on, from left to right. A chain is a straight line with everything else below it; without one,
 * columns are centred: what stands alone is beside the middle of what it belongs to.
 */
function arrange(nodes: GraphNode[], edges: GraphEdge[], isChained: boolean): Graph {
  const first = Math.min(...nodes.map((node) => node.column));
  const columns = Math.max(...nodes.map((node) => node.column)) - first + 1;
  const byColumn = Array.from({ length: columns }, (_, column) =>
    nodes
      .filter((node) => node.column === column + first)
      .sort((one, other) => one.row - other.row)
      .map((node) => ({ ...node, column })),
  );
  const below = (column: GraphNode[]) => (isChained && column[0]?.row !== ON_LINE ? 1 : 0);
  const rows = Math.max(...byColumn.map((column) => column.length + below(column)));
  const arranged = byColumn.flatMap((column) => {
    const top = isChained ? below(column) : (rows - column.length) / 2;
    return column.map((node, place) => ({ ...node, row: top + place }));
  });
  return { nodes: arranged, edges, columns, rows };
}
