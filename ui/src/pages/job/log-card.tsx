/** The end of a job's log. It follows what comes; scrolling up stops that, and going to the end begins it again. */

import { useEffect, useRef, useState } from "react";
import { Badge } from "@/components/badge";
import { Button, IconButton } from "@/components/button";
import { copyText } from "@/components/copy";
import { cx } from "@/components/cx";
import { Skeleton } from "@/components/feedback";
import { Segmented } from "@/components/field";
import { Card } from "@/components/layout";
import { attempt } from "@/components/toast";
import { loudLines, loudness, type Quietest } from "@/lib/logs";
import { formatCount, plural } from "@/lib/numbers";
import type { JobView, LogLineView } from "@/lib/records";
import { formatAbsolute, formatClock, instant } from "@/lib/time";
import { param, useParams } from "@/lib/url";
import { type Log, useLog } from "./use-log";

const SHOWN_AT_FIRST = 300;
/** So near to the end counts as there. */
const NEAR = 24;
const ENDED = ["completed", "dead", "cancelled"];
const TONES = ["text-ink-3", "text-ink-2", "text-warn", "text-danger"];

export function LogCard({ job }: { job: JobView }) {
  const log = useLog(job.id, ENDED.includes(job.state));
  const [params, change] = useParams();
  const given = param(params, "log", "all");
  const quietest: Quietest = given === "info" || given === "warn" || given === "error" ? given : "all";
  const lines = loudLines(log.lines, quietest);
  return (
    <Card
      flush
      title="Log"
      about={log.lines.length > 0 ? plural(log.lines.length, "line") : undefined}
      actions={
        log.lines.length > 0 && (
          <>
            <Sign log={log} />
            <Segmented<Quietest>
              label="Level"
              value={quietest}
              onChange={(level) => change({ log: level === "all" ? undefined : level })}
              options={[
                ["all", "All"],
                ["info", "Info"],
                ["warn", "Warnings"],
                ["error", "Errors"],
              ]}
            />
            <IconButton
              small
              icon="copy"
              label="Copy the log"
              onClick={() => void attempt("The log is copied.", () => copyText(asText(lines)))}
            />
          </>
        )
      }
    >
      {log.lines.length === 0 ? (
        <div className="px-4 pb-4 text-sm text-ink-3">
          {log.kind === "loading" ? (
            <Skeleton className="w-64" />
          ) : log.kind === "lost" ? (
            `The log cannot be read: ${log.fault}`
          ) : (
            <>
              It has logged nothing{ENDED.includes(job.state) ? "" : " yet"}. Workers in Python log with{" "}
              <code className="font-mono text-xs">current_job().log("…")</code>.
            </>
          )}
        </div>
      ) : (
        <Tail lines={lines} dropped={log.dropped} />
      )}
    </Card>
  );
}

function Sign({ log }: { log: Log }) {
  if (log.kind === "following") return <Badge tone="good">live</Badge>;
  if (log.kind === "lost") return <Badge tone="warn">connecting again</Badge>;
  return null;
}

function Tail({ lines, dropped }: { lines: readonly LogLineView[]; dropped: number }) {
  const box = useRef<HTMLDivElement>(null);
  const [follows, setFollows] = useState(true);
  const [seen, setSeen] = useState(0);
  const [most, setMost] = useState(SHOWN_AT_FIRST);
  const newest = lines.at(-1)?.n ?? 0;

  useEffect(() => {
    if (!follows) return;
    setSeen(newest);
    box.current?.scrollTo({ top: box.current.scrollHeight });
  }, [follows, newest]);

  // While one reads further up, nothing is taken away there.
  const shown = lines.slice(-(follows ? most : most + lines.filter((line) => line.n > seen).length));
  const hidden = lines.length - shown.length;
  const fresh = follows ? 0 : lines.filter((line) => line.n > seen).length;
  return (
    <div className="relative border-line border-t">
      <div
        ref={box}
        role="log"
        aria-label="Log of the job"
        aria-live="off"
        tabIndex={0}
        onScroll={(event) => {
          const { scrollHeight, scrollTop, clientHeight } = event.currentTarget;
          setFollows(scrollHeight - scrollTop - clientHeight < NEAR);
        }}
        className="max-h-96 overflow-auto bg-sunken py-2 font-mono text-xs leading-5 outline-offset-[-2px]"
      >
        {dropped > 0 && hidden === 0 && (
          <p className="px-4 text-ink-3">{plural(dropped, "older line")} are not kept any more</p>
        )}
        {hidden > 0 && (
          <button
            type="button"
            className="link px-4"
            onClick={() => {
              setFollows(false);
              setSeen(newest);
              setMost(most + 1000);
            }}
          >
            Show {formatCount(Math.min(1000, hidden))} earlier
          </button>
        )}
        {lines.length === 0 && <p className="px-4 text-ink-3">No line is that loud.</p>}
        {shown.map((line, place) => (
          <Line
            key={line.n}
            line={line}
            isNewAttempt={place > 0 && shown[place - 1]!.attempt !== line.attempt}
          />
        ))}
      </div>
      {!follows && (
        <Button
          small
          icon="arrowDown"
          className="absolute right-4 bottom-3 shadow-raised"
          onClick={() => {
            setFollows(true);
            box.current?.scrollTo({ top: box.current.scrollHeight });
          }}
        >
          {fresh > 0 ? `${formatCount(fresh)} new` : "Follow"}
        </Button>
      )}
    </div>
  );
}

function Line({ line, isNewAttempt }: { line: LogLineView; isNewAttempt: boolean }) {
  const at = instant(line.at);
  const tone = TONES[loudness(line.level)];
  return (
    <>
      {isNewAttempt && (
        <p className="mt-1 border-line border-t px-4 pt-1 text-ink-3">attempt {line.attempt}</p>
      )}
      <div
        className={cx(
          "flex gap-x-3 px-4 hover:bg-hover max-sm:flex-wrap",
          loudness(line.level) === 3 && "bg-danger-soft",
        )}
      >
        <time dateTime={line.at} title={formatAbsolute(at)} className="shrink-0 text-ink-3">
          {formatClock(at, { ms: true })}
        </time>
        <span className={cx("w-14 shrink-0 truncate", tone)} title={line.level}>
          {line.level}
        </span>
        <span className="min-w-0 whitespace-pre-wrap text-ink [overflow-wrap:anywhere] max-sm:basis-full">
          {line.message}
        </span>
      </div>
    </>
  );
}

function asText(lines: readonly LogLineView[]): string {
  return lines.map((line) => `${line.at} ${line.level} [attempt ${line.attempt}] ${line.message}`).join("\n");
}
