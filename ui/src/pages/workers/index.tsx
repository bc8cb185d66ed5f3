import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { ErrorState, Note, SkeletonRows } from "@/components/feedback";
import { Segmented, TextField } from "@/components/field";
import { Figure, Figures, Page } from "@/components/layout";
import { Table } from "@/components/table";
import { useNow } from "@/components/time";
import { formatCount, plural } from "@/lib/numbers";
import { queries } from "@/lib/queries";
import { param, useParams } from "@/lib/url";
import { allSlots, stateOf, unserved, type WorkerState } from "@/lib/workers";
import { columnsAt } from "./columns";
import { NoWorkers } from "./empty";

type Shown = "all" | WorkerState;

/** Who works: on what, where, since when, and whether they are still heard of. */
export default function WorkersPage() {
  const { data, error, refetch } = useQuery(queries.workers());
  const queues = useQuery(queries.queues()).data;
  const now = useNow(5_000);
  const [params, change] = useParams();
  const text = param(params, "q").toLowerCase();
  const shown = param(params, "show", "all") as Shown;
  const inState = (state: WorkerState) => (data ?? []).filter((worker) => stateOf(worker, now) === state);
  const [live, draining, silent] = [inState("live"), inState("draining"), inState("silent")];
  const slots = allSlots([...live, ...draining]);
  const waiting = useMemo(() => unserved(queues ?? [], data ?? [], now), [queues, data, now]);
  const rows = (data ?? []).filter(
    (worker) =>
      (shown === "all" || stateOf(worker, now) === shown) &&
      [worker.id, worker.hostname ?? "", ...worker.queues].some((part) => part.toLowerCase().includes(text)),
  );
  const columns = useMemo(() => columnsAt(now), [now]);

  return (
    <Page title="Workers" about="Everybody who has asked for jobs in the last day.">
      {data === undefined || data.length > 0 ? (
        <Figures className="sm:grid-cols-4">
          <Figure
            label="Live"
            value={formatCount(live.length)}
            note={
              draining.length > 0 ? `and ${formatCount(draining.length)} draining` : "in the last 2 minutes"
            }
          />
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
            note={slots !== null && `of ${plural(slots, "slot")}`}
          />
          <Figure
            label="Queues served"
            value={formatCount(new Set(live.flatMap((worker) => worker.queues)).size)}
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
                  ["draining", "Draining"],
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
