import { useQuery } from "@tanstack/react-query";
import { Button } from "@/components/button";
import { Page } from "@/components/layout";
import { Tabs } from "@/components/tabs";
import { openBulk } from "@/jobs/bulk-dialog";
import { FIRST_PAGE } from "@/jobs/pager";
import { JobResults } from "@/jobs/results";
import { jobColumns } from "@/jobs/table";
import { ALL, type JobFilter, readFilter, writeFilter } from "@/lib/filters";
import { formatCount } from "@/lib/numbers";
import { queries } from "@/lib/queries";
import { param, useParams } from "@/lib/url";
import { QueueSelect } from "@/queues/queue-field";
import { countState } from "@/shell/navigation";
import { NoneDead } from "./empty";
import { ErrorGroups } from "./groups";

const COLUMNS = jobColumns("id", "queue", "attempt", "error", "created", "failed");

/** Jobs that have failed for good: by what went wrong, or one by one. */
export default function DeadPage() {
  const [params, change] = useParams();
  const tab = param(params, "tab", "errors");
  const filter: JobFilter = { ...readFilter(params), states: ["dead"] };
  const queues = useQuery(queries.queues()).data;
  const affected = (queues ?? []).filter((queue) => queue.dead > 0 || queue.name === filter.queue);
  const total = countState(
    filter.queue ? affected.filter((one) => one.name === filter.queue) : queues,
    "dead",
  );
  const meant = { filter: { ...ALL, states: ["dead" as const], queue: filter.queue } };

  function search(wanted: JobFilter) {
    change(
      { tab: params.tab, size: params.size, ...writeFilter({ ...wanted, states: [] }), ...FIRST_PAGE },
      { clear: true, push: true },
    );
  }

  return (
    <Page
      title="Dead letters"
      about="Jobs that failed for good, until you retry or delete them."
      actions={
        <>
          {affected.length > 0 && (
            <QueueSelect
              queues={affected}
              state="dead"
              value={filter.queue}
              onChange={(name) => change({ queue: name, ...FIRST_PAGE })}
            />
          )}
          <Button
            icon="retry"
            className="max-sm:flex-1"
            disabled={total === 0}
            onClick={() => openBulk("retry", meant)}
          >
            Retry all
          </Button>
          <Button
            icon="trash"
            className="max-sm:flex-1"
            disabled={total === 0}
            onClick={() => openBulk("delete", meant)}
          >
            Delete all
          </Button>
        </>
      }
    >
      <section className="card min-w-0">
        <Tabs
          label="Dead letters"
          chosen={tab}
          onChoose={(id) => change({ tab: id === "errors" ? "" : id, ...FIRST_PAGE })}
          tabs={[
            { id: "errors", label: "By error" },
            { id: "jobs", label: "All jobs", count: queues && formatCount(total) },
          ]}
        >
          {tab === "jobs" ? (
            // The states are the page's, not the search's: without the rest of the filter there is nothing to reset.
            total === 0 && queues !== undefined ? (
              <NoneDead queue={filter.queue} />
            ) : (
              <JobResults filter={filter} columns={COLUMNS} onFilter={search} empty={null} />
            )
          ) : (
            <ErrorGroups queue={filter.queue} />
          )}
        </Tabs>
      </section>
    </Page>
  );
}
