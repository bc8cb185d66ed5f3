/** Everything that happened to a job, in order. */

import { useState } from "react";
import { Button } from "@/components/button";
import { cx } from "@/components/cx";
import { Skeleton } from "@/components/feedback";
import { Card } from "@/components/layout";
import { type Entry, fold, type Happening, type Tone, tell } from "@/lib/happenings";
import { formatCount, plural } from "@/lib/numbers";
import { readProgress } from "@/lib/progress";
import { formatAbsolute, formatClock } from "@/lib/time";

const SHOWN_AT_FIRST = 40;
const TONES: Record<Tone, string> = {
  plain: "bg-line-strong",
  good: "bg-good",
  bad: "bg-danger",
  work: "bg-active",
  wait: "bg-held",
};

export function EventsCard({ events }: { events: Happening[] | undefined }) {
  const [unfolded, setUnfolded] = useState(false);
  const [most, setMost] = useState(SHOWN_AT_FIRST);
  const folded = fold(events ?? []);
  const isFolded = folded.some((entry) => entry.folded > 0);
  const entries = unfolded ? (events ?? []).map((event): Entry => ({ event, folded: 0 })) : folded;
  const shown = entries.slice(-most);
  const hidden = entries.length - shown.length;
  const days = new Set(shown.map(({ event }) => new Date(event.at).toDateString())).size;
  return (
    <Card
      title="Events"
      about={events && events.length > 0 ? formatCount(events.length) : undefined}
      actions={
        isFolded && (
          <Button small look="quiet" aria-pressed={unfolded} onClick={() => setUnfolded(!unfolded)}>
            {unfolded ? "Fold progress" : "Show all progress"}
          </Button>
        )
      }
    >
      {events === undefined ? (
        <Skeleton className="w-64" />
      ) : events.length === 0 ? (
        <p className="text-sm text-ink-3">
          They are not kept any more: the server keeps the newest 10,000 events.
        </p>
      ) : (
        <>
          {hidden > 0 && (
            <Button small className="mb-2" onClick={() => setMost(most + 500)}>
              Show {formatCount(Math.min(500, hidden))} earlier
            </Button>
          )}
          <ol className="relative flex flex-col before:absolute before:inset-y-2.5 before:left-[3px] before:w-px before:bg-line">
            {shown.map((entry) => (
              <Row key={entry.event.seq} entry={entry} withDay={days > 1} />
            ))}
          </ol>
        </>
      )}
    </Card>
  );
}

function Row({ entry: { event, folded }, withDay }: { entry: Entry; withDay: boolean }) {
  const { verb, rest, tone } = tell(event);
  const words = event.progress ? progressWords(event.progress) : rest;
  return (
    <li className="relative flex gap-3 py-1 text-sm">
      <span
        className={cx("relative mt-1.5 size-[7px] shrink-0 rounded-full ring-2 ring-surface", TONES[tone])}
      />
      <div className="flex min-w-0 flex-1 gap-x-3 max-sm:flex-col">
        <time
          dateTime={new Date(event.at).toISOString()}
          title={`${formatAbsolute(event.at)}\n${formatAbsolute(event.at, "UTC")}`}
          className="shrink-0 font-mono text-xs text-ink-3 leading-5"
        >
          {withDay && `${formatAbsolute(event.at).slice(5, 10)} `}
          {formatClock(event.at, { ms: true })}
        </time>
        <span
          className="line-clamp-3 min-w-0 [overflow-wrap:anywhere]"
          title={words.length > 200 ? words : undefined}
        >
          <span
            className={cx("font-medium", tone === "bad" && "text-danger", tone === "good" && "text-good")}
          >
            {verb}
          </span>
          {words && <span className="text-ink-2"> {words}</span>}
          {folded > 0 && <span className="text-ink-3"> · and {plural(folded, "report")} before</span>}
        </span>
      </div>
    </li>
  );
}

function progressWords(text: string): string {
  const { figure, words } = readProgress(text);
  return [figure, words].filter((part) => part !== null).join(" · ") || text.slice(0, 200);
}
