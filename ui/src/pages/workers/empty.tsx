import { ApiCommand } from "@/components/api-command";
import { Snippet } from "@/components/copy";
import { EmptyState } from "@/components/feedback";
import { serverUrl } from "@/lib/place";

/** Nobody works: how one begins. */
export function NoWorkers() {
  const server = serverUrl.href.replace(/\/$/, "");
  return (
    <EmptyState icon="workers" title="No worker has asked for jobs">
      <p className="mb-3">A worker appears here when it first asks for jobs. With Python:</p>
      <Snippet label="worker command" text={`rookery worker --server ${server} app:app`} />
      <p className="mt-3 mb-2">From any other language:</p>
      <ApiCommand
        label="fetch command"
        path="fetch"
        body={{ queues: ["emails.send"], worker_id: "me", timeout: 1 }}
      />
    </EmptyState>
  );
}
