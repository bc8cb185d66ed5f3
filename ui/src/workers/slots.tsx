import type { WorkerView } from "@/lib/records";
import { slotsText } from "@/lib/workers";

/** `3/10` over a small bar; the bar only if the worker has said how many jobs it runs at a time. */
export function Slots({ worker }: { worker: WorkerView }) {
  const { active_jobs, slots } = worker;
  return (
    <span className="inline-flex w-14 flex-col gap-1 align-middle sm:items-end">
      <span className="whitespace-nowrap tabular-nums">{slotsText(worker)}</span>
      {slots !== null && (
        <span
          role="meter"
          aria-label="Slots in use"
          aria-valuenow={Math.min(active_jobs, slots)}
          aria-valuemin={0}
          aria-valuemax={slots}
          className="block h-1 w-full overflow-hidden rounded-full bg-line"
        >
          <span
            className="block h-full rounded-full bg-accent"
            style={{ width: `${Math.min(1, active_jobs / slots) * 100}%` }}
          />
        </span>
      )}
    </span>
  );
}
