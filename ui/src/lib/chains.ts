/** The chain that a job is a step of: what has run, and what is still to come. */

import { textOf } from "./happenings";
import { type JsonNode, type JsonText, parseJson } from "./json";
import type { JobView } from "./records";

/** As much of another job as a graph shows. */
export interface Relative {
  id: string;
  queue: string | null;
  state: string;
  chain_step?: number | null;
}

export interface ChainPlan {
  steps: string[];
  onExit: string | null;
  onFailure: string | null;
}

/** A step of a chain; `job` is null until it has been enqueued. */
export interface ChainStep {
  step: number;
  role: string;
  queue: string;
  job: Relative | null;
}

/** A chain as one job of it sees it. */
export interface ChainPath {
  /** The steps around the job, and how many there are before and behind these. */
  steps: ChainStep[];
  earlier: number;
  later: number;
  onExit: ChainStep | null;
  onFailure: ChainStep | null;
}

const STEPS_AROUND = 2;
const ON_EXIT = -1;
const ON_FAILURE = -2;
const ENDED = ["completed", "dead", "cancelled"];

/** The queues a chain goes through; null if there is none. */
export function readChain(config: JsonText | null): ChainPlan | null {
  if (config === null) return null;
  const node = parseJson(config);
  const member = (name: string) =>
    node.kind === "object" ? node.entries.find(([key]) => key === name)?.[1] : undefined;
  const steps = member("steps");
  if (steps?.kind !== "array") return null;
  return {
    steps: steps.items.map((step) => textOf(step, "queue") ?? "?"),
    onExit: handler(member("on_exit")),
    onFailure: handler(member("on_failure")),
  };
}

function handler(node: JsonNode | undefined): string | null {
  if (node === undefined) return null;
  if (node.kind === "string") return ["", "stop", "continue"].includes(node.value) ? null : node.value;
  return textOf(node, "queue") ?? null;
}

/** The way of a job's chain, as far as it is known from those of its jobs that there are; null without a chain. */
export function pathOf(job: JobView, chain: Relative[]): ChainPath | null {
  const own = job.chain_step;
  if (job.chain_id === null || own === null) return null;
  const known = new Map<number, Relative>();
  for (const other of chain) if (other.chain_step != null) known.set(other.chain_step, other);
  known.set(own, job);
  const plan = readChain(job.chain_config);
  const all = plan === null ? knownSteps(known) : plannedSteps(plan, known);
  const reached = all.findLast((step) => step.job !== null);
  const isOver = hasEnded(reached, all, known);
  const steps = isOver ? all.filter(({ step }) => step <= (reached?.step ?? own)) : all;
  const place = steps.findIndex(({ step }) => step === own);
  const centre = place < 0 ? steps.length - 1 : place;
  const first = Math.max(0, centre - STEPS_AROUND);
  const last = Math.min(steps.length - 1, centre + STEPS_AROUND);
  const later = steps.length - 1 - last;

  function end(step: number, role: string, queue: string | null | undefined): ChainStep | null {
    const found = known.get(step) ?? null;
    if (later > 0 || (found === null && (!queue || isOver))) return null;
    return { step, role, queue: queue ?? "?", job: found };
  }
  return {
    steps: steps.slice(first, last + 1),
    earlier: first,
    later,
    onExit: end(ON_EXIT, "at the end", plan?.onExit),
    onFailure: end(ON_FAILURE, known.has(ON_FAILURE) ? "a step died" : "if a step dies", plan?.onFailure),
  };
}

function plannedSteps({ steps }: ChainPlan, known: Map<number, Relative>): ChainStep[] {
  return steps.map((queue, step) => ({
    step,
    role: `step ${step + 1} of ${steps.length}`,
    queue,
    job: known.get(step) ?? null,
  }));
}

/** Who gives jobs a chain's id without its plan has only what there is. */
function knownSteps(known: Map<number, Relative>): ChainStep[] {
  return [...known]
    .filter(([step]) => step >= 0)
    .sort(([one], [other]) => one - other)
    .map(([step, job]) => ({ step, role: `step ${step + 1}`, queue: job.queue ?? "?", job }));
}

/** Whether no further step comes: it went to a handler, or through all steps. A step that was retried goes on. */
function hasEnded(reached: ChainStep | undefined, all: ChainStep[], known: Map<number, Relative>): boolean {
  if (!reached?.job) return known.has(ON_EXIT) || known.has(ON_FAILURE);
  if (known.has(ON_EXIT) || known.has(ON_FAILURE)) return ENDED.includes(reached.job.state);
  return reached === all.at(-1) && reached.job.state === "completed";
}
