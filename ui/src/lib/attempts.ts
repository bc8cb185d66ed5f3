/** A job's attempts, put together from its events and its errors. */

import type { Happening } from "./happenings";
import type { ErrorView, JobView } from "./records";
import { instant } from "./time";

export type Outcome =
  | "running"
  | "completed"
  | "failed"
  | "lost"
  | "released"
  | "continued"
  | "held"
  | "cancelled"
  | "expired"
  | "unknown";

export interface Attempt {
  number: number;
  /** Which time round it is: a retry on request begins a new one. */
  round: number;
  startedAt: number | null;
  endedAt: number | null;
  worker: string | null;
  outcome: Outcome;
  /** Why it ended, if that was said: an error, or a reason. */
  words: string | null;
  backtrace: string | null;
}

const ENDS: Record<string, Outcome> = {
  completed: "completed",
  failed: "failed",
  reclaimed: "lost",
  released: "released",
  continued: "continued",
  held: "held",
  cancelled: "cancelled",
  expired: "expired",
  rejected: "cancelled",
  dead: "failed",
  retried: "unknown",
};

/** All attempts, oldest first. Errors whose events are gone are attempts without a beginning. */
export function attemptsOf(
  job: Pick<JobView, "state" | "attempt" | "started_at" | "worker_id" | "errors" | "completed_at">,
  events: readonly Happening[],
): Attempt[] {
  const attempts: Attempt[] = [];
  let round = 1;
  let open: Attempt | null = null;
  for (const event of events) {
    if (event.type === "started") {
      if (open !== null) open.endedAt = event.at;
      open = {
        number: event.attempt ?? attempts.length + 1,
        round,
        startedAt: event.at,
        endedAt: null,
        worker: event.worker ?? null,
        outcome: "running",
        words: null,
        backtrace: null,
      };
      attempts.push(open);
    } else if (open !== null && event.type in ENDS) {
      open.endedAt = event.at;
      open.outcome = ENDS[event.type]!;
      open.words = event.error ?? event.reason ?? null;
      open = null;
    }
    if (event.type === "retried") round += 1;
  }
  if (open !== null && job.state !== "active") open.outcome = "unknown";
  if (attempts.length === 0 && job.started_at !== null) attempts.push(lastAttempt(job));
  for (const error of job.errors) addError(attempts, error);
  return attempts.sort((one, other) => beginning(one) - beginning(other));
}

const beginning = (attempt: Attempt) => attempt.startedAt ?? attempt.endedAt ?? 0;

/** What the job itself says of its last attempt when its events are gone. */
function lastAttempt(
  job: Pick<JobView, "state" | "attempt" | "started_at" | "worker_id" | "completed_at">,
): Attempt {
  const outcome: Outcome =
    job.state === "active" ? "running" : job.state === "completed" ? "completed" : "unknown";
  return {
    number: job.attempt,
    round: 1,
    startedAt: instant(job.started_at!),
    endedAt: job.completed_at === null ? null : instant(job.completed_at),
    worker: job.worker_id,
    outcome,
    words: null,
    backtrace: null,
  };
}

/** Give an error to the attempt that ended with it. */
function addError(attempts: Attempt[], error: ErrorView): void {
  const at = instant(error.at);
  const its = attempts.findLast(
    (attempt) =>
      attempt.backtrace === null &&
      (attempt.endedAt === at ||
        (attempt.endedAt === null &&
          attempt.outcome === "unknown" &&
          attempt.number === error.attempt &&
          attempt.startedAt! <= at)),
  );
  if (its !== undefined) {
    its.endedAt = at;
    if (its.outcome !== "lost") its.outcome = "failed";
    its.words = error.error;
    its.backtrace = error.backtrace || null;
    return;
  }
  attempts.push({
    number: error.attempt,
    round: 1,
    startedAt: null,
    endedAt: at,
    worker: null,
    outcome: "failed",
    words: error.error,
    backtrace: error.backtrace || null,
  });
}
