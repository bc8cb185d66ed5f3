import { Snippet } from "@/components/copy";
import { EmptyState } from "@/components/feedback";
import { serverUrl } from "@/lib/place";

/** Nothing is held: how a job comes to wait for a person. */
export function NoneHeld({ queue }: { queue: string }) {
  return (
    <EmptyState icon="held" title={queue ? `No held jobs in ${queue}` : "No job waits for a person"}>
      <p className="mb-3">
        Hold a job that somebody should look at before it runs; an agent's worker can also ask for that
        itself.
      </p>
      <Snippet
        label="command"
        text={`curl ${new URL("api/v1/jobs/JOB_ID/hold", serverUrl).href} \\\n  -d '{"reason":"check the amount first"}'`}
      />
    </EmptyState>
  );
}
