/** Whether workers are still there, and which queues nobody takes jobs from. */

import type { QueueView, WorkerView } from "./records";
import { instant, MINUTE } from "./time";

/** Workers send a heartbeat every 15 s, and idle ones ask for jobs at least once a minute. */
export const SILENT = 2 * MINUTE;

export function isSilent(worker: Pick<WorkerView, "last_heartbeat">, now: number): boolean {
  return now - instant(worker.last_heartbeat) > SILENT;
}

/** Queues with jobs waiting that no live worker asks for, the longest first. */
export function unserved(
  queues: Pick<QueueView, "name" | "pending" | "paused">[],
  workers: Pick<WorkerView, "queues" | "last_heartbeat">[],
  now: number,
): Pick<QueueView, "name" | "pending" | "paused">[] {
  const served = new Set(
    workers.filter((worker) => !isSilent(worker, now)).flatMap((worker) => worker.queues),
  );
  return queues
    .filter((queue) => queue.pending > 0 && !queue.paused && !served.has(queue.name))
    .sort((one, other) => other.pending - one.pending);
}
