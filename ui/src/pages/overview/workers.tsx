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
import { connected, stateOf } from "@/lib/workers";
import { Slots } from "@/workers/slots";

const SHOWN = 6;

export function WorkersPanel() {
  const { data, error, refetch } = useQuery(queries.workers());
  const now = useNow(15_000);
  return (
    <Card
      flush
      title="Workers"
      about={data && `${formatCount(connected(data, now).length)} connected`}
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
        <span className="block truncate font-medium" title={worker.id}>
          {worker.id}
        </span>
        <span className="block truncate text-xs text-ink-3" title={worker.hostname ?? undefined}>
          {worker.hostname}
        </span>
      </>
    ),
  },
  { id: "jobs", title: "Jobs", right: true, cell: (worker) => <Slots worker={worker} /> },
  {
    id: "up",
    title: "Uptime",
    right: true,
    cell: (worker) => <Uptime worker={worker} />,
  },
  { id: "seen", title: "Last seen", half: true, right: true, cell: (worker) => <LastSeen worker={worker} /> },
];

function Uptime({ worker }: { worker: WorkerView }) {
  const state = stateOf(worker, useNow(15_000));
  if (state === "silent") return <span className="text-ink-3">–</span>;
  return (
    <span className="sm:whitespace-nowrap">
      <Age since={worker.started_at} />
      {state === "draining" && <span className="text-active"> (draining)</span>}
    </span>
  );
}

function LastSeen({ worker }: { worker: WorkerView }) {
  const state = stateOf(worker, useNow(15_000));
  const text = <RelativeTime at={worker.last_heartbeat} className="whitespace-nowrap" />;
  return state === "silent" ? <Badge tone="warn">silent {text}</Badge> : text;
}
