/** One schedule, whole. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Badge } from "@/components/badge";
import { Button, IconButton } from "@/components/button";
import { Dialog, openDialog } from "@/components/dialog";
import { JsonTree } from "@/components/json-tree";
import { AbsoluteTime, RelativeTime } from "@/components/time";
import { describeCron } from "@/lib/cron";
import { queries } from "@/lib/queries";
import type { ScheduleView } from "@/lib/records";
import { openDeleteSchedule, pauseSchedule, resumeSchedule, runSchedule } from "./actions";
import { openScheduleForm } from "./form";
import { Slots } from "./slots";
import { MISSED, OVERLAPS } from "./words";

export function openSchedule(id: string): void {
  openDialog((close) => <ScheduleDialog id={id} close={close} />);
}

function ScheduleDialog({ id, close }: { id: string; close: () => void }) {
  const schedule = useQuery(queries.schedules()).data?.find((one) => one.id === id);
  if (schedule === undefined) {
    return (
      <Dialog title="Schedule" close={close}>
        <p className="text-ink-2 text-sm">This schedule is gone.</p>
      </Dialog>
    );
  }
  return (
    <Dialog
      title={schedule.name}
      width="medium"
      close={close}
      footer={<Actions schedule={schedule} close={close} />}
    >
      <div className="flex flex-col gap-4">
        <dl className="grid grid-cols-[auto_1fr] gap-x-6 gap-y-1.5 text-sm">
          <Fact label="State">
            {schedule.enabled ? <Badge tone="good">active</Badge> : <Badge tone="warn">paused</Badge>}
          </Fact>
          <Fact label="When">
            <code className="font-mono text-xs">{schedule.cron}</code>
            <span className="ml-2 text-ink-2">{describeCron(schedule.cron)}</span>
          </Fact>
          <Fact label="Time zone">{schedule.timezone}</Fact>
          <Fact label="Queue">
            <Link
              to="/queues/$name"
              params={{ name: schedule.queue }}
              onClick={close}
              className="link break-all"
            >
              {schedule.queue}
            </Link>
          </Fact>
          <Fact label="Last run">
            {schedule.last_run ? (
              <>
                <RelativeTime at={schedule.last_run} />{" "}
                <span className="text-ink-3">
                  (<AbsoluteTime at={schedule.last_run} />)
                </span>
              </>
            ) : (
              "never"
            )}
          </Fact>
          <Fact label="If the last job runs">{OVERLAPS[schedule.overlap] ?? schedule.overlap}</Fact>
          <Fact label="For missed runs">{MISSED[schedule.missed] ?? schedule.missed}</Fact>
          <Fact label="Attempts">at most {schedule.max_retries} for each job</Fact>
          {schedule.unique_key && (
            <Fact label="Unique key">
              <code className="break-all font-mono text-xs">{schedule.unique_key}</code>
            </Fact>
          )}
        </dl>
        {schedule.next_runs.length > 0 && (
          <section>
            <h3 className="mb-1 font-medium text-ink-2 text-sm">Next fire times</h3>
            <div className="overflow-x-auto rounded-lg border border-line">
              <Slots times={schedule.next_runs} zone={schedule.timezone} />
            </div>
          </section>
        )}
        <section>
          <h3 className="mb-1 font-medium text-ink-2 text-sm">Payload of each job</h3>
          <JsonTree text={schedule.payload} label="payload" />
        </section>
      </div>
    </Dialog>
  );
}

function Fact({ label, children }: { label: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-ink-3">{label}</dt>
      <dd className="min-w-0">{children}</dd>
    </>
  );
}

function Actions({ schedule, close }: { schedule: ScheduleView; close: () => void }) {
  return (
    <>
      <IconButton
        icon="trash"
        label="Delete the schedule"
        className="mr-auto"
        onClick={() => openDeleteSchedule(schedule, close)}
      />
      {schedule.enabled ? (
        <Button icon="pause" onClick={() => void pauseSchedule(schedule)}>
          Pause
        </Button>
      ) : (
        <Button icon="play" onClick={() => void resumeSchedule(schedule)}>
          Resume
        </Button>
      )}
      <Button onClick={() => void runSchedule(schedule)}>Run now</Button>
      <Button
        look="primary"
        icon="edit"
        onClick={() => {
          close();
          openScheduleForm(schedule);
        }}
      >
        Edit
      </Button>
    </>
  );
}
