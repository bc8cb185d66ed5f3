import { Snippet } from "@/components/copy";
import { EmptyState } from "@/components/feedback";
import { serverUrl } from "@/lib/place";

/** No job is dead: what would bring one here. */
export function NoneDead({ queue }: { queue: string }) {
  return (
    <EmptyState icon="check" title={queue ? `No dead jobs in ${queue}` : "No dead jobs"}>
      <p className="mb-3">
        A job comes here when its last attempt has failed, or when it expires. How many attempts it has is
        said when it is added:
      </p>
      <Snippet
        label="command"
        text={`curl ${new URL("api/v1/enqueue", serverUrl).href} \\\n  -d '{"queue":${JSON.stringify(queue || "emails.send")},"payload":{},"max_retries":5,"retry_backoff":"exponential"}'`}
      />
    </EmptyState>
  );
}
