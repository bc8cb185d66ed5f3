/** The few figures that say how it goes. */

import { useQuery } from "@tanstack/react-query";
import { Skeleton } from "@/components/feedback";
import { Figure, Figures } from "@/components/layout";
import { Age, useNow } from "@/components/time";
import { formatCount, formatRate, formatShare, formatShort, plural } from "@/lib/numbers";
import { errorShare, sum } from "@/lib/problems";
import { queries } from "@/lib/queries";
import { RANGES, type Range } from "@/lib/ranges";
import type { QueueFigures, QueueView } from "@/lib/records";
import { connected } from "@/lib/workers";
import { countState } from "@/shell/navigation";

export function Summary({
  queues,
  figures,
  range,
}: {
  queues: QueueView[] | undefined;
  figures: QueueFigures[];
  range: Range;
}) {
  const now = useNow(15_000);
  const all = useQuery(queries.workers()).data;
  const workers = all && connected(all, now);
  if (queues === undefined) {
    return (
      <Figures className="sm:grid-cols-3 xl:grid-cols-6">
        {["Completed", "Failed", "Waiting", "Active", "Dead", "Workers"].map((label) => (
          <Figure key={label} label={label} value={<Skeleton className="h-5 w-16" />} note="&nbsp;" />
        ))}
      </Figures>
    );
  }
  const completed = sum(figures.map((figure) => sum(figure.completed)));
  const failed = sum(figures.map((figure) => sum(figure.failed)));
  const share = errorShare({ completed: [completed], failed: [failed] });
  const oldest = queues
    .map((queue) => queue.oldest_pending_at)
    .filter((at) => at !== null)
    .sort()[0];
  const rate = sum(queues.map((queue) => queue.throughput_per_min));
  const pending = countState(queues, "pending");
  const dead = countState(queues, "dead");
  const busy = workers?.filter((worker) => worker.active_jobs > 0).length ?? 0;
  return (
    <Figures className="sm:grid-cols-3 xl:grid-cols-6">
      <Figure
        label="Completed"
        value={formatShort(completed)}
        note={`${formatRate(rate)} now`}
        title={`${formatCount(completed)} in ${RANGES[range].words}`}
      />
      <Figure
        label="Failed attempts"
        value={formatShort(failed)}
        note={`${formatShare(share)} of attempts`}
        tone={share >= 0.1 ? "danger" : undefined}
        title={`${formatCount(failed)} in ${RANGES[range].words}`}
      />
      <Figure
        label="Pending"
        value={formatShort(pending)}
        note={oldest ? <>oldest {<Age since={oldest} />}</> : "nothing waits"}
        title={formatCount(pending)}
      />
      <Figure
        label="Active"
        value={formatShort(countState(queues, "active"))}
        note={`${formatShort(countState(queues, "retrying"))} retrying`}
      />
      <Figure
        label="Dead"
        value={formatShort(dead)}
        note={plural(countState(queues, "held"), "held", "held")}
        tone={dead > 0 ? "danger" : undefined}
        title={formatCount(dead)}
      />
      <Figure
        label="Workers"
        value={workers ? formatCount(workers.length) : <Skeleton className="h-5 w-10" />}
        note={`${formatCount(busy)} busy`}
      />
    </Figures>
  );
}
