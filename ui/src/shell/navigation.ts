/** The pages one can go to, in their order, each with the keys that lead there. */

import type { IconName } from "@/components/icons";
import type { QueueView } from "@/lib/records";

export interface Place {
  to: string;
  label: string;
  icon: IconName;
  keys: string;
  /** The number beside it, if there is one. */
  count?: "queues" | "dead" | "held" | "workers";
}

export const PLACES: Place[] = [
  { to: "/", label: "Overview", icon: "overview", keys: "g o" },
  { to: "/queues", label: "Queues", icon: "queues", keys: "g q", count: "queues" },
  { to: "/jobs", label: "Jobs", icon: "jobs", keys: "g j" },
  { to: "/dead", label: "Dead letters", icon: "dead", keys: "g d", count: "dead" },
  { to: "/held", label: "Held", icon: "held", keys: "g h", count: "held" },
  { to: "/schedules", label: "Schedules", icon: "schedules", keys: "g s" },
  { to: "/workers", label: "Workers", icon: "workers", keys: "g w", count: "workers" },
  { to: "/webhooks", label: "Webhooks", icon: "webhooks", keys: "g k" },
  { to: "/settings", label: "Settings", icon: "settings", keys: "g e" },
];

/** How many jobs are in a state, over all queues. */
export function countState(queues: QueueView[] | undefined, state: keyof QueueView): number {
  return (queues ?? []).reduce((sum, queue) => sum + Number(queue[state]), 0);
}
