/** What people do to webhooks. */

import { ConfirmDialog, openDialog } from "@/components/dialog";
import { attempt, toast } from "@/components/toast";
import { api } from "@/lib/endpoints";
import { plural } from "@/lib/numbers";
import { refresh } from "@/lib/queries";
import type { WebhookView } from "@/lib/records";

export async function switchWebhook(webhook: WebhookView, enabled: boolean): Promise<void> {
  await attempt(
    enabled
      ? "The webhook is enabled. It hears of what happens from now on."
      : "The webhook is disabled. Nothing is delivered or gathered for it.",
    () => api.saveWebhook({ id: webhook.id, enabled }),
  );
  await refresh("webhooks", "deliveries");
}

export function openDeleteWebhook(webhook: WebhookView): void {
  openDialog((close) => (
    <ConfirmDialog
      title="Delete webhook"
      close={close}
      label="Delete the webhook"
      submit={async () => {
        await api.deleteWebhook(webhook.id);
        toast.good("The webhook is deleted.");
        await refresh("webhooks");
      }}
    >
      <p>
        <b className="break-all font-semibold text-ink">{webhook.url}</b> will not be called any more.
        {webhook.waiting > 0 &&
          ` ${plural(webhook.waiting, "delivery", "deliveries")} that wait are dropped.`}
      </p>
      {webhook.enabled && <p>To stop it for a while only, disable it instead.</p>}
    </ConfirmDialog>
  ));
}
