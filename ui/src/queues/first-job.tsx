/** A server without jobs: how the first one is made. */

import { ApiCommand } from "@/components/api-command";
import { Button } from "@/components/button";
import { Snippet } from "@/components/copy";
import { EmptyState } from "@/components/feedback";
import { openEnqueue } from "@/jobs/enqueue-dialog";
import { serverUrl } from "@/lib/place";

export function FirstJob({ queue = "emails.send" }: { queue?: string }) {
  return (
    <EmptyState
      icon="jobs"
      title="No jobs yet"
      actions={
        <Button look="primary" icon="plus" onClick={() => openEnqueue({ queue })}>
          Enqueue one here
        </Button>
      }
    >
      <p className="mb-3">A queue comes into being with its first job. From a terminal:</p>
      <ApiCommand path="enqueue" body={{ queue, payload: { to: "a@example.com" } }} />
      <p className="mt-3 mb-2">And somebody to run it:</p>
      <Snippet
        label="worker command"
        text={`rookery worker --server ${serverUrl.href.replace(/\/$/, "")} app:app`}
      />
    </EmptyState>
  );
}
