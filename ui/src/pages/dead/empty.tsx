import { ApiCommand } from "@/components/api-command";
import { EmptyState } from "@/components/feedback";

/** No job is dead: what would bring one here. */
export function NoneDead({ queue }: { queue: string }) {
  return (
    <EmptyState icon="check" title={queue ? `No dead jobs in ${queue}` : "No dead jobs"}>
      <p className="mb-3">
        A job comes here when its last attempt has failed, or when it expires. How many attempts it has is
        said when it is added:
      </p>
      <ApiCommand
        path="enqueue"
        body={{ queue: queue || "emails.send", payload: {}, max_retries: 5, retry_backoff: "exponential" }}
      />
    </EmptyState>
  );
}
