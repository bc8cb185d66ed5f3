"""What follows when a job ends: its batch counts it, its chain moves, its dependents go on."""

from rookery.engine import callbacks, chains, dependencies, job_batches, joblogs, unique
from rookery.engine.jobs import Job, change_state, note_fate
from rookery.engine.jsontext import json_text
from rookery.engine.ledger import REMOVE_TAGS, Ledger
from rookery.model.job import CANCELLED, COMPLETED, DEAD, PENDING


def completed(ledger: Ledger, job: Job, result: str | None, step_status: str, exit_reason: str | None) -> None:
    """The job's row says completed: let everything that waited for it know."""
    if job.unique_key is not None:
        unique.release_key(ledger, job.queue, job.unique_key, job.seq)
    if job.batch_id is not None and job.batch_open:
        job_batches.count_member(ledger, job.batch_id, job.seq, succeeded=True)
    if chains.is_step(job):
        chains.step_completed(ledger, job, result, step_status, exit_reason)
    if job.has_dependents:
        dependencies.unblock(ledger, job.seq)
    note_fate(ledger, job, COMPLETED)
    callbacks.call_back(ledger, job, COMPLETED)


def bury(ledger: Ledger, job: Job, error: str, told_as: str = DEAD) -> None:
    """The job is dead of `error`: write that, and let its batch and its chain know."""
    queue = change_state(
        ledger,
        job,
        DEAD,
        failed_at=ledger.now,
        ended_at=ledger.now,
        scheduled_at=None,
        lease_until=None,
        hold_reason=None,
        held_at=None,
        outcome=job.outcome,
    )
    ledger.emit("dead", job.id, queue.name)
    _ended_badly(ledger, job)
    if chains.is_step(job):
        chains.step_died(ledger, job, error)
    note_fate(ledger, job, DEAD)
    callbacks.call_back(ledger, job, told_as, error)


def is_expired(ledger: Ledger, job: Job) -> bool:
    """Whether the job's time is over."""
    return job.expire_at is not None and job.expire_at <= ledger.now


def expire(ledger: Ledger, job: Job) -> None:
    """The job's time is over and nobody works on it: bury it."""
    record_error(ledger, job, "expired")
    ledger.emit("expired", job.id, ledger.queue_of(job.queue).name)
    bury(ledger, job, "expired", told_as=callbacks.EXPIRED)


def cancel(ledger: Ledger, job: Job, reason: str = "") -> None:
    """The job is cancelled: its chain stops, its batch counts it as failed."""
    ended_at = job.created_at if job.failed_at is None else job.failed_at
    queue = change_state(
        ledger, job, CANCELLED, scheduled_at=None, lease_until=None, ended_at=ended_at, outcome=job.outcome
    )
    ledger.emit("cancelled", job.id, queue.name, json_text({"reason": reason}) if reason else None)
    _ended_badly(ledger, job)
    note_fate(ledger, job, CANCELLED)
    callbacks.call_back(ledger, job, CANCELLED, reason)


def forget(ledger: Ledger, job: Job) -> None:
    """The job goes, and every trace of it but the timeline; a batch that still waited counts it as failed."""
    queue = ledger.queue_of(job.queue)
    queue.counts[job.state] -= 1
    queue.dead_by_result -= job.by_result
    if job.waiting_on:
        queue.blocked -= job.state == PENDING
        dependencies.stop_waiting(ledger, job.seq)
    ledger.touch(queue)
    if job.unique_key is not None:
        unique.release_key(ledger, job.queue, job.unique_key, job.seq)
    _ended_badly(ledger, job)
    joblogs.leave(ledger, job.seq)
    has_tags, has_dependencies = ledger.execute(
        "SELECT tags IS NOT NULL, depends_on IS NOT NULL FROM job WHERE seq = ?", (job.seq,)
    ).get
    if has_tags:
        ledger.execute(REMOVE_TAGS, (job.seq,))
    if has_dependencies:
        dependencies.forget(ledger, job.seq)
    ledger.execute("DELETE FROM error WHERE job = ?", (job.seq,))
    ledger.execute("DELETE FROM job WHERE seq = ?", (job.seq,))


def record_error(ledger: Ledger, job: Job, error: str, backtrace: str | None = None) -> None:
    """Add to the job's list of errors."""
    ledger.execute(
        "INSERT INTO error (job, attempt, error, backtrace, created_at) VALUES (?, ?, ?, ?, ?)",
        (job.seq, job.attempt, error, backtrace, ledger.now),
    )


def _ended_badly(ledger: Ledger, job: Job) -> None:
    if job.batch_id is not None and job.batch_open:
        job_batches.count_member(ledger, job.batch_id, job.seq, succeeded=False)
