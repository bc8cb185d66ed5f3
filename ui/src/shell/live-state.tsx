/** Whether what is shown is up to date, as a sign in the top bar, and as a banner when it is not. */

import { Button } from "@/components/button";
import { cx } from "@/components/cx";
import { Icon } from "@/components/icons";
import { useNow } from "@/components/time";
import { live, retryNow } from "@/lib/live";
import { useStore } from "@/lib/store";
import { formatClock } from "@/lib/time";

const SIGNS = {
  live: { text: "Live", dot: "bg-good motion-safe:animate-[pulse-ring_2.4s_ease-out_infinite]" },
  connecting: { text: "Connecting", dot: "bg-warn" },
  paused: { text: "Paused", dot: "bg-ink-3" },
  stale: { text: "Not live", dot: "bg-danger" },
};

export function LiveSign() {
  const state = useStore(live);
  const sign = SIGNS[state.kind];
  return (
    <span
      role="status"
      data-live={state.kind}
      title={
        state.kind === "live" ? "Changes on the server are shown at once" : "What is shown may be out of date"
      }
      className="inline-flex h-8 items-center gap-2 rounded-lg px-2 text-xs font-medium text-ink-2"
    >
      <span className={cx("size-2 rounded-full", sign.dot)} />
      <span className="max-sm:sr-only">{sign.text}</span>
    </span>
  );
}

export function StaleBanner() {
  const state = useStore(live);
  return state.kind === "stale" ? <Stale state={state} /> : null;
}

function Stale({ state }: { state: Extract<ReturnType<typeof live.get>, { kind: "stale" }> }) {
  const now = useNow(500);
  const seconds = Math.max(0, Math.ceil((state.retryAt - now) / 1000));
  return (
    <div
      role="alert"
      className="flex flex-wrap items-center gap-x-3 gap-y-1 border-line border-b bg-warn-soft px-4 py-1.5 text-sm text-warn sm:px-6 lg:px-8"
    >
      <Icon name="warning" className="shrink-0" />
      <p className="min-w-0 flex-1">
        <b className="font-semibold">Not live.</b> What you see is as of {formatClock(state.since)}.{" "}
        <span className="max-sm:hidden">{state.reason}</span>
      </p>
      <span aria-hidden="true">{seconds > 0 ? `Trying again in ${seconds} s` : "Trying again…"}</span>
      <Button small onClick={retryNow}>
        Try now
      </Button>
    </div>
  );
}
