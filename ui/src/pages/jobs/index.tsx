import { useQuery } from "@tanstack/react-query";
import { copyText } from "@/components/copy";
import { Page } from "@/components/layout";
import { Menu } from "@/components/menu";
import { attempt } from "@/components/toast";
import { FIRST_PAGE } from "@/jobs/pager";
import { JobResults } from "@/jobs/results";
import { faultIn, useJobSearch } from "@/jobs/search";
import { jobColumns } from "@/jobs/table";
import { auth } from "@/lib/auth";
import { curl } from "@/lib/curl";
import type { Known } from "@/lib/filter-fields";
import {
  type JobFilter,
  type Params,
  readFilter,
  SORTS,
  type Sort,
  tagFilters,
  toRequest,
  writeFilter,
} from "@/lib/filters";
import { encodeBody } from "@/lib/json";
import { plural } from "@/lib/numbers";
import { serverUrl } from "@/lib/place";
import { pythonSearch } from "@/lib/python";
import { queries } from "@/lib/queries";
import type { JobSummary } from "@/lib/records";
import { useParams } from "@/lib/url";
import { FirstJob } from "@/queues/first-job";
import { ColumnChooser, useColumns } from "./columns";
import { openExport } from "./export";
import { FilterBar } from "./filter-bar";
import { StateRow } from "./states";
import { useDefaultView, Views } from "./views";

/** All jobs, or those that one looks for, and what can be done to them. */
export default function JobsPage() {
  const [params, change] = useParams();
  const filter = readFilter(params);
  const search = useJobSearch(filter);
  const [columns, chooseColumns] = useColumns();
  const known = useKnown(search.data?.jobs ?? []);
  const queues = useQuery(queries.queues()).data;
  useDefaultView();

  function look(wanted: JobFilter) {
    const kept: Params = { size: params.size, columns: params.columns, view: params.view };
    change({ ...kept, ...writeFilter(wanted), ...FIRST_PAGE }, { clear: true, push: true });
  }
  const reset = () => change({ size: params.size, columns: params.columns }, { clear: true, push: true });

  return (
    <Page
      title="Jobs"
      about={queues && `in ${plural(queues.length, "queue")}`}
      actions={
        <>
          <Views />
          <TakeAway filter={filter} />
        </>
      }
    >
      <StateRow
        filter={filter}
        // What was not counted to the end would take longer.
        duration={search.isPlaceholderData || search.data?.is_partial ? undefined : search.data?.duration_ms}
        onChange={(states) => look({ ...filter, states })}
      />
      <div className="card">
        <div className="flex items-start gap-2 p-3">
          <FilterBar
            filter={filter}
            known={known}
            fault={faultIn(search.error)}
            onChange={(changes) => look({ ...filter, ...changes })}
            onReset={reset}
          />
        </div>
        <JobResults
          filter={filter}
          columns={jobColumns(...columns)}
          onFilter={look}
          onReset={reset}
          empty={<FirstJob />}
          toolbar={
            <>
              <SortMenu filter={filter} onSort={look} />
              <ColumnChooser shown={columns} onChoose={chooseColumns} />
            </>
          }
        />
      </div>
    </Page>
  );
}

/** What is offered as one types: the names there are, and what the jobs on screen have. */
function useKnown(jobs: JobSummary[]): Known {
  const queues = useQuery(queries.queues()).data ?? [];
  const workers = useQuery(queries.workers()).data ?? [];
  const seen = (read: (job: JobSummary) => string | null) => jobs.map(read).filter((value) => value !== null);
  return {
    queue: queues.map(({ name }) => name),
    worker: [...workers.map(({ id }) => id), ...seen((job) => job.worker_id)],
    tags: jobs.flatMap((job) => tagFilters(job.tags)),
    error: seen((job) => job.last_error && job.last_error.split("\n")[0]!.slice(0, 80)),
    batch: seen((job) => job.batch_id),
    chain: seen((job) => job.chain_id),
    parent: seen((job) => job.parent_id),
    dependsOn: jobs.map(({ id }) => id),
    unique: seen((job) => job.unique_key),
  };
}

const SORT_WORDS: Record<Sort, string> = {
  created_at: "Created",
  priority: "Priority",
  started_at: "Started",
  completed_at: "Completed",
  attempt: "Attempt",
};

/** A phone has no headings to sort by. */
function SortMenu({ filter, onSort }: { filter: JobFilter; onSort: (filter: JobFilter) => void }) {
  return (
    <div className="sm:hidden">
      <Menu
        label={`By ${SORT_WORDS[filter.sort].toLowerCase()}`}
        icon={filter.order === "asc" ? "arrowUp" : "arrowDown"}
        small
        align="start"
        items={[
          ...SORTS.map((sort) => ({ label: SORT_WORDS[sort], onSelect: () => onSort({ ...filter, sort }) })),
          {
            label: filter.order === "asc" ? "Largest first" : "Smallest first",
            icon: filter.order === "asc" ? ("arrowDown" as const) : ("arrowUp" as const),
            apart: true,
            onSelect: () => onSort({ ...filter, order: filter.order === "asc" ? "desc" : "asc" }),
          },
        ]}
      />
    </div>
  );
}

/** The search for use elsewhere: as a file, or as code. */
function TakeAway({ filter }: { filter: JobFilter }) {
  const needsKey = auth.get().key !== null;
  return (
    <Menu
      label="Export"
      icon="download"
      items={[
        { label: "Export as NDJSON", icon: "download", onSelect: () => openExport(filter) },
        {
          label: "Copy as curl",
          icon: "copy",
          apart: true,
          onSelect: () =>
            void attempt("curl command copied", () =>
              copyText(
                curl(serverUrl.href, "POST", "api/v1/jobs/search", encodeBody(toRequest(filter)), needsKey),
              ),
            ),
        },
        {
          label: "Copy as Python",
          icon: "copy",
          onSelect: () =>
            void attempt("Python code copied", () =>
              copyText(pythonSearch(serverUrl.href, toRequest(filter), needsKey)),
            ),
        },
      ]}
    />
  );
}
