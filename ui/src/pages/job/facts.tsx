/** What there is to know about a job at a glance. */

import { Link } from "@tanstack/react-router";
import { CopyButton } from "@/components/copy";
import { Card } from "@/components/layout";
import { StatePill } from "@/components/states";
import { AbsoluteTime, RelativeTime, useNow } from "@/components/time";
import { JobLink } from "@/jobs/job-link";
import type { Happening } from "@/lib/happenings";
import { formatCount, plural } from "@/lib/numbers";
import type { JobView } from "@/lib/records";
import { formatDuration, instant } from "@/lib/time";
import { queueTime, type Span } from "@/lib/timeline";
import { Agent, BatchFact, ChainFact, Dependencies, Tags } from "./belongings";
import { Fact } from "./fact";
import { useSpans } from "./use-spans";

export function Facts({ job, events }: { job: JobView; events: Happening[] | undefined }) {
  const spans = useSpans(job, events);
  const inLine = queueTime(spans);
  const isRunning = job.state === "active";
  return (
    <Card title="Facts">
      <dl className="grid gap-x-4 gap-y-3 sm:max-xl:grid-cols-2">
        <Fact label="Queue">
          <Link
            to="/queues/$name"
            params={{ name: job.queue }}
            title={job.queue}
            className="link line-clamp-3 break-all"
          >
            {job.queue}
          </Link>
        </Fact>
        <Fact label="State">
          <span className="flex flex-wrap items-center gap-2">
            <StatePill state={job.state} />
            <span className="text-ink-2">
              {job.attempt === 0
                ? `up to ${plural(Math.max(1, job.max_retries), "attempt")}`
                : `attempt ${formatCount(job.attempt)} of ${formatCount(Math.max(job.attempt, job.max_retries))}`}
            </span>
          </span>
        </Fact>
        {job.hold_reason && <Fact label="Hold reason">{job.hold_reason}</Fact>}
        <Fact label="Priority">{job.priority_name}</Fact>
        {job.worker && (
          <Fact label={isRunning ? "Worker" : "Last worker"}>
            <Link
              to="/jobs"
              search={{ worker: job.worker.id }}
              title={job.worker.id}
              className="link line-clamp-2 break-all"
            >
              {job.worker.id}
            </Link>
            {job.worker.hostname && <span className="break-all text-ink-2"> on {job.worker.hostname}</span>}
          </Fact>
        )}
        <Fact label="Created">
          <When at={job.created_at} />
        </Fact>
        {job.scheduled_at && (
          <Fact label={job.state === "retrying" ? "Next attempt" : "Due"}>
            <When at={job.scheduled_at} />
          </Fact>
        )}
        {job.started_at && (
          <Fact label="Started">
            <When
              at={job.started_at}
              note={inLine === null ? undefined : `${formatDuration(inLine)} queue time`}
            />
          </Fact>
        )}
        {isRunning && job.started_at && (
          <Fact label="Running for">
            <Since at={job.started_at} />
            {job.lease_expires_at && (
              <span className="text-ink-3">
                , lease ends <RelativeTime at={job.lease_expires_at} />
              </span>
            )}
          </Fact>
        )}
        <Ended job={job} spans={spans} />
        {job.expire_at && job.completed_at === null && job.failed_at === null && (
          <Fact label="Expires">
            <When at={job.expire_at} />
          </Fact>
        )}
        {job.unique_key !== null && (
          <Fact label="Unique key">
            <Link
              to="/jobs"
              search={{ unique: job.unique_key }}
              title={job.unique_key}
              className="link line-clamp-3 break-all font-mono text-xs"
            >
              {job.unique_key}
            </Link>
          </Fact>
        )}
        <Tags job={job} />
        {job.batch_id !== null && <BatchFact id={job.batch_id} />}
        <ChainFact job={job} />
        {job.parent_id !== null && (
          <Fact label="Parent">
            <JobLink id={job.parent_id} />
          </Fact>
        )}
        {job.depends_on !== null && job.depends_on.length > 0 && <Dependencies ids={job.depends_on} />}
        <Agent job={job} />
        <Fact label="Retries">
          {job.max_retries <= 1
            ? "none"
            : job.retry_backoff === "none"
              ? "at once"
              : `${job.retry_backoff} backoff, ${job.retry_base_delay}${job.retry_backoff === "fixed" ? "" : ` up to ${job.retry_max_delay}`}`}
        </Fact>
        {job.traceparent && (
          <Fact label="Trace">
            <span className="flex items-start gap-1">
              <span className="min-w-0 break-all font-mono text-xs">{job.traceparent}</span>
              <CopyButton text={job.traceparent} label="Copy the trace" />
            </span>
          </Fact>
        )}
      </dl>
    </Card>
  );
}

function When({ at, note }: { at: string; note?: string }) {
  return (
    <>
      <AbsoluteTime at={at} />
      <span className="block text-xs text-ink-3">
        <RelativeTime at={at} />
        {note && `, ${note}`}
      </span>
    </>
  );
}

/** How long, and ticking. */
function Since({ at }: { at: string }) {
  const now = useNow(1000);
  return <>{formatDuration(Math.max(0, now - instant(at)))}</>;
}

function Ended({ job, spans }: { job: JobView; spans: Span[] }) {
  const at = job.completed_at ?? job.failed_at;
  if (at === null) return null;
  const label = job.completed_at !== null ? "Completed" : job.state === "dead" ? "Died" : "Last failed";
  const run = spans.findLast((span) => span.kind === "running" && !span.isOpen);
  return (
    <Fact label={label}>
      <When
        at={at}
        note={run && run.to === instant(at) ? `${formatDuration(run.to - run.from)} run time` : undefined}
      />
    </Fact>
  );
}
