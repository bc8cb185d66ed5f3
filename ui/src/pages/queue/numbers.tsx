/** A queue's counts and limits. The limits can be changed where they stand. */

import { Link } from "@tanstack/react-router";
import { Figure, Figures } from "@/components/layout";
import { STRIP, StripCount, stripItem } from "@/components/states";
import { Age } from "@/components/time";
import { STATES } from "@/lib/filters";
import { formatCount, formatRate, plural } from "@/lib/numbers";
import type { QueueFigures, QueueView } from "@/lib/records";
import { param, useParams } from "@/lib/url";
import { openConcurrency, openThrottle } from "@/queues/actions";
import { DrainText, drainNote, drainOf, rateLimitOf } from "@/queues/words";

export function QueueNumbers({
  queue,
  figures,
  step,
}: {
  queue: QueueView;
  figures: QueueFigures | undefined;
  step: number;
}) {
  const drain = drainOf(queue, figures, step);
  const chosen = param(useParams()[0], "state");
  return (
    <div className="flex flex-col gap-4">
      <Figures className="sm:grid-cols-3 xl:grid-cols-6">
        <Figure
          label="Throughput"
          value={formatRate(queue.throughput_per_min)}
          note={`${formatCount(queue.enqueued)} enqueued ever`}
        />
        <Figure
          label="Oldest waiting"
          value={queue.oldest_pending_at ? <Age since={queue.oldest_pending_at} /> : "–"}
          note={queue.oldest_pending_at ? plural(queue.pending, "pending", "pending") : "nothing waits"}
        />
        <Figure label="Drains in" value={<DrainText drain={drain} />} note={drainNote(drain)} />
        <Figure
          label="Concurrency"
          value={
            queue.max_concurrency === null
              ? "no limit"
              : `${queue.active} / ${formatCount(queue.max_concurrency)}`
          }
          note={<Change onClick={() => openConcurrency(queue)} what="concurrency" />}
        />
        <Figure
          label="Rate limit"
          value={rateLimitOf(queue) ?? "no limit"}
          note={<Change onClick={() => openThrottle(queue)} what="rate limit" />}
        />
        <Figure
          label="Unique jobs"
          value={figures ? formatCount(figures.unique_locks) : "–"}
          note={figures?.unique_locks === 1 ? "active lock" : "active locks"}
        />
      </Figures>
      <nav aria-label="Jobs of this queue by state" className={STRIP}>
        {STATES.map((state) => (
          <Link
            key={state}
            to="."
            search={
              ((before: object) => ({
                ...before,
                state: state === chosen ? undefined : state,
                cursor: undefined,
                page: undefined,
              })) as never
            }
            resetScroll={false}
            aria-current={state === chosen || undefined}
            title={`${formatCount(queue[state])} ${state}`}
            className={stripItem(state === chosen)}
          >
            <StripCount state={state} count={queue[state]} />
          </Link>
        ))}
      </nav>
    </div>
  );
}

function Change({ onClick, what }: { onClick: () => void; what: string }) {
  return (
    <button type="button" className="link" onClick={onClick} aria-label={`Change ${what}`}>
      Change
    </button>
  );
}
