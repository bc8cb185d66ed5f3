/**
 * The buttons of a job's page. What its state forbids stays where it is and says why, so that nothing jumps under the pointer;
 * only a phone has no room for that.
 */

import { useNavigate } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Button, type ButtonProps } from "@/components/button";
import { copyText } from "@/components/copy";
import { cx } from "@/components/cx";
import { Menu, type MenuItem } from "@/components/menu";
import { attempt } from "@/components/toast";
import { auth } from "@/lib/auth";
import { api, type BulkAction } from "@/lib/endpoints";
import { serverUrl } from "@/lib/place";
import { refresh } from "@/lib/queries";
import type { JobView } from "@/lib/records";
import { curlFor, pythonFor } from "@/lib/same-job";
import { openCancel, openClone, openDelete, openHold, openMove, openReject, openRetry } from "./dialogs";
import { refusalOf } from "./refusals";

/** Do it at once, say so, and look again. */
async function act(done: string, run: () => Promise<unknown>): Promise<void> {
  await attempt(done, run);
  await refresh();
}

function approve(job: JobView): void {
  void act("The job is approved and in line.", () => api.approveJob(job.id));
}

function retry(job: JobView): void {
  if (job.state === "completed") openRetry(job);
  else void act("The job is in line again.", () => api.retryJob(job.id));
}

export function JobActions({ job }: { job: JobView }) {
  const navigate = useNavigate();
  const leave = () => void navigate({ to: "/queues/$name", params: { name: job.queue } });
  return (
    <>
      {job.state === "held" && (
        <>
          <Button look="primary" icon="check" onClick={() => approve(job)}>
            Approve
          </Button>
          <Button icon="close" onClick={() => openReject(job)}>
            Reject
          </Button>
        </>
      )}
      <Action action="retry" job={job} icon="retry" onClick={() => retry(job)}>
        {job.state === "scheduled" ? "Run now" : "Retry"}
      </Action>
      <Action action="cancel" job={job} icon="cancel" onClick={() => openCancel(job)}>
        Cancel
      </Action>
      <Action action="move" job={job} icon="move" onClick={() => openMove(job)}>
        Move
      </Action>
      {job.state !== "held" && (
        <Action action="hold" job={job} icon="held" onClick={() => openHold(job)}>
          Hold
        </Action>
      )}
      <Button icon="trash" className="text-danger!" onClick={() => openDelete(job, leave)}>
        Delete
      </Button>
      <Menu label="More" iconOnly look="plain" items={copies(job)} />
    </>
  );
}

/** What is left to do with a job that is gone. */
export function GoneActions({ job }: { job: JobView }) {
  return <Menu label="Use again" icon="copy" items={copies(job)} />;
}

function copies(job: JobView): MenuItem[] {
  const copy = (what: string, text: string) => void attempt(`${what} copied.`, () => copyText(text));
  const server = serverUrl.href;
  return [
    { label: "Clone and edit…", icon: "edit", onSelect: () => openClone(job) },
    {
      label: "Copy as curl",
      icon: "copy",
      apart: true,
      onSelect: () => copy("The command", curlFor(job, server, auth.get().key !== null)),
    },
    { label: "Copy as Python", icon: "copy", onSelect: () => copy("The code", pythonFor(job, server)) },
    { label: "Copy job id", icon: "copy", onSelect: () => copy("The id", job.id) },
  ];
}

function Action({
  action,
  job,
  onClick,
  children,
  ...rest
}: Omit<ButtonProps, "onClick"> & {
  action: BulkAction;
  job: JobView;
  onClick: () => void;
  children: ReactNode;
}) {
  const refusal = refusalOf(action, job.state);
  return (
    <Button
      {...rest}
      aria-disabled={refusal !== null}
      title={refusal ?? undefined}
      onClick={refusal === null ? onClick : undefined}
      className={cx(refusal !== null && "cursor-not-allowed opacity-50 hover:bg-surface max-sm:hidden")}
    >
      {children}
    </Button>
  );
}
