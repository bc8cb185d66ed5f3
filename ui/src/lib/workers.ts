/** Whether workers are still there and take jobs, how full they are, and which queues nobody takes jobs from. */

import { formatCount, plural } from "./numbers";
import type { QueueView, WorkerView } from "./records";
import { instant, MINUTE } from "./time";

/** Workers send a heartbeat every 15 s, and idle ones ask for jobs at least once a minute. */
export const SILENT = 2 * MINUTE;

/** One that drains takes no more jobs and finishes those it has; when it is silent, it has ended. */
export type WorkerState = "live" | "draining" | "silent";

export function stateOf(worker: Pick<WorkerView, "last_heartbeat" | "draining">, now: number): WorkerState {
  if (now - instant(worker.last_heartbeat) > SILENT) return "silent";
  return worker.draining ? "draining" : "live";
}

/** Those that are still there. */
export function connected<W extends Pick<WorkerView, "last_heartbeat" | "draining">>(
  workers: W[],
  now: number,
): W[] {
  return workers.filter((worker) => stateOf(worker, now) !== "silent");
}

type Load = Pick<WorkerView, "active_jobs" | "slots">;

/** `3/10`: the jobs it has, and how many it runs at a time, if it has said so. */
export function slotsText({ active_jobs, slots }: Load): string {
  return slots === null ? formatCount(active_jobs) : `${formatCount(active_jobs)}/${formatCount(slots)}`;
}

/** The same as a sentence. A worker may have more jobs in hand than it runs. */
export function slotsWords({ active_jobs, slots }: Load): string {
  const jobs = plural(active_jobs, "job");
  return slots === null ? jobs : `${jobs}, runs ${formatCount(slots)} at a time`;
}

/** How many jobs all who are there could run at a time; null if one of them has not said. */
export function allSlots(workers: Pick<WorkerView, "slots">[]): number | null {
  let sum = 0;
  for (const { slots } of workers) {
    if (slots === null) return null;
    sum += slots;
  }
  return workers.length > 0 ? sum : null;
}

/** Queues with jobs waiting that no live worker asks for, the longest first. */
export function unserved(
  queues: Pick<QueueView, "name" | "pending" | "paused">[],
  workers: Pick<WorkerView, "queues" | "last_heartbeat" | "draining">[],
  now: number,
): Pick<QueueView, "name" | "pending" | "paused">[] {
  const served = new Set(
    workers.filter((worker) => stateOf(worker, now) === "live").flatMap((worker) => worker.queues),
  );
  return queues
    .filter((queue) => queue.pending > 0 && !queue.paused && !served.has(queue.name))
    .sort((one, other) => other.pending - one.pending);
}
