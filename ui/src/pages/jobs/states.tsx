/** The states with how many jobs are in each; any number of them can be chosen. */

import { useQuery } from "@tanstack/react-query";
import { STRIP, StripCount, stripItem } from "@/components/states";
import { isNarrow } from "@/lib/filter-words";
import { type JobFilter, STATES, type State, toRequest } from "@/lib/filters";
import { formatCount } from "@/lib/numbers";
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
    <div role="group" aria-label="States" className={STRIP}>
      <Choice state="All" isChosen={filter.states.length === 0} count={all} onClick={() => onChange([])} />
      {STATES.map((state) => {
        const isChosen = filter.states.includes(state);
        return (
          <Choice
            key={state}
            state={state}
            isChosen={isChosen}
            count={counts?.[state]}
            onClick={() =>
              onChange(STATES.filter((one) => (one === state ? !isChosen : filter.states.includes(one))))
            }
          />
        );
      })}
    </div>
  );
}

function Choice({
  state,
  isChosen,
  count,
  onClick,
}: {
  state: State | "All";
  isChosen: boolean;
  count: number | undefined;
  onClick: () => void;
}) {
  return (
    <button
      type="button"
      aria-pressed={isChosen}
      onClick={onClick}
      title={count === undefined ? undefined : formatCount(count)}
      className={stripItem(isChosen)}
    >
      <StripCount state={state} count={count} />
    </button>
  );
}
