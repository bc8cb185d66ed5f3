/** The nodes of the cluster; a single one says so. */

import { useQuery } from "@tanstack/react-query";
import { Badge } from "@/components/badge";
import { NotYet } from "@/components/feedback";
import { Card } from "@/components/layout";
import { type Column, Table } from "@/components/table";
import { Age } from "@/components/time";
import { formatCount, plural } from "@/lib/numbers";
import { queries } from "@/lib/queries";
import type { NodeStatus } from "@/lib/records";
import { formatFine } from "@/lib/time";

export function ClusterPanel() {
  const { data, error, refetch } = useQuery(queries.cluster());
  return (
    <Card
      flush
      title="Cluster"
      about={data && (data.mode === "single" ? "single node" : plural(data.nodes.length, "node"))}
      actions={data && <Badge tone={data.status === "healthy" ? "good" : "danger"}>{data.status}</Badge>}
    >
      {data === undefined ? (
        <NotYet what="The cluster" error={error} onRetry={() => void refetch()} rows={2} columns={3} />
      ) : (
        <>
          <Table label="Nodes" rows={data.nodes} rowId={(node) => node.id} columns={COLUMNS} />
          <p className="border-line border-t px-4 py-2 text-xs text-ink-3">
            {data.mode === "single" && "This server runs alone, with its store in one file. "}
            Log at {formatCount(data.applied_index)}
            {data.commit_index > data.applied_index &&
              `, ${formatCount(data.commit_index - data.applied_index)} behind`}{" "}
            · {formatCount(data.apply_pending_now)} writes waiting · a batch takes{" "}
            {formatFine(data.apply_time_hist.p50)} (p50)
          </p>
        </>
      )}
    </Card>
  );
}

const COLUMNS: Column<NodeStatus>[] = [
  {
    id: "node",
    title: "Node",
    wide: true,
    lead: true,
    cell: (node) => (
      <>
        <span className="font-medium">{node.id}</span>
        {node.self && <span className="ml-2 text-xs text-ink-3">this one</span>}
      </>
    ),
  },
  { id: "role", title: "Role", cell: (node) => node.role },
  { id: "status", title: "Status", cell: (node) => node.status },
  {
    id: "up",
    title: "Uptime",
    right: true,
    cell: (node) => <Age since={node.started_at} className="whitespace-nowrap" />,
  },
];
