import { ApiCommand } from "@/components/api-command";
import { Button } from "@/components/button";
import { EmptyState } from "@/components/feedback";
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
      <ApiCommand
        path="schedules"
        body={{ name: "nightly-report", queue: "reports", cron: "30 2 * * *", timezone: "Europe/Berlin" }}
      />
    </EmptyState>
  );
}
