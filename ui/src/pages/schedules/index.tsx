import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Badge } from "@/components/badge";
import { Button, IconButton } from "@/components/button";
import { NotYet } from "@/components/feedback";
import { Page } from "@/components/layout";
import { Menu } from "@/components/menu";
import { type Column, Table } from "@/components/table";
import { RelativeTime } from "@/components/time";
import { describeCron } from "@/lib/cron";
import { plural } from "@/lib/numbers";
import { queries } from "@/lib/queries";
import type { ScheduleView } from "@/lib/records";
import { openDeleteSchedule, pauseSchedule, resumeSchedule, runSchedule } from "./actions";
import { openSchedule } from "./details";
import { NoSchedules } from "./empty";
import { openScheduleForm } from "./form";
import { Slot } from "./slots";

/** Jobs that come again and again: when they come next, and what can be done about it. */
export default function SchedulesPage() {
  const { data, error, refetch } = useQuery(queries.schedules());
  const paused = data?.filter((schedule) => !schedule.enabled).length ?? 0;
  return (
    <Page
      title="Schedules"
      about={
        data && data.length > 0
          ? `${plural(data.length, "schedule")}${paused ? `, ${paused} of them paused` : ""}. Times are those of the schedule's zone.`
          : "Jobs that come again and again."
      }
      actions={
        <Button look="primary" icon="plus" onClick={() => openScheduleForm()}>
          New schedule
        </Button>
      }
    >
      <section className="card min-w-0">
        {data === undefined ? (
          <NotYet what="Schedules" error={error} onRetry={() => void refetch()} />
        ) : data.length === 0 ? (
          <NoSchedules />
        ) : (
          <Table
            label="Schedules"
            rows={data}
            rowId={(schedule) => schedule.id}
            columns={COLUMNS}
            onOpen={(schedule) => openSchedule(schedule.id)}
          />
        )}
      </section>
    </Page>
  );
}

/** On a phone the menu stands at the edge, where it has room to open. */
const ACTIONS = "inline-flex items-center gap-1 max-sm:flex max-sm:[&>:last-child]:ml-auto";

const COLUMNS: Column<ScheduleView>[] = [
  {
    id: "name",
    title: "Schedule",
    lead: true,
    className: "sm:max-w-64 sm:min-w-40",
    cell: (schedule) => (
      <>
        <span className="flex min-w-0 items-center gap-2">
          <button
            type="button"
            title={schedule.name}
            onClick={() => openSchedule(schedule.id)}
            className="truncate rounded text-left font-medium hover:text-accent"
          >
            {schedule.name}
          </button>
          {!schedule.enabled && <Badge tone="warn">paused</Badge>}
        </span>
        <Link
          to="/queues/$name"
          params={{ name: schedule.queue }}
          title={schedule.queue}
          className="block truncate rounded text-ink-3 text-xs hover:text-accent"
        >
          {schedule.queue}
        </Link>
      </>
    ),
  },
  {
    id: "cron",
    title: "When",
    wide: true,
    className: "sm:min-w-44",
    cell: (schedule) => {
      const words = describeCron(schedule.cron);
      return (
        <>
          <span className="block truncate" title={words ?? undefined}>
            {words ?? <code className="font-mono text-xs">{schedule.cron}</code>}
          </span>
          <span className="block truncate text-ink-3 text-xs">
            {words && <code className="mr-2 font-mono">{schedule.cron}</code>}
            {schedule.timezone}
          </span>
        </>
      );
    },
  },
  {
    id: "next",
    title: "Next run",
    className: "whitespace-nowrap max-sm:col-span-3",
    cell: (schedule) =>
      schedule.next_run ? (
        <Slot at={schedule.next_run} zone={schedule.timezone} />
      ) : (
        <span className="text-ink-3">{schedule.enabled ? "never" : "when resumed"}</span>
      ),
  },
  {
    id: "last",
    title: "Last run",
    className: "whitespace-nowrap",
    cell: (schedule) =>
      schedule.last_run ? (
        <RelativeTime at={schedule.last_run} className="text-ink-2" />
      ) : (
        <span className="text-ink-3">never</span>
      ),
  },
  {
    id: "rules",
    title: "Overlap · missed",
    desktop: true,
    className: "whitespace-nowrap max-2xl:hidden",
    cell: (schedule) => (
      <span className="text-ink-2">
        {schedule.overlap} · {schedule.missed}
      </span>
    ),
  },
  {
    id: "act",
    title: "Actions",
    silent: true,
    right: true,
    className: "max-sm:col-span-4",
    cell: (schedule) => (
      <span className={ACTIONS}>
        <Button small onClick={() => void runSchedule(schedule)} aria-label={`Run now: ${schedule.name}`}>
          Run now
        </Button>
        {schedule.enabled ? (
          <IconButton
            icon="pause"
            small
            label={`Pause ${schedule.name}`}
            onClick={() => void pauseSchedule(schedule)}
          />
        ) : (
          <IconButton
            icon="play"
            small
            label={`Resume ${schedule.name}`}
            onClick={() => void resumeSchedule(schedule)}
          />
        )}
        <Menu
          label={`More for ${schedule.name}`}
          iconOnly
          small
          items={[
            { label: "Edit…", icon: "edit", onSelect: () => openScheduleForm(schedule) },
            {
              label: "Make a copy…",
              icon: "copy",
              onSelect: () => openScheduleForm(schedule, { isCopy: true }),
            },
            {
              label: "Delete…",
              icon: "trash",
              danger: true,
              apart: true,
              onSelect: () => openDeleteSchedule(schedule),
            },
          ]}
        />
      </span>
    ),
  },
];
