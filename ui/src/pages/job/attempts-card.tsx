/** A job's attempts: when, how long, by whom, and how each of them ended. */

import { useState } from "react";
import { Button } from "@/components/button";
import { CopyButton } from "@/components/copy";
import { cx } from "@/components/cx";
import { Icon, type IconName } from "@/components/icons";
import { Card } from "@/components/layout";
import { useNow } from "@/components/time";
import type { Attempt, Outcome } from "@/lib/attempts";
import { formatCount } from "@/lib/numbers";
import { formatAbsolute, formatClock, formatDuration } from "@/lib/time";

const OUTCOMES: Record<Outcome, { word: string; icon: IconName; tone: string }> = {
  running: { word: "running", icon: "play", tone: "text-active" },
  completed: { word: "completed", icon: "check", tone: "text-good" },
  failed: { word: "failed", icon: "close", tone: "text-danger" },
  lost: { word: "the worker went silent", icon: "warning", tone: "text-danger" },
  released: { word: "handed back", icon: "retry", tone: "text-ink-2" },
  continued: { word: "goes on", icon: "retry", tone: "text-ink-2" },
  held: { word: "held", icon: "held", tone: "text-held" },
  cancelled: { word: "cancelled", icon: "cancel", tone: "text-ink-2" },
  expired: { word: "expired", icon: "clock", tone: "text-danger" },
  unknown: { word: "not known any more", icon: "help", tone: "text-ink-3" },
};
const SHOWN_AT_FIRST = 20;
const COLUMNS = "sm:grid-cols-[2.5rem_6rem_5rem_minmax(0,10rem)_minmax(0,1fr)_1rem]";

export function AttemptsCard({ attempts }: { attempts: Attempt[] }) {
  const [all, setAll] = useState(false);
  if (attempts.length === 0) return null;
  const shown = all ? attempts : attempts.slice(-SHOWN_AT_FIRST);
  const hidden = attempts.length - shown.length;
  return (
    <Card
      flush
      title="Attempts"
      about={attempts.length > 1 ? formatCount(attempts.length) : undefined}
      actions={
        hidden > 0 && (
          <Button small look="quiet" onClick={() => setAll(true)}>
            Show {formatCount(hidden)} earlier
          </Button>
        )
      }
    >
      <div
        aria-hidden="true"
        className={cx(
          "grid gap-x-3 border-line border-b px-4 pb-2 font-medium text-ink-3 text-xs max-sm:hidden",
          COLUMNS,
        )}
      >
        <span>#</span>
        <span>Started</span>
        <span>Duration</span>
        <span>Worker</span>
        <span>Result</span>
      </div>
      <ol>
        {shown.map((attempt, place) => (
          <li
            key={`${attempt.startedAt}-${attempt.endedAt}-${attempt.number}`}
            className="border-line border-b last:border-b-0"
          >
            {attempt.round > (shown[place - 1]?.round ?? attempt.round) && (
              <p className="border-line border-b bg-sunken px-4 py-1 text-ink-3 text-xs">
                Retried on request
              </p>
            )}
            <Row attempt={attempt} isNewest={place === shown.length - 1} />
          </li>
        ))}
      </ol>
    </Card>
  );
}

function Row({ attempt, isNewest }: { attempt: Attempt; isNewest: boolean }) {
  const hasMore = attempt.backtrace !== null || (attempt.words ?? "").length > 80;
  const [open, setOpen] = useState(hasMore && isNewest);
  const line = <Line attempt={attempt} open={hasMore ? open : null} />;
  if (!hasMore) return line;
  return (
    <>
      <button
        type="button"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
        className="block w-full text-left outline-offset-[-2px] hover:bg-hover"
      >
        {line}
      </button>
      {open && (
        <div className="px-4 pb-3">
          <Failure attempt={attempt} />
        </div>
      )}
    </>
  );
}

function Line({ attempt, open }: { attempt: Attempt; open: boolean | null }) {
  const outcome = OUTCOMES[attempt.outcome];
  return (
    <div
      className={cx(
        "grid grid-cols-[auto_1fr_auto] items-center gap-x-3 gap-y-1 px-4 py-2.5 text-sm",
        COLUMNS,
      )}
    >
      <span className="font-medium">
        <span className="sr-only">Attempt </span>
        {attempt.number}
      </span>
      <span
        className="text-ink-2"
        title={attempt.startedAt === null ? undefined : formatAbsolute(attempt.startedAt)}
      >
        {attempt.startedAt === null ? "–" : formatClock(attempt.startedAt)}
      </span>
      <span className="text-ink-2 max-sm:text-right">
        <Length attempt={attempt} />
      </span>
      <span className="truncate text-ink-2 max-sm:col-span-3" title={attempt.worker ?? undefined}>
        {attempt.worker ?? "–"}
      </span>
      <span className={cx("flex min-w-0 items-center gap-2 max-sm:col-span-2", outcome.tone)}>
        <Icon name={outcome.icon} size={14} className="shrink-0" />
        <span className="truncate">{attempt.words?.split("\n", 1)[0] || outcome.word}</span>
        {attempt.words && attempt.outcome !== "failed" && <span className="sr-only">({outcome.word})</span>}
      </span>
      {open !== null && (
        <Icon
          name="chevronRight"
          size={12}
          className={cx("text-ink-3 transition-transform max-sm:justify-self-end", open && "rotate-90")}
        />
      )}
    </div>
  );
}

function Length({ attempt }: { attempt: Attempt }) {
  if (attempt.startedAt === null) return "–";
  if (attempt.endedAt === null)
    return attempt.outcome === "running" ? <Running since={attempt.startedAt} /> : "–";
  return formatDuration(attempt.endedAt - attempt.startedAt);
}

function Running({ since }: { since: number }) {
  const now = useNow(1000);
  return <>{formatDuration(Math.max(0, now - since))}…</>;
}

/** The error whole, and where it came from. */
function Failure({ attempt }: { attempt: Attempt }) {
  const text = [attempt.words, attempt.backtrace].filter(Boolean).join("\n\n");
  return (
    <div className="relative rounded-lg border border-line bg-sunken">
      <div
        role="group"
        tabIndex={0}
        aria-label={`Error of attempt ${attempt.number}`}
        className="max-h-96 overflow-auto py-2.5 pr-10 pl-3 text-xs leading-5"
      >
        <p className="whitespace-pre-wrap font-medium text-danger [overflow-wrap:anywhere]">
          {attempt.words}
        </p>
        {attempt.backtrace && (
          <pre className="mt-2 whitespace-pre-wrap font-mono text-ink-2 [overflow-wrap:anywhere]">
            {attempt.backtrace}
          </pre>
        )}
      </div>
      <span className="absolute top-1 right-1">
        <CopyButton text={text} label="Copy the error" />
      </span>
    </div>
  );
}
