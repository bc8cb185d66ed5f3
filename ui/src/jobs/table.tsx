/** Jobs as rows. Pages choose which columns are shown. */

import { Link, useNavigate } from "@tanstack/react-router";
import { Tag } from "@/components/badge";
import { StatePill } from "@/components/states";
import { type Column, type Selection, type Sorting, Table } from "@/components/table";
import { RelativeTime } from "@/components/time";
import { tagPairs } from "@/lib/json";
import type { JobSummary } from "@/lib/records";
import { PayloadLine, shortId } from "./payload";

/** All columns there are, by name. */
export const JOB_COLUMNS: Column<JobSummary>[] = [
  {
    id: "id",
    title: "Job",
    lead: true,
    className: "whitespace-nowrap max-sm:col-span-2!",
    cell: (job) => (
      <Link
        to="/jobs/$id"
        params={{ id: job.id }}
        title={job.id}
        className="rounded font-mono text-xs text-ink hover:text-accent"
      >
        {shortId(job.id)}
      </Link>
    ),
  },
  {
    id: "queue",
    title: "Queue",
    half: true,
    className: "sm:max-w-48",
    cell: (job) => (
      <Link
        to="/queues/$name"
        params={{ name: job.queue }}
        title={job.queue}
        className="block truncate rounded hover:text-accent"
      >
        {job.queue}
      </Link>
    ),
  },
  { id: "state", title: "State", badge: true, cell: (job) => <StatePill state={job.state} /> },
  {
    id: "priority",
    title: "Priority",
    sort: "priority",
    cell: (job) => (
      <span className={job.priority < 2 ? "font-medium text-warn" : "text-ink-3"}>{job.priority_name}</span>
    ),
  },
  {
    id: "attempt",
    title: "Attempt",
    right: true,
    sort: "attempt",
    cell: (job) => (
      <span className={job.attempt > 1 ? "text-warn" : undefined}>
        {job.attempt}/{job.max_retries}
      </span>
    ),
  },
  {
    id: "payload",
    title: "Payload",
    wide: true,
    className: "sm:min-w-40",
    cell: (job) =>
      job.last_error !== null && ["dead", "retrying"].includes(job.state) ? (
        <span title={job.last_error}>
          <PayloadLine text={job.payload} />
          <span className="ml-2 text-xs text-danger">{job.last_error}</span>
        </span>
      ) : (
        <PayloadLine text={job.payload} />
      ),
  },
  {
    id: "tags",
    title: "Tags",
    className: "max-sm:col-span-4 max-sm:min-w-0",
    cell: (job) => {
      const pairs = tagPairs(job.tags);
      return pairs.length === 0 ? null : (
        <span className="flex max-w-56 items-center gap-1 max-sm:max-w-none">
          {pairs.slice(0, 2).map(([name, value]) => (
            <Tag key={name} name={name} value={value} />
          ))}
          {pairs.length > 2 && (
            <span
              className="shrink-0 text-xs text-ink-3"
              title={pairs.map(([name, value]) => `${name}: ${value}`).join("\n")}
            >
              +{pairs.length - 2}
            </span>
          )}
        </span>
      );
    },
  },
  {
    id: "error",
    title: "Last error",
    wide: true,
    cell: (job) => (
      <span className="text-danger" title={job.last_error ?? undefined}>
        {job.last_error}
      </span>
    ),
  },
  {
    id: "worker",
    title: "Worker",
    cell: (job) => <span className="text-ink-2">{job.worker_id ?? "–"}</span>,
  },
  time("created", "Created", "created_at", "created_at"),
  time("started", "Started", "started_at", "started_at"),
  time("completed", "Completed", "completed_at", "completed_at"),
  time("scheduled", "Due", "scheduled_at"),
  time("failed", "Failed", "failed_at"),
  time("expires", "Expires", "expire_at"),
];

function time(id: string, title: string, field: keyof JobSummary, sort?: string): Column<JobSummary> {
  return {
    id,
    title,
    sort,
    right: true,
    className: "whitespace-nowrap",
    cell: (job) => {
      const at = job[field];
      return typeof at === "string" ? (
        <RelativeTime at={at} className="text-ink-2" />
      ) : (
        <span className="text-ink-3">–</span>
      );
    },
  };
}

/** The columns of these names, in this order. */
export function jobColumns(...ids: string[]): Column<JobSummary>[] {
  return ids.map((id) => JOB_COLUMNS.find((column) => column.id === id)!);
}

export function JobTable({
  jobs,
  columns,
  sorting,
  selection,
}: {
  jobs: JobSummary[];
  columns: Column<JobSummary>[];
  sorting?: Sorting;
  selection?: Selection;
}) {
  const navigate = useNavigate();
  return (
    <Table
      label="Jobs"
      rows={jobs}
      rowId={(job) => job.id}
      columns={columns}
      sorting={sorting}
      selection={selection}
      onOpen={(job) => void navigate({ to: "/jobs/$id", params: { id: job.id } })}
    />
  );
}
