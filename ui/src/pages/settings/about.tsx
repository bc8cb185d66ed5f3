/** What runs here. */

import { useQuery } from "@tanstack/react-query";
import { Badge } from "@/components/badge";
import { CopyButton } from "@/components/copy";
import { NotYet } from "@/components/feedback";
import { Card } from "@/components/layout";
import { AbsoluteTime, Age } from "@/components/time";
import { formatBytes, formatCount } from "@/lib/numbers";
import { serverUrl } from "@/lib/place";
import { queries } from "@/lib/queries";
import { Fact, Facts } from "./facts";

export function About() {
  const info = useQuery(queries.info());
  const cluster = useQuery(queries.cluster()).data;
  const runtime = useQuery(queries.runtime()).data;
  const address = serverUrl.href.replace(/\/$/, "");
  if (info.data === undefined) {
    return (
      <Card flush title="About">
        <NotYet
          what="The server's version"
          error={info.error}
          onRetry={() => void info.refetch()}
          rows={6}
          columns={2}
        />
      </Card>
    );
  }
  return (
    <Card
      flush
      title="About"
      actions={
        cluster && <Badge tone={cluster.status === "healthy" ? "good" : "danger"}>{cluster.status}</Badge>
      }
    >
      <Facts>
        <Fact label="Rookery">{info.data.server_version}</Fact>
        <Fact label="API">{info.data.api_version}</Fact>
        <Fact label="Address">
          <span className="inline-flex items-center gap-1">
            <span className="break-all font-mono text-xs">{address}</span>
            <CopyButton text={address} label="Copy the address" />
          </span>
        </Fact>
        {cluster && (
          <Fact label="Node">
            {cluster.node_id}
            <span className="ml-2 font-normal text-ink-3">
              {cluster.mode === "single" ? "single node" : `${cluster.nodes.length} nodes, ${cluster.state}`}
            </span>
          </Fact>
        )}
        {runtime && (
          <>
            <Fact label="Running for">
              <Age since={runtime.started_at} />
              <span className="ml-2 font-normal text-ink-3">
                since <AbsoluteTime at={runtime.started_at} />
              </span>
            </Fact>
            <Fact label="Python">{runtime.python}</Fact>
            <Fact label="Memory">{formatBytes(runtime.resident_bytes)}</Fact>
            <Fact label="Processor time">
              {formatCount(Math.round(runtime.cpu_seconds))} s
              <span className="ml-2 font-normal text-ink-3">{runtime.cpu_count} cores</span>
            </Fact>
            <Fact label="Connections">{formatCount(runtime.connections)}</Fact>
            <Fact label="Process">
              {runtime.pid}
              <span className="ml-2 font-normal text-ink-3">{formatCount(runtime.threads)} threads</span>
            </Fact>
          </>
        )}
      </Facts>
    </Card>
  );
}
