/** What people do to queues. What can be undone is done at once, the rest asks first. */

import { useState } from "react";
import { ConfirmDialog, FormDialog, openDialog } from "@/components/dialog";
import { Note } from "@/components/feedback";
import { Segmented, SelectField, TextField } from "@/components/field";
import { attempt, toast } from "@/components/toast";
import { api } from "@/lib/endpoints";
import { formatCount, plural } from "@/lib/numbers";
import { refresh } from "@/lib/queries";
import type { QueueView } from "@/lib/records";

const QUERIES = ["queue", "queues", "figures", "search", "why"];

/** Do it, say so, and look again. */
async function act(done: string, run: () => Promise<unknown>): Promise<void> {
  await attempt(done, run);
  await refresh(...QUERIES);
}

export function pauseQueue(name: string): void {
  void act(`${name} is paused. Running jobs go on, new ones wait.`, () => api.pauseQueue(name));
}

export function resumeQueue(name: string): void {
  void act(`${name} runs again.`, () => api.resumeQueue(name));
}

/** Let what runs end, and begin nothing new. */
export function openDrain(queue: QueueView): void {
  openDialog((close) => (
    <ConfirmDialog
      title={`Drain ${queue.name}`}
      close={close}
      label="Drain the queue"
      danger={false}
      submit={async () => {
        await api.drainQueue(queue.name);
        toast.good(`${queue.name} is draining.`, { label: "Resume", run: () => resumeQueue(queue.name) });
        await refresh(...QUERIES);
      }}
    >
      <p>
        No new job is begun. {queue.active === 0 ? "None is" : `The ${plural(queue.active, "job")}`} running
        now
        {queue.active === 0 ? "." : " can end."} Jobs that wait stay where they are until you resume the
        queue.
      </p>
    </ConfirmDialog>
  ));
}

/** Delete what waits. */
export function openClear(queue: QueueView): void {
  const waiting = queue.pending + queue.scheduled;
  openDialog((close) => (
    <ConfirmDialog
      title={`Clear ${queue.name}`}
      close={close}
      label={waiting === 0 ? "Clear the queue" : `Delete ${plural(waiting, "job")}`}
      submit={async () => {
        const { deleted } = await api.clearQueue(queue.name);
        toast.good(`${plural(deleted, "job")} deleted from ${queue.name}.`);
        await refresh();
      }}
    >
      <p>
        This deletes {plural(queue.pending, "pending job")} and {plural(queue.scheduled, "scheduled job")}.
        Jobs in other states stay.
      </p>
      <Note tone="warn">This cannot be undone.</Note>
    </ConfirmDialog>
  ));
}

/** Delete the queue with all that is in it; its name must be typed. */
export function openDeleteQueue(queue: QueueView, then?: () => void): void {
  const all =
    queue.pending +
    queue.active +
    queue.held +
    queue.completed +
    queue.dead +
    queue.scheduled +
    queue.retrying +
    queue.cancelled;
  openDialog((close) => (
    <ConfirmDialog
      title="Delete queue"
      close={close}
      label="Delete the queue"
      retype={queue.name}
      submit={async () => {
        await api.deleteQueue(queue.name);
        toast.good(`${queue.name} is deleted.`);
        then?.();
        await refresh("queues", "figures", "search");
      }}
    >
      <p>
        This deletes <b className="break-all font-semibold text-ink">{queue.name}</b> with{" "}
        {plural(all, "job")} in every state,{" "}
        {queue.active > 0 && `${formatCount(queue.active)} of them running now, `}its settings and its unique
        keys.
      </p>
      <Note tone="warn">This cannot be undone.</Note>
    </ConfirmDialog>
  ));
}

type Limit = "all" | "most";

function faultIn(kind: Limit, number: string): string | null {
  return kind === "most" && !/^[1-9]\d{0,8}$/.test(number.trim()) ? "A whole number, 1 or more" : null;
}

