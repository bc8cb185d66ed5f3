import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { NotYet } from "@/components/feedback";
import { Card, Page } from "@/components/layout";
import { useNow } from "@/components/time";
import { plural } from "@/lib/numbers";
import { queries } from "@/lib/queries";
import { RANGES } from "@/lib/ranges";
import { Failures } from "@/queues/failures";
import { FirstJob } from "@/queues/first-job";
import { RangePicker, useRange } from "@/queues/range-picker";
import { Attention, QueueTable, queueRows } from "@/queues/table";
import { ThroughputChart } from "@/queues/throughput-chart";
import { ClusterPanel } from "./cluster";
import { Summary } from "./summary";
import { WorkersPanel } from "./workers";

const SHOWN_QUEUES = 12;

/** How everything is, at a glance, the worst first. */
export default function OverviewPage() {
  const range = useRange();
  const { minutes, step, words } = RANGES[range];
  const queues = useQuery(queries.queues());
  const figures = useQuery(queries.figures({ minutes, step })).data ?? [];
  const now = useNow(30_000);
  const rows = queueRows(queues.data ?? [], figures, step, now);

  return (
    <Page
      title="Overview"
      about={queues.data && queues.data.length > 0 && <Attention rows={rows} />}
      actions={<RangePicker />}
    >
      <Summary queues={queues.data} figures={figures} range={range} />
      {queues.data?.length === 0 ? (
        <Card>
          <FirstJob />
        </Card>
      ) : (
        <>
          <Card title="Throughput" about={words}>
            <ThroughputChart range={range} />
          </Card>
          <Card
            flush
            title="Queues"
            about={queues.data && plural(queues.data.length, "queue")}
            actions={
              <Link to="/queues" className="link text-sm">
                All queues
              </Link>
            }
          >
            {queues.data ? (
              <QueueTable rows={rows.slice(0, SHOWN_QUEUES)} words={words} />
            ) : (
              <NotYet what="The queues" error={queues.error} onRetry={() => void queues.refetch()} />
            )}
            {rows.length > SHOWN_QUEUES && (
              <p className="border-line border-t px-4 py-2 text-sm text-ink-3">
                The first {SHOWN_QUEUES} of {rows.length}, those with problems first.{" "}
                <Link to="/queues" className="link">
                  Show all
                </Link>
              </p>
            )}
          </Card>
        </>
      )}
      <div className="grid gap-4 xl:grid-cols-5">
        <div className="min-w-0 xl:col-span-3">
          <Failures range={range} />
        </div>
        <div className="flex min-w-0 flex-col gap-4 xl:col-span-2">
          <WorkersPanel />
          <ClusterPanel />
        </div>
      </div>
    </Page>
  );
}
