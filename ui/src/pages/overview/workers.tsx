/** Who works: where, on how much, since when, and whether they are still heard of. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Badge } from "@/components/badge";
import { EmptyState, ErrorState, SkeletonRows } from "@/components/feedback";
import { Card } from "@/components/layout";
import { type Column, Table } from "@/components/table";
import { Age, RelativeTime, useNow } from "@/components/time";
import { formatCount } from "@/lib/numbers";
import { queries } from "@/lib/queries";
import type { WorkerView } from "@/lib/records";
import { instant, MINUTE } from "@/lib/time";

const SHOWN = 6;
/** Workers send a heartbeat every 15 s. */
const SILENT = 2 * MINUTE;

export function WorkersPanel() {
  const { data, error, refetch } = useQuery(queries.workers());
  return (
    <Card
      flush
      title="Workers"
      about={data && `${formatCount(data.length)} in the last day`}
      actions={
        <Link to="/workers" className="link text-sm">
          All workers
        </Link>
      }
    >
      {data === undefined ? (
        error ? (
          <ErrorState what="Workers" error={error} onRetry={() => void refetch()} />
        ) : (
          <SkeletonRows rows={3} columns={3} />
        )
      ) : data.length === 0 ? (
        <EmptyState icon="workers" title="No worker has asked for jobs">
          Start one with <code className="font-mono text-ink">rookery worker app:app</code>, or from any
          language with <code className="font-mono text-ink">POST /api/v1/fetch</code>.
        </EmptyState>
      ) : (
        <Table label="Workers" rows={data.slice(0, SHOWN)} rowId={(worker) => worker.id} columns={COLUMNS} />
      )}
    </Card>
  );
}

const COLUMNS: Column<WorkerView>[] = [
  {
    id: "id",
    title: "Worker",
    wide: true,
    lead: true,
    cell: (worker) => (
      <>
        <span className="font-medium" title={worker.id}>
          {worker.id}
        </span>
        <span className="ml-2 text-xs text-ink-3">{worker.hostname}</span>
      </>
    ),
  },
  { id: "jobs", title: "Jobs", right: true, cell: (worker) => formatCount(worker.active_jobs) },
  {
    id: "up",
    title: "Uptime",
    right: true,
    cell: (worker) => <Age since={worker.started_at} className="whitespace-nowrap" />,
  },
  { id: "seen", title: "Last seen", half: true, right: true, cell: (worker) => <LastSeen worker={worker} /> },
];

function LastSeen({ worker }: { worker: WorkerView }) {
  const now = useNow(15_000);
  const text = <RelativeTime at={worker.last_heartbeat} className="whitespace-nowrap" />;
  return now - instant(worker.last_heartbeat) > SILENT ? <Badge tone="warn">silent {text}</Badge> : text;
}
