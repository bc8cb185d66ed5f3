/** The jobs that a search finds, with selection, bulk actions and pages. What it shows is in the address. */

import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect, useState } from "react";
import { Button } from "@/components/button";
import { cx } from "@/components/cx";
import { EmptyState, ErrorState, SkeletonRows } from "@/components/feedback";
import type { Column } from "@/components/table";
import { isNarrow } from "@/lib/filter-words";
import { ALL, type JobFilter, type Sort, toRequest } from "@/lib/filters";
import { formatCount, plural } from "@/lib/numbers";
import { queries } from "@/lib/queries";
import type { JobSummary } from "@/lib/records";
import { BulkBar, type Chosen, NONE } from "./bulk-bar";
import { openBulk } from "./bulk-dialog";
import { Pager, usePage } from "./pager";
import { JobTable } from "./table";

export function JobResults({
  filter,
  columns,
  onFilter,
  empty,
  toolbar,
}: {
  filter: JobFilter;
  columns: Column<JobSummary>[];
  onFilter: (filter: JobFilter) => void;
  /** What is shown when there is no job at all. */
  empty: ReactNode;
  toolbar?: ReactNode;
}) {
  const { cursor, size } = usePage();
  const search = useQuery(queries.search({ ...toRequest(filter), limit: size, cursor: cursor || undefined }));
  const [chosen, setChosen] = useState<Chosen>(NONE);
  const key = JSON.stringify(filter);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another filter, another selection
  useEffect(() => setChosen(NONE), [key]);

  if (search.data === undefined) {
    return search.error ? (
      <ErrorState what="Jobs" error={search.error} onRetry={() => void search.refetch()} />
    ) : (
      <SkeletonRows rows={8} />
    );
  }
  const { jobs, total, cursor: next, duration_ms } = search.data;
  const apartFromQueue = filter.queue !== "";
  return (
    <div className={cx("border-line border-t transition-opacity", search.isPlaceholderData && "opacity-60")}>
      <div className="flex min-h-11 flex-wrap items-center gap-x-3 gap-y-1 px-4 py-1.5">
        <p className="text-sm text-ink-2" role="status">
          <b className="font-semibold text-ink">{formatCount(total)}</b>{" "}
          {plural(total, "result").replace(/^\S+ /, "")}{" "}
          <span className="text-ink-3">({Math.max(1, Math.round(duration_ms))} ms)</span>
        </p>
        <div className="ml-auto flex flex-wrap items-center gap-2">
          {total > 0 && !chosen.all && (
            <Button
              small
              look="quiet"
              className="-mr-2"
              onClick={() => setChosen({ ids: new Set(), all: true })}
            >
              Select all {formatCount(total)}
            </Button>
          )}
          {toolbar}
        </div>
      </div>
      <BulkBar
        chosen={chosen}
        shown={jobs.length}
        total={total}
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
              <Button onClick={() => onFilter({ ...ALL, queue: filter.queue })}>Reset the search</Button>
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
      <Pager total={total} next={next} shown={jobs.length} />
    </div>
  );
}
