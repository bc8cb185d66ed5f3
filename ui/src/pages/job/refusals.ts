/** What cannot be done to a job in its state, and why. */

import { mayDo } from "@/jobs/actions";
import type { BulkAction } from "@/lib/endpoints";

const REASONS: Partial<Record<BulkAction, Record<string, string>>> = {
  retry: {
    pending: "It is in line already",
    active: "It is running; cancel it first",
    retrying: "It is tried again by itself when its time comes",
    held: "It is held; approve or reject it",
  },
  cancel: {
    held: "It is held; reject it instead",
    completed: "It has ended",
    dead: "It has ended",
    cancelled: "It is cancelled already",
  },
  move: { active: "It is running; cancel it first, or wait until it has ended" },
  hold: {
    held: "It is held already",
    completed: "It has ended",
    dead: "It has ended",
    cancelled: "It has ended",
  },
};

/** Why an action is refused; null if it is not. */
export function refusalOf(action: BulkAction, state: string): string | null {
  if (mayDo(action, state)) return null;
  return REASONS[action]?.[state] ?? `Not for a job that is ${state}`;
}
