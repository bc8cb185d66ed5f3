/** The last deliveries of a webhook: what was sent, what was answered, what went wrong. */

import { useQuery } from "@tanstack/react-query";
import { Badge } from "@/components/badge";
import { Button, IconButton } from "@/components/button";
import { EmptyState, Note, NotYet } from "@/components/feedback";
import { Segmented } from "@/components/field";
import { Card } from "@/components/layout";
import { type Column, Table } from "@/components/table";
import { RelativeTime } from "@/components/time";
import { formatCount } from "@/lib/numbers";
import { queries } from "@/lib/queries";
import type { DeliveryView, WebhookView } from "@/lib/records";
import { formatDuration } from "@/lib/time";
import { param, useParams } from "@/lib/url";
import { switchWebhook } from "./actions";
import { openTrial } from "./trial";

type Shown = "all" | "failed";

export function Deliveries({ webhook, close }: { webhook: WebhookView; close: () => void }) {
  const { data, error, refetch } = useQuery(queries.deliveries(webhook.id));
  const [params, change] = useParams();
  const shown = param(params, "show", "all") as Shown;
  const rows = (data ?? []).filter((one) => shown === "all" || one.outcome !== "delivered");
  return (
    <Card
      flush
      title="Deliveries"
      about={<span className="break-all">{webhook.url}</span>}
      actions={
        <>
          <Segmented<Shown>
            label="Which deliveries"
            value={shown}
            onChange={(chosen) => change({ show: chosen === "all" ? "" : chosen })}
            options={[
              ["all", "All"],
              ["failed", "Failed"],
            ]}
          />
          <IconButton icon="close" small label="Close the deliveries" onClick={close} />
        </>
      }
    >
      <div className="flex flex-col gap-2 px-4 pb-3 empty:hidden">
        {webhook.disabled_reason && (
          <Note tone="danger">
            The server has disabled it: {webhook.disabled_reason}{" "}
            <button
              type="button"
              className="font-semibold underline underline-offset-2"
              onClick={() => void switchWebhook(webhook, true)}
            >
              Enable it again
            </button>
          </Note>
        )}
        {webhook.failing_since && (
          <Note tone="warn">
            It has been failing for a while: {formatCount(webhook.failures)} given up in a row, the first{" "}
            <RelativeTime at={webhook.failing_since} />. Without a success for a day it is disabled.
          </Note>
        )}
        {webhook.dropped > 0 && (
          <Note tone="warn">{formatCount(webhook.dropped)} events were dropped: too many were waiting.</Note>
        )}
      </div>
      <div className="border-line border-t">
        {data === undefined ? (
          <NotYet what="Deliveries" error={error} onRetry={() => void refetch()} rows={4} />
        ) : rows.length === 0 ? (
          <EmptyState
            icon="send"
            title={
              data.length === 0 ? "Nothing has been delivered yet" : "None of the last deliveries failed"
            }
            actions={
              data.length === 0 && (
                <Button icon="send" onClick={() => openTrial(webhook)}>
                  Send a test
                </Button>
              )
            }
          >
            {data.length === 0 && "Deliveries appear here as soon as one of its events happens."}
          </EmptyState>
        ) : (
          <Table label="Deliveries" rows={rows} rowId={keyOf} columns={COLUMNS} />
        )}
      </div>
    </Card>
  );
}

function keyOf(delivery: DeliveryView): string {
  return `${delivery.event_seq}-${delivery.attempt}-${delivery.at}`;
}

const OUTCOMES: Record<string, "good" | "warn" | "danger"> = { delivered: "good", retrying: "warn" };

const COLUMNS: Column<DeliveryView>[] = [
  {
    id: "event",
    title: "Event",
    lead: true,
    className: "whitespace-nowrap",
    cell: (delivery) => (
      <>
        <span className="font-medium">{delivery.event_type}</span>
        <span className="ml-2 text-ink-3 text-xs">
          {delivery.event_seq > 0 && `#${formatCount(delivery.event_seq)}`}
        </span>
      </>
    ),
  },
  {
    id: "outcome",
    title: "Outcome",
    half: true,
    cell: (delivery) => (
      <Badge tone={OUTCOMES[delivery.outcome] ?? "danger"}>{delivery.outcome.replaceAll("_", " ")}</Badge>
    ),
  },
  {
    id: "status",
    title: "Status",
    className: "whitespace-nowrap",
    cell: (delivery) => (
      <span className={delivery.outcome === "delivered" ? undefined : "text-danger"}>
        {delivery.status_code || "–"}
      </span>
    ),
  },
  { id: "attempt", title: "Attempt", right: true, cell: (delivery) => formatCount(delivery.attempt) },
  {
    id: "answer",
    title: "Error or answer",
    wide: true,
    cell: (delivery) => (
      <span title={[delivery.error, delivery.answer].filter(Boolean).join("\n")}>
        {delivery.error && <span className="mr-2 text-danger">{delivery.error}</span>}
        <span className="font-mono text-ink-3 text-xs">{delivery.answer}</span>
      </span>
    ),
  },
  {
    id: "took",
    title: "Took",
    right: true,
    className: "whitespace-nowrap",
    cell: (delivery) => <span className="text-ink-2">{formatDuration(delivery.duration_ms)}</span>,
  },
  {
    id: "at",
    title: "When",
    right: true,
    half: true,
    className: "whitespace-nowrap",
    cell: (delivery) => <RelativeTime at={delivery.at} className="text-ink-2" />,
  },
];
