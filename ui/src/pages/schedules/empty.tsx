import { Button } from "@/components/button";
import { Snippet } from "@/components/copy";
import { EmptyState } from "@/components/feedback";
import { serverUrl } from "@/lib/place";
import { openScheduleForm } from "./form";

/** No schedule yet: how one is made. */
export function NoSchedules() {
  return (
    <EmptyState
      icon="schedules"
      title="No schedules yet"
      actions={
        <Button look="primary" icon="plus" onClick={() => openScheduleForm()}>
          Make one here
        </Button>
      }
    >
      <p className="mb-3">A schedule adds a job at the times that a cron line names. From a terminal:</p>
      <Snippet
        label="command"
        text={`curl ${new URL("api/v1/schedules", serverUrl).href} \\\n  -d '{"name":"nightly-report","queue":"reports","cron":"30 2 * * *","timezone":"Europe/Berlin"}'`}
      />
    </EmptyState>
  );
}
