/** The newest jobs that died of an error. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { IconButton } from "@/components/button";
import { NotYet } from "@/components/feedback";
import { type Column, Table } from "@/components/table";
import { RelativeTime } from "@/components/time";
import { attempt } from "@/components/toast";
import { PayloadLine, shortId } from "@/jobs/payload";
import { api } from "@/lib/endpoints";
import { queries, refresh } from "@/lib/queries";
import type { JobView } from "@/lib/records";

export function Examples({ ids }: { ids: string[] }) {
  const { data, error, refetch } = useQuery(queries.jobs(ids));
  if (data === undefined) {
    return (
      <NotYet
        what="Examples"
        error={error}
        onRetry={() => void refetch()}
        rows={Math.min(3, ids.length)}
        columns={3}
      />
    );
  }
  return (
    <div className="card overflow-hidden shadow-none">
      <Table
        label="The newest jobs with this error"
        rows={data.jobs.filter((job) => job.state === "dead")}
        rowId={(job) => job.id}
        columns={COLUMNS}
      />
    </div>
  );
}

async function retry(job: JobView): Promise<void> {
  await attempt(`${shortId(job.id)} is tried again.`, () => api.retryJob(job.id));
  await refresh();
}

const COLUMNS: Column<JobView>[] = [
  {
    id: "id",
    title: "Job",
    lead: true,
    className: "whitespace-nowrap",
    cell: (job) => (
      <Link to="/jobs/$id" params={{ id: job.id }} title={job.id} className="link rounded font-mono text-xs">
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
  {
    id: "attempt",
    title: "Attempt",
    right: true,
    cell: (job) => `${job.attempt}/${job.max_retries}`,
  },
  { id: "payload", title: "Payload", wide: true, cell: (job) => <PayloadLine text={job.payload} /> },
  {
    id: "failed",
    title: "Died",
    right: true,
    half: true,
    className: "whitespace-nowrap",
    cell: (job) => <RelativeTime at={job.failed_at ?? job.created_at} className="text-ink-2" />,
  },
  {
    id: "act",
    title: "Actions",
    silent: true,
    right: true,
    cell: (job) => (
      <IconButton icon="retry" small label={`Retry ${shortId(job.id)}`} onClick={() => void retry(job)} />
    ),
  },
];
