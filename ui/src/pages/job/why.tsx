/** Why a job is not running: every reason, the one that binds first, and what can be done about it. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Button, ButtonLink } from "@/components/button";
import { cx } from "@/components/cx";
import { Skeleton } from "@/components/feedback";
import { Icon, type IconName } from "@/components/icons";
import { Card } from "@/components/layout";
import { StatePill } from "@/components/states";
import { RelativeTime } from "@/components/time";
import { shortId } from "@/jobs/payload";
import { concerns } from "@/lib/live";
import { formatCount, plural } from "@/lib/numbers";
import { queries } from "@/lib/queries";
import type { JobView, WhyView } from "@/lib/records";
import { resumeQueue } from "@/queues/actions";

type Reason = WhyView["reasons"][number];
const WAITS = ["pending", "scheduled", "retrying", "held"];

export function Why({ job }: { job: JobView }) {
  const waits = WAITS.includes(job.state);
  const others = job.depends_on ?? [];
  const { data, error } = useQuery({
    ...queries.why(job.id),
    enabled: waits,
    meta: {
      live: (change) =>
        change.queues.includes(job.queue) || [job.id, ...others].some((id) => concerns.job(id)(change)),
    },
  });
  if (!waits || (error && !data)) return null;
  const reasons = data?.reasons.filter(({ code }) => code !== "running" && code !== "finished") ?? [];
  if (data !== undefined && reasons.length === 0) return null;
  return (
    <Card
      title="Why is it not running?"
      about={data?.position != null ? `Position ${formatCount(data.position)} in line` : undefined}
    >
      {data === undefined ? (
        <Skeleton className="w-72" />
      ) : (
        <ol className="flex flex-col gap-1.5">
          {reasons.map((reason, place) => (
            <li
              key={reason.code}
              className={cx(
                "flex flex-wrap items-center gap-x-3 gap-y-2 rounded-lg px-3 py-2",
                place === 0 ? "bg-warn-soft" : "bg-sunken",
              )}
            >
              <Icon
                name={ICONS[reason.code] ?? "info"}
                className={cx("shrink-0 max-sm:hidden", place === 0 ? "text-warn" : "text-ink-3")}
              />
              <div className={cx("min-w-0 flex-1 basis-60 break-words", place > 0 && "text-ink-2")}>
                {place === 0 && reasons.length > 1 && (
                  <span className="sr-only">The reason that binds: </span>
                )}
                <Words reason={reason} job={job} />
              </div>
              <Remedy reason={reason} job={job} />
            </li>
          ))}
        </ol>
      )}
    </Card>
  );
}

const ICONS: Partial<Record<string, IconName>> = {
  held: "held",
  scheduled: "clock",
  retry_backoff: "retry",
  waiting_for_dependencies: "split",
  queue_paused: "pause",
  queue_at_concurrency: "gauge",
  rate_limited: "gauge",
  no_workers: "workers",
  behind_others: "queues",
};

function Words({ reason, job }: { reason: Reason; job: JobView }): ReactNode {
  switch (reason.code) {
    case "held":
      return (
        <>
          It was held <RelativeTime at={reason.since} />
          {reason.hold_reason ? (
            <>
              : <q className="font-medium">{reason.hold_reason}</q>
            </>
          ) : (
            " and waits for somebody to approve or reject it."
          )}
        </>
      );
    case "scheduled":
      return (
        <>
          Its time has not come: it is due <RelativeTime at={reason.at} className="font-medium" />.
        </>
      );
    case "retry_backoff":
      return (
        <>
          Attempt {job.attempt} failed; the next one is due{" "}
          <RelativeTime at={reason.at} className="font-medium" />.
        </>
      );
    case "waiting_for_dependencies":
      return (
        <>
          {plural(reason.job_ids.length, "other job")} must complete first:
          <span className="mt-1 flex flex-wrap gap-x-3 gap-y-1">
            {reason.dependencies.slice(0, 6).map((other) => (
              <span key={other.job_id} className="inline-flex items-center gap-1.5">
                <Link
                  to="/jobs/$id"
                  params={{ id: other.job_id }}
                  title={other.job_id}
                  className="link font-mono text-xs"
                >
                  {shortId(other.job_id)}
                </Link>
                <StatePill state={other.state} />
              </span>
            ))}
            {reason.job_ids.length > 6 && <span>and {formatCount(reason.job_ids.length - 6)} more</span>}
          </span>
        </>
      );
    case "queue_paused":
      return (
        <>
          Its queue <QueueName job={job} /> was paused <RelativeTime at={reason.since} />.
        </>
      );
    case "queue_at_concurrency":
      return (
        <>
          Its queue <QueueName job={job} /> runs as many jobs as it may: {formatCount(reason.active)} of{" "}
          {formatCount(reason.max)}.
        </>
      );
    case "rate_limited":
      return (
        <>
          Its queue <QueueName job={job} /> may begin {plural(reason.rate, "job")} in {reason.period}; the
          next one <RelativeTime at={reason.next_slot_at} className="font-medium" />.
        </>
      );
    case "no_workers":
      return (
        <>
          No worker asks for jobs of <QueueName job={job} />
          {reason.last_seen ? (
            <>
              ; one was last seen <RelativeTime at={reason.last_seen} />.
            </>
          ) : (
            ", and none is known that ever did."
          )}
        </>
      );
    case "behind_others":
      return reason.ahead === 0 ? (
        "It is the next in line: a worker takes it as soon as one is free."
      ) : (
        <>
          {plural(reason.ahead, "job")} {reason.ahead === 1 ? "is" : "are"} ahead of it
          {reason.eta ? (
            <>
              ; its turn comes about <RelativeTime at={reason.eta} className="font-medium" />.
            </>
          ) : (
            "; when its turn comes is not known."
          )}
        </>
      );
    default:
      return reason.detail;
  }
}

function QueueName({ job }: { job: JobView }) {
  return (
    <Link
      to="/queues/$name"
      params={{ name: job.queue }}
      className="break-all font-medium underline underline-offset-3"
    >
      {job.queue}
    </Link>
  );
}

/** What the buttons above do not offer. */
function Remedy({ reason, job }: { reason: Reason; job: JobView }) {
  switch (reason.code) {
    case "queue_paused":
      return (
        <Button small icon="play" onClick={() => resumeQueue(job.queue)}>
          Resume queue
        </Button>
      );
    case "no_workers":
      return (
        <ButtonLink small icon="workers" to="/workers">
          Workers
        </ButtonLink>
      );
    default:
      return null;
  }
}
