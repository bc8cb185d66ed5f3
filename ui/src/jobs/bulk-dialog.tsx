/** One action on many jobs: what it will touch, a look at the first of them, and the question whether that is meant. */

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { FormDialog, openDialog } from "@/components/dialog";
import { ErrorState, Note, Skeleton } from "@/components/feedback";
import { SelectField } from "@/components/field";
import { StatePill } from "@/components/states";
import { toast } from "@/components/toast";
import { api, type BulkAction, type BulkTarget } from "@/lib/endpoints";
import { describeFilter } from "@/lib/filter-words";
import { type JobFilter, PRIORITY_OPTIONS, toRequest } from "@/lib/filters";
import type { JsonText } from "@/lib/json";
import { formatCount, plural } from "@/lib/numbers";
import { refresh } from "@/lib/queries";
import { QueueField } from "@/queues/queue-field";
import { DEEDS, mayDo, touchedStates } from "./actions";
import { openBulkProgress } from "./bulk-progress";
import { PayloadLine, shortId } from "./payload";

/** Jobs that are meant: some by their ids, or all that a filter finds. */
export type Meant = { ids: string[] } | { filter: JobFilter };

const PREVIEW = 5;
/** More jobs than these go in the background, with their progress shown. */
const AT_ONCE = 1000;

export function openBulk(action: BulkAction, meant: Meant, then?: () => void): void {
  openDialog((close) => <BulkDialog action={action} meant={meant} close={close} then={then} />);
}

interface Preview {
  total: number;
  /** How many of the jobs meant are left out, because their state forbids it. */
  left: number;
  jobs: { id: string; state: string; payload: JsonText }[];
}

function usePreview(action: BulkAction, meant: Meant) {
  return useQuery({
    queryKey: ["bulk-preview", action, meant],
    staleTime: 0,
    gcTime: 0,
    queryFn: async ({ signal }): Promise<Preview> => {
      if ("ids" in meant) {
        const { jobs } = await api.jobs(meant.ids.slice(0, 1000), signal);
        const touched = jobs.filter((job) => mayDo(action, job.state));
        return {
          total: touched.length,
          left: meant.ids.length - touched.length,
          jobs: touched.slice(0, PREVIEW),
        };
      }
      const states = touchedStates(action, meant.filter.states);
      const [touched, all] = await Promise.all([
        states.length === 0
          ? { total: 0, jobs: [] }
          : api.search({ ...toRequest(meant.filter), state: states, limit: PREVIEW }, signal),
        api.search({ ...toRequest(meant.filter), limit: 1 }, signal),
      ]);
      return { total: touched.total, left: all.total - touched.total, jobs: touched.jobs };
    },
  });
}

function BulkDialog({
  action,
  meant,
  close,
  then,
}: {
  action: BulkAction;
  meant: Meant;
  close: () => void;
  then?: () => void;
}) {
  const deed = DEEDS[action];
  const [queue, setQueue] = useState("");
  const [priority, setPriority] = useState<string>("high");
  const { data, error, refetch } = usePreview(action, meant);
  const total = data?.total ?? 0;
  const what = plural(total, "job");

  async function submit() {
    const target: BulkTarget =
      "ids" in meant
        ? { job_ids: meant.ids }
        : { filter: { ...toRequest(meant.filter), state: touchedStates(action, meant.filter.states) } };
    const more = {
      move_to_queue: action === "move" ? queue.trim() : undefined,
      priority: action === "change_priority" ? priority : undefined,
      async: total > AT_ONCE || undefined,
    };
    const answer = await api.bulk(target, action, more);
    if ("bulk_operation_id" in answer) {
      openBulkProgress(answer.bulk_operation_id, titleOf(action, queue));
      then?.();
      return;
    } else {
      const skipped = answer.skipped > 0 ? `, ${formatCount(answer.skipped)} skipped` : "";
      toast.good(`${plural(answer.affected, "job")} ${deed.done}${skipped}.`);
    }
    then?.();
    await refresh();
  }

  return (
    <FormDialog
      title={`Bulk operation: ${titleOf(action)}`}
      width="medium"
      close={close}
      submit={submit}
      danger={deed.danger}
      label={data ? `${deed.verb} ${what}` : deed.verb}
      disabled={total === 0 || (action === "move" && queue.trim() === "")}
    >
      {action === "move" && (
        <QueueField
          label="Target queue"
          value={queue}
          onChange={(event) => setQueue(event.target.value)}
          hintIfNew="A new queue will come into being"
          autoFocus
        />
      )}
      {action === "change_priority" && (
        <SelectField
          label="New priority"
          value={priority}
          onChange={(event) => setPriority(event.target.value)}
          options={PRIORITY_OPTIONS}
        />
      )}
      {data ? (
        <Told action={action} meant={meant} preview={data} />
      ) : error ? (
        <ErrorState what="The preview" error={error} onRetry={() => void refetch()} />
      ) : (
        <Skeleton className="h-40 w-full" />
      )}
    </FormDialog>
  );
}

/** `a, b or c`. */
function list(words: readonly string[]): string {
  return words.join(", ").replace(/, ([^,]*)$/, " or $1");
}

function titleOf(action: BulkAction, queue = ""): string {
  if (action === "change_priority") return "Change priority";
  return action === "move" && queue ? `Move to ${queue.trim()}` : DEEDS[action].verb;
}

function Told({ action, meant, preview }: { action: BulkAction; meant: Meant; preview: Preview }) {
  const deed = DEEDS[action];
  const words = "filter" in meant ? describeFilter(meant.filter).map((part) => part.label) : [];
  if (preview.total === 0) {
    return (
      <Note>
        None of these jobs can be {deed.done}: that is for jobs that are {list(deed.states)}.
      </Note>
    );
  }
  return (
    <>
      <div className="text-sm text-ink-2">
        <p>
          This will {deed.verb.toLowerCase()}{" "}
          <b className="font-semibold text-ink">{plural(preview.total, "job")}</b>
          {"ids" in meant
            ? " that you have selected."
            : words.length === 0
              ? ", all there are."
              : " matching:"}
        </p>
        {words.length > 0 && (
          <ul className="mt-1 list-inside list-disc">
            {words.map((word) => (
              <li key={word} className="break-words">
                {word}
              </li>
            ))}
          </ul>
        )}
        {preview.left > 0 && (
          <p className="mt-1 text-ink-3">
            {plural(preview.left, "other job")} {preview.left === 1 ? "is" : "are"} left alone: only jobs that
            are {list(deed.states)} can be {deed.done}.
          </p>
        )}
      </div>
      {!deed.mild && <Note tone="warn">This action cannot be undone.</Note>}
      <div>
        <p className="mb-1 text-xs font-medium text-ink-3">
          Preview (first {Math.min(PREVIEW, preview.jobs.length)})
        </p>
        <ul className="divide-y divide-line rounded-lg border border-line">
          {preview.jobs.map((job) => (
            <li key={job.id} className="flex h-9 items-center gap-3 px-3">
              <span className="shrink-0 font-mono text-xs" title={job.id}>
                {shortId(job.id)}
              </span>
              <StatePill state={job.state} />
              <span className="min-w-0 flex-1 truncate">
                <PayloadLine text={job.payload} />
              </span>
            </li>
          ))}
        </ul>
        {preview.total > preview.jobs.length && (
          <p className="mt-1 text-xs text-ink-3">
            … and {formatCount(preview.total - preview.jobs.length)} more
          </p>
        )}
      </div>
    </>
  );
}
