import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams as usePath } from "@tanstack/react-router";
import { Badge } from "@/components/badge";
import { Button, ButtonLink } from "@/components/button";
import { CopyButton } from "@/components/copy";
import { EmptyState, NotYet } from "@/components/feedback";
import { Card, Page } from "@/components/layout";
import { Menu } from "@/components/menu";
import { openEnqueue } from "@/jobs/enqueue-dialog";
import { FilterForm } from "@/jobs/filter-form";
import { FIRST_PAGE } from "@/jobs/pager";
import { JobResults } from "@/jobs/results";
import { faultIn, useJobSearch } from "@/jobs/search";
import { jobColumns } from "@/jobs/table";
import { ApiError } from "@/lib/api";
import { type JobFilter, type Params, readFilter, writeFilter } from "@/lib/filters";
import { queries } from "@/lib/queries";
import { RANGES } from "@/lib/ranges";
import type { QueueView } from "@/lib/records";
import { useParams } from "@/lib/url";
import {
  openClear,
  openConcurrency,
  openDeleteQueue,
  openDrain,
  openThrottle,
  pauseQueue,
  resumeQueue,
} from "@/queues/actions";
import { Failures } from "@/queues/failures";
import { FirstJob } from "@/queues/first-job";
import { RangePicker, useRange } from "@/queues/range-picker";
import { ThroughputChart } from "@/queues/throughput-chart";
import { QueueNumbers } from "./numbers";
import { WaitAndRun } from "./wait-and-run";

const COLUMNS = jobColumns("id", "state", "priority", "attempt", "payload", "tags", "created");

/** One queue: its numbers, its limits, its pace, what fails in it, and its jobs. */
export default function QueuePage() {
  const { name } = usePath({ from: "/queues/$name" });
  const [params, change] = useParams();
  const range = useRange();
  const { minutes, step, words } = RANGES[range];
  const { data: queue, error, refetch } = useQuery(queries.queue(name));
  const figures = useQuery(queries.figures({ minutes, step, queue: name })).data?.[0];
  const filter = { ...readFilter(params), queue: name };
  const found = useJobSearch(filter);

  function search(wanted: JobFilter) {
    const kept: Params = { range: params.range, size: params.size };
    change({ ...kept, ...writeFilter({ ...wanted, queue: "" }), ...FIRST_PAGE }, { clear: true, push: true });
  }

  if (queue === undefined) {
    if (error instanceof ApiError && error.status === 404) return <NoSuchQueue name={name} />;
    return (
      <Page title={name}>
        <div className="card">
          <NotYet what="The queue" error={error} onRetry={() => void refetch()} />
        </div>
      </Page>
    );
  }
  return (
    <Page
      title={queue.name}
      heading={
        <span className="flex min-w-0 items-center gap-2">
          <span className="truncate" title={queue.name}>
            {queue.name}
          </span>
          <CopyButton text={queue.name} label="Copy the queue's name" />
          <QueueState queue={queue} />
        </span>
      }
      actions={<Actions queue={queue} />}
    >
      <QueueNumbers queue={queue} figures={figures} step={step} />
      <div className="grid gap-4 xl:grid-cols-5">
        <Card className="xl:col-span-3" title="Throughput" about={words} actions={<RangePicker />}>
          <ThroughputChart range={range} queue={name} />
        </Card>
        <div className="flex min-w-0 flex-col gap-4 xl:col-span-2">
          <WaitAndRun figures={figures} />
          <Failures range={range} queue={name} most={3} />
        </div>
      </div>
      <Card flush title="Jobs">
        <FilterForm filter={filter} onApply={search} fault={faultIn(found.error)} />
        <JobResults filter={filter} columns={COLUMNS} onFilter={search} empty={<FirstJob queue={name} />} />
      </Card>
    </Page>
  );
}

function QueueState({ queue }: { queue: QueueView }) {
  if (!queue.paused) return <Badge tone="good">active</Badge>;
  return queue.active > 0 ? (
    <Badge tone="warn">draining, {queue.active} left</Badge>
  ) : (
    <Badge tone="warn">paused</Badge>
  );
}

function Actions({ queue }: { queue: QueueView }) {
  const navigate = useNavigate();
  return (
    <>
      {queue.paused ? (
        <Button icon="play" look="primary" onClick={() => resumeQueue(queue.name)}>
          Resume
        </Button>
      ) : (
        <Button icon="pause" onClick={() => pauseQueue(queue.name)}>
          Pause
        </Button>
      )}
      <Button icon="clear" onClick={() => openClear(queue)}>
        Clear
      </Button>
      <Button icon="drain" disabled={queue.paused} onClick={() => openDrain(queue)}>
        Drain
      </Button>
      <Menu
        label="More"
        iconOnly
        look="plain"
        items={[
          { label: "Concurrency…", icon: "gauge", onSelect: () => openConcurrency(queue) },
          { label: "Rate limit…", icon: "clock", onSelect: () => openThrottle(queue) },
          {
            label: "Delete queue…",
            icon: "trash",
            danger: true,
            apart: true,
            onSelect: () => openDeleteQueue(queue, () => void navigate({ to: "/queues" })),
          },
        ]}
      />
    </>
  );
}

function NoSuchQueue({ name }: { name: string }) {
  return (
    <Page title={name}>
      <div className="card">
        <EmptyState
          icon="queues"
          title="There is no such queue"
          actions={
            <>
              <ButtonLink to="/queues">All queues</ButtonLink>
              <Button look="primary" icon="plus" onClick={() => openEnqueue({ queue: name })}>
                Enqueue its first job
              </Button>
            </>
          }
        >
          A queue comes into being with its first job, or when it is paused or limited.
        </EmptyState>
      </div>
    </Page>
  );
}
