import { ApiCommand } from "@/components/api-command";
import { Button } from "@/components/button";
import { EmptyState } from "@/components/feedback";
import { openWebhookForm } from "./form";

/** No webhook yet: how one is made. */
export function NoWebhooks() {
  return (
    <EmptyState
      icon="webhooks"
      title="No webhooks yet"
      actions={
        <Button look="primary" icon="plus" onClick={() => openWebhookForm()}>
          Make one here
        </Button>
      }
    >
      <p className="mb-3">
        Let another service know when jobs complete or die: each event is a signed POST, tried again if it
        fails.
      </p>
      <ApiCommand
        path="webhooks"
        body={{
          url: "https://example.com/hooks/jobs",
          events: ["completed", "dead"],
          secret: "a long random text",
        }}
      />
    </EmptyState>
  );
}
