import { useQuery } from "@tanstack/react-query";
import { Button } from "@/components/button";
import { EmptyState, NotYet } from "@/components/feedback";
import { TextField } from "@/components/field";
import { Card, Page } from "@/components/layout";
import { useNow } from "@/components/time";
import { queries } from "@/lib/queries";
import { RANGES } from "@/lib/ranges";
import { param, useParams } from "@/lib/url";
import { FirstJob } from "@/queues/first-job";
import { Attention, QueueTable, queueRows } from "@/queues/table";

/** All queues, those with problems first. */
export default function QueuesPage() {
  const [params, change] = useParams();
  const text = param(params, "q");
  const { minutes, step, words } = RANGES["1h"];
  const queues = useQuery(queries.queues());
  const figures = useQuery(queries.figures({ minutes, step })).data ?? [];
  const now = useNow(30_000);
  const rows = queueRows(queues.data ?? [], figures, step, now);
  const found = rows.filter((row) => row.queue.name.toLowerCase().includes(text.trim().toLowerCase()));

  return (
    <Page title="Queues" about={queues.data && queues.data.length > 0 && <Attention rows={rows} />}>
      <Card
        flush
        title="All queues"
        about={text ? `${found.length} of ${rows.length}` : `figures of ${words}`}
        actions={
          <div className="w-full sm:w-56" data-search>
            <TextField
              label="Find a queue"
              bare
              type="search"
              placeholder="Find a queue"
              value={text}
              onChange={(event) => change({ q: event.target.value })}
            />
          </div>
        }
      >
        {queues.data === undefined ? (
          <NotYet what="The queues" error={queues.error} onRetry={() => void queues.refetch()} />
        ) : rows.length === 0 ? (
          <FirstJob />
        ) : found.length === 0 ? (
          <EmptyState
            icon="search"
            title="No queue has such a name"
            actions={<Button onClick={() => change({ q: "" })}>Show all</Button>}
          />
        ) : (
          <QueueTable rows={found} words={words} />
        )}
      </Card>
    </Page>
  );
}
