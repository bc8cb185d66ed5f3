"""A worker still works on its jobs: renew their leases, keep what it reports."""

from typing import Final

from rookery.engine import leases, usage, workers
from rookery.engine.jobs import find_job
from rookery.engine.ledger import Ledger
from rookery.engine.ops import DEFAULT_LEASE, Beat, Beaten, Heartbeat, Refusal
from rookery.model.job import ACTIVE

OK: Final = "ok"
LOST: Final = "lost"
UNKNOWN: Final = "unknown"
INACTIVE: Final = "inactive"
ANOTHERS: Final = "another's"


def heartbeat(ledger: Ledger, op: Heartbeat) -> Beaten:
    """Renew leases; each item stands alone."""
    return Beaten([_beat(ledger, item, op.namespace) for item in op.items])


def _beat(ledger: Ledger, item: Beat, namespace: str) -> str:
    job = find_job(ledger, item.job_id, namespace)
    if isinstance(job, Refusal):
        return UNKNOWN
    if leases.is_lost(job, item.lease):
        return LOST
    if leases.is_anothers(job, item.holder):
        return ANOTHERS
    if job.state != ACTIVE:
        return INACTIVE
    ledger.execute(
        """
        UPDATE job
           SET lease_until = ?1 + coalesce(?6, max(?2, lease_length)), renewed_at = ?1,
               progress = coalesce(?3, progress), checkpoint = coalesce(?4, checkpoint)
         WHERE seq = ?5
        """,
        (ledger.now, DEFAULT_LEASE, item.progress, item.checkpoint, job.seq, item.renew_for),
    )
    if item.renew_for is not None:
        ledger.due(ledger.now + item.renew_for + 1)
    usage.record(ledger, job, item.usage, "heartbeat")
    if job.worker_id is not None:
        workers.heard(ledger, namespace, job.worker_id)
    if item.progress is not None:
        ledger.emit("progress", job.id, ledger.queue_of(job.queue).name, item.progress)
    return OK
