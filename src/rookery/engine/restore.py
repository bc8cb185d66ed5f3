"""Bringing old jobs, queues and schedules back from a backup: as they were, but for what only a living server can keep.

Leases are gone, so an active job is pending again. A job batch is only remembered by its id.
"""

from typing import Any, Final

import apsw
from msgspec import UNSET
from msgspec.structs import replace

from rookery.engine import dependencies, queues, schedules, unique
from rookery.engine.columns import COUNTED_FROM_ZERO, NEW_JOB_COLUMNS
from rookery.engine.enqueue import job_row
from rookery.engine.ledger import ADD_TAGS, Ledger, Queue
from rookery.engine.ops import (
    Done,
    LimitConcurrency,
    OldJob,
    PauseQueue,
    Refusal,
    Restored,
    RestoreJobs,
    RestoreQueue,
    RestoreSchedule,
    ResumeQueue,
    SavedSchedule,
    Throttle,
)
from rookery.model.job import ACTIVE, COMPLETED, DEAD, HELD, PENDING, TERMINAL, WAITING
from rookery.model.names import namespace_of
from rookery.store.schedules import named_schedule

_KEPT: Final = (
    "created_at",
    "order_key",
    "attempt",
    "failures",
    "lost_leases",
    "started_at",
    "completed_at",
    "failed_at",
    "expire_at",
    "batch_id",
    "hold_reason",
    "progress",
    "result",
)
"""The columns that come back as they were, whatever the state."""


def restore_jobs(ledger: Ledger, op: RestoreJobs) -> Restored:
    """Bring old jobs back; those whose id is there already are left alone."""
    ledger.insert_jobs()
    taken = _taken_ids(ledger, op)
    restored = 0
    for old in op.jobs:
        if old.new.id not in taken:
            _restore_job(ledger, op, old)
            restored += 1
            if old.new.id is not None:
                taken.add(old.new.id)
    return Restored(restored, len(op.jobs) - restored)


def _taken_ids(ledger: Ledger, op: RestoreJobs) -> set[str]:
    ids = tuple(old.new.id for old in op.jobs if old.new.id is not None)
    if not ids:
        return set()
    rows = ledger.execute(
        "SELECT id FROM carray(?) AS given CROSS JOIN job ON job.id = given.value", (apsw.carray(ids),)
    )
    return {job_id for (job_id,) in rows}


def _restore_job(ledger: Ledger, op: RestoreJobs, old: OldJob) -> None:
    new, queue = old.new, ledger.queue(old.new.queue)
    ledger.job_seq += 1
    seq, job_id = ledger.job_seq, new.id or "job_" + ledger.ids.text()
    state = PENDING if old.state == ACTIVE else old.state
    waiting_on = _unmet_dependencies(ledger, op, old, seq)
    row = job_row(ledger, new, seq, job_id, queue, state, waiting_on, None, old.namespace)
    columns = (
        dict(zip(NEW_JOB_COLUMNS, row, strict=True)) | dict.fromkeys(COUNTED_FROM_ZERO, 0) | _past(ledger, old, state)
    )
    ledger.execute(
        f"INSERT INTO job ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})", tuple(columns.values())
    )
    if new.tags is not None:
        ledger.execute(ADD_TAGS, (seq,))
    if old.errors:
        ledger.executemany(
            "INSERT INTO error (job, attempt, error, backtrace, created_at) VALUES (?, ?, ?, ?, ?)",
            [(seq, error.attempt, error.error, error.backtrace, error.created_at) for error in old.errors],
        )
    if new.unique_key is not None and old.unique_until is not None:
        _take_key_again(ledger, queue, new.unique_key, seq, old.unique_until)
    if old.expire_at is not None and state in WAITING:
        ledger.due(old.expire_at)
    queue.counts[state] += 1
    # It is one of the queue's jobs, but nobody enqueued it in this minute.
    queue.enqueued += 1
    queue.told_enqueued += 1
    queue.blocked += bool(waiting_on) and state == PENDING
    queue.dead_by_result += columns["by_result"]
    ledger.touch(queue)
    ledger.emit("restored", job_id, queue.name)


def _past(ledger: Ledger, old: OldJob, state: str) -> dict[str, Any]:
    """What is different from a new job."""
    past = {name: getattr(old, name) for name in _KEPT}
    past["was_completed"] = old.was_completed or state == COMPLETED
    past["by_result"] = int(old.by_result and state == DEAD)
    if state != COMPLETED:
        past["completed_at"] = None
    if state == HELD:
        past["held_at"] = ledger.now if old.held_at is None else old.held_at
    if state in TERMINAL:
        past |= {"worker_id": old.worker_id, "hostname": old.hostname, "ended_at": _ended_at(ledger, old)}
    return past


def _ended_at(ledger: Ledger, old: OldJob) -> int:
    """From when the retention of an ended job counts."""
    if old.state == COMPLETED:
        return ledger.now if old.completed_at is None else old.completed_at
    return old.created_at if old.failed_at is None else old.failed_at


def _unmet_dependencies(ledger: Ledger, op: RestoreJobs, old: OldJob, seq: int) -> int:
    """How many dependencies the job waits for; one that is not here was purged, and holds nobody up.

    Those that had gone unfinished when the job was written down hold it up for ever, as they did then.
    """
    if not old.new.depends_on:
        return 0
    dependencies.write_down(ledger, seq, old.new.depends_on)
    here = [
        job_id
        for job_id in old.new.depends_on
        if dependencies.unknown_among(ledger, [job_id], set(), op.namespace) is None
    ]
    return dependencies.wait_for(ledger, seq, here) + old.gone_dependencies


def _take_key_again(ledger: Ledger, queue: Queue, key: str, seq: int, until: int) -> None:
    if until > ledger.now and unique.holder_of(ledger, queue, key) is None:
        unique.take_key_until(ledger, queue, key, seq, until)


def restore_queue(ledger: Ledger, op: RestoreQueue) -> Done:
    """Set a queue as it was set once."""
    is_new = ledger.find_queue(op.queue) is None
    queue = ledger.queue(op.queue)
    if is_new and op.created_at is not None:
        queue.created_at = op.created_at
        ledger.execute("UPDATE queue SET created_at = ? WHERE id = ?", (op.created_at, queue.id))
    if op.paused is not UNSET:
        if op.paused:
            queues.pause(ledger, PauseQueue(queue=op.queue))
        else:
            queues.resume(ledger, ResumeQueue(queue=op.queue))
    if op.max_active is not UNSET:
        queues.limit_concurrency(ledger, LimitConcurrency(queue=op.queue, max_active=op.max_active))
    if op.rate is not UNSET:
        queues.throttle(ledger, Throttle(queue=op.queue, rate=op.rate, window=op.window))
    return Done("ok")


def restore_schedule(ledger: Ledger, op: RestoreSchedule) -> SavedSchedule | Refusal:
    """Set the schedule that has the name, or make one; a new one keeps its id, if that is free, and its past."""
    save = op.schedule
    assert save.queue is not None
    assert save.name is not None
    namesake = named_schedule(ledger.db, namespace_of(save.queue), save.name)
    if namesake is not None:
        return schedules.save(ledger, replace(save, schedule_id=namesake.id))
    saved = schedules.save(ledger, save)
    if isinstance(saved, SavedSchedule):
        ledger.execute(
            """
            UPDATE OR IGNORE schedule
               SET id = coalesce(?, id), last_run = ?, created_at = coalesce(?, created_at)
             WHERE id = ?
            """,
            (op.id, op.last_run, op.created_at, saved.schedule_id),
        )
    return saved
