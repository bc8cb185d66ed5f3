/** What is shown of each worker. */

import { Link } from "@tanstack/react-router";
import { Badge, type Tone } from "@/components/badge";
import type { Column } from "@/components/table";
import { Age, RelativeTime } from "@/components/time";
import type { WorkerView } from "@/lib/records";
import { slotsWords, stateOf, type WorkerState } from "@/lib/workers";
import { Slots } from "@/workers/slots";

const TONES: Record<WorkerState, Tone> = { live: "good", draining: "active", silent: "warn" };
const MEANINGS: Record<WorkerState, string> = {
  live: "Takes jobs",
  draining: "Takes no more jobs, and finishes those it has",
  silent: "Not heard of for 2 minutes",
};

export function columnsAt(now: number): Column<WorkerView>[] {
  return [
    {
      id: "id",
      title: "Worker",
      lead: true,
      className: "sm:max-w-72",
      cell: (worker) => (
        <span className="block truncate font-medium" title={worker.id}>
          {worker.id}
        </span>
      ),
    },
    {
      id: "state",
      title: "State",
      cell: (worker) => {
        const state = stateOf(worker, now);
        return (
          <Badge tone={TONES[state]} title={MEANINGS[state]}>
            {state}
          </Badge>
        );
      },
    },
    {
      id: "host",
      title: "Host",
      half: true,
      className: "sm:max-w-40",
      cell: (worker) => (
        <span className="block truncate text-ink-2" title={worker.hostname ?? undefined}>
          {worker.hostname ?? "–"}
        </span>
      ),
    },
    { id: "queues", title: "Queues", wide: true, cell: (worker) => <Queues names={worker.queues} /> },
    {
      id: "jobs",
      title: "Jobs",
      right: true,
      cell: (worker) => (
        <Link
          to="/jobs"
          search={{ worker: worker.id, state: "active" } as never}
          className="link"
          aria-label={slotsWords(worker)}
          title={`The jobs that ${worker.id} has now`}
        >
          <Slots worker={worker} />
        </Link>
      ),
    },
    {
      id: "seen",
      title: "Last seen",
      right: true,
      half: true,
      className: "whitespace-nowrap",
      cell: (worker) => <RelativeTime at={worker.last_heartbeat} className="text-ink-2" />,
    },
    {
      id: "up",
      title: "Uptime",
      right: true,
      className: "whitespace-nowrap",
      cell: (worker) =>
        stateOf(worker, now) === "silent" ? (
          <span className="text-ink-3">–</span>
        ) : (
          <Age since={worker.started_at} className="text-ink-2" />
        ),
    },
  ];
}

const SHOWN = 3;

function Queues({ names }: { names: string[] }) {
  return (
    <span title={names.join(", ")}>
      {names.slice(0, SHOWN).map((name, place) => (
        <span key={name}>
          {place > 0 && ", "}
          <Link to="/queues/$name" params={{ name }} className="rounded hover:text-accent">
            {name}
          </Link>
        </span>
      ))}
      {names.length > SHOWN && <span className="text-ink-3"> and {names.length - SHOWN} more</span>}
    </span>
  );
}
