/** How far a long bulk operation is: done, speed, time left, and a way to stop it. */

import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { Button } from "@/components/button";
import { Dialog, openDialog } from "@/components/dialog";
import { ErrorState, Note, Progress, Skeleton } from "@/components/feedback";
import { useNow } from "@/components/time";
import { toast } from "@/components/toast";
import { messageOf } from "@/lib/api";
import { api } from "@/lib/endpoints";
import { formatCount, plural } from "@/lib/numbers";
import { queries, refresh } from "@/lib/queries";
import type { BulkView } from "@/lib/records";
import { createStore } from "@/lib/store";
import { formatDuration, instant } from "@/lib/time";
import { BulkFailures } from "./bulk-failures";

/** An operation that goes on while one does something else. */
export interface Running {
  id: string;
  title: string;
}

export const running = createStore<Running[]>([]);

/** It is over, or looked at again. */
export function forgetRunning(id: string): void {
  running.set(running.get().filter((one) => one.id !== id));
}

export function openBulkProgress(id: string, title: string): void {
  openDialog((close) => <BulkProgress id={id} title={title} close={close} />);
}

function BulkProgress({ id, title, close }: { id: string; title: string; close: () => void }) {
  const { data, error } = useQuery(queries.bulk(id));
  const [isStopping, setStopping] = useState(false);
  const isDone = data?.finished_at != null;
  useEffect(() => {
    if (isDone) void refresh();
  }, [isDone]);

  async function stop() {
    setStopping(true);
    try {
      await api.cancelBulk(id);
    } catch (fault) {
      setStopping(false);
      toast.bad(messageOf(fault));
    }
  }

  function leave() {
    if (!isDone) running.set([...running.get().filter((one) => one.id !== id), { id, title }]);
    close();
  }

  return (
    <Dialog
      title={`Bulk operation: ${title}`}
      width="medium"
      close={leave}
      footer={
        isDone ? (
          <Button look="primary" onClick={close}>
            Close
          </Button>
        ) : (
          <>
            <Button look="quiet" onClick={leave}>
              Go on in the background
            </Button>
            <Button look="danger" busy={isStopping} onClick={stop}>
              Cancel operation
            </Button>
          </>
        )
      }
    >
      {data ? (
        <Told bulk={data} close={close} />
      ) : error ? (
        <ErrorState what="The progress" error={error} />
      ) : (
        <Skeleton className="h-20 w-full" />
      )}
    </Dialog>
  );
}

function Told({ bulk, close }: { bulk: BulkView; close: () => void }) {
  const now = useNow(500);
  const begun = instant(bulk.created_at);
  const until =
    bulk.finished_at === null ? Math.max(now, instant(bulk.updated_at)) : instant(bulk.finished_at);
  const elapsed = Math.max(1, until - begun);
  const rate = (bulk.processed / elapsed) * 1000;
  const left = bulk.total - bulk.processed;
  return (
    <div className="flex flex-col gap-3">
      <div>
        <Progress value={bulk.processed} max={bulk.total} label="Progress" />
        <p className="mt-1.5 text-sm text-ink-2">
          <b className="font-semibold text-ink">{formatCount(bulk.processed)}</b> / {formatCount(bulk.total)}{" "}
          jobs, {formatCount(bulk.affected)} changed
        </p>
      </div>
      <dl className="grid grid-cols-3 gap-2 text-sm">
        <Part label="Elapsed" value={formatDuration(elapsed)} />
        <Part
          label="Remaining"
          value={
            bulk.finished_at !== null ? "–" : rate > 0 ? `~${formatDuration((left / rate) * 1000)}` : "…"
          }
        />
        <Part label="Rate" value={`${formatCount(Math.round(rate))}/s`} />
      </dl>
      {bulk.status === "failed" && (
        <Note tone="danger">
          {bulk.error === "cancelled"
            ? "Cancelled. What was done so far stays done."
            : (bulk.error ?? "It failed.")}
        </Note>
      )}
      {bulk.status === "completed" && <Note>Done: {plural(bulk.affected, "job")} changed.</Note>}
      <BulkFailures bulk={bulk} close={close} />
    </div>
  );
}

function Part({ label, value }: { label: string; value: string }) {
  return (
    <div>
      <dt className="text-xs text-ink-3">{label}</dt>
      <dd className="font-medium">{value}</dd>
    </div>
  );
}
