/** Bulk operations that go on in the background, with a way back to them. */

import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { Button } from "@/components/button";
import { Progress } from "@/components/feedback";
import { toast } from "@/components/toast";
import { ApiError, messageOf } from "@/lib/api";
import { formatCount, plural } from "@/lib/numbers";
import { queries, refresh } from "@/lib/queries";
import { useStore } from "@/lib/store";
import { forgetRunning, openBulkProgress, type Running, running } from "./bulk-progress";

export function RunningBulks() {
  return useStore(running).map((bulk) => <RunningBulk key={bulk.id} {...bulk} />);
}

function RunningBulk({ id, title }: Running) {
  const { data, error } = useQuery(queries.bulk(id));
  // A server that does not answer for a while goes on with it when it is back.
  const isOver = data?.finished_at != null || (error instanceof ApiError && !error.isPassing);
  useEffect(() => {
    if (!isOver) return;
    const errors = data ? data.processed - data.affected : 0;
    const but = errors > 0 ? `, ${plural(errors, "error")}` : "";
    const done = data ? `${title}: ${plural(data.affected, "job")} changed${but}` : title;
    const show = errors > 0 ? { label: "Show", run: () => openBulkProgress(id, title) } : undefined;
    if (error) toast.bad(`${done}, then: ${messageOf(error)}`);
    else if (data?.status === "failed") toast.bad(`${done}, then ${data.error ?? "it failed"}.`, show);
    else if (show) toast.bad(`${done}.`, show);
    else toast.good(`${done}.`);
    forgetRunning(id);
    void refresh();
  }, [isOver, data, error, id, title]);
  if (!data || isOver) return null;
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1 border-line border-b px-4 py-2 text-sm">
      <span className="font-medium">{title}</span>
      <span className="w-40">
        <Progress value={data.processed} max={data.total} label={`Progress of ${title}`} />
      </span>
      <span className="text-ink-2">
        {formatCount(data.processed)} / {formatCount(data.total)}
      </span>
      <Button
        small
        look="quiet"
        className="ml-auto"
        onClick={() => {
          forgetRunning(id);
          openBulkProgress(id, title);
        }}
      >
        Show
      </Button>
    </div>
  );
}
