"""A worker hands a job back: the claim is undone as if it had never been, now or after a delay.

Only if the worker says so, the attempt counts nevertheless."""

from rookery.engine import leases
from rookery.engine.jobs import change_state, find_job, place_in_line
from rookery.engine.jsontext import json_text
from rookery.engine.ledger import Ledger
from rookery.engine.ops import Refusal, Release, Released, Return
from rookery.model.job import PENDING, SCHEDULED


def release(ledger: Ledger, op: Release) -> Released:
    """Undo claims; each item stands alone."""
    return Released([_release_one(ledger, item, op.namespace) for item in op.items])


def _release_one(ledger: Ledger, item: Return, namespace: str) -> str | Refusal:
    job = find_job(ledger, item.job_id, namespace)
    if isinstance(job, Refusal):
        return job
    refusal = leases.fault_of(job, item.lease, "release", item.holder)
    if refusal is not None:
        return refusal
    due = ledger.now + item.delay if item.delay > 0 else None
    if due is not None:
        ledger.due(due)
    queue = change_state(
        ledger,
        job,
        PENDING if due is None else SCHEDULED,
        attempt=job.attempt if item.keep_attempt else max(0, job.attempt - 1),
        lost_leases=0,
        scheduled_at=due,
        order_key=place_in_line(ledger, job),
        lease=None,
        lease_until=None,
        worker_id=None,
        hostname=None,
    )
    if item.checkpoint is not None:
        ledger.execute("UPDATE job SET checkpoint = ? WHERE seq = ?", (item.checkpoint, job.seq))
    told = {"reason": item.reason, "delay_ms": item.delay or None}
    data = {name: value for name, value in told.items() if value is not None}
    ledger.emit("released", job.id, queue.name, json_text(data) if data else None)
    return job.state
