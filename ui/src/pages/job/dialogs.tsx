/** What is asked before something is done to a job. */

import { useState } from "react";
import { ConfirmDialog, FormDialog, openDialog } from "@/components/dialog";
import { Note } from "@/components/feedback";
import { CheckField, SelectField, TextField } from "@/components/field";
import { toast } from "@/components/toast";
import { openEnqueue } from "@/jobs/enqueue-dialog";
import { api } from "@/lib/endpoints";
import { PRIORITY_OPTIONS } from "@/lib/filters";
import { prettyJson } from "@/lib/json";
import { refresh } from "@/lib/queries";
import type { JobView } from "@/lib/records";
import { requestFor } from "@/lib/same-job";
import { QueueField } from "@/queues/queue-field";

const ENDED = ["completed", "dead", "cancelled"];

/** Another queue: the attempts begin anew unless told otherwise, and so does the priority. */
export function openMove(job: JobView): void {
  openDialog((close) => <MoveDialog job={job} close={close} />);
}

function MoveDialog({ job, close }: { job: JobView; close: () => void }) {
  const [queue, setQueue] = useState("");
  const [resets, setResets] = useState(true);
  const [keeps, setKeeps] = useState(false);
  const [priority, setPriority] = useState("normal");
  const target = queue.trim();
  const fault = target === job.queue ? "It is in this queue already" : null;
  return (
    <FormDialog
      title="Move job to queue"
      close={close}
      label="Move"
      disabled={target === "" || fault !== null}
      submit={async () => {
        await api.moveJob(job.id, {
          queue: target,
          reset_attempt: resets,
          priority: keeps ? undefined : priority,
        });
        toast.good(`Moved to ${target}.`);
        await refresh();
      }}
    >
      <p className="text-sm text-ink-2">
        Current queue:{" "}
        <b className="line-clamp-2 break-all font-semibold text-ink" title={job.queue}>
          {job.queue}
        </b>
      </p>
      <QueueField
        label="Target queue"
        value={queue}
        onChange={(event) => setQueue(event.target.value)}
        except={[job.queue]}
        fault={fault}
        hintIfNew="There is no such queue yet; it comes into being with this job"
        autoFocus
        required
      />
      <CheckField
        label="Reset attempt counter"
        hint={`${job.attempt} of ${job.max_retries} attempts are used`}
        checked={resets}
        onChange={setResets}
      />
      <CheckField
        label="Keep current priority"
        hint={`It is ${job.priority_name}`}
        checked={keeps}
        onChange={setKeeps}
      />
      {!keeps && (
        <SelectField
          label="New priority"
          value={priority}
          onChange={(event) => setPriority(event.target.value)}
          options={PRIORITY_OPTIONS}
        />
      )}
      {ENDED.includes(job.state) && (
        <Note>It stays {job.state} in its new queue. Retry it there to run it again.</Note>
      )}
    </FormDialog>
  );
}

/** Wait for a person, with a word on why. */
export function openHold(job: JobView): void {
  openDialog((close) => <HoldDialog job={job} close={close} />);
}

function HoldDialog({ job, close }: { job: JobView; close: () => void }) {
  const [reason, setReason] = useState("");
  return (
    <FormDialog
      title="Hold job"
      close={close}
      label="Hold"
      submit={async () => {
        await api.holdJob(job.id, reason.trim() || undefined);
        toast.good("The job waits for somebody to approve it.");
        await refresh();
      }}
    >
      <p className="text-sm text-ink-2">
        It does not run until somebody approves it.
        {job.state === "active" && " The worker that runs it now is told to stop at its next heartbeat."}
      </p>
      <TextField
        label="Reason"
        value={reason}
        onChange={(event) => setReason(event.target.value)}
        hint="Shown to whoever decides"
        autoFocus
      />
    </FormDialog>
  );
}

/** Run it again from the start. What was completed may do its work twice, so that is asked. */
export function openRetry(job: JobView): void {
  ask({
    title: "Run the job again",
    label: "Run again",
    danger: false,
    words: "It was completed. Running it again does its work a second time, with the same payload.",
    done: "The job is in line again.",
    run: () => api.retryJob(job.id),
  });
}

export function openCancel(job: JobView): void {
  ask({
    title: "Cancel job",
    label: "Cancel the job",
    words:
      job.state === "active"
        ? "The worker that runs it is told to stop at its next heartbeat. What it has done by then stays done."
        : "It does not run. Retry it if it is wanted after all.",
    done:
      job.state === "active" ? "The job is cancelled; its worker will hear of it." : "The job is cancelled.",
    run: () => api.cancelJob(job.id),
  });
}

export function openReject(job: JobView): void {
  ask({
    title: "Reject job",
    label: "Reject the job",
    words: "It is buried as dead and does not run. Retry it if it is wanted after all.",
    done: "The job is rejected.",
    run: () => api.rejectJob(job.id),
  });
}

export function openDelete(job: JobView, then: () => void): void {
  openDialog((close) => (
    <ConfirmDialog
      title="Delete job"
      close={close}
      label="Delete the job"
      submit={async () => {
        await api.deleteJob(job.id);
        toast.good("The job is deleted.");
        then();
        await refresh("queue", "queues", "search", "figures");
      }}
    >
      <p>
        This deletes <b className="break-all font-mono text-ink text-xs">{job.id}</b> with its payload,
        result, errors and log.
        {job.state === "active" && " It is running now; its worker finds out at its next heartbeat."}
      </p>
      <Note tone="warn">This cannot be undone.</Note>
    </ConfirmDialog>
  ));
}

function ask(what: {
  title: string;
  label: string;
  danger?: boolean;
  words: string;
  done: string;
  run: () => Promise<unknown>;
}): void {
  openDialog((close) => (
    <ConfirmDialog
      title={what.title}
      close={close}
      label={what.label}
      danger={what.danger}
      submit={async () => {
        await what.run();
        toast.good(what.done);
        await refresh();
      }}
    >
      <p>{what.words}</p>
    </ConfirmDialog>
  ));
}

/** A new job like this one, to be changed first. Its unique key is not taken along: two jobs cannot hold it. */
export function openClone(job: JobView): void {
  const asked = Object.fromEntries(requestFor(job));
  openEnqueue({
    queue: job.queue,
    payload: prettyJson(job.payload),
    priority: job.priority_name,
    maxRetries: String(job.max_retries),
    backoff: job.retry_backoff === "exponential" ? "" : job.retry_backoff,
    baseDelay: job.retry_base_delay,
    expireAfter: job.expire_after ?? "",
    tags: asked.tags ? prettyJson(asked.tags) : "",
    kept: {
      retry_max_delay: job.retry_max_delay,
      max_lost_leases: job.max_lost_leases,
      agent: asked.agent,
      chain: asked.chain,
    },
  });
}
