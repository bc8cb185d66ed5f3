/** Where jobs are kept, and how the log is doing. */

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "@/components/button";
import { NotYet } from "@/components/feedback";
import { Card } from "@/components/layout";
import { toast } from "@/components/toast";
import { messageOf } from "@/lib/api";
import { api } from "@/lib/endpoints";
import { STATES } from "@/lib/filters";
import { formatBytes, formatCount, formatShare, plural } from "@/lib/numbers";
import { queries } from "@/lib/queries";
import { formatFine } from "@/lib/time";
import { countState } from "@/shell/navigation";
import { Fact, Facts } from "./facts";

export function Storage() {
  const { data, error, refetch } = useQuery(queries.runtime());
  const cluster = useQuery(queries.cluster()).data;
  const queues = useQuery(queries.queues()).data;
  const jobs = STATES.reduce((sum, state) => sum + countState(queues, state), 0);
  return (
    <Card flush title="Storage" actions={<BackupButton />}>
      {data === undefined ? (
        <NotYet what="The store" error={error} onRetry={() => void refetch()} rows={5} columns={2} />
      ) : (
        <Facts>
          {queues && (
            <Fact label="Jobs">
              {formatCount(jobs)}
              <span className="ml-2 font-normal text-ink-3">in {plural(queues.length, "queue")}</span>
            </Fact>
          )}
          <Fact label="File">
            {formatBytes(data.store.file_bytes)}
            <span className="ml-2 font-normal text-ink-3">
              {formatShare(data.store.free_pages / Math.max(1, data.store.pages))} free
            </span>
          </Fact>
          <Fact label="Write-ahead log">{formatBytes(data.store.wal_bytes)}</Fact>
          {cluster && (
            <>
              <Fact label="Log position">{formatCount(cluster.applied_index)}</Fact>
              <Fact label="A batch of writes takes">
                {formatFine(cluster.apply_time_hist.p50)}
                <span className="ml-2 font-normal text-ink-3">
                  p50 · {formatFine(cluster.apply_time_hist.p99)} p99
                </span>
              </Fact>
            </>
          )}
          <Fact label="SQLite">{data.store.sqlite_version}</Fact>
        </Facts>
      )}
    </Card>
  );
}

function BackupButton() {
  const [busy, setBusy] = useState(false);
  async function download() {
    setBusy(true);
    try {
      const blob = await (await api.backup()).blob();
      const link = document.createElement("a");
      link.href = URL.createObjectURL(blob);
      link.download = `rookery-backup-${new Date().toISOString().slice(0, 10)}.json`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
      toast.good(`The backup is saved: ${formatBytes(blob.size)}.`);
    } catch (error) {
      toast.bad(messageOf(error));
    }
    setBusy(false);
  }
  return (
    <Button small icon="download" busy={busy} onClick={() => void download()}>
      Download a backup
    </Button>
  );
}
