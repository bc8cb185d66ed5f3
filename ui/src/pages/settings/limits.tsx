/** What the server allows. It is set when it is started. */

import { useQuery } from "@tanstack/react-query";
import { NotYet } from "@/components/feedback";
import { Card } from "@/components/layout";
import { formatCount } from "@/lib/numbers";
import { queries } from "@/lib/queries";
import { formatDuration } from "@/lib/time";
import { Fact, Facts } from "./facts";

export function Limits() {
  const { data, error, refetch } = useQuery(queries.runtime());
  const cluster = useQuery(queries.cluster()).data;
  return (
    <Card flush title="Limits" about="set when the server is started">
      {data === undefined ? (
        <NotYet what="Limits" error={error} onRetry={() => void refetch()} rows={5} columns={2} />
      ) : (
        <Facts>
          <Fact label="Largest payload">{formatKibi(data.limits.max_payload_bytes)}</Fact>
          <Fact label="Ended jobs are kept for">{formatDuration(data.limits.retention_ms)}</Fact>
          <Fact label="Reads of one caller">{perSecond(data.limits.reads_per_second)}</Fact>
          <Fact label="Writes of one caller">{perSecond(data.limits.writes_per_second)}</Fact>
          <Fact label="Open streams">{formatCount(data.limits.max_streams)}</Fact>
          {cluster && (
            <Fact
              label="Writes waiting"
              note={
                cluster.overload_total > 0 ? `${formatCount(cluster.overload_total)} turned away` : undefined
              }
            >
              {formatCount(cluster.apply_pending_now)}
              <span className="ml-2 font-normal text-ink-3">of {formatCount(cluster.apply_max_pending)}</span>
            </Fact>
          )}
        </Facts>
      )}
    </Card>
  );
}

function perSecond(rate: number | null): string {
  return rate === null ? "no limit" : `${formatCount(rate)}/s`;
}

/** Payload sizes are powers of two. */
function formatKibi(bytes: number): string {
  return bytes % 1024 === 0 ? `${formatCount(bytes / 1024)} KiB` : `${formatCount(bytes)} bytes`;
}
