/** Yes and no to one held job. */

import { ConfirmDialog, openDialog } from "@/components/dialog";
import { toast } from "@/components/toast";
import { shortId } from "@/jobs/payload";
import { messageOf } from "@/lib/api";
import { api } from "@/lib/endpoints";
import { refresh } from "@/lib/queries";
import type { JobSummary } from "@/lib/records";

/** Let it run. Until a worker takes it, that can be taken back. */
export async function approve(job: JobSummary): Promise<void> {
  try {
    await api.approveJob(job.id);
    toast.good(`${shortId(job.id)} is approved.`, { label: "Hold again", run: () => void holdAgain(job) });
  } catch (error) {
    toast.bad(messageOf(error));
  }
  await refresh("search", "queues", "holds");
}

async function holdAgain(job: JobSummary): Promise<void> {
  try {
    await api.holdJob(job.id, job.hold_reason ?? undefined);
    toast.good(`${shortId(job.id)} is held again.`);
  } catch (error) {
    toast.bad(messageOf(error));
  }
  await refresh("search", "queues", "holds");
}

/** Ask, then end it. */
export function openReject(job: JobSummary): void {
  openDialog((close) => (
    <ConfirmDialog
      title="Reject job"
      close={close}
      label="Reject the job"
      submit={async () => {
        await api.rejectJob(job.id);
        toast.good(`${shortId(job.id)} is rejected.`);
        await refresh("search", "queues", "holds");
      }}
    >
      <p>
        <span className="break-all font-mono text-ink text-xs">{job.id}</span> in{" "}
        <b className="break-all font-semibold text-ink">{job.queue}</b> will not run: it goes to the dead
        letters, from where it can be retried.
      </p>
      {job.hold_reason && <p>It was held because: {job.hold_reason}</p>}
    </ConfirmDialog>
  ));
}
