/** A job's state as a mark that is told by shape and word, not by colour alone. */

import type { State } from "@/lib/filters";
import { formatShort } from "@/lib/numbers";
import { cx } from "./cx";

interface Look {
  text: string;
  soft: string;
  dot: string;
  /** The variable of its colour, for charts. */
  colour: string;
}

export const STATE_LOOKS: Record<State, Look> = {
  pending: { text: "text-pending", soft: "bg-pending-soft", dot: "ring", colour: "--pending" },
  active: { text: "text-active", soft: "bg-active-soft", dot: "disc", colour: "--active" },
  scheduled: { text: "text-scheduled", soft: "bg-scheduled-soft", dot: "ring", colour: "--scheduled" },
  retrying: { text: "text-warn", soft: "bg-warn-soft", dot: "half", colour: "--warn" },
  held: { text: "text-held", soft: "bg-held-soft", dot: "bars", colour: "--held" },
  completed: { text: "text-good", soft: "bg-good-soft", dot: "check", colour: "--good" },
  dead: { text: "text-danger", soft: "bg-danger-soft", dot: "cross", colour: "--danger" },
  cancelled: { text: "text-ink-3", soft: "bg-sunken", dot: "slash", colour: "--ink-3" },
};

const SHAPES: Record<string, React.ReactNode> = {
  ring: <circle cx="5" cy="5" r="3.2" fill="none" stroke="currentColor" strokeWidth="1.6" />,
  disc: <circle cx="5" cy="5" r="4" fill="currentColor" />,
  half: (
    <>
      <circle cx="5" cy="5" r="3.2" fill="none" stroke="currentColor" strokeWidth="1.6" />
      <path d="M5 1.8a3.2 3.2 0 0 1 0 6.4z" fill="currentColor" />
    </>
  ),
  bars: <path d="M3.2 1.8v6.4M6.8 1.8v6.4" stroke="currentColor" strokeWidth="1.8" strokeLinecap="round" />,
  check: (
    <path
      d="M1.6 5.2 4 7.6l4.4-5"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.8"
      strokeLinecap="round"
      strokeLinejoin="round"
    />
  ),
  cross: (
    <path
      d="M2.2 2.2l5.6 5.6M7.8 2.2 2.2 7.8"
      stroke="currentColor"
      strokeWidth="1.8"
      strokeLinecap="round"
    />
  ),
  slash: (
    <>
      <circle cx="5" cy="5" r="3.4" fill="none" stroke="currentColor" strokeWidth="1.4" />
      <path d="M2.8 7.2l4.4-4.4" stroke="currentColor" strokeWidth="1.4" />
    </>
  ),
};

/** The mark alone. */
export function StateMark({ state, className }: { state: string; className?: string }) {
  const look = STATE_LOOKS[state as State] ?? STATE_LOOKS.cancelled;
  return (
    <svg
      width="10"
      height="10"
      viewBox="0 0 10 10"
      className={cx("shrink-0", look.text, className)}
      aria-hidden="true"
      focusable="false"
    >
      {SHAPES[look.dot]}
    </svg>
  );
}

/** States side by side, each with its count below it; on small screens one moves them with the finger. */
export const STRIP =
  "card flex gap-1 overflow-x-auto p-1.5 [scrollbar-width:none] lg:grid lg:auto-cols-fr lg:grid-flow-col print:flex-wrap";

/** The classes of one of them. */
export function stripItem(isChosen: boolean): string {
  return cx(
    "flex h-8 shrink-0 items-center gap-2 rounded-md px-2.5 text-left text-sm outline-offset-[-2px] pointer-coarse:h-11",
    "lg:h-auto lg:flex-col lg:items-start lg:gap-0 lg:py-1.5",
    isChosen ? "bg-accent-soft text-ink" : "text-ink-2 hover:bg-hover hover:text-ink",
  );
}

/** What stands in it: a state, or what stands for all, and how many there are. */
export function StripCount({ state, count }: { state: State | "All"; count: number | undefined }) {
  return (
    <>
      <span className="inline-flex items-center gap-2">
        {state !== "All" && <StateMark state={state} />}
        {state}
      </span>
      <b className={cx("lg:text-lg", count ? "font-semibold text-ink" : "font-normal text-ink-3")}>
        {count === undefined ? "–" : formatShort(count)}
      </b>
    </>
  );
}

/** Mark and word. */
export function StatePill({ state }: { state: string }) {
  const look = STATE_LOOKS[state as State] ?? STATE_LOOKS.cancelled;
  return (
    <span
      className={cx(
        "inline-flex h-5.5 items-center gap-1.5 rounded-full px-2 text-xs font-medium",
        look.soft,
        look.text,
      )}
    >
      <StateMark state={state} />
      {state}
    </span>
  );
}
