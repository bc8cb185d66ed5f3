/** Queues with what matters about each: how much waits, how long, how fast it goes, how much fails. */

import { Link, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import { Badge } from "@/components/badge";
import { IconButton } from "@/components/button";
import { cx } from "@/components/cx";
import { Sparkline } from "@/components/sparkline";
import { type Column, Table } from "@/components/table";
import { Age } from "@/components/time";
import { formatCount, formatRate, formatShare, formatShort, plural } from "@/lib/numbers";
import { errorShare, type Problem, problemOf, sum, worstFirst } from "@/lib/problems";
import type { QueueFigures, QueueView } from "@/lib/records";
import { pauseQueue, resumeQueue } from "./actions";
import { DrainText, drainOf } from "./words";

export interface QueueRow {
  queue: QueueView;
  figures: QueueFigures | undefined;
  problem: Problem;
  step: number;
}

/** Queues with their figures, the worst first. */
export function queueRows(
  queues: QueueView[],
  figures: QueueFigures[],
  step: number,
  now: number,
): QueueRow[] {
  const byName = new Map(figures.map((figure) => [figure.name, figure]));
  return worstFirst(
    queues.map((queue) => {
      const own = byName.get(queue.name);
      return { queue, figures: own, problem: problemOf(queue, own, step, now), step };
    }),
  );
}

/** How many of them somebody should look at. */
export function Attention({ rows }: { rows: QueueRow[] }) {
  const troubled = rows.filter((row) => row.problem.weight >= 2);
  return troubled.length === 0 ? (
    "All queues are well"
  ) : (
    <span
      className="text-danger"
      title={troubled.map((row) => `${row.queue.name}: ${row.problem.reasons.join("; ")}`).join("\n")}
    >
      {plural(troubled.length, "queue needs", "queues need")} attention
    </span>
  );
}

export function QueueTable({ rows, words }: { rows: QueueRow[]; words: string }) {
  const navigate = useNavigate();
  const columns = useMemo(() => queueColumns(words), [words]);
  return (
    <Table
      label="Queues"
      rows={rows}
      rowId={(row) => row.queue.name}
      columns={columns}
      onOpen={(row) => void navigate({ to: "/queues/$name", params: { name: row.queue.name } })}
    />
  );
}

function Count({ value, tone }: { value: number; tone?: string }) {
  return (
    <span title={formatCount(value)} className={value === 0 ? "text-ink-3" : tone}>
      {formatShort(value)}
    </span>
  );
}

function queueColumns(words: string): Column<QueueRow>[] {
  return [
    {
      id: "name",
      title: "Queue",
      wide: true,
      lead: true,
      className: "sm:min-w-44",
      cell: ({ queue, problem }) => (
        <span className="flex min-w-0 items-center gap-x-2 max-sm:flex-wrap max-sm:pr-8">
          <Link
            to="/queues/$name"
            params={{ name: queue.name }}
            className={cx(
              "max-w-full truncate rounded font-medium text-ink hover:text-accent",
              problem.isStuck && "shrink-0 sm:max-w-3/4",
            )}
            title={queue.name}
          >
            {queue.name}
          </Link>
          {queue.paused && <Badge tone="warn">{queue.active > 0 ? "draining" : "paused"}</Badge>}
          {problem.isStuck && (
            <span
              title={problem.reasons.join("; ")}
              className="min-w-0 text-xs text-danger max-sm:w-full sm:truncate"
            >
              {problem.reasons.join("; ")}
            </span>
          )}
        </span>
      ),
    },
    { id: "pending", title: "Pending", right: true, cell: ({ queue }) => <Count value={queue.pending} /> },
    {
      id: "oldest",
      title: "Oldest",
      right: true,
      cell: ({ queue, problem }) =>
        queue.oldest_pending_at === null ? (
          <span className="text-ink-3">–</span>
        ) : (
          <Age
            since={queue.oldest_pending_at}
            className={cx("whitespace-nowrap", problem.isLate && "font-medium text-danger")}
          />
        ),
    },
    {
      id: "active",
      title: "Active",
      right: true,
      cell: ({ queue }) => (
        <>
          <Count value={queue.active} tone="text-active" />
          {queue.max_concurrency !== null && (
            <span className="text-ink-3">/{formatShort(queue.max_concurrency)}</span>
          )}
        </>
      ),
    },
    { id: "completed", title: "Done", right: true, cell: ({ queue }) => <Count value={queue.completed} /> },
    {
      id: "dead",
      title: "Dead",
      right: true,
      cell: ({ queue }) => <Count value={queue.dead} tone="text-danger" />,
    },
    {
      id: "rate",
      title: "Rate",
      right: true,
      cell: ({ queue }) => (
        <span className={cx("whitespace-nowrap", queue.throughput_per_min === 0 && "text-ink-3")}>
          {formatRate(queue.throughput_per_min)}
        </span>
      ),
    },
    {
      id: "errors",
      title: "Errors",
      right: true,
      cell: ({ figures, problem }) => {
        const share = errorShare(figures);
        return (
          <span
            title={`${formatCount(sum(figures?.failed))} failed attempts in ${words}`}
            className={problem.isFailing ? "font-medium text-danger" : share === 0 ? "text-ink-3" : undefined}
          >
            {formatShare(share)}
          </span>
        );
      },
    },
    {
      id: "trend",
      title: "Trend",
      desktop: true,
      cell: ({ queue, figures }) => (
        <Sparkline
          done={shrink(figures?.completed ?? [])}
          failed={shrink(figures?.failed ?? [])}
          label={`${queue.name}: ${sum(figures?.completed)} completed, ${sum(figures?.failed)} failed in ${words}`}
        />
      ),
    },
    {
      id: "drain",
      title: "Drains in",
      right: true,
      className: "whitespace-nowrap",
      cell: ({ queue, figures, step }) => <DrainText drain={drainOf(queue, figures, step)} />,
    },
    {
      id: "act",
      title: "Actions",
      silent: true,
      right: true,
      className: "max-sm:absolute max-sm:top-0.5 max-sm:right-1",
      cell: ({ queue }) =>
        queue.paused ? (
          <IconButton
            icon="play"
            small
            label={`Resume ${queue.name}`}
            onClick={() => resumeQueue(queue.name)}
          />
        ) : (
          <IconButton
            icon="pause"
            small
            label={`Pause ${queue.name}`}
            onClick={() => pauseQueue(queue.name)}
          />
        ),
    },
  ];
}

const BARS = 24;

/** Steps taken together until they fit into a sparkline. */
export function shrink(values: number[]): number[] {
  const size = Math.max(1, Math.ceil(values.length / BARS));
  const bars: number[] = [];
  for (let end = values.length; end > 0; end -= size)
    bars.unshift(sum(values.slice(Math.max(0, end - size), end)));
  return bars;
}
