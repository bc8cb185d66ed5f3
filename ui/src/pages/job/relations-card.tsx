/** A job among others as a small graph: what must be done first, its chain, its batch, its children. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { cx } from "@/components/cx";
import { Card } from "@/components/layout";
import { StateMark } from "@/components/states";
import { queries } from "@/lib/queries";
import type { JobView } from "@/lib/records";
import { drawRelations, type Graph, type GraphNode, type Relative } from "@/lib/relations";

const WIDTH = 160;
const HEIGHT = 56;
const BETWEEN_COLUMNS = 36;
const BETWEEN_ROWS = 12;
const MOST_ASKED = 12;

export function RelationsCard({ job }: { job: JobView }) {
  const before = [job.parent_id, ...(job.depends_on ?? [])].filter((id) => id !== null).slice(0, MOST_ASKED);
  const known = useQuery(queries.jobs(before)).data?.jobs;
  const batch = useQuery({ ...queries.batch(job.batch_id ?? ""), enabled: job.batch_id !== null }).data;
  const chain = useQuery({
    ...queries.search({ chain_id: job.chain_id, limit: 200, order: "asc" }),
    enabled: job.chain_id !== null,
  }).data;
  const children = useQuery(queries.search({ parent_id: job.id, limit: 5, order: "asc" })).data;
  const relative = (id: string): Relative => {
    const found = known?.find((other) => other.id === id);
    return found ?? { id, queue: null, state: known === undefined ? "" : "deleted" };
  };
  const graph = drawRelations({
    job,
    parent: job.parent_id === null ? null : relative(job.parent_id),
    dependencies: (job.depends_on ?? []).map(relative),
    children: { jobs: children?.jobs ?? [], total: children?.total ?? 0 },
    chain: chain?.jobs ?? [],
    batch: batch ?? null,
  });
  if (graph === null) return null;
  const width = graph.columns * (WIDTH + BETWEEN_COLUMNS) - BETWEEN_COLUMNS;
  const height = graph.rows * (HEIGHT + BETWEEN_ROWS) - BETWEEN_ROWS;
  const placed = new Map(graph.nodes.map((node) => [node.key, node]));
  return (
    <Card title="Among other jobs">
      <div
        className="-mx-4 overflow-x-auto px-4 py-1"
        role="group"
        aria-label="Jobs that belong together"
        tabIndex={0}
      >
        <div className="relative" style={{ width, height }}>
          <svg width={width} height={height} className="absolute inset-0 text-line-strong" aria-hidden="true">
            {graph.edges.map((edge) => (
              <path
                key={`${edge.from} ${edge.to}`}
                d={curve(placed.get(edge.from)!, placed.get(edge.to)!, graph)}
                fill="none"
                stroke="currentColor"
                strokeWidth="1.5"
                strokeDasharray={edge.isPlanned ? "4 4" : undefined}
              />
            ))}
          </svg>
          <ul>
            {graph.nodes.map((node) => (
              <li
                key={node.key}
                className="absolute"
                style={{ left: leftOf(node), top: topOf(node, graph), width: WIDTH, height: HEIGHT }}
              >
                <Box node={node} />
              </li>
            ))}
          </ul>
        </div>
      </div>
    </Card>
  );
}

const endOf = (id: string) => (id.length > 10 ? `…${id.slice(-6)}` : id);
const leftOf = (node: GraphNode) => node.column * (WIDTH + BETWEEN_COLUMNS);
/** Columns are centred: what stands alone is beside the middle of what it belongs to. */
function topOf(node: GraphNode, graph: Graph): number {
  const inColumn = graph.nodes.filter((other) => other.column === node.column).length;
  return (node.row + (graph.rows - inColumn) / 2) * (HEIGHT + BETWEEN_ROWS);
}

function curve(from: GraphNode, to: GraphNode, graph: Graph): string {
  const [x1, y1] = [leftOf(from) + WIDTH, topOf(from, graph) + HEIGHT / 2];
  const [x2, y2] = [leftOf(to), topOf(to, graph) + HEIGHT / 2];
  const bend = (x2 - x1) / 2;
  return `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
}

function Box({ node }: { node: GraphNode }): ReactNode {
  const look = cx(
    "flex h-full flex-col justify-center rounded-lg border px-3",
    node.isThis
      ? "border-accent bg-accent-soft"
      : node.kind === "planned" || node.kind === "more"
        ? "border-line-strong border-dashed"
        : "border-line-strong bg-surface",
  );
  const inside = (
    <>
      <span className="truncate text-ink-3 text-xs">
        {node.role}
        {node.kind === "job" && !node.isThis && <span className="font-mono"> {endOf(node.id!)}</span>}
      </span>
      <span className="flex min-w-0 items-center gap-1.5">
        {node.state && <StateMark state={node.state} />}
        <span className="truncate font-medium text-sm" title={node.title}>
          {node.title}
        </span>
        {node.state && <span className="sr-only">({node.state})</span>}
      </span>
    </>
  );
  const link = cx(look, "hover:border-accent");
  if (node.kind === "batch") {
    return (
      <Link to="/jobs" search={{ batch: node.id }} title={node.id} className={link}>
        {inside}
      </Link>
    );
  }
  if (node.kind === "job" && !node.isThis && node.state !== "deleted") {
    return (
      <Link
        to="/jobs/$id"
        params={{ id: node.id! }}
        title={`${node.id}${node.state ? `, ${node.state}` : ""}`}
        className={link}
      >
        {inside}
      </Link>
    );
  }
  return (
    <div
      className={look}
      aria-current={node.isThis ? "true" : undefined}
      title={node.state === "deleted" ? "It is deleted" : undefined}
    >
      {inside}
    </div>
  );
}
