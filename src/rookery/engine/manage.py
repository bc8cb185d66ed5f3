"""What a person does to one job: retry, cancel, move, delete, hold, approve, reject."""

from functools import partial
from typing import Any, Final

from rookery.engine import endings, unique
from rookery.engine.jobs import Job, change_state, find_job, place_in_line
from rookery.engine.jsontext import json_text
from rookery.engine.ledger import Ledger
from rookery.engine.ops import (
    Approve,
    Cancel,
    Delete,
    Done,
    Hold,
    JobOperation,
    Move,
    Refusal,
    Reject,
    Retry,
)
from rookery.model.durations import parse_duration
from rookery.model.job import ACTIVE, CANCELLED, COMPLETED, DEAD, HELD, PENDING, RETRYING, SCHEDULED
from rookery.model.names import shown_name

ALLOWED_STATES: Final[dict[type[JobOperation], frozenset[str]]] = {
    Retry: frozenset({DEAD, CANCELLED, COMPLETED, SCHEDULED}),
    Cancel: frozenset({PENDING, SCHEDULED, RETRYING, ACTIVE}),
    Move: frozenset({PENDING, SCHEDULED, RETRYING, HELD, COMPLETED, DEAD, CANCELLED}),
    Hold: frozenset({PENDING, ACTIVE, SCHEDULED, RETRYING}),
    Approve: frozenset({HELD}),
    Reject: frozenset({HELD}),
}

_BACK_IN_POOL: Final[dict[str, Any]] = {"worker_id": None, "hostname": None, "lease_until": None}


def _job_for(ledger: Ledger, op: JobOperation) -> Job | Refusal:
    """The job that this may be done to."""
    job = find_job(ledger, op.job_id, op.namespace)
    if isinstance(job, Refusal):
        return job
    allowed = ALLOWED_STATES.get(type(op))
    if allowed is not None and job.state not in allowed:
        return Refusal.wrong_state(job.id, job.state, type(op).__name__.lower())
    return job


def retry(ledger: Ledger, op: Retry) -> Done | Refusal:
    """Run it again from the start: its attempts and its time to expire begin anew."""
    job = _job_for(ledger, op)
    if isinstance(job, Refusal):
        return job
    job.expire_at = ledger.now + parse_duration(job.expire_after) if job.expire_after else None
    queue = change_state(
        ledger,
        job,
        PENDING,
        attempt=0,
        failures=0,
        lost_leases=0,
        order_key=place_in_line(ledger, job),
        scheduled_at=None,
        completed_at=None,
        failed_at=None,
        ended_at=None,
        hold_reason=None,
        expire_at=job.expire_at,
        **_BACK_IN_POOL,
    )
    ledger.emit("retried", job.id, queue.name)
    return Done("retried")


def cancel(ledger: Ledger, op: Cancel) -> Done | Refusal:
    """Take it out; a running worker hears of it at its next heartbeat."""
    job = _job_for(ledger, op)
    if isinstance(job, Refusal):
        return job
    was_active = job.state == ACTIVE
    endings.cancel(ledger, job)
    return Done("cancelling" if was_active else "cancelled")


def move(ledger: Ledger, op: Move) -> Done | Refusal:
    """Put it into another queue, at the place its age gives it there."""
    job = _job_for(ledger, op)
    if isinstance(job, Refusal):
        return job
    source = ledger.queue_of(job.queue)
    target = ledger.queue(op.queue)
    rank = job.rank if op.rank is None else op.rank
    shown = partial(shown_name, op.namespace)
    attempt = 0 if op.reset_attempt else job.attempt
    ledger.execute("UPDATE job SET queue = ?, rank = ?, attempt = ? WHERE seq = ?", (target.id, rank, attempt, job.seq))
    if target is not source:
        if job.unique_key is not None:
            unique.carry_key(ledger, source, target, job.unique_key, job.seq)
        blocked = bool(job.waiting_on) and job.state == PENDING
        for queue, step in ((source, -1), (target, 1)):
            queue.counts[job.state] += step
            queue.blocked += step * blocked
            ledger.touch(queue)
        ledger.emit("moved", job.id, target.name, json_text({"from": shown(source.name), "to": shown(target.name)}))
    return Done("moved")


def delete(ledger: Ledger, op: Delete) -> Done | Refusal:
    """Forget it, whatever its state."""
    job = _job_for(ledger, op)
    if isinstance(job, Refusal):
        return job
    delete_job(ledger, job)
    return Done("deleted")


def delete_job(ledger: Ledger, job: Job) -> None:
    """Forget a job and say so on the timeline."""
    ledger.emit("deleted", job.id, ledger.queue_of(job.queue).name)
    endings.forget(ledger, job)


def hold(ledger: Ledger, op: Hold) -> Done | Refusal:
    """Make it wait for a person."""
    job = _job_for(ledger, op)
    if isinstance(job, Refusal):
        return job
    queue = change_state(
        ledger, job, HELD, scheduled_at=None, hold_reason=op.reason, held_at=ledger.now, **_BACK_IN_POOL
    )
    ledger.emit("held", job.id, queue.name, None if op.reason is None else json_text({"reason": op.reason}))
    return Done("held")


def approve(ledger: Ledger, op: Approve) -> Done | Refusal:
    """Let a held job go on."""
    job = _job_for(ledger, op)
    if isinstance(job, Refusal):
        return job
    queue = change_state(ledger, job, PENDING, hold_reason=None, held_at=None, order_key=place_in_line(ledger, job))
    ledger.emit("approved", job.id, queue.name)
    return Done("pending")


def reject(ledger: Ledger, op: Reject) -> Done | Refusal:
    """Bury a held job."""
    job = _job_for(ledger, op)
    if isinstance(job, Refusal):
        return job
    ledger.emit("rejected", job.id, ledger.queue_of(job.queue).name)
    endings.bury(ledger, job, "rejected")
    return Done("dead")