function LimitChoice({ kind, onChange }: { kind: Limit; onChange: (kind: Limit) => void }) {
  return (
    <Segmented
      label="Limit"
      value={kind}
      onChange={onChange}
      options={[
        ["all", "No limit"],
        ["most", "At most"],
      ]}
    />
  );
}

/** How many jobs may run at a time. */
export function openConcurrency(queue: QueueView): void {
  openDialog((close) => <ConcurrencyDialog queue={queue} close={close} />);
}

function ConcurrencyDialog({ queue, close }: { queue: QueueView; close: () => void }) {
  const [kind, setKind] = useState<Limit>(queue.max_concurrency === null ? "all" : "most");
  const [most, setMost] = useState(String(queue.max_concurrency ?? 10));
  const fault = faultIn(kind, most);
  return (
    <FormDialog
      title="Concurrency"
      close={close}
      label="Save"
      disabled={fault !== null}
      submit={async () => {
        await api.setConcurrency(queue.name, kind === "all" ? null : Number(most));
        toast.good(
          kind === "all"
            ? `${queue.name} runs as many jobs as workers take.`
            : `${queue.name} runs at most ${plural(Number(most), "job")} at a time.`,
        );
        await refresh(...QUERIES);
      }}
    >
      <p className="text-sm text-ink-2">
        How many jobs of <b className="break-all text-ink">{queue.name}</b> may run at a time, over all
        workers. Jobs that run now go on.
      </p>
      <LimitChoice kind={kind} onChange={setKind} />
      {kind === "most" && (
        <TextField
          label="Jobs at a time"
          inputMode="numeric"
          value={most}
          onChange={(event) => setMost(event.target.value)}
          fault={fault}
          hint={most.trim() === "1" ? "1: never two jobs of this queue at once" : undefined}
          autoFocus
        />
      )}
    </FormDialog>
  );
}

const PERIODS: [string, string][] = [
  ["1s", "second"],
  ["1m", "minute"],
  ["1h", "hour"],
  ["24h", "day"],
];
const PERIOD_MS: Record<string, number> = { "1s": 1000, "1m": 60_000, "1h": 3_600_000, "24h": 86_400_000 };

/** How many jobs may begin in a period. */
export function openThrottle(queue: QueueView): void {
  openDialog((close) => <ThrottleDialog queue={queue} close={close} />);
}

function ThrottleDialog({ queue, close }: { queue: QueueView; close: () => void }) {
  const known = PERIODS.find(([period]) => PERIOD_MS[period] === queue.rate_window_ms)?.[0];
  const own = queue.rate_window_ms !== null && known === undefined ? `${queue.rate_window_ms}ms` : null;
  const [kind, setKind] = useState<Limit>(queue.rate_limit === null ? "all" : "most");
  const [rate, setRate] = useState(String(queue.rate_limit ?? 100));
  const [period, setPeriod] = useState(known ?? own ?? "1m");
  const fault = faultIn(kind, rate);
  return (
    <FormDialog
      title="Rate limit"
      close={close}
      label="Save"
      disabled={fault !== null}
      submit={async () => {
        if (kind === "all") await api.removeThrottle(queue.name);
        else await api.setThrottle(queue.name, Number(rate), period);
        toast.good(
          kind === "all" ? `${queue.name} has no rate limit.` : `The rate limit of ${queue.name} is set.`,
        );
        await refresh(...QUERIES);
      }}
    >
      <p className="text-sm text-ink-2">
        How many jobs of <b className="break-all text-ink">{queue.name}</b> may begin in a period, over all
        workers.
      </p>
      <LimitChoice kind={kind} onChange={setKind} />
      {kind === "most" && (
        <div className="grid grid-cols-2 gap-4">
          <TextField
            label="Jobs"
            inputMode="numeric"
            value={rate}
            onChange={(event) => setRate(event.target.value)}
            fault={fault}
            autoFocus
          />
          <SelectField
            label="In each"
            value={period}
            onChange={(event) => setPeriod(event.target.value)}
            options={own === null ? PERIODS : [...PERIODS, [own, `${queue.rate_window_ms} ms`]]}
          />
        </div>
      )}
    </FormDialog>
  );
}
