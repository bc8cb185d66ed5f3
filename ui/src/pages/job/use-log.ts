/** The lines of a job's log as they come. The stream reconnects by itself and rests while nobody looks. */

import { useEffect, useRef, useState } from "react";
import { ApiError, messageOf } from "@/lib/api";
import { backoff } from "@/lib/backoff";
import { api } from "@/lib/endpoints";
import { live } from "@/lib/live";
import { withMore } from "@/lib/logs";
import type { LogLineView } from "@/lib/records";
import { framesOf } from "@/lib/sse";
import { useStore } from "@/lib/store";

/** The server keeps no more of a job. */
const MOST = 10_000;
/** New lines are shown together, so that a job that logs much does not hold up the page. */
const GATHER = 100;

export interface Log {
  lines: LogLineView[];
  /** How many are gone for good. */
  dropped: number;
  kind: "loading" | "following" | "ended" | "lost";
  fault: string | null;
}

const EMPTY: Log = { lines: [], dropped: 0, kind: "loading", fault: null };

/** Follow a log; `hasEnded` is whether the job has, and a job that begins again is followed again. */
export function useLog(id: string, hasEnded: boolean): Log {
  const [log, setLog] = useState(EMPTY);
  const isResting = useStore(live).kind === "paused";
  const last = useRef({ id, n: 0 });

  // biome-ignore lint/correctness/useExhaustiveDependencies: a job that has begun again has more to say
  useEffect(() => {
    if (isResting) return;
    if (last.current.id !== id) {
      last.current = { id, n: 0 };
      setLog(EMPTY);
    }
    const abort = new AbortController();
    let gathered: LogLineView[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    let attempt = 0;

    function show(change: Partial<Log> = {}): void {
      clearTimeout(timer);
      timer = undefined;
      const more = gathered;
      gathered = [];
      setLog((before) => ({ ...before, lines: withMore(before.lines, more, MOST), ...change }));
    }

    async function follow(): Promise<void> {
      try {
        const response = await api.logStream(id, last.current.n, abort.signal);
        attempt = 0;
        timer = setTimeout(() => show({ kind: "following", fault: null }), GATHER);
        for await (const frame of framesOf(response)) {
          if (frame.event === "log") {
            const line = JSON.parse(frame.data) as LogLineView;
            last.current.n = line.n;
            gathered.push(line);
            timer ??= setTimeout(() => show({ kind: "following", fault: null }), GATHER);
          } else if (frame.event === "dropped") {
            const { dropped } = JSON.parse(frame.data) as { dropped: number };
            setLog((before) => ({ ...before, dropped: before.dropped + dropped }));
          } else if (frame.event === "end") {
            show({ kind: "ended", fault: null });
            return;
          }
        }
        again("the server has closed the connection");
      } catch (error) {
        if (abort.signal.aborted) return;
        if (error instanceof ApiError && !error.isPassing) show({ kind: "ended", fault: messageOf(error) });
        else again(messageOf(error));
      }
    }

    function again(fault: string): void {
      show({ kind: "lost", fault });
      timer = setTimeout(follow, backoff(attempt, Math.random()));
      attempt += 1;
    }

    void follow();
    return () => {
      abort.abort();
      clearTimeout(timer);
      // What was gathered and not shown is read again.
      last.current.n -= gathered.length;
    };
  }, [id, hasEnded, isResting]);

  return log;
}
