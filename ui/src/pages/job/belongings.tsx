/** What a job belongs to and what it carries: tags, batch, chain, other jobs, an agent's limits. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { readChain } from "@/lib/chains";
import { writeTag } from "@/lib/filters";
import { numberOf } from "@/lib/happenings";
import { type JsonNode, parseJson, printJson } from "@/lib/json";
import { formatCount, plural } from "@/lib/numbers";
import { queries } from "@/lib/queries";
import type { JobView } from "@/lib/records";
import { Fact } from "./fact";

export function Tags({ job }: { job: JobView }) {
  const node: JsonNode = job.tags === null ? { kind: "null" } : parseJson(job.tags);
  if (node.kind !== "object" || node.entries.length === 0) return null;
  return (
    <Fact label="Tags">
      <ul className="flex flex-wrap gap-1">
        {node.entries.map(([name, value]) => {
          const text = value.kind === "string" ? value.value : printJson(value);
          return (
            <li key={name} className="min-w-0 max-w-full">
              <Link
                to="/jobs"
                search={{ tag: writeTag(name, text, value.kind === "string") }}
                title={`Jobs tagged ${name}: ${text}`}
                className="block truncate rounded-[5px] bg-sunken px-1.5 font-mono text-xs text-ink-2 hover:text-accent"
              >
                <span className="text-ink-3">{name}:</span>
                {text}
              </Link>
            </li>
          );
        })}
      </ul>
    </Fact>
  );
}

export function BatchFact({ id }: { id: string }) {
  const { data: batch } = useQuery(queries.batch(id));
  return (
    <Fact label="Batch">
      <Link to="/jobs" search={{ batch: id }} title={id} className="link font-mono text-xs">
        {shortBatch(id)}
      </Link>
      {batch && (
        <span className="block text-xs text-ink-2">
          {formatCount(batch.succeeded)} of {formatCount(batch.total)} complete
          {batch.failed > 0 && <span className="text-danger">, {formatCount(batch.failed)} failed</span>}
          {batch.pending > 0 && `, ${formatCount(batch.pending)} to go`}
        </span>
      )}
    </Fact>
  );
}

const shortBatch = (id: string) => (id.length > 24 ? `${id.slice(0, 8)}…${id.slice(-6)}` : id);

export function ChainFact({ job }: { job: JobView }) {
  if (job.chain_id === null) return null;
  const steps = readChain(job.chain_config)?.steps.length;
  const place =
    job.chain_step === null
      ? null
      : job.chain_step === -1
        ? "runs at the end"
        : job.chain_step === -2
          ? "runs when a step dies"
          : `step ${job.chain_step + 1}${steps === undefined ? "" : ` of ${steps}`}`;
  return (
    <Fact label="Chain">
      <Link
        to="/jobs"
        search={{ chain: job.chain_id }}
        title={job.chain_id}
        className="link font-mono text-xs"
      >
        {shortBatch(job.chain_id)}
      </Link>
      {place && <span className="block text-xs text-ink-2">{place}</span>}
    </Fact>
  );
}

export function Dependencies({ ids }: { ids: string[] }) {
  const { data } = useQuery(queries.jobs(ids.slice(0, 50)));
  const done = data?.jobs.filter((other) => other.state === "completed").length;
  return (
    <Fact label="Depends on">
      {plural(ids.length, "job")}
      {done !== undefined && ids.length <= 50 && (
        <span className="text-ink-2">
          , {formatCount(done)} of {formatCount(data!.jobs.length)} complete
        </span>
      )}
    </Fact>
  );
}

export function Agent({ job }: { job: JobView }) {
  if (job.agent === null) return null;
  const node = parseJson(job.agent);
  const iteration = numberOf(node, "iteration") ?? 1;
  const most = numberOf(node, "max_iterations") ?? 0;
  const cost = numberOf(node, "total_cost_usd") ?? 0;
  const limit = numberOf(node, "max_cost_usd") ?? 0;
  return (
    <Fact label="Agent">
      iteration {formatCount(iteration)}
      {most > 0 && ` of ${formatCount(most)}`}
      {(cost > 0 || limit > 0) && `, $${cost.toFixed(2)}${limit > 0 ? ` of $${limit.toFixed(2)}` : ""}`}
    </Fact>
  );
}
