/** What there is to know about a job at a glance. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { CopyButton } from "@/components/copy";
import { Card } from "@/components/layout";
import { StatePill } from "@/components/states";
import { AbsoluteTime, RelativeTime, useNow } from "@/components/time";
import { shortId } from "@/jobs/payload";
import { writeTag } from "@/lib/filters";
import { type Happening, numberOf } from "@/lib/happenings";
import { type JsonNode, parseJson, printJson } from "@/lib/json";
import { formatCount, plural } from "@/lib/numbers";
import { queries } from "@/lib/queries";
import type { JobView } from "@/lib/records";
import { readChain } from "@/lib/relations";
import { formatDuration, instant } from "@/lib/time";
import { queueTime, type Span } from "@/lib/timeline";
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

function Fact({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className="min-w-0 max-sm:grid max-sm:grid-cols-[6rem_minmax(0,1fr)] max-sm:gap-x-3">
      <dt className="text-xs font-medium text-ink-3 max-sm:leading-5">{label}</dt>
      <dd className="min-w-0 break-words text-sm sm:mt-0.5">{children}</dd>
    </div>
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

function Tags({ job }: { job: JobView }) {
  const node: JsonNode = job.tags === null ? { kind: "null" } : parseJson(job.tags);
  if (node.kind !== "object" || node.entries.length === 0) return null;
  return (
    <Fact label="Tags">
      <ul className="flex flex-wrap gap-1">
        {node.entries.map(([name, value]) => {
          const text = value.kind === "string" ? value.value : printJson(value);
          return (
            <li key={name} className="min-w-0 max-w-full">
              <Link
                to="/jobs"
                search={{ tag: writeTag(name, text, value.kind === "string") }}
                title={`Jobs tagged ${name}: ${text}`}
                className="block truncate rounded-[5px] bg-sunken px-1.5 font-mono text-xs text-ink-2 hover:text-accent"
              >
                <span className="text-ink-3">{name}:</span>
                {text}
              </Link>
            </li>
          );
        })}
      </ul>
    </Fact>
  );
}

function BatchFact({ id }: { id: string }) {
  const { data: batch } = useQuery(queries.batch(id));
  return (
    <Fact label="Batch">
      <Link to="/jobs" search={{ batch: id }} title={id} className="link font-mono text-xs">
        {shortBatch(id)}
      </Link>
      {batch && (
        <span className="block text-xs text-ink-2">
          {formatCount(batch.succeeded)} of {formatCount(batch.total)} complete
          {batch.failed > 0 && <span className="text-danger">, {formatCount(batch.failed)} failed</span>}
          {batch.pending > 0 && `, ${formatCount(batch.pending)} to go`}
        </span>
      )}
    </Fact>
  );
}

const shortBatch = (id: string) => (id.length > 24 ? `${id.slice(0, 8)}…${id.slice(-6)}` : id);

function ChainFact({ job }: { job: JobView }) {
  if (job.chain_id === null) return null;
  const steps = readChain(job.chain_config)?.steps.length;
  const place =
    job.chain_step === null
      ? null
      : job.chain_step === -1
        ? "runs at the end"
        : job.chain_step === -2
          ? "runs when a step dies"
          : `step ${job.chain_step + 1}${steps === undefined ? "" : ` of ${steps}`}`;
  return (
    <Fact label="Chain">
      <Link
        to="/jobs"
        search={{ chain: job.chain_id }}
        title={job.chain_id}
        className="link font-mono text-xs"
      >
        {shortBatch(job.chain_id)}
      </Link>
      {place && <span className="block text-xs text-ink-2">{place}</span>}
    </Fact>
  );
}

function Dependencies({ ids }: { ids: string[] }) {
  const { data } = useQuery(queries.jobs(ids.slice(0, 50)));
  const done = data?.jobs.filter((other) => other.state === "completed").length;
  return (
    <Fact label="Depends on">
      {plural(ids.length, "job")}
      {done !== undefined && ids.length <= 50 && (
        <span className="text-ink-2">
          , {formatCount(done)} of {formatCount(data!.jobs.length)} complete
        </span>
      )}
    </Fact>
  );
}

function JobLink({ id }: { id: string }) {
  return (
    <Link to="/jobs/$id" params={{ id }} title={id} className="link break-all font-mono text-xs">
      {shortId(id)}
    </Link>
  );
}

function Agent({ job }: { job: JobView }) {
  if (job.agent === null) return null;
  const node = parseJson(job.agent);
  const iteration = numberOf(node, "iteration") ?? 1;
  const most = numberOf(node, "max_iterations") ?? 0;
  const cost = numberOf(node, "total_cost_usd") ?? 0;
  const limit = numberOf(node, "max_cost_usd") ?? 0;
  return (
    <Fact label="Agent">
      iteration {formatCount(iteration)}
      {most > 0 && ` of ${formatCount(most)}`}
      {(cost > 0 || limit > 0) && `, $${cost.toFixed(2)}${limit > 0 ? ` of $${limit.toFixed(2)}` : ""}`}
    </Fact>
  );
}
