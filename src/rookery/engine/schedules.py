"""Schedules: jobs that are enqueued again and again. When that is comes in from outside; here it is kept and obeyed."""

from typing import Final

from msgspec.structs import asdict, replace

from rookery.engine.enqueue import create_job
from rookery.engine.jsontext import json_text
from rookery.engine.ledger import Ledger
from rookery.engine.ops import (
    DeleteSchedule,
    Done,
    Enqueued,
    EnqueuedJob,
    NewJob,
    Refusal,
    RunSchedule,
    RunScheduleNow,
    SavedSchedule,
    SaveSchedule,
    ScheduleOperation,
)
from rookery.model.instants import format_instant
from rookery.model.job import PENDING, TERMINAL
from rookery.model.names import namespace_of
from rookery.store.schedules import REPLACE, Schedule, named_schedule, read_schedule

DEFAULT_ZONE: Final = "UTC"


def save(ledger: Ledger, op: SaveSchedule) -> SavedSchedule | Refusal:
    """Make a schedule, or change one. It belongs to the namespace of its queue and has a name of its own there."""
    before = None if op.schedule_id is None else read_schedule(ledger.db, op.schedule_id, op.namespace)
    if op.schedule_id is not None and before is None:
        return _not_found(op.schedule_id)
    after = _changed(before or _blank(ledger), op)
    if (after.cron, after.timezone) != (op.next.cron, op.next.timezone):
        return Refusal(Refusal.STALE, f"schedule {after.id} has been changed by somebody else, try again")
    namesake = named_schedule(ledger.db, after.namespace, after.name)
    if namesake is not None and namesake.id != after.id:
        return Refusal(Refusal.CONFLICT, f"name {after.name!r} is already taken by schedule {namesake.id}")
    if before is None:
        after = replace(after, id="sched_" + ledger.ids.text())
    if not after.enabled:
        after = replace(after, next_run=None)
    elif after.next_run is None or before is None or (after.cron, after.timezone) != (before.cron, before.timezone):
        after = replace(after, next_run=op.next.at)
    _write(ledger, after)
    return SavedSchedule(after.id)


def delete(ledger: Ledger, op: DeleteSchedule) -> Done | Refusal:
    """Forget it; its jobs stay."""
    schedule = _find(ledger, op)
    if isinstance(schedule, Refusal):
        return schedule
    ledger.execute("DELETE FROM schedule WHERE id = ?", (schedule.id,))
    ledger.find_next_slot()
    return Done("deleted")


def run(ledger: Ledger, op: RunSchedule) -> Enqueued | Refusal:
    """Enqueue a job for each slot. Whoever comes second finds it waiting for another slot, and does nothing."""
    schedule = _find(ledger, op)
    if isinstance(schedule, Refusal):
        return schedule
    if schedule.next_run != op.due:
        return Refusal(Refusal.STALE, f"schedule {schedule.id} does not wait for {format_instant(op.due)} any more")
    jobs = []
    for slot in op.slots:
        if schedule.overlap == "skip" and _is_unfinished(ledger, schedule.last_job):
            continue
        schedule, job = _enqueue(ledger, schedule, slot)
        jobs.append(job)
    _write(ledger, replace(schedule, next_run=op.next_run))
    return Enqueued(jobs)


def run_now(ledger: Ledger, op: RunScheduleNow) -> Enqueued | Refusal:
    """Enqueue one job, whether it is time or not, and whatever still runs."""
    schedule = _find(ledger, op)
    if isinstance(schedule, Refusal):
        return schedule
    schedule, job = _enqueue(ledger, schedule, None)
    _write(ledger, schedule)
    return Enqueued([job])


def _find(ledger: Ledger, op: ScheduleOperation) -> Schedule | Refusal:
    return read_schedule(ledger.db, op.schedule_id, op.namespace) or _not_found(op.schedule_id)


def _not_found(schedule_id: str) -> Refusal:
    return Refusal(Refusal.NOT_FOUND, f"schedule {schedule_id} not found")


def _blank(ledger: Ledger) -> Schedule:
    """A schedule of which nothing is known yet but the defaults."""
    return Schedule(
        id="",
        namespace="",
        name="",
        queue="",
        cron="",
        timezone=DEFAULT_ZONE,
        payload="{}",
        unique_key=None,
        max_retries=3,
        enabled=True,
        overlap="allow",
        missed="once",
        last_run=None,
        next_run=None,
        last_job=None,
        created_at=ledger.now,
    )


def _changed(schedule: Schedule, op: SaveSchedule) -> Schedule:
    """The schedule with what is given put in."""
    settings = ("name", "queue", "cron", "timezone", "payload", "max_retries", "enabled", "overlap", "missed")
    given = {field: value for field in settings if (value := getattr(op, field)) is not None}
    if op.unique_key is not None:
        given["unique_key"] = op.unique_key or None
    schedule = replace(schedule, **given)
    return replace(schedule, namespace=namespace_of(schedule.queue))


def _is_unfinished(ledger: Ledger, last_job: int | None) -> bool:
    """Whether the job of the last run is still there and has not ended."""
    ledger.insert_jobs()
    state = ledger.execute("SELECT state FROM job WHERE seq = ?", (last_job,)).get
    return state is not None and state not in TERMINAL


def _enqueue(ledger: Ledger, schedule: Schedule, slot: int | None) -> tuple[Schedule, EnqueuedJob]:
    """Add a job. A duplicate of one that holds the unique key is not a run."""
    new = NewJob(
        queue=schedule.queue,
        payload=schedule.payload,
        unique_key=schedule.unique_key,
        max_retries=schedule.max_retries,
    )
    story = {"schedule": schedule.name, "slot": None if slot is None else format_instant(slot)}
    job = create_job(ledger, new, namespace=schedule.namespace, event_data=json_text(story))
    if job.status == PENDING:
        schedule = replace(schedule, last_run=ledger.now, last_job=ledger.job_seq)
    return schedule, job


def _write(ledger: Ledger, schedule: Schedule) -> None:
    ledger.execute(REPLACE, asdict(schedule))
    ledger.find_next_slot()
