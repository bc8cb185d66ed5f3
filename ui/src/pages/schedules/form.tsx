/** Make or change a schedule, with a look at when it would come. */

import { useQuery } from "@tanstack/react-query";
import { useDeferredValue, useMemo, useState } from "react";
import { FormDialog, openDialog } from "@/components/dialog";
import { Skeleton } from "@/components/feedback";
import { SelectField, TextField } from "@/components/field";
import { JsonEditor, jsonFault } from "@/components/json-editor";
import { toast } from "@/components/toast";
import { ApiError, messageOf } from "@/lib/api";
import { describeCron } from "@/lib/cron";
import { api } from "@/lib/endpoints";
import { prettyJson } from "@/lib/json";
import { queries, refresh } from "@/lib/queries";
import type { ScheduleView } from "@/lib/records";
import { knownZones, ownZone } from "@/lib/zones";
import { QueueField } from "@/queues/queue-field";
import { Slots } from "./slots";
import { MISSED, OVERLAPS } from "./words";

const USUAL: [string, string][] = [
  ["*/5 * * * *", "Every 5 minutes"],
  ["@hourly", "Hourly"],
  ["0 3 * * *", "Daily at 03:00"],
  ["0 9 * * mon-fri", "Weekdays at 09:00"],
  ["0 0 1 * *", "Monthly"],
];

/** A new schedule, one to change, or a new one that is like another. */
export function openScheduleForm(schedule?: ScheduleView, { isCopy = false } = {}): void {
  openDialog((close) => <ScheduleForm schedule={schedule} isCopy={isCopy} close={close} />);
}

function draftOf(schedule: ScheduleView | undefined, isCopy: boolean) {
  return {
    name: schedule ? (isCopy ? `${schedule.name}-copy` : schedule.name) : "",
    queue: schedule?.queue ?? "",
    cron: schedule?.cron ?? "0 3 * * *",
    timezone: schedule?.timezone ?? ownZone(),
    payload: schedule ? prettyJson(schedule.payload) : "{}",
    overlap: schedule?.overlap ?? "allow",
    missed: schedule?.missed ?? "once",
    maxRetries: schedule ? String(schedule.max_retries) : "3",
    uniqueKey: schedule?.unique_key ?? "",
  };
}

function ScheduleForm({
  schedule,
  isCopy,
  close,
}: {
  schedule?: ScheduleView;
  isCopy: boolean;
  close: () => void;
}) {
  const changed = isCopy ? undefined : schedule;
  const [draft, setDraft] = useState(() => draftOf(schedule, isCopy));
  const set = (changes: Partial<typeof draft>) => setDraft({ ...draft, ...changes });
  const zones = useMemo(knownZones, []);
  const times = useDeferredValue(draft);
  const next = useQuery({
    ...queries.nextRuns(times.cron.trim(), times.timezone.trim()),
    retry: (count, error) => error instanceof ApiError && error.isPassing && count < 2,
  });
  const refusal = next.error ? messageOf(next.error) : null;
  const zoneFault = refusal?.startsWith("timezone") ? refusal : null;
  const cronFault = draft.cron.trim() === "" ? "A cron line is needed" : zoneFault ? null : refusal;
  const attemptsFault = /^\d{1,9}$/.test(draft.maxRetries.trim()) ? null : "A whole number, 0 or more";
  const hasFault =
    [draft.name, draft.queue].some((text) => text.trim() === "") ||
    [cronFault, zoneFault, attemptsFault, jsonFault(draft.payload)].some((fault) => fault !== null);

  async function submit() {
    const body = {
      name: draft.name.trim(),
      queue: draft.queue.trim(),
      cron: draft.cron.trim(),
      timezone: draft.timezone.trim() || "UTC",
      payload: draft.payload.trim(),
      overlap: draft.overlap,
      missed: draft.missed,
      max_retries: Number(draft.maxRetries),
      unique_key: draft.uniqueKey.trim() || null,
    };
    if (changed) await api.changeSchedule(changed.id, body);
    else await api.createSchedule(body);
    toast.good(changed ? `${body.name} is saved.` : `${body.name} is made.`);
    await refresh("schedules");
  }

  return (
    <FormDialog
      title={changed ? `Edit ${changed.name}` : "New schedule"}
      width="medium"
      close={close}
      submit={submit}
      label={changed ? "Save" : "Make the schedule"}
      disabled={hasFault}
    >
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField
          label="Name"
          value={draft.name}
          onChange={(event) => set({ name: event.target.value })}
          placeholder="nightly-report"
          autoFocus={!changed}
          required
        />
        <QueueField
          label="Queue"
          value={draft.queue}
          onChange={(event) => set({ queue: event.target.value })}
          placeholder="reports"
          required
        />
        <TextField
          label="Cron line"
          value={draft.cron}
          onChange={(event) => set({ cron: event.target.value })}
          className="font-mono"
          fault={cronFault}
          hint={describeCron(draft.cron) ?? "Minute, hour, day of month, month, day of week"}
          required
        />
        <TextField
          label="Time zone"
          value={draft.timezone}
          onChange={(event) => set({ timezone: event.target.value })}
          suggestions={zones}
          fault={zoneFault}
          hint={draft.timezone === ownZone() ? "Your own" : undefined}
        />
      </div>
      <div className="-mt-1 flex flex-wrap gap-1.5">
        {USUAL.map(([line, words]) => (
          <button
            key={line}
            type="button"
            aria-pressed={draft.cron === line}
            onClick={() => set({ cron: line })}
            className="h-6 rounded-full border border-line bg-sunken px-2.5 text-ink-2 text-xs hover:border-line-strong hover:text-ink aria-pressed:border-accent aria-pressed:text-accent"
          >
            {words}
          </button>
        ))}
      </div>
      <section aria-live="polite">
        <h3 className="mb-1 font-medium text-ink-2 text-sm">Next fire times</h3>
        <div className="min-h-[12.2rem] overflow-x-auto rounded-lg border border-line">
          {next.data && !refusal ? (
            <Slots times={next.data.next_runs} zone={next.data.timezone} />
          ) : refusal || draft.cron.trim() === "" ? (
            <p className="px-3 py-2 text-ink-3 text-sm">
              They are shown as soon as the line and the zone are right.
            </p>
          ) : (
            <Skeleton className="m-3 h-32 w-64" />
          )}
        </div>
      </section>
      <div className="grid gap-4 sm:grid-cols-2">
        <SelectField
          label="If the last job has not ended"
          value={draft.overlap}
          onChange={(event) => set({ overlap: event.target.value })}
          options={Object.entries(OVERLAPS)}
        />
        <SelectField
          label="For runs missed while no server ran"
          value={draft.missed}
          onChange={(event) => set({ missed: event.target.value })}
          options={Object.entries(MISSED)}
        />
        <TextField
          label="Attempts at most"
          inputMode="numeric"
          value={draft.maxRetries}
          onChange={(event) => set({ maxRetries: event.target.value })}
          fault={attemptsFault}
        />
        <TextField
          label="Unique key"
          value={draft.uniqueKey}
          onChange={(event) => set({ uniqueKey: event.target.value })}
          hint="While a job of the queue holds it, none is added"
        />
      </div>
      <JsonEditor
        label="Payload of each job"
        value={draft.payload}
        onChange={(payload) => set({ payload })}
        rows={5}
      />
    </FormDialog>
  );
}
