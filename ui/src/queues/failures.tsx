/** What failed lately, by what was said: how often, where, when, and whether jobs died of it. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Badge } from "@/components/badge";
import { EmptyState, NotYet } from "@/components/feedback";
import { Card } from "@/components/layout";
import { RelativeTime } from "@/components/time";
import { formatCount, plural } from "@/lib/numbers";
import { queries } from "@/lib/queries";
import { RANGES, type Range } from "@/lib/ranges";
import type { FailureGroup } from "@/lib/records";

export function Failures({ range, queue, most = 8 }: { range: Range; queue?: string; most?: number }) {
  const { minutes, words } = RANGES[range];
  const { data, error, refetch } = useQuery(queries.failures({ minutes, queue }));
  return (
    <Card
      flush
      title="Recent failures"
      about={
        data && data.attempts > 0
          ? `${formatCount(data.attempts)}${data.is_partial ? "+" : ""} in ${words}`
          : undefined
      }
    >
      {data === undefined ? (
        <NotYet what="Failures" error={error} onRetry={() => void refetch()} rows={4} columns={3} />
      ) : data.groups.length === 0 ? (
        <EmptyState icon="check" title={`Nothing has failed in ${words}`} />
      ) : (
        <ul className="divide-y divide-line border-line border-t">
          {data.groups.slice(0, most).map((group) => (
            <Group key={group.pattern} group={group} queue={queue} />
          ))}
          {data.groups.length > most && (
            <li className="px-4 py-2 text-sm text-ink-3">
              and {plural(data.groups.length - most, "other error")}
            </li>
          )}
        </ul>
      )}
    </Card>
  );
}

function Group({ group, queue }: { group: FailureGroup; queue?: string }) {
  const search = {
    error: group.contains || undefined,
    queue: queue ?? (group.queues.length === 1 ? group.queues[0] : undefined),
  };
  return (
    <li className="flex items-start gap-3 px-4 py-2.5 text-sm hover:bg-hover">
      <span
        className="mt-px min-w-9 shrink-0 text-right font-semibold text-danger"
        title={`${plural(group.attempts, "failed attempt")} of ${plural(group.jobs, "job")}`}
      >
        {formatCount(group.attempts)}×
      </span>
      <div className="min-w-0 flex-1">
        <Link
          to="/jobs"
          search={search as never}
          className="block truncate rounded font-medium hover:text-accent"
          title={group.error}
        >
          {group.error || "(no text)"}
        </Link>
        <p className="flex min-w-0 gap-x-2 whitespace-nowrap text-xs text-ink-3">
          <span className="truncate" title={group.queues.join(", ")}>
            {group.queues.slice(0, 3).join(", ")}
            {group.queues.length > 3 && ` and ${group.queues.length - 3} more`}
          </span>
          <span>·</span>
          <Link to="/jobs/$id" params={{ id: group.last_job_id }} className="link">
            last job
          </Link>
          <span>
            (attempt {group.last_attempt}/{group.max_retries})
          </span>
        </p>
      </div>
      <div className="flex shrink-0 flex-col items-end gap-0.5">
        <RelativeTime at={group.last_at} className="whitespace-nowrap text-xs text-ink-3" />
        {group.dead > 0 && <Badge tone="danger">{plural(group.dead, "dead", "dead")}</Badge>}
      </div>
    </li>
  );
}
