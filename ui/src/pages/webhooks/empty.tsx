import { Button } from "@/components/button";
import { Snippet } from "@/components/copy";
import { EmptyState } from "@/components/feedback";
import { serverUrl } from "@/lib/place";
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
      <Snippet
        label="command"
        text={`curl ${new URL("api/v1/webhooks", serverUrl).href} \\\n  -d '{"url":"https://example.com/hooks/jobs","events":["completed","dead"],"secret":"a long random text"}'`}
      />
    </EmptyState>
  );
}
