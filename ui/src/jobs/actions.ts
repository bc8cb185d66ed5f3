/** What can be done to jobs: in which states, and how one says it. */

import type { IconName } from "@/components/icons";
import type { BulkAction } from "@/lib/endpoints";
import type { State } from "@/lib/filters";

export interface Deed {
  action: BulkAction;
  /** `Retry`, `retried`. */
  verb: string;
  done: string;
  icon: IconName;
  states: readonly State[];
  danger?: boolean;
  /** It can be taken back. */
  mild?: boolean;
}

const ANY: readonly State[] = [
  "pending",
  "active",
  "scheduled",
  "retrying",
  "held",
  "completed",
  "dead",
  "cancelled",
];

export const DEEDS: Record<BulkAction, Deed> = {
  retry: {
    action: "retry",
    verb: "Retry",
    done: "retried",
    icon: "retry",
    states: ["dead", "cancelled", "completed", "scheduled"],
  },
  requeue: { action: "requeue", verb: "Requeue", done: "requeued", icon: "retry", states: ["dead"] },
  cancel: {
    action: "cancel",
    verb: "Cancel",
    done: "cancelled",
    icon: "cancel",
    states: ["pending", "active", "scheduled", "retrying"],
    danger: true,
  },
  move: {
    action: "move",
    verb: "Move",
    done: "moved",
    icon: "move",
    states: ANY.filter((state) => state !== "active"),
    mild: true,
  },
  change_priority: {
    action: "change_priority",
    verb: "Change priority of",
    done: "changed",
    icon: "up",
    states: ["pending", "scheduled"],
    mild: true,
  },
  hold: {
    action: "hold",
    verb: "Hold",
    done: "held",
    icon: "held",
    states: ["pending", "active", "scheduled", "retrying"],
    mild: true,
  },
  approve: { action: "approve", verb: "Approve", done: "approved", icon: "check", states: ["held"] },
  reject: {
    action: "reject",
    verb: "Reject",
    done: "rejected",
    icon: "close",
    states: ["held"],
    danger: true,
  },
  delete: { action: "delete", verb: "Delete", done: "deleted", icon: "trash", states: ANY, danger: true },
};

/** Whether an action applies to a job in this state. */
export function mayDo(action: BulkAction, state: string): boolean {
  return DEEDS[action].states.includes(state as State);
}

/** Those of the chosen states that an action touches; none chosen means all. */
export function touchedStates(action: BulkAction, chosen: readonly State[]): State[] {
  const { states } = DEEDS[action];
  return chosen.length === 0 ? [...states] : states.filter((state) => chosen.includes(state));
}
