/** Dead jobs by their last error: how many, where, since when, examples, and what can be done to all of them. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Button, IconButton } from "@/components/button";
import { cx } from "@/components/cx";
import { Note, NotYet } from "@/components/feedback";
import { Icon } from "@/components/icons";
import { RelativeTime } from "@/components/time";
import { toast } from "@/components/toast";
import { openBulk } from "@/jobs/bulk-dialog";
import { messageOf } from "@/lib/api";
import { api, type BulkAction } from "@/lib/endpoints";
import { ALL } from "@/lib/filters";
import { formatCount, plural } from "@/lib/numbers";
import { queries } from "@/lib/queries";
import type { DeadGroup } from "@/lib/records";
import { param, useParams } from "@/lib/url";
import { NoneDead } from "./empty";
import { Examples } from "./examples";

const NO_ERROR = "No error was given: rejected, expired, or failed without a word";
const MOST_IDS = 1000;

export function ErrorGroups({ queue }: { queue: string }) {
  const { data, error, refetch, isPlaceholderData } = useQuery(queries.deadGroups(queue));
  const [params, change] = useParams();
  const open = param(params, "open");
  if (data === undefined) {
    return <NotYet what="Dead letters" error={error} onRetry={() => void refetch()} rows={5} columns={4} />;
  }
  if (data.total === 0) return <NoneDead queue={queue} />;
  return (
    <div className={cx("transition-opacity", isPlaceholderData && "opacity-60")}>
      {data.is_partial && (
        <div className="px-4 pt-3">
          <Note>
            These are the errors of the newest {formatCount(data.looked_at)} of {formatCount(data.total)} dead
            jobs. Retrying or deleting a group takes all of its jobs, also the older ones.
          </Note>
        </div>
      )}
      <ul aria-label="Errors" className="divide-y divide-line">
        {data.groups.map((group) => (
          <Group
            key={group.error_matches}
            group={group}
            queue={queue}
            isOpen={open === keyOf(group)}
            onToggle={() => change({ open: open === keyOf(group) ? "" : keyOf(group) })}
          />
        ))}
      </ul>
    </div>
  );
}

/** What stands for it in the address. */
function keyOf(group: DeadGroup): string {
  return group.error_matches || "none";
}

async function act(action: BulkAction, group: DeadGroup, queue: string): Promise<void> {
  if (group.error_matches !== "") {
    openBulk(action, { filter: { ...ALL, states: ["dead"], queue, errorMatches: group.error_matches } });
    return;
  }
  // A filter has no way to say "no text", so those are named one by one.
  try {
    const wanted = { state: "dead", queue: queue || undefined, error_matches: "", limit: MOST_IDS };
    const { jobs } = await api.search(wanted);
    openBulk(action, { ids: jobs.map((job) => job.id) });
  } catch (error) {
    toast.bad(messageOf(error));
  }
}

function Group({
  group,
  queue,
  isOpen,
  onToggle,
}: {
  group: DeadGroup;
  queue: string;
  isOpen: boolean;
  onToggle: () => void;
}) {
  const text = group.error.trim() || NO_ERROR;
  const [line] = text.split("\n", 1);
  return (
    <li
      data-row={keyOf(group)}
      tabIndex={-1}
      onKeyDown={(event) => {
        if (event.key === "Enter" && event.target === event.currentTarget) onToggle();
      }}
      className="outline-offset-[-2px] focus:outline-2 focus:outline-accent"
    >
      <div className="flex flex-wrap items-start gap-x-3 gap-y-2 px-4 py-3 sm:flex-nowrap">
        <button
          type="button"
          aria-expanded={isOpen}
          onClick={onToggle}
          className="flex min-w-0 flex-1 basis-full items-start gap-2.5 rounded text-left pointer-coarse:min-h-11 sm:basis-0"
        >
          <Icon
            name="chevronRight"
            size={14}
            className={cx("mt-1 shrink-0 text-ink-3 transition-transform", isOpen && "rotate-90")}
          />
          <span
            className="min-w-8 shrink-0 text-right text-lg font-semibold text-danger tabular-nums"
            title={plural(group.jobs, "dead job")}
          >
            {formatCount(group.jobs)}
            <span className="sr-only"> dead jobs:</span>
          </span>
          <span className="min-w-0 flex-1">
            <span
              className={cx(
                "block font-medium max-sm:line-clamp-2 sm:truncate",
                line === NO_ERROR && "text-ink-2 italic",
              )}
              title={text}
            >
              {line}
            </span>
            <span className="mt-0.5 block break-words text-ink-3 text-xs" title={group.queues.join(", ")}>
              {group.queues.slice(0, 3).join(", ")}
              {group.queues.length > 3 && ` and ${group.queues.length - 3} more`} · last{" "}
              <RelativeTime at={group.last_at} />
              {group.jobs > 1 && (
                <>
                  {" "}
                  · first <RelativeTime at={group.first_at} />
                </>
              )}
            </span>
          </span>
        </button>
        <div className="flex shrink-0 items-center gap-1 max-sm:pl-16.5">
          <Button small icon="retry" onClick={() => void act("retry", group, queue)}>
            Retry<span className="sr-only"> all jobs with this error</span>
          </Button>
          <IconButton
            icon="trash"
            small
            label="Delete all jobs with this error"
            onClick={() => void act("delete", group, queue)}
          />
        </div>
      </div>
      {isOpen && (
        <div className="flex flex-col gap-3 border-line border-t bg-sunken px-4 py-3 sm:pl-12">
          {text !== line && (
            <pre className="max-h-56 overflow-auto whitespace-pre-wrap break-words font-mono text-xs text-ink-2 leading-5">
              {text}
            </pre>
          )}
          <Examples ids={group.job_ids} />
          {group.error_matches !== "" && group.jobs > group.job_ids.length && (
            <Link
              to="/jobs"
              search={{ state: "dead", error_matches: group.error_matches, queue } as never}
              className="link self-start text-sm"
            >
              All {formatCount(group.jobs)}
              {" of them"}
            </Link>
          )}
        </div>
      )}
    </li>
  );
}
