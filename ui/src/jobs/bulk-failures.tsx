/** The jobs that a bulk operation could not change: how many while it goes on, which and why when it is over. */

import { Note } from "@/components/feedback";
import { formatCount } from "@/lib/numbers";
import type { BulkView } from "@/lib/records";
import { JobLink } from "./job-link";

export function BulkFailures({ bulk, close }: { bulk: BulkView; close: () => void }) {
  const count = bulk.processed - bulk.affected;
  if (count <= 0) return null;
  if (bulk.finished_at === null)
    return <Note tone="warn">Errors: {formatCount(count)} (will be listed when complete)</Note>;
  const unlisted = count - bulk.failures.length;
  return (
    <section aria-label="Errors">
      <h3 className="mb-1 text-xs font-medium text-ink-3">Errors: {formatCount(count)}</h3>
      {bulk.failures.length > 0 && (
        <ul className="max-h-72 divide-y divide-line overflow-y-auto rounded-lg border border-line">
          {bulk.failures.map(({ job_id, error }) => (
            <li key={job_id} className="flex flex-wrap items-baseline gap-x-3 px-3 py-1.5">
              <JobLink id={job_id} onClick={close} />
              <span className="min-w-0 break-words text-sm text-ink-2">{error}</span>
            </li>
          ))}
        </ul>
      )}
      {unlisted > 0 && <p className="mt-1 text-xs text-ink-3">… and {formatCount(unlisted)} more</p>}
    </section>
  );
}
