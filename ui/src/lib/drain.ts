/** When a queue will be empty, if it goes on like this. */

export interface Pace {
  /** Jobs that wait to be run. */
  waiting: number;
  /** Jobs added and jobs done a minute, lately. */
  arrivals: number;
  departures: number;
  paused: boolean;
}

export type Drain =
  | { kind: "empty" }
  | { kind: "paused" }
  | { kind: "idle" }
  | { kind: "steady" }
  | { kind: "growing"; perMinute: number }
  | { kind: "in"; ms: number };

/** So much of what goes may be more or less than what comes, and the queue is said to neither grow nor shrink. */
const LEVEL = 0.05;

/** An estimate; "growing" when more comes than goes. */
export function estimateDrain({ waiting, arrivals, departures, paused }: Pace): Drain {
  if (waiting === 0) return { kind: "empty" };
  if (paused) return { kind: "paused" };
  if (departures <= 0) return { kind: "idle" };
  const net = departures - arrivals;
  if (Math.abs(net) < departures * LEVEL) return { kind: "steady" };
  if (net < 0) return { kind: "growing", perMinute: -net };
  return { kind: "in", ms: (waiting / net) * 60_000 };
}

/** The mean of the last few steps of a series, per minute. The last step is still filling up, so it does not count. */
export function recentRate(series: number[], stepMinutes: number, steps = 5): number {
  const taken = series.slice(-steps - 1, -1);
  if (taken.length === 0) return 0;
  return taken.reduce((sum, value) => sum + value, 0) / (taken.length * stepMinutes);
}
