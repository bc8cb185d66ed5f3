/** The jobs that a search finds, with selection, bulk actions and pages. What it shows is in the address. */

import { type ReactNode, useEffect, useState } from "react";
import { Button } from "@/components/button";
import { cx } from "@/components/cx";
import { EmptyState, ErrorState, SkeletonRows } from "@/components/feedback";
import type { Column } from "@/components/table";
import { isNarrow } from "@/lib/filter-words";
import { ALL, type JobFilter, type Sort } from "@/lib/filters";
import { formatTotal } from "@/lib/numbers";
import type { JobSummary } from "@/lib/records";
import { BulkBar, type Chosen, NONE } from "./bulk-bar";
import { openBulk } from "./bulk-dialog";
import { Pager } from "./pager";
import { RunningBulks } from "./running-bulks";
import { faultIn, useJobSearch } from "./search";
import { JobTable } from "./table";

export function JobResults({
  filter,
  columns,
  onFilter,
  onReset,
  empty,
  toolbar,
}: {
  filter: JobFilter;
  columns: Column<JobSummary>[];
  onFilter: (filter: JobFilter) => void;
  /** Without it the search is reset to all jobs of the queue. */
  onReset?: () => void;
  /** What is shown when there is no job at all. */
  empty: ReactNode;
  toolbar?: ReactNode;
}) {
  const search = useJobSearch(filter);
  const [chosen, setChosen] = useState<Chosen>(NONE);
  const key = JSON.stringify(filter);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another filter, another selection
  useEffect(() => setChosen(NONE), [key]);

  if (search.data === undefined) {
    if (faultIn(search.error)) return <BadFilter />;
    return search.error ? (
      <ErrorState what="Jobs" error={search.error} onRetry={() => void search.refetch()} />
    ) : (
      <SkeletonRows rows={8} />
    );
  }
  const { jobs, total, is_partial, cursor: next, duration_ms } = search.data;
  const many = formatTotal(total, is_partial);
  const apartFromQueue = onReset === undefined;
  return (
    <div className={cx("border-line border-t transition-opacity", search.isPlaceholderData && "opacity-60")}>
      <RunningBulks />
      <div className="flex min-h-11 flex-wrap items-center gap-x-3 gap-y-1 px-4 py-1.5">
        <p className="mr-auto text-sm text-ink-2" role="status">
          <b className="font-semibold text-ink">{many}</b> {total === 1 && !is_partial ? "result" : "results"}{" "}
          <span className="text-ink-3">({Math.max(1, Math.round(duration_ms))} ms)</span>
        </p>
        {total > 0 && !chosen.all && (
          <Button
            small
            look="quiet"
            className="-mr-2"
            onClick={() => setChosen({ ids: new Set(), all: true })}
          >
            Select all {many}
          </Button>
        )}
        {toolbar && <div className="flex items-center gap-2">{toolbar}</div>}
      </div>
      <BulkBar
        chosen={chosen}
        shown={jobs.length}
        total={total}
        many={many}
        onChoose={setChosen}
        onAct={(action) =>
          openBulk(action, chosen.all ? { filter } : { ids: [...chosen.ids] }, () => setChosen(NONE))
        }
      />
      {jobs.length === 0 ? (
        isNarrow(filter, apartFromQueue) ? (
          <EmptyState
            icon="search"
            title="No job matches"
            actions={
              <Button onClick={() => (onReset ? onReset() : onFilter({ ...ALL, queue: filter.queue }))}>
                Reset the search
              </Button>
            }
          >
            Nothing was found with this search.
          </EmptyState>
        ) : (
          empty
        )
      ) : (
        <JobTable
          jobs={jobs}
          columns={columns}
          selection={{
            chosen: chosen.all ? new Set(jobs.map((job) => job.id)) : chosen.ids,
            onChange: (ids) => setChosen({ ids, all: false }),
          }}
          sorting={{
            by: filter.sort,
            order: filter.order,
            onSort: (by, order) => onFilter({ ...filter, sort: by as Sort, order }),
          }}
        />
      )}
      <Pager total={total} isPartial={is_partial} next={next} shown={jobs.length} />
    </div>
  );
}

/** What is wrong stands at the field; here is only why there is no list. */
function BadFilter() {
  return (
    <div className="border-line border-t">
      <EmptyState icon="filter" title="The server does not understand this search">
        Change what is marked above, or remove it.
      </EmptyState>
    </div>
  );
}
