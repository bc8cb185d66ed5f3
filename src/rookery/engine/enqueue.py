"""Adding jobs: check every one of them, then write all of them."""

from typing import Any

from rookery.engine import dependencies, idempotency, job_batches, unique
from rookery.engine.jsontext import json_text
from rookery.engine.ledger import Ledger, Queue
from rookery.engine.ops import Enqueue, Enqueued, EnqueuedJob, NewJob, Refusal
from rookery.model.durations import parse_duration
from rookery.model.job import PENDING, SCHEDULED
from rookery.model.names import DEFAULT_NAMESPACE


def enqueue(ledger: Ledger, op: Enqueue) -> Enqueued | Refusal:
    """Add jobs: all of them or none."""
    if op.idempotency is not None:
        earlier = idempotency.recall(ledger, op.namespace, op.idempotency)
        if earlier is not None:
            return earlier
    refusal = _fault_of(ledger, op)
    if refusal is not None:
        return refusal
    batch_id = None if op.batch is None else "batch_" + ledger.ids.text()
    jobs = [create_job(ledger, new, batch_id, op.namespace) for new in op.jobs]
    if op.batch is not None and batch_id is not None:
        members = sum(job.status in (PENDING, SCHEDULED) for job in jobs)
        job_batches.open_batch(ledger, batch_id, op.namespace, op.batch, members)
    answer = Enqueued(jobs, batch_id)
    if op.idempotency is not None:
        idempotency.remember(ledger, op.namespace, op.idempotency, answer)
    return answer


def _fault_of(ledger: Ledger, op: Enqueue) -> Refusal | None:
    """Why these jobs cannot be added. A job may depend on one before it, if that is sure to be added."""
    own_ids: set[str] = set()
    sure_ids: set[str] = set()
    for new in op.jobs:
        if new.depends_on:
            missing = dependencies.unknown_among(ledger, new.depends_on, sure_ids, op.namespace)
            if missing is not None:
                return Refusal.invalid(f"depends_on: job {missing} does not exist")
        if new.id is not None:
            if new.id in own_ids or _exists(ledger, new.id):
                return Refusal(Refusal.CONFLICT, f"job_id {new.id} is already taken", new.id)
            own_ids.add(new.id)
            if new.unique_key is None:
                sure_ids.add(new.id)
    return None


def _exists(ledger: Ledger, job_id: str) -> bool:
    ledger.insert_jobs()
    return ledger.execute("SELECT 1 FROM job WHERE id = ?", (job_id,)).fetchone() is not None


def create_job(
    ledger: Ledger,
    new: NewJob,
    batch_id: str | None = None,
    namespace: str = DEFAULT_NAMESPACE,
    event_data: str | None = None,
) -> EnqueuedJob:
    """Add one job that nothing speaks against any more, or find the one that holds its unique key."""
    queue = ledger.queue(new.queue)
    if new.spelling is not None:
        ledger.spell(queue, new.spelling)
    if new.unique_key is not None:
        holder = unique.holder_of(ledger, queue, new.unique_key)
        if holder is not None:
            return EnqueuedJob(holder.id, unique.settle_conflict(ledger, queue, holder, new))
    ledger.job_seq += 1
    seq, job_id = ledger.job_seq, new.id or "job_" + ledger.ids.text()
    if new.unique_key is not None:
        unique.take_key(ledger, queue, new.unique_key, seq, new.unique_period)
    waiting_on = 0
    if new.depends_on:
        dependencies.write_down(ledger, seq, new.depends_on)
        waiting_on = dependencies.wait_for(ledger, seq, new.depends_on)
    state = PENDING if new.scheduled_at is None else SCHEDULED
    row = job_row(ledger, new, seq, job_id, queue, state, waiting_on, batch_id, namespace)
    ledger.insert_job(row, new.tags is not None)
    queue.counts[state] += 1
    queue.enqueued += 1
    if waiting_on and state == PENDING:
        queue.blocked += 1
    ledger.touch(queue)
    ledger.emit("enqueued", job_id, queue.name, event_data)
    return EnqueuedJob(job_id, state)


def job_row(
    ledger: Ledger,
    new: NewJob,
    seq: int,
    job_id: str,
    queue: Queue,
    state: str,
    waiting_on: int,
    batch_id: str | None,
    namespace: str,
) -> tuple[Any, ...]:
    """A new job as it is written: the values of `NEW_JOB_COLUMNS`."""
    now = ledger.now
    expire_at = None
    if new.expire_after is not None:
        expire_at = now + parse_duration(new.expire_after)
        ledger.due(expire_at)
    if new.scheduled_at is not None:
        ledger.due(new.scheduled_at)
    chain_id, chain_step = new.chain_id, new.chain_step
    if new.starts_chain:
        chain_id, chain_step = "chn_" + ledger.ids.text(), 0
    return (
        seq,
        job_id,
        queue.id,
        state,
        new.rank,
        (new.scheduled_at if new.order_by_due and new.scheduled_at is not None else now),
        new.order_by_due,
        waiting_on,
        new.max_retries,
        new.max_lost_leases,
        new.on_lost_lease,
        new.backoff,
        new.base_delay,
        new.max_delay,
        now,
        new.scheduled_at,
        expire_at,
        new.expire_after,
        new.unique_key,
        new.unique_period if new.unique_key is not None else None,
        batch_id,
        batch_id is not None,
        namespace,
        new.parent_id,
        chain_id,
        chain_step,
        new.payload,
        new.tags,
        new.agent,
        json_text(new.depends_on) if new.depends_on else None,
        new.chain_config,
        new.checkpoint,
        now if state == PENDING and not waiting_on else None,
        new.trace,
        new.face,
        new.callback,
    )
