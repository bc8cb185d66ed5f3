/** What was enqueued, completed and failed over time, of all queues or of one. The chart itself is loaded when it is needed. */

import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useMemo } from "react";
import { ErrorState, Skeleton } from "@/components/feedback";
import { queries } from "@/lib/queries";
import { RANGES, type Range } from "@/lib/ranges";
import { instant } from "@/lib/time";

const Chart = lazy(() => import("@/components/chart").then((module) => ({ default: module.Chart })));

export function ThroughputChart({ range, queue }: { range: Range; queue?: string }) {
  const { minutes, step, words } = RANGES[range];
  const { data, error, refetch } = useQuery(queries.throughput({ minutes, step, queue }));
  const times = useMemo(() => (data ?? []).map((point) => instant(point.minute) / 1000), [data]);
  const lines = useMemo(
    () => [
      {
        label: "Completed",
        colour: "--accent",
        values: (data ?? []).map((point) => point.completed),
        area: true,
      },
      { label: "Enqueued", colour: "--ink-3", values: (data ?? []).map((point) => point.enqueued) },
      { label: "Failed", colour: "--danger", values: (data ?? []).map((point) => point.failed) },
    ],
    [data],
  );
  if (data === undefined) {
    return error ? (
      <ErrorState what="Throughput" error={error} onRetry={() => void refetch()} />
    ) : (
      <Waiting />
    );
  }
  return (
    <Suspense fallback={<Waiting />}>
      <Chart
        label={`Throughput in ${words}`}
        times={times}
        lines={lines}
        unit={step === 1 ? "per minute" : `per ${step} minutes`}
      />
    </Suspense>
  );
}

function Waiting() {
  return (
    <div role="status" aria-label="Loading" className="h-full min-h-[236px]">
      <Skeleton className="h-full w-full opacity-40" />
    </div>
  );
}
