/** The way to every page, with the numbers that matter, and how many jobs are in each state. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { cx } from "@/components/cx";
import { Icon, Rook } from "@/components/icons";
import { StateMark } from "@/components/states";
import { useNow } from "@/components/time";
import { STATES } from "@/lib/filters";
import { formatCount, formatShort } from "@/lib/numbers";
import { queries } from "@/lib/queries";
import { connected } from "@/lib/workers";
import { countState, PLACES, type Place } from "./navigation";

export function Sidebar({ onGo }: { onGo?: () => void }) {
  const queues = useQuery(queries.queues()).data;
  const workers = useQuery(queries.workers()).data;
  const cluster = useQuery(queries.cluster()).data;
  const now = useNow(15_000);

  function count(place: Place): number | undefined {
    if (place.count === undefined || queues === undefined) return undefined;
    if (place.count === "queues") return queues.length;
    if (place.count === "workers") return workers && connected(workers, now).length;
    return countState(queues, place.count);
  }

  return (
    <div className="flex h-full flex-col overflow-y-auto bg-surface px-3 py-3">
      <Link to="/" onClick={onGo} className="mb-3 flex h-9 shrink-0 items-center gap-2.5 rounded-lg px-2">
        <Rook />
        <span className="text-lg font-semibold tracking-tight">Rookery</span>
      </Link>
      <nav aria-label="Pages">
        <ul className="flex flex-col gap-0.5">
          {PLACES.map((place) => {
            const number = count(place);
            const isBad = place.count === "dead" && !!number;
            return (
              <li key={place.to}>
                <Link
                  to={place.to}
                  onClick={onGo}
                  activeOptions={{ exact: place.to === "/", includeSearch: false }}
                  activeProps={{ className: "bg-accent-soft text-accent", "aria-current": "page" }}
                  inactiveProps={{ className: "text-ink-2 hover:bg-hover hover:text-ink" }}
                  className="flex h-8 items-center gap-2.5 rounded-lg pointer-coarse:h-11 px-2 text-sm font-medium"
                >
                  <Icon name={place.icon} />
                  <span className="flex-1 truncate">{place.label}</span>
                  {number !== undefined && number > 0 && (
                    <span
                      title={formatCount(number)}
                      className={cx("text-xs", isBad ? "font-semibold text-danger" : "text-ink-3")}
                    >
                      {formatShort(number)}
                    </span>
                  )}
                </Link>
              </li>
            );
          })}
        </ul>
      </nav>
      <nav aria-label="Jobs by state" className="mt-5">
        <p className="px-2 pb-1 text-xs font-medium text-ink-3">Jobs by state</p>
        <ul className="flex flex-col">
          {STATES.map((state) => {
            const number = countState(queues, state);
            return (
              <li key={state}>
                <Link
                  to="/jobs"
                  search={{ state } as never}
                  onClick={onGo}
                  activeOptions={{ exact: true, includeSearch: true }}
                  activeProps={{ className: "bg-hover text-ink" }}
                  className="flex h-7 items-center gap-2.5 rounded-lg pointer-coarse:h-11 px-2 text-sm text-ink-2 hover:bg-hover hover:text-ink"
                >
                  <span className="inline-flex w-4 justify-center">
                    <StateMark state={state} />
                  </span>
                  <span className="flex-1">{state}</span>
                  <span title={formatCount(number)} className="text-xs text-ink-3">
                    {queues && formatShort(number)}
                  </span>
                </Link>
              </li>
            );
          })}
        </ul>
      </nav>
      <p className="mt-auto truncate px-2 pt-4 text-xs text-ink-3">
        {cluster &&
          `${cluster.mode === "single" ? "single node" : `cluster, ${cluster.nodes.length} nodes`} · ${cluster.nodes[0]?.version ?? ""}`}
      </p>
    </div>
  );
}
