import { useQuery } from "@tanstack/react-query";
import { Link, useParams as usePath } from "@tanstack/react-router";
import { useMemo } from "react";
import { ButtonLink } from "@/components/button";
import { CopyButton } from "@/components/copy";
import { EmptyState, Note, NotYet, Skeleton } from "@/components/feedback";
import { Page } from "@/components/layout";
import { StatePill } from "@/components/states";
import { RelativeTime } from "@/components/time";
import { shortId } from "@/jobs/payload";
import { ApiError } from "@/lib/api";
import { attemptsOf } from "@/lib/attempts";
import { readEvent } from "@/lib/happenings";
import { queries } from "@/lib/queries";
import type { JobView } from "@/lib/records";
import { GoneActions, JobActions } from "./actions";
import { AttemptsCard } from "./attempts-card";
import { DataCard } from "./data-card";
import { EventsCard } from "./events-card";
import { Facts } from "./facts";
import { LogCard } from "./log-card";
import { ProgressCard } from "./progress-card";
import { RelationsCard } from "./relations-card";
import { TimelineCard } from "./timeline-card";
import { Why } from "./why";

/** While a job runs its lease is renewed, which no event tells. */
const WHILE_ACTIVE = 5_000;
const OTHERWISE = 30_000;

/** One job: what it is, what became of it and why, and what can be done about it. */
export default function JobPage() {
  const { id } = usePath({ from: "/jobs/$id" });
  const { data, error, refetch } = useQuery({
    ...queries.job(id),
    refetchInterval: (query) => (query.state.data?.state === "active" ? WHILE_ACTIVE : OTHERWISE),
  });
  const isGone = error instanceof ApiError && error.status === 404;
  if (data !== undefined) return <Shown key={id} job={data} isGone={isGone} />;
  if (isGone) return <NoSuchJob id={id} />;
  return (
    <Page
      title="Job"
      heading={<span className="font-mono text-lg">{shortId(id)}</span>}
      about={<Skeleton className="w-48" />}
    >
      <div className="card">
        <NotYet what="The job" error={error} onRetry={() => void refetch()} />
      </div>
    </Page>
  );
}

function Shown({ job, isGone }: { job: JobView; isGone: boolean }) {
  const told = useQuery(queries.jobEvents(job.id)).data;
  const events = useMemo(() => told?.map(readEvent), [told]);
  const attempts = useMemo(() => attemptsOf(job, events ?? []), [job, events]);
  return (
    <Page
      title={`Job ${shortId(job.id)}`}
      heading={
        <span className="flex min-w-0 items-center gap-2">
          <span className="truncate font-mono text-lg tracking-normal" title={job.id}>
            {job.id}
          </span>
          <CopyButton text={job.id} label="Copy the job's id" />
        </span>
      }
      about={
        <span className="flex min-w-0 items-center gap-x-2 gap-y-1 max-sm:flex-wrap">
          <StatePill state={isGone ? "deleted" : job.state} />
          <span className="min-w-0 truncate">
            in{" "}
            <Link to="/queues/$name" params={{ name: job.queue }} title={job.queue} className="link">
              {job.queue}
            </Link>
          </span>
          <span className="whitespace-nowrap text-ink-3">
            created <RelativeTime at={job.created_at} />
          </span>
        </span>
      }
      actions={isGone ? <GoneActions job={job} /> : <JobActions job={job} />}
    >
      {isGone && (
        <Note tone="warn">
          This job was deleted. What is shown here is what was known of it last; it is gone when you leave the
          page.
        </Note>
      )}
      <div className="grid items-start gap-4 xl:grid-cols-[minmax(0,1fr)_21rem] xl:grid-rows-[auto_1fr]">
        <div className="flex min-w-0 flex-col gap-4 empty:hidden">
          {!isGone && <Why job={job} />}
          <ProgressCard progress={job.progress} />
        </div>
        <div className="min-w-0 xl:sticky xl:top-16 xl:col-start-2 xl:max-h-[calc(100dvh-5rem)] xl:overflow-y-auto xl:row-span-2 xl:row-start-1">
          <Facts job={job} events={events} />
        </div>
        <div className="flex min-w-0 flex-col gap-4 xl:col-start-1">
          <TimelineCard job={job} events={events} />
          <AttemptsCard attempts={attempts} />
          <DataCard job={job} />
          {!isGone && <LogCard job={job} />}
          <RelationsCard job={job} />
          <EventsCard events={events} />
        </div>
      </div>
    </Page>
  );
}

function NoSuchJob({ id }: { id: string }) {
  return (
    <Page title="Job not found" heading="Job not found">
      <div className="card">
        <EmptyState
          icon="jobs"
          title="There is no such job"
          actions={<ButtonLink to="/jobs">All jobs</ButtonLink>}
        >
          <p>
            <code className="break-all font-mono text-xs">{id}</code> was deleted, or it ended so long ago
            that it is not kept any more, or the id is mistyped.
          </p>
        </EmptyState>
      </div>
    </Page>
  );
}
