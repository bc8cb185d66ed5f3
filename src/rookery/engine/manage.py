"""What a person does to a job: retry, requeue, cancel, move, change its priority, delete, hold, approve, reject."""

from collections.abc import Callable
from typing import Any, Final

from rookery.engine import endings, unique
from rookery.engine.jobs import Job, change_state, find_job, place_in_line
from rookery.engine.jsontext import json_text
from rookery.engine.ledger import Ledger, Queue
from rookery.engine.ops import (
    Approve,
    Cancel,
    ChangePriority,
    Delete,
    Done,
    Hold,
    JobOperation,
    Move,
    Refusal,
    Reject,
    Requeue,
    Retry,
)
from rookery.model.durations import parse_duration
from rookery.model.job import (
    ACTIVE,
    CANCELLED,
    COMPLETED,
    DEAD,
    HELD,
    PENDING,
    RETRYING,
    SCHEDULED,
    STATES,
    priority_name,
)

_BACK_IN_POOL: Final[dict[str, Any]] = {"worker_id": None, "hostname": None, "lease_until": None}


def manage(ledger: Ledger, op: JobOperation) -> Done | Refusal:
    """Do it to the job that it names."""
    job = find_job(ledger, op.job_id, op.namespace)
    return job if isinstance(job, Refusal) else act(ledger, job, op)


def act(ledger: Ledger, job: Job, op: JobOperation) -> Done | Refusal:
    """Do it to this job, unless its state forbids that."""
    allowed, rule = RULES[type(op)]
    if job.state not in allowed:
        verb = "change the priority of" if isinstance(op, ChangePriority) else type(op).__name__.lower()
        return Refusal.wrong_state(job.id, job.state, verb)
    return Done(rule(ledger, job, op))


def _retry(ledger: Ledger, job: Job, op: Retry) -> str:
    """Run it again from the start: its attempts begin anew."""
    queue = _back_to_work(ledger, job, attempt=0, failures=0)
    ledger.emit("retried", job.id, queue.name)
    return "retried"


def _requeue(ledger: Ledger, job: Job, op: Requeue) -> str:
    """Run it once more: its attempts count on."""
    queue = _back_to_work(ledger, job)
    ledger.emit("retried", job.id, queue.name)
    return "requeued"


def _back_to_work(ledger: Ledger, job: Job, **columns: int) -> Queue:
    """Let a job be claimed as if it had not ended; its time to expire begins anew."""
    job.expire_at = ledger.now + parse_duration(job.expire_after) if job.expire_after else None
    return change_state(
        ledger,
        job,
        PENDING,
        lost_leases=0,
        order_key=place_in_line(ledger, job),
        scheduled_at=None,
        completed_at=None,
        failed_at=None,
        ended_at=None,
        hold_reason=None,
        expire_at=job.expire_at,
        **_BACK_IN_POOL,
        **columns,
    )


def _cancel(ledger: Ledger, job: Job, op: Cancel) -> str:
    """Take it out; a running worker hears of it at its next heartbeat."""
    was_active = job.state == ACTIVE
    endings.cancel(ledger, job)
    return "cancelling" if was_active else "cancelled"


def _move(ledger: Ledger, job: Job, op: Move) -> str:
    """Put it into another queue, at the place its age gives it there."""
    source = ledger.queue_of(job.queue)
    target = ledger.queue(op.queue)
    rank = job.rank if op.rank is None else op.rank
    attempt = 0 if op.reset_attempt else job.attempt
    ledger.execute("UPDATE job SET queue = ?, rank = ?, attempt = ? WHERE seq = ?", (target.id, rank, attempt, job.seq))
    if target is not source:
        if job.unique_key is not None:
            unique.carry_key(ledger, source, target, job.unique_key, job.seq)
        blocked = bool(job.waiting_on) and job.state == PENDING
        for queue, step in ((source, -1), (target, 1)):
            queue.counts[job.state] += step
            queue.blocked += step * blocked
            queue.dead_by_result += step * job.by_result
            ledger.touch(queue)
        ledger.emit("moved", job.id, target.name, json_text({"from": source.name, "to": target.name}))
    return "moved"


def _change_priority(ledger: Ledger, job: Job, op: ChangePriority) -> str:
    """Let it run before or behind others; its age gives it its place among its equals."""
    if op.rank != job.rank:
        ledger.execute("UPDATE job SET rank = ? WHERE seq = ?", (op.rank, job.seq))
        change = {"from": priority_name(job.rank), "to": priority_name(op.rank)}
        ledger.emit("reprioritized", job.id, ledger.queue_of(job.queue).name, json_text(change))
    return "reprioritized"


def _delete(ledger: Ledger, job: Job, op: Delete) -> str:
    """Forget it."""
    delete_job(ledger, job)
    return "deleted"


def delete_job(ledger: Ledger, job: Job) -> None:
    """Forget a job and say so on the timeline."""
    ledger.emit("deleted", job.id, ledger.queue_of(job.queue).name)
    endings.forget(ledger, job)


def _hold(ledger: Ledger, job: Job, op: Hold) -> str:
    """Make it wait for a person."""
    queue = change_state(
        ledger, job, HELD, scheduled_at=None, hold_reason=op.reason, held_at=ledger.now, **_BACK_IN_POOL
    )
    ledger.emit("held", job.id, queue.name, None if op.reason is None else json_text({"reason": op.reason}))
    return "held"


def _approve(ledger: Ledger, job: Job, op: Approve) -> str:
    """Let a held job go on."""
    queue = change_state(ledger, job, PENDING, hold_reason=None, held_at=None, order_key=place_in_line(ledger, job))
    ledger.emit("approved", job.id, queue.name)
    return "pending"


def _reject(ledger: Ledger, job: Job, op: Reject) -> str:
    """Bury a held job."""
    ledger.emit("rejected", job.id, ledger.queue_of(job.queue).name)
    endings.bury(ledger, job, "rejected")
    return "dead"


RULES: Final[dict[type[JobOperation], tuple[frozenset[str], Callable[[Ledger, Job, Any], str]]]] = {
    Retry: (frozenset({DEAD, CANCELLED, COMPLETED, SCHEDULED}), _retry),
    Requeue: (frozenset({DEAD}), _requeue),
    Cancel: (frozenset({PENDING, SCHEDULED, RETRYING, ACTIVE}), _cancel),
    Move: (frozenset({PENDING, SCHEDULED, RETRYING, HELD, COMPLETED, DEAD, CANCELLED}), _move),
    ChangePriority: (frozenset({PENDING, SCHEDULED}), _change_priority),
    Delete: (frozenset(STATES), _delete),
    Hold: (frozenset({PENDING, ACTIVE, SCHEDULED, RETRYING}), _hold),
    Approve: (frozenset({HELD}), _approve),
    Reject: (frozenset({HELD}), _reject),
}
"""The states in which each action is allowed, and the action."""
