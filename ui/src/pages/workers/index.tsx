import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { Badge } from "@/components/badge";
import { ErrorState, Note, SkeletonRows } from "@/components/feedback";
import { Segmented, TextField } from "@/components/field";
import { Figure, Figures, Page } from "@/components/layout";
import { type Column, Table } from "@/components/table";
import { Age, RelativeTime, useNow } from "@/components/time";
import { formatCount, plural } from "@/lib/numbers";
import { queries } from "@/lib/queries";
import type { WorkerView } from "@/lib/records";
import { param, useParams } from "@/lib/url";
import { isSilent, unserved } from "@/lib/workers";
import { NoWorkers } from "./empty";

type Shown = "all" | "live" | "silent";

/** Who works: on what, where, since when, and whether they are still heard of. */
export default function WorkersPage() {
  const { data, error, refetch } = useQuery(queries.workers());
  const queues = useQuery(queries.queues()).data;
  const now = useNow(5_000);
  const [params, change] = useParams();
  const text = param(params, "q").toLowerCase();
  const shown = param(params, "show", "all") as Shown;
  const silent = (data ?? []).filter((worker) => isSilent(worker, now));
  const live = (data?.length ?? 0) - silent.length;
  const waiting = useMemo(() => unserved(queues ?? [], data ?? [], now), [queues, data, now]);
  const rows = (data ?? []).filter(
    (worker) =>
      (shown === "all" || isSilent(worker, now) === (shown === "silent")) &&
      [worker.id, worker.hostname ?? "", ...worker.queues].some((part) => part.toLowerCase().includes(text)),
  );
  const columns = useMemo(() => columnsAt(now), [now]);

  return (
    <Page title="Workers" about="Everybody who has asked for jobs in the last day.">
      {data === undefined || data.length > 0 ? (
        <Figures className="sm:grid-cols-4">
          <Figure label="Live" value={formatCount(live)} note="in the last 2 minutes" />
          <Figure
            label="Silent"
            value={formatCount(silent.length)}
            tone={silent.some((worker) => worker.active_jobs > 0) ? "warn" : undefined}
            note={
              silent.some((worker) => worker.active_jobs > 0) ? "some still have jobs" : "stopped, or lost"
            }
          />
          <Figure
            label="Jobs in hand"
            value={formatCount((data ?? []).reduce((sum, worker) => sum + worker.active_jobs, 0))}
          />
          <Figure
            label="Queues served"
            value={formatCount(new Set((data ?? []).flatMap((worker) => worker.queues)).size)}
            note={queues && `of ${formatCount(queues.length)}`}
          />
        </Figures>
      ) : null}
      {waiting.length > 0 && (
        <Note tone="warn">
          No live worker takes jobs from{" "}
          {waiting.slice(0, 4).map((queue, place) => (
            <span key={queue.name}>
              {place > 0 && ", "}
              <Link
                to="/queues/$name"
                params={{ name: queue.name }}
                className="font-semibold underline underline-offset-2"
              >
                {queue.name}
              </Link>{" "}
              ({formatCount(queue.pending)} waiting)
            </span>
          ))}
          {waiting.length > 4 && ` and ${plural(waiting.length - 4, "other queue")}`}.
        </Note>
      )}
      <section className="card min-w-0">
        {data === undefined ? (
          error ? (
            <ErrorState what="Workers" error={error} onRetry={() => void refetch()} />
          ) : (
            <SkeletonRows />
          )
        ) : data.length === 0 ? (
          <NoWorkers />
        ) : (
          <>
            <div className="flex flex-wrap items-center gap-3 border-line border-b px-4 py-2.5">
              <div data-search className="w-64 max-sm:w-full">
                <TextField
                  label="Find workers"
                  bare
                  type="search"
                  value={param(params, "q")}
                  onChange={(event) => change({ q: event.target.value })}
                  placeholder="Worker, host or queue"
                />
              </div>
              <Segmented<Shown>
                label="Which workers"
                value={shown}
                onChange={(chosen) => change({ show: chosen === "all" ? "" : chosen })}
                options={[
                  ["all", "All"],
                  ["live", "Live"],
                  ["silent", "Silent"],
                ]}
              />
              <p className="ml-auto text-ink-3 text-sm" role="status">
                {plural(rows.length, "worker")}
              </p>
            </div>
            {rows.length === 0 ? (
              <p className="px-4 py-10 text-center text-ink-2 text-sm">No worker is like that.</p>
            ) : (
              <Table label="Workers" rows={rows} rowId={(worker) => worker.id} columns={columns} />
            )}
          </>
        )}
      </section>
    </Page>
  );
}

function columnsAt(now: number): Column<WorkerView>[] {
  return [
    {
      id: "id",
      title: "Worker",
      lead: true,
      className: "sm:max-w-72",
      cell: (worker) => (
        <span className="block truncate font-medium" title={worker.id}>
          {worker.id}
        </span>
      ),
    },
    {
      id: "state",
      title: "State",
      cell: (worker) =>
        isSilent(worker, now) ? <Badge tone="warn">silent</Badge> : <Badge tone="good">live</Badge>,
    },
    {
      id: "host",
      title: "Host",
      half: true,
      className: "sm:max-w-40",
      cell: (worker) => (
        <span className="block truncate text-ink-2" title={worker.hostname ?? undefined}>
          {worker.hostname ?? "–"}
        </span>
      ),
    },
    { id: "queues", title: "Queues", wide: true, cell: (worker) => <Queues names={worker.queues} /> },
    {
      id: "jobs",
      title: "Jobs",
      right: true,
      cell: (worker) => (
        <Link
          to="/jobs"
          search={{ worker: worker.id, state: "active" } as never}
          className="link whitespace-nowrap"
          title={`The jobs that ${worker.id} has now`}
        >
          {plural(worker.active_jobs, "job")}
        </Link>
      ),
    },
    {
      id: "seen",
      title: "Last seen",
      right: true,
      half: true,
      className: "whitespace-nowrap",
      cell: (worker) => <RelativeTime at={worker.last_heartbeat} className="text-ink-2" />,
    },
    {
      id: "up",
      title: "Uptime",
      right: true,
      className: "whitespace-nowrap",
      cell: (worker) =>
        isSilent(worker, now) ? (
          <span className="text-ink-3">–</span>
        ) : (
          <Age since={worker.started_at} className="text-ink-2" />
        ),
    },
  ];
}

const SHOWN = 3;

function Queues({ names }: { names: string[] }) {
  return (
    <span title={names.join(", ")}>
      {names.slice(0, SHOWN).map((name, place) => (
        <span key={name}>
          {place > 0 && ", "}
          <Link to="/queues/$name" params={{ name }} className="rounded hover:text-accent">
            {name}
          </Link>
        </span>
      ))}
      {names.length > SHOWN && <span className="text-ink-3"> and {names.length - SHOWN} more</span>}
    </span>
  );
}
