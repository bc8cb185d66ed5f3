import { useQuery } from "@tanstack/react-query";
import { Badge } from "@/components/badge";
import { Button } from "@/components/button";
import { NotYet } from "@/components/feedback";
import { Page } from "@/components/layout";
import { Menu } from "@/components/menu";
import { type Column, Table } from "@/components/table";
import { RelativeTime } from "@/components/time";
import { formatCount } from "@/lib/numbers";
import { queries } from "@/lib/queries";
import type { WebhookView } from "@/lib/records";
import { param, useParams } from "@/lib/url";
import { EVERYTHING, healthOf } from "@/lib/webhooks";
import { openDeleteWebhook, switchWebhook } from "./actions";
import { Deliveries } from "./deliveries";
import { NoWebhooks } from "./empty";
import { openWebhookForm } from "./form";
import { openTrial } from "./trial";

/** Who is called when something happens, and whether that gets through. */
export default function WebhooksPage() {
  const { data, error, refetch } = useQuery(queries.webhooks());
  const [params, change] = useParams();
  const chosen = data?.find((webhook) => webhook.id === param(params, "id"));
  const show = (webhook: WebhookView) => change({ id: webhook.id }, { push: true });
  return (
    <Page
      title="Webhooks"
      about="Addresses that are called when something happens to a job."
      actions={
        <Button look="primary" icon="plus" onClick={() => openWebhookForm()}>
          New webhook
        </Button>
      }
    >
      <section className="card min-w-0">
        {data === undefined ? (
          <NotYet what="Webhooks" error={error} onRetry={() => void refetch()} />
        ) : data.length === 0 ? (
          <NoWebhooks />
        ) : (
          <Table
            label="Webhooks"
            rows={data}
            rowId={(webhook) => webhook.id}
            columns={columns(show)}
            onOpen={show}
            rowTone={(webhook) => (webhook.id === chosen?.id ? "bg-hover" : undefined)}
          />
        )}
      </section>
      {chosen && <Deliveries key={chosen.id} webhook={chosen} close={() => change({ id: "" })} />}
    </Page>
  );
}

function columns(show: (webhook: WebhookView) => void): Column<WebhookView>[] {
  return [
    {
      id: "url",
      title: "Address",
      lead: true,
      wide: true,
      className: "sm:min-w-56",
      cell: (webhook) => (
        <>
          <button
            type="button"
            onClick={() => show(webhook)}
            title={webhook.url}
            className="block max-w-full truncate rounded text-left font-medium hover:text-accent"
          >
            {webhook.url}
          </button>
          <span className="block truncate text-ink-3 text-xs">
            {webhook.secret_set ? "signed" : "not signed"} · {webhook.retry_limit}{" "}
            {webhook.retry_limit === 1 ? "attempt" : "attempts"} · {webhook.id}
          </span>
        </>
      ),
    },
    { id: "state", title: "State", half: true, cell: (webhook) => <Health webhook={webhook} /> },
    {
      id: "events",
      title: "Events",
      half: true,
      className: "sm:max-w-52",
      cell: (webhook) => (
        <Few names={webhook.events.filter((type) => type !== EVERYTHING)} all="all events" />
      ),
    },
    {
      id: "queues",
      title: "Queues",
      half: true,
      className: "sm:max-w-44",
      cell: (webhook) => <Few names={webhook.queues} all="all queues" />,
    },
    {
      id: "last",
      title: "Last delivery",
      half: true,
      className: "whitespace-nowrap",
      cell: (webhook) => <LastDelivery webhook={webhook} />,
    },
    {
      id: "waiting",
      title: "Waiting",
      right: true,
      desktop: true,
      cell: (webhook) => (
        <span
          title={`${formatCount(webhook.behind)} events not looked at yet, ${formatCount(webhook.dropped)} dropped`}
          className={webhook.dropped > 0 ? "text-danger" : webhook.waiting > 0 ? "text-warn" : "text-ink-3"}
        >
          {formatCount(webhook.waiting)}
        </span>
      ),
    },
    {
      id: "act",
      title: "Actions",
      silent: true,
      right: true,
      className: "max-sm:col-span-4",
      cell: (webhook) => (
        <span className="inline-flex items-center gap-1 max-sm:flex max-sm:[&>:last-child]:ml-auto">
          <Button
            small
            icon="send"
            onClick={() => openTrial(webhook)}
            aria-label={`Send a test to ${webhook.url}`}
          >
            Test
          </Button>
          <Menu
            label={`More for ${webhook.url}`}
            iconOnly
            small
            items={[
              { label: "Deliveries", icon: "queues", onSelect: () => show(webhook) },
              { label: "Edit…", icon: "edit", onSelect: () => openWebhookForm(webhook) },
              webhook.enabled
                ? { label: "Disable", icon: "pause", onSelect: () => void switchWebhook(webhook, false) }
                : { label: "Enable", icon: "play", onSelect: () => void switchWebhook(webhook, true) },
              {
                label: "Delete…",
                icon: "trash",
                danger: true,
                apart: true,
                onSelect: () => openDeleteWebhook(webhook),
              },
            ]}
          />
        </span>
      ),
    },
  ];
}

function Health({ webhook }: { webhook: WebhookView }) {
  switch (healthOf(webhook)) {
    case "disabled":
      return (
        <Badge
          tone={webhook.disabled_reason ? "danger" : "plain"}
          title={webhook.disabled_reason ?? undefined}
        >
          disabled
        </Badge>
      );
    case "failing":
      return (
        <Badge tone="danger" title={webhook.last_error ?? undefined}>
          failing
        </Badge>
      );
    case "idle":
      return <Badge title="Nothing has been delivered yet">no delivery yet</Badge>;
    case "good":
      return <Badge tone="good">delivering</Badge>;
  }
}

function LastDelivery({ webhook }: { webhook: WebhookView }) {
  if (webhook.last_delivery_at === null) return <span className="text-ink-3">never</span>;
  const isBad = webhook.last_error !== null;
  return (
    <span title={webhook.last_error ?? undefined}>
      <RelativeTime at={webhook.last_delivery_at} className="block text-ink-2" />
      <span className={isBad ? "text-danger text-xs" : "text-ink-3 text-xs"}>
        {webhook.last_status_code ? `HTTP ${webhook.last_status_code}` : isBad ? "no answer" : ""}
      </span>
    </span>
  );
}

const SHOWN = 3;

function Few({ names, all }: { names: string[]; all: string }) {
  if (names.length === 0) return <span className="whitespace-nowrap text-ink-3">{all}</span>;
  return (
    <span className="block truncate text-ink-2" title={names.join(", ")}>
      {names.slice(0, SHOWN).join(", ")}
      {names.length > SHOWN && ` and ${names.length - SHOWN} more`}
    </span>
  );
}
