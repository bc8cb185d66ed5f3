/** What people do to schedules. */

import { ConfirmDialog, openDialog } from "@/components/dialog";
import { attempt, toast } from "@/components/toast";
import { messageOf } from "@/lib/api";
import { api } from "@/lib/endpoints";
import { refresh } from "@/lib/queries";
import type { ScheduleView } from "@/lib/records";
import { openJobAction } from "./open-job";

export async function pauseSchedule(schedule: ScheduleView): Promise<void> {
  await attempt(`${schedule.name} is paused.`, () => api.pauseSchedule(schedule.id));
  await refresh("schedules");
}

export async function resumeSchedule(schedule: ScheduleView): Promise<void> {
  await attempt(`${schedule.name} runs again, from its next time on.`, () => api.resumeSchedule(schedule.id));
  await refresh("schedules");
}

/** One job now; the schedule's own times stay. */
export async function runSchedule(schedule: ScheduleView): Promise<void> {
  try {
    const answer = await api.runSchedule(schedule.id);
    const text = answer.unique_existing
      ? `${schedule.name}: a job with its unique key is there already.`
      : `${schedule.name} has added a job to ${schedule.queue}.`;
    toast.good(text, openJobAction(answer.job_id));
  } catch (error) {
    toast.bad(messageOf(error));
  }
  await refresh("schedules", "queues");
}

export function openDeleteSchedule(schedule: ScheduleView, then?: () => void): void {
  openDialog((close) => (
    <ConfirmDialog
      title="Delete schedule"
      close={close}
      label="Delete the schedule"
      submit={async () => {
        await api.deleteSchedule(schedule.id);
        toast.good(`${schedule.name} is deleted.`);
        then?.();
        await refresh("schedules");
      }}
    >
      <p>
        <b className="break-all font-semibold text-ink">{schedule.name}</b> will add no more jobs to{" "}
        <b className="break-all font-semibold text-ink">{schedule.queue}</b>. Jobs that it has added stay.
      </p>
      {schedule.enabled && <p>To stop it for a while only, pause it instead.</p>}
    </ConfirmDialog>
  ));
}
