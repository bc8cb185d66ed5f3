import { ApiCommand } from "@/components/api-command";
import { EmptyState } from "@/components/feedback";

/** Nothing is held: how a job comes to wait for a person. */
export function NoneHeld({ queue }: { queue: string }) {
  return (
    <EmptyState icon="held" title={queue ? `No held jobs in ${queue}` : "No job waits for a person"}>
      <p className="mb-3">
        Hold a job that somebody should look at before it runs; an agent's worker can also ask for that
        itself.
      </p>
      <ApiCommand path="jobs/JOB_ID/hold" body={{ reason: "check the amount first" }} />
    </EmptyState>
  );
}
