import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { Button } from "@/components/button";
import { cx } from "@/components/cx";
import { NotYet } from "@/components/feedback";
import { Page } from "@/components/layout";
import { type Column, Table } from "@/components/table";
import { RelativeTime } from "@/components/time";
import { openBulk } from "@/jobs/bulk-dialog";
import { FIRST_PAGE, Pager, usePage } from "@/jobs/pager";
import { PayloadLine, shortId } from "@/jobs/payload";
import { ALL } from "@/lib/filters";
import { formatCount, plural } from "@/lib/numbers";
import { queries } from "@/lib/queries";
import type { EventView, JobSummary } from "@/lib/records";
import { param, useParams } from "@/lib/url";
import { QueueSelect } from "@/queues/queue-field";
import { approve, openReject } from "./actions";
import { NoneHeld } from "./empty";

/** Jobs that wait for a person to say yes or no. */
export default function HeldPage() {
  const [params, change] = useParams();
  const navigate = useNavigate();
  const { cursor, size } = usePage();
  const queue = param(params, "queue");
  const [chosen, setChosen] = useState<Set<string>>(new Set());
  const queues = (useQuery(queries.queues()).data ?? []).filter((one) => one.held > 0 || one.name === queue);
  const wanted = { state: "held", queue: queue || undefined, limit: size, cursor: cursor || undefined };
  const { data, error, refetch, isPlaceholderData } = useQuery(queries.search(wanted));
  const jobs = data?.jobs ?? [];
  const holds = useQuery(queries.holds(jobs.map((job) => job.id))).data?.events;
  const since = useMemo(() => sinceOf(holds ?? []), [holds]);
  const columns = useMemo(() => [...COLUMNS.slice(0, 3), sinceColumn(since), ...COLUMNS.slice(3)], [since]);
  const here = jobs.filter((job) => chosen.has(job.id)).map((job) => job.id);
  const all = { filter: { ...ALL, states: ["held" as const], queue } };
  const meant = here.length > 0 ? { ids: here } : all;
  const count = here.length > 0 ? formatCount(here.length) : "all";

  return (
    <Page
      title="Held"
      about="Jobs that wait for a person: approve them to let them run, reject them to end them."
      actions={
        <>
          {queues.length > 1 && (
            <QueueSelect
              queues={queues}
              state="held"
              value={queue}
              onChange={(name) => change({ queue: name, ...FIRST_PAGE })}
            />
          )}
          <Button
            icon="check"
            look={here.length > 0 ? "primary" : "plain"}
            disabled={!data?.total}
            onClick={() => openBulk("approve", meant, () => setChosen(new Set()))}
          >
            Approve {count}
          </Button>
          <Button
            icon="close"
            disabled={!data?.total}
            onClick={() => openBulk("reject", meant, () => setChosen(new Set()))}
          >
            Reject {count}
          </Button>
        </>
      }
    >
      <section className={cx("card min-w-0 transition-opacity", isPlaceholderData && "opacity-60")}>
        {data === undefined ? (
          <NotYet what="Held jobs" error={error} onRetry={() => void refetch()} />
        ) : jobs.length === 0 ? (
          <NoneHeld queue={queue} />
        ) : (
          <>
            <p className="px-4 py-2.5 text-sm text-ink-2" role="status">
              {here.length > 0 ? `${formatCount(here.length)} of ` : ""}
              {plural(data.total, "job")}
              {here.length > 0 ? " selected" : data.total === 1 ? " waits" : " wait"}
            </p>
            <div className="border-line border-t">
              <Table
                label="Held jobs"
                rows={jobs}
                rowId={(job) => job.id}
                columns={columns}
                selection={{ chosen, onChange: setChosen }}
                onOpen={(job) => void navigate({ to: "/jobs/$id", params: { id: job.id } })}
              />
            </div>
            <Pager total={data.total} next={data.cursor} shown={jobs.length} />
          </>
        )}
      </section>
    </Page>
  );
}

/** When each job was last held. */
function sinceOf(events: EventView[]): Map<string, string> {
  return new Map(
    events.map((event) => [event.job_id ?? "", new Date(Math.floor(event.at_ns / 1e6)).toISOString()]),
  );
}

function sinceColumn(since: Map<string, string>): Column<JobSummary> {
  return {
    id: "since",
    title: "Held",
    right: true,
    half: true,
    className: "whitespace-nowrap",
    cell: (job) => {
      const at = since.get(job.id);
      return at ? <RelativeTime at={at} className="text-ink-2" /> : <span className="text-ink-3">–</span>;
    },
  };
}

const COLUMNS: Column<JobSummary>[] = [
  {
    id: "id",
    title: "Job",
    lead: true,
    className: "whitespace-nowrap sm:max-w-56",
    cell: (job) => (
      <>
        <Link
          to="/jobs/$id"
          params={{ id: job.id }}
          title={job.id}
          className="rounded font-mono text-xs hover:text-accent"
        >
          {shortId(job.id)}
        </Link>
        <Link
          to="/queues/$name"
          params={{ name: job.queue }}
          title={job.queue}
          className="block truncate rounded text-ink-3 text-xs hover:text-accent"
        >
          {job.queue}
        </Link>
      </>
    ),
  },
  {
    id: "reason",
    title: "Reason",
    className: "sm:w-full sm:min-w-40 sm:max-w-0 max-sm:col-span-4",
    cell: (job) => (
      <span
        title={job.hold_reason ?? undefined}
        className={cx("block break-words sm:line-clamp-2", job.hold_reason ? "font-medium" : "text-ink-3")}
      >
        {job.hold_reason || "No reason was given"}
      </span>
    ),
  },
  {
    id: "by",
    title: "Held by",
    half: true,
    className: "whitespace-nowrap sm:max-w-48",
    cell: (job) => (
      <span
        className="block truncate text-ink-2"
        title={job.worker_id ?? "Somebody held it by the API or in this UI"}
      >
        {job.worker_id ? `worker ${job.worker_id}` : "by hand"}
      </span>
    ),
  },
  {
    id: "payload",
    title: "Payload",
    className: "max-sm:col-span-4 sm:max-w-64 max-sm:min-w-0",
    cell: (job) => (
      <span className="block truncate">
        <PayloadLine text={job.payload} />
      </span>
    ),
  },
  {
    id: "act",
    title: "Actions",
    silent: true,
    right: true,
    className: "max-sm:col-span-4",
    cell: (job) => (
      <span className="inline-flex gap-1.5">
        <Button
          small
          icon="check"
          onClick={() => void approve(job)}
          aria-label={`Approve ${shortId(job.id)}`}
        >
          Approve
        </Button>
        <Button
          small
          look="quiet"
          icon="close"
          onClick={() => openReject(job)}
          aria-label={`Reject ${shortId(job.id)}`}
        >
          Reject
        </Button>
      </span>
    ),
  },
];
