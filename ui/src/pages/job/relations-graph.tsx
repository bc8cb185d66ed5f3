/** The graph itself: boxes in columns with lines between them. A phone shows them in a list, in the same order. */

import { Link } from "@tanstack/react-router";
import { type ReactNode, useLayoutEffect, useRef } from "react";
import { cx } from "@/components/cx";
import { StateMark } from "@/components/states";
import type { Graph, GraphNode } from "@/lib/relations";

const WIDTH = 176;
const HEIGHT = 56;
const BETWEEN_COLUMNS = 36;
const BETWEEN_ROWS = 12;

export function RelationsGraph({ graph, onMore }: { graph: Graph; onMore: () => void }) {
  const box = useRef<HTMLDivElement>(null);
  const own = graph.nodes.find((node) => node.isThis)!;
  const width = graph.columns * (WIDTH + BETWEEN_COLUMNS) - BETWEEN_COLUMNS;
  const height = graph.rows * (HEIGHT + BETWEEN_ROWS) - BETWEEN_ROWS;
  const placed = new Map(graph.nodes.map((node) => [node.key, node]));
  const middle = leftOf(own) + WIDTH / 2;

  // Of a long chain one sees this job first.
  useLayoutEffect(() => {
    if (box.current) box.current.scrollLeft = middle - box.current.clientWidth / 2;
  }, [middle]);

  return (
    <div
      ref={box}
      className="-mx-4 overflow-x-auto px-4 py-1"
      role="group"
      aria-label="Jobs that belong together"
      tabIndex={0}
    >
      <div className="relative max-sm:h-auto! max-sm:w-auto!" style={{ width, height }}>
        <svg
          width={width}
          height={height}
          className="absolute inset-0 text-line-strong max-sm:hidden"
          aria-hidden="true"
        >
          {graph.edges.map((edge) => (
            <path
              key={`${edge.from} ${edge.to}`}
              d={curve(placed.get(edge.from)!, placed.get(edge.to)!)}
              fill="none"
              stroke="currentColor"
              strokeWidth="1.5"
              strokeDasharray={edge.isPlanned ? "4 4" : undefined}
            />
          ))}
        </svg>
        <ul className="max-sm:flex max-sm:flex-col max-sm:gap-2">
          {graph.nodes.map((node) => (
            <li
              key={node.key}
              className="absolute max-sm:static max-sm:w-auto!"
              style={{ left: leftOf(node), top: topOf(node), width: WIDTH, height: HEIGHT }}
            >
              <Box node={node} onMore={onMore} />
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}

const endOf = (id: string) => (id.length > 10 ? `…${id.slice(-6)}` : id);
const leftOf = (node: GraphNode) => node.column * (WIDTH + BETWEEN_COLUMNS);
const topOf = (node: GraphNode) => node.row * (HEIGHT + BETWEEN_ROWS);

function curve(from: GraphNode, to: GraphNode): string {
  if (from.column === to.column) {
    return `M${leftOf(from) + WIDTH / 2} ${topOf(from) + HEIGHT}V${topOf(to)}`;
  }
  const [x1, y1] = [leftOf(from) + WIDTH, topOf(from) + HEIGHT / 2];
  const [x2, y2] = [leftOf(to), topOf(to) + HEIGHT / 2];
  const bend = (x2 - x1) / 2;
  return `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
}

const LOOK = "flex h-full w-full flex-col justify-center rounded-lg border px-3 text-left";
const OWN_LOOK = "border-accent bg-accent-soft";
const LOOKS: Record<GraphNode["kind"], string> = {
  job: "border-line-strong bg-surface",
  batch: "border-line-strong bg-surface",
  queue: "border-line-strong bg-surface",
  planned: "border-line-strong border-dashed",
  more: "border-line-strong border-dashed",
};

function Box({ node, onMore }: { node: GraphNode; onMore: () => void }): ReactNode {
  const look = cx(LOOK, node.isThis ? OWN_LOOK : LOOKS[node.kind]);
  const link = cx(look, "hover:border-accent");
  const inside = <Words node={node} />;
  if (node.filter) {
    return (
      <Link
        to="/jobs"
        search={node.filter}
        title={node.kind === "batch" ? node.key : undefined}
        className={link}
      >
        {inside}
      </Link>
    );
  }
  if (node.kind === "more") {
    return (
      <button type="button" onClick={onMore} className={cx(link, "cursor-pointer")}>
        {inside}
      </button>
    );
  }
  if (node.kind === "queue") {
    return (
      <Link to="/queues/$name" params={{ name: node.title }} className={link}>
        {inside}
      </Link>
    );
  }
  if (node.kind === "job" && !node.isThis && node.state !== "deleted") {
    return (
      <Link
        to="/jobs/$id"
        params={{ id: node.id! }}
        title={[node.id, node.state, node.role].filter(Boolean).join(", ")}
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
      title={node.state === "deleted" ? `${node.id}: it is deleted` : undefined}
    >
      {inside}
    </div>
  );
}

function Words({ node }: { node: GraphNode }): ReactNode {
  const isOther = node.kind === "job" && !node.isThis;
  return (
    <>
      <span className="flex min-w-0 items-baseline gap-1.5 text-ink-3 text-xs">
        <span className="truncate">{node.role}</span>
        {isOther && <span className="ml-auto shrink-0 font-mono">{endOf(node.id!)}</span>}
      </span>
      <span className="flex min-w-0 items-center gap-1.5">
        {node.state && <StateMark state={node.state} />}
        <span className="truncate font-medium text-sm" title={isOther ? undefined : node.title}>
          {node.title}
        </span>
        {node.state && <span className="sr-only">({node.state})</span>}
      </span>
    </>
  );
}
