/** The states with how many jobs are in each; any number of them can be chosen. */

import { useQuery } from "@tanstack/react-query";
import { cx } from "@/components/cx";
import { StateMark } from "@/components/states";
import { isNarrow } from "@/lib/filter-words";
import { type JobFilter, STATES, type State, toRequest } from "@/lib/filters";
import { formatCount, formatShort } from "@/lib/numbers";
import { queries } from "@/lib/queries";

/** Counting takes a search for each state: that is done where one search takes no longer than this. */
const QUICK = 250;

type Counts = Record<State, number> | undefined;

/** How many jobs match in each state, whichever states are chosen; undefined while that is not known. */
function useCounts(filter: JobFilter, duration: number | undefined): Counts {
  const everyState = { ...filter, states: [] };
  const isPlain = !isNarrow(everyState, true);
  const queues = useQuery(queries.queues()).data;
  const counted = useQuery({
    ...queries.stateCounts(toRequest(everyState)),
    enabled: !isPlain && duration !== undefined && duration < QUICK,
  }).data;
  if (!isPlain) return counted;
  if (queues === undefined) return undefined;
  const meant = queues.filter((queue) => filter.queue === "" || queue.name === filter.queue.trim());
  return Object.fromEntries(
    STATES.map((state) => [state, meant.reduce((sum, queue) => sum + queue[state], 0)]),
  ) as Record<State, number>;
}

export function StateRow({
  filter,
  duration,
  onChange,
}: {
  filter: JobFilter;
  /** How long the search took, in milliseconds. */
  duration: number | undefined;
  onChange: (states: State[]) => void;
}) {
  const counts = useCounts(filter, duration);
  const all = counts && STATES.reduce((sum, state) => sum + counts[state], 0);
  return (
    <div
      role="group"
      aria-label="States"
      className="card flex gap-1 overflow-x-auto p-1.5 [scrollbar-width:none] sm:flex-wrap"
    >
      <Choice isChosen={filter.states.length === 0} count={all} onClick={() => onChange([])}>
        All
      </Choice>
      {STATES.map((state) => {
        const isChosen = filter.states.includes(state);
        return (
          <Choice
            key={state}
            isChosen={isChosen}
            count={counts?.[state]}
            onClick={() =>
              onChange(STATES.filter((one) => (one === state ? !isChosen : filter.states.includes(one))))
            }
          >
            <StateMark state={state} />
            {state}
          </Choice>
        );
      })}
    </div>
  );
}

function Choice({
  isChosen,
  count,
  onClick,
  children,
}: {
  isChosen: boolean;
  count: number | undefined;
  onClick: () => void;
  children: React.ReactNode;
}) {
  return (
    <button
      type="button"
      aria-pressed={isChosen}
      onClick={onClick}
      title={count === undefined ? undefined : formatCount(count)}
      className={cx(
        "inline-flex h-8 shrink-0 items-center gap-2 rounded-md px-2.5 text-sm outline-offset-[-2px]",
        isChosen ? "bg-accent-soft text-ink" : "text-ink-2 hover:bg-hover hover:text-ink",
      )}
    >
      {children}
      <b className={count ? "font-semibold text-ink" : "font-normal text-ink-3"}>
        {count === undefined ? "–" : formatShort(count)}
      </b>
    </button>
  );
}
