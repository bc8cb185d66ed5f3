"""The next job for a worker that has the store to itself, with nobody to keep the time or to tell it to stop."""

from typing import Final

from rookery.engine import claim, settings, timers
from rookery.engine.ledger import Ledger
from rookery.engine.ops import Claim, Taken, TakeNext, Tick
from rookery.model.job import ACTIVE, PENDING, RETRYING, SCHEDULED

SHUTDOWN: Final = "shutdown"
"""The setting that keeps every worker of the store from taking jobs."""
STOPPED_AT: Final = "stopped_at"
"""The setting that says when workers were last told to stop: those that ran then are to end, whatever came later."""
_UNENDED: Final = (PENDING, SCHEDULED, RETRYING, ACTIVE)


def take_next(ledger: Ledger, op: TakeNext) -> Taken:
    """Let what is due happen, then lease the first job in line. While more is due, who is first is not known yet."""
    if _is_told_to_stop(ledger, op):
        return Taken(is_stopped=True)
    if ledger.next_due <= ledger.now and timers.tick(ledger, Tick()).more:
        return Taken(more=True)
    names = _names(ledger, op)
    queues = [queue for queue in map(ledger.find_queue, names) if queue is not None]
    unended = sum(queue.counts[state] for queue in queues for state in _UNENDED)
    if not any(queue.ready > 0 for queue in queues):
        return Taken(unended=unended)
    asked = Claim(namespace=op.namespace, queues=names, worker_id=op.worker_id, hostname=op.hostname, lease=op.lease)
    for job in claim.claim(ledger, [asked])[0].jobs:
        lost = ledger.execute("SELECT lost_leases FROM job WHERE id = ?", (job.job_id,)).get
        return Taken(job, lost, unended=unended)
    return Taken(unended=unended)


def _is_told_to_stop(ledger: Ledger, op: TakeNext) -> bool:
    if settings.read(ledger, SHUTDOWN) == "true":
        return True
    stopped_at = settings.read(ledger, STOPPED_AT)
    if stopped_at is None:
        return False
    started_at = ledger.execute(
        "SELECT started_at FROM worker WHERE namespace = ? AND id = ?", (op.namespace, op.worker_id)
    ).get
    return started_at is not None and started_at < int(stopped_at)


def _names(ledger: Ledger, op: TakeNext) -> tuple[str, ...]:
    """The queues to serve: those that were named, or all that there are by now."""
    return op.queues or tuple(name for name in ledger.queue_names() if name.startswith(op.prefix))
