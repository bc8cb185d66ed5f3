/** All jobs that match, as a file with a line of JSON for each. It can be watched and cancelled. */

import { useEffect, useRef, useState } from "react";
import { Button } from "@/components/button";
import { Dialog, openDialog } from "@/components/dialog";
import { Note, Progress } from "@/components/feedback";
import { useNow } from "@/components/time";
import { messageOf } from "@/lib/api";
import { exportName, exportPages, saveFile } from "@/lib/export";
import { describeFilter } from "@/lib/filter-words";
import { type JobFilter, toRequest } from "@/lib/filters";
import { formatBytes, formatCount, plural } from "@/lib/numbers";
import { openSpool, type Spool } from "@/lib/spool";
import { formatDuration } from "@/lib/time";

export function openExport(filter: JobFilter): void {
  openDialog((close) => <ExportDialog filter={filter} close={close} />);
}

interface State {
  done: number;
  total: number | null;
  bytes: number;
  fault: string | null;
  /** The file that was saved. */
  saved: string | null;
}

function ExportDialog({ filter, close }: { filter: JobFilter; close: () => void }) {
  const [state, setState] = useState<State>({ done: 0, total: null, bytes: 0, fault: null, saved: null });
  const [attempt, setAttempt] = useState(0);
  const spool = useRef<Spool | null>(null);
  const cursor = useRef<string | null>(null);
  const request = useRef(toRequest(filter));

  // biome-ignore lint/correctness/useExhaustiveDependencies: it begins once, and goes on when one tries again
  useEffect(() => {
    const abort = new AbortController();
    async function run() {
      try {
        for await (const page of exportPages(request.current, cursor.current, abort.signal)) {
          const part = new TextEncoder().encode(page.lines.map((line) => `${line}\n`).join(""));
          const into = spool.current ?? (await openSpool());
          if (abort.signal.aborted) {
            if (into !== spool.current) await into.discard();
            return;
          }
          spool.current = into;
          await into.write(part);
          cursor.current = page.cursor;
          setState((before) => ({
            ...before,
            done: before.done + page.lines.length,
            total: page.total ?? before.total,
            bytes: before.bytes + part.length,
            fault: null,
          }));
        }
        const name = exportName(new Date());
        const file = (await spool.current?.finish()) ?? new Blob();
        spool.current = null;
        saveFile(name, new Blob([file], { type: "application/x-ndjson" }));
        setState((before) => ({ ...before, saved: name }));
      } catch (error) {
        if (!abort.signal.aborted) setState((before) => ({ ...before, fault: messageOf(error) }));
      }
    }
    void run();
    return () => abort.abort();
  }, [attempt]);
  useEffect(() => () => void spool.current?.discard(), []);

  const isOver = state.saved !== null;
  return (
    <Dialog
      title="Export as NDJSON"
      width="medium"
      close={close}
      footer={
        isOver ? (
          <Button look="primary" onClick={close}>
            Close
          </Button>
        ) : (
          <>
            <Button onClick={close}>Cancel export</Button>
            {state.fault && (
              <Button look="primary" icon="retry" onClick={() => setAttempt(attempt + 1)}>
                Go on
              </Button>
            )}
          </>
        )
      }
    >
      <Told filter={filter} state={state} />
    </Dialog>
  );
}

function Told({ filter, state }: { filter: JobFilter; state: State }) {
  const [begun] = useState(Date.now);
  const now = useNow(500);
  const words = describeFilter(filter).map(({ label }) => label);
  const total = Math.max(state.total ?? 0, state.done);
  const rate = (state.done / Math.max(1, now - begun)) * 1000;
  const left = rate > 0 ? ((total - state.done) / rate) * 1000 : null;
  if (state.saved !== null) {
    return (
      <Note>
        {plural(state.done, "job")} saved as <b className="font-semibold">{state.saved}</b> (
        {formatBytes(state.bytes)}).
      </Note>
    );
  }
  return (
    <div className="flex flex-col gap-3 text-sm text-ink-2">
      <p>
        {words.length === 0 ? "All jobs" : `Jobs where ${words.join(", ")}`}, one line of JSON for each,
        numbers as they were written.
      </p>
      <div>
        <Progress value={state.done} max={Math.max(1, total)} label="Exported" />
        <p className="mt-1.5" role="status">
          <b className="font-semibold text-ink">{formatCount(state.done)}</b>
          {state.total !== null && ` / ${formatCount(total)} jobs`}, {formatBytes(state.bytes)}
          {state.done > 0 && !state.fault && `, ${formatCount(Math.round(rate))}/s`}
          {left !== null && !state.fault && `, ~${formatDuration(left)} left`}
        </p>
      </div>
      {state.fault && <Note tone="danger">{state.fault} What was read so far is kept.</Note>}
    </div>
  );
}
