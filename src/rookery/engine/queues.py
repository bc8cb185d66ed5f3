"""What a person does to a whole queue: pause, resume, limit, clear, delete."""

from rookery.engine import throughput
from rookery.engine.jobs import select_jobs
from rookery.engine.ledger import Ledger, Queue
from rookery.engine.manage import delete_job
from rookery.engine.ops import (
    CHUNK,
    Cleared,
    ClearQueue,
    DeleteQueue,
    Done,
    LimitConcurrency,
    PauseQueue,
    ResumeQueue,
    Throttle,
)
from rookery.model.job import PENDING, SCHEDULED, STATES


def pause(ledger: Ledger, op: PauseQueue) -> Done:
    """No new claims; running jobs go on."""
    queue = ledger.queue(op.queue)
    if queue.paused_at is None:
        queue.paused_at = ledger.now
        _write_settings(ledger, queue)
    return Done("paused")


def resume(ledger: Ledger, op: ResumeQueue) -> Done:
    """Claims again."""
    queue = ledger.queue(op.queue)
    if queue.paused_at is not None:
        queue.paused_at = None
        _write_settings(ledger, queue)
    return Done("resumed")


def limit_concurrency(ledger: Ledger, op: LimitConcurrency) -> Done:
    """At most so many jobs at a time; those that run already go on."""
    queue = ledger.queue(op.queue)
    queue.max_concurrency = op.max_active
    _write_settings(ledger, queue)
    return Done("ok")


def throttle(ledger: Ledger, op: Throttle) -> Done:
    """At most so many claims in a window of time; None lifts the limit."""
    queue = ledger.queue(op.queue) if op.rate is not None else ledger.find_queue(op.queue)
    if queue is not None:
        queue.rate, queue.window = op.rate, op.window
        _write_settings(ledger, queue)
        if op.rate is None:
            ledger.execute("DELETE FROM throttle_claim WHERE queue = ?", (queue.id,))
    return Done("ok")


def clear(ledger: Ledger, op: ClearQueue) -> Cleared:
    """Delete one chunk of the jobs that have not run yet."""
    return _delete_chunk(ledger, ledger.find_queue(op.queue), (PENDING, SCHEDULED), op)


def delete(ledger: Ledger, op: DeleteQueue) -> Cleared:
    """Delete one chunk of all jobs; when none is left, the queue's settings, locks and window too."""
    queue = ledger.find_queue(op.queue)
    cleared = _delete_chunk(ledger, queue, STATES, op)
    if queue is not None and cleared.done:
        ledger.execute("DELETE FROM throttle_claim WHERE queue = ?", (queue.id,))
        if any(queue.counts.values()):
            queue.paused_at = queue.max_concurrency = queue.rate = queue.window = None
            _write_settings(ledger, queue)
        else:
            ledger.execute("DELETE FROM unique_lock WHERE queue = ?", (queue.id,))
            throughput.outlive(ledger, queue)
            ledger.execute("DELETE FROM queue WHERE id = ?", (queue.id,))
            ledger.forget_queue(queue)
    return cleared


def _delete_chunk(
    ledger: Ledger, queue: Queue | None, states: tuple[str, ...], op: ClearQueue | DeleteQueue
) -> Cleared:
    """Delete at most a chunk of a queue's jobs in these states, none that came after the first call."""
    up_to = ledger.job_seq if op.up_to is None else op.up_to
    created_by = ledger.now if op.created_by is None else op.created_by
    if queue is None:
        return Cleared(0, True, up_to, created_by)
    deleted = 0
    for state in states:
        jobs = select_jobs(
            ledger,
            "WHERE queue = ? AND state = ? AND created_at <= ? AND seq <= ? ORDER BY created_at, seq LIMIT ?",
            (queue.id, state, created_by, up_to, CHUNK - deleted),
        )
        for job in jobs:
            delete_job(ledger, job)
        deleted += len(jobs)
        if deleted == CHUNK:
            return Cleared(deleted, False, up_to, created_by)
    return Cleared(deleted, True, up_to, created_by)


def _write_settings(ledger: Ledger, queue: Queue) -> None:
    ledger.touch(queue)
    ledger.execute(
        "UPDATE queue SET paused_at = ?, max_concurrency = ?, rate = ?, window = ? WHERE id = ?",
        (queue.paused_at, queue.max_concurrency, queue.rate, queue.window, queue.id),
    )
