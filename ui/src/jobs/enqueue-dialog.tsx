/** A new job: queue and payload, and under "More" all that the API takes. */

import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { FormDialog, openDialog } from "@/components/dialog";
import { SelectField, TextField } from "@/components/field";
import { Icon } from "@/components/icons";
import { JsonEditor, jsonFault } from "@/components/json-editor";
import { toast } from "@/components/toast";
import { api, type NewJob } from "@/lib/endpoints";
import { PRIORITY_OPTIONS, toInstant } from "@/lib/filters";
import { refresh } from "@/lib/queries";
import { parseDuration } from "@/lib/time";
import { QueueField } from "@/queues/queue-field";

/** Texts of the form; what is empty is left to the server. */
export interface Draft {
  queue: string;
  payload: string;
  priority: string;
  scheduledAt: string;
  maxRetries: string;
  backoff: string;
  baseDelay: string;
  uniqueKey: string;
  expireAfter: string;
  tags: string;
  /** What the form has no field for and the job has all the same. */
  kept: Partial<NewJob>;
}

const EMPTY: Draft = {
  queue: "",
  payload: "{\n  \n}",
  priority: "normal",
  scheduledAt: "",
  maxRetries: "",
  backoff: "",
  baseDelay: "",
  uniqueKey: "",
  expireAfter: "",
  tags: "",
  kept: {},
};

/** Open the dialog, perhaps with something in it already: a queue, or a job to be cloned. */
export function openEnqueue(draft: Partial<Draft> = {}): void {
  openDialog((close) => <EnqueueDialog close={close} draft={{ ...EMPTY, ...draft }} />);
}

function EnqueueDialog({ close, draft }: { close: () => void; draft: Draft }) {
  const [job, setJob] = useState(draft);
  const navigate = useNavigate();
  const set = (changes: Partial<Draft>) => setJob({ ...job, ...changes });
  const faults = {
    tags: jsonFault(job.tags, true),
    payload: jsonFault(job.payload),
    maxRetries: job.maxRetries === "" || /^\d+$/.test(job.maxRetries) ? null : "A whole number, 0 or more",
    baseDelay: durationFault(job.baseDelay),
    expireAfter: durationFault(job.expireAfter),
  };
  const hasFault = job.queue.trim() === "" || Object.values(faults).some((fault) => fault !== null);

  async function submit() {
    const answer = await api.enqueue(requestOf(job));
    void refresh();
    const open = {
      label: "Open",
      run: () => void navigate({ to: "/jobs/$id", params: { id: answer.job_id } }),
    };
    if (answer.unique_existing) toast.good("A job with this unique key is there already", open);
    else toast.good(`Job added to ${job.queue.trim()}`, open);
  }

  return (
    <FormDialog
      title="Enqueue a job"
      width="medium"
      close={close}
      submit={submit}
      label="Enqueue"
      disabled={hasFault}
    >
      <div className="grid gap-4 sm:grid-cols-2">
        <QueueField
          label="Queue"
          value={job.queue}
          onChange={(event) => set({ queue: event.target.value })}
          placeholder="emails.send"
          autoFocus={draft.queue === ""}
          required
        />
        <SelectField
          label="Priority"
          value={job.priority}
          onChange={(event) => set({ priority: event.target.value })}
          options={PRIORITY_OPTIONS}
        />
      </div>
      <JsonEditor
        label="Payload"
        value={job.payload}
        onChange={(payload) => set({ payload })}
        rows={9}
        autoFocus={draft.queue !== ""}
      />
      <details className="group rounded-lg border border-line">
        <summary className="flex items-center gap-2 rounded-lg px-3 py-2 text-sm font-medium text-ink-2 hover:text-ink">
          <Icon name="chevronRight" size={14} className="text-ink-3 group-open:rotate-90" />
          More: time, retries, uniqueness, tags
        </summary>
        <div className="grid gap-4 px-3 pt-1 pb-3 sm:grid-cols-2">
          <TextField
            label="Not before"
            type="datetime-local"
            step="1"
            value={job.scheduledAt}
            onChange={(event) => set({ scheduledAt: event.target.value })}
            hint="Your local time"
          />
          <TextField
            label="Expires after"
            value={job.expireAfter}
            onChange={(event) => set({ expireAfter: event.target.value })}
            placeholder="1h30m"
            fault={faults.expireAfter}
          />
          <TextField
            label="Attempts at most"
            inputMode="numeric"
            value={job.maxRetries}
            onChange={(event) => set({ maxRetries: event.target.value })}
            placeholder="3"
            fault={faults.maxRetries}
          />
          <SelectField
            label="Backoff"
            value={job.backoff}
            onChange={(event) => set({ backoff: event.target.value })}
            options={[
              ["", "Exponential (default)"],
              ["none", "None"],
              ["fixed", "Fixed"],
              ["linear", "Linear"],
            ]}
          />
          <TextField
            label="First delay"
            value={job.baseDelay}
            onChange={(event) => set({ baseDelay: event.target.value })}
            placeholder="5s"
            fault={faults.baseDelay}
          />
          <TextField
            label="Unique key"
            value={job.uniqueKey}
            onChange={(event) => set({ uniqueKey: event.target.value })}
            hint="While a job holds it, no second one is added"
          />
          <div className="sm:col-span-2">
            <JsonEditor
              label="Tags"
              value={job.tags}
              onChange={(tags) => set({ tags })}
              rows={2}
              mayBeEmpty
              hint={'Such as {"tenant": "acme"}'}
            />
          </div>
        </div>
      </details>
    </FormDialog>
  );
}

function durationFault(text: string): string | null {
  return text.trim() === "" || parseDuration(text) !== null ? null : "Such as 30s, 5m or 1h30m";
}

/** What the form asks for. */
export function requestOf(job: Draft): NewJob {
  const given = (text: string) => text.trim() || undefined;
  return {
    ...job.kept,
    queue: job.queue.trim(),
    payload: job.payload.trim(),
    priority: job.priority,
    scheduled_at: job.scheduledAt ? toInstant(job.scheduledAt) : undefined,
    max_retries: job.maxRetries === "" ? undefined : Number(job.maxRetries),
    retry_backoff: given(job.backoff),
    retry_base_delay: given(job.baseDelay),
    unique_key: given(job.uniqueKey),
    expire_after: given(job.expireAfter),
    tags: given(job.tags),
  };
}
