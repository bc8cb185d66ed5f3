/** How long jobs wait, and how long they run: the half, nine of ten, and nearly all. */

import { Skeleton } from "@/components/feedback";
import { Card } from "@/components/layout";
import type { QueueFigures, Times } from "@/lib/records";
import { formatDuration } from "@/lib/time";

export function WaitAndRun({ figures }: { figures: QueueFigures | undefined }) {
  return (
    <Card title="Wait and run time" about="since the server started">
      <table className="w-full text-sm">
        <thead>
          <tr className="text-ink-3 text-xs">
            <th scope="col" className="text-left font-medium">
              <span className="sr-only">Time</span>
            </th>
            {["p50", "p90", "p99"].map((share) => (
              <th key={share} scope="col" className="pb-1 text-right font-medium">
                {share}
              </th>
            ))}
            <th scope="col" className="pb-1 text-right font-medium">
              Jobs
            </th>
          </tr>
        </thead>
        <tbody>
          <Row
            label="Wait"
            title="From being ready to being handed out"
            times={figures?.wait}
            loading={!figures}
          />
          <Row label="Run" title="From being handed out to its end" times={figures?.run} loading={!figures} />
        </tbody>
      </table>
    </Card>
  );
}

function Row({
  label,
  title,
  times,
  loading,
}: {
  label: string;
  title: string;
  times: Times | null | undefined;
  loading: boolean;
}) {
  const show = (ms: number | undefined) =>
    loading ? <Skeleton className="w-10" /> : ms === undefined ? "–" : formatDuration(ms);
  return (
    <tr className="border-line border-t">
      <th scope="row" className="py-1.5 text-left font-medium" title={title}>
        {label}
      </th>
      <td className="py-1.5 text-right font-semibold">{show(times?.p50_ms)}</td>
      <td className="py-1.5 text-right">{show(times?.p90_ms)}</td>
      <td className="py-1.5 text-right">{show(times?.p99_ms)}</td>
      <td className="py-1.5 text-right text-ink-3">{loading ? "" : (times?.count ?? 0)}</td>
    </tr>
  );
}
