/** A job among others: what must be done first, its chain, its batch, and what comes after it. */

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Card } from "@/components/layout";
import type { Relative } from "@/lib/chains";
import { queries } from "@/lib/queries";
import type { JobView } from "@/lib/records";
import { drawRelations, HANDFUL } from "@/lib/relations";
import { RelationsGraph } from "./relations-graph";

const MORE = 20;
const LONGEST_CHAIN = 200;

export function RelationsCard({ job }: { job: JobView }) {
  const [most, setMost] = useState(HANDFUL);
  const needed = job.depends_on ?? [];
  const before = [job.parent_id, ...needed.slice(0, most + 1)].filter((id) => id !== null);
  const found = useQuery(queries.jobs(before));
  const batch = useQuery({ ...queries.batch(job.batch_id ?? ""), enabled: job.batch_id !== null });
  const chain = useQuery({
    ...queries.search({ chain_id: job.chain_id, limit: LONGEST_CHAIN, order: "asc" }),
    enabled: job.chain_id !== null,
  });
  const few = { limit: HANDFUL + 1, order: "asc" };
  const children = useQuery(queries.search({ parent_id: job.id, ...few }));
  const dependents = useQuery(queries.search({ depends_on: job.id, ...few }));
  // Drawn when all is there, so that nothing moves about.
  if ([found, batch, chain, children, dependents].some(({ isLoading }) => isLoading)) return null;

  const known = new Map(found.data?.jobs.map((other) => [other.id, other]));
  const relative = (id: string): Relative =>
    known.get(id) ?? { id, queue: null, state: found.isPlaceholderData ? "" : "deleted" };
  const graph = drawRelations({
    job,
    parent: job.parent_id === null ? null : relative(job.parent_id),
    dependencies: { jobs: needed.slice(0, most + 1).map(relative), total: needed.length, most },
    children: children.data ?? { jobs: [], total: 0 },
    dependents: dependents.data ?? { jobs: [], total: 0 },
    chain: chain.data?.jobs ?? [],
    batch: batch.data ?? null,
  });
  if (graph === null) return null;
  return (
    <Card title="Among other jobs">
      <RelationsGraph graph={graph} onMore={() => setMost(most + MORE)} />
    </Card>
  );
}
