"""Workers seen: who asked for work of which queues, and when last; and what they say of themselves."""

from typing import Final

from rookery.engine.jsontext import json_text
from rookery.engine.ledger import Ledger
from rookery.engine.ops import AnnounceWorker, Done, RegisterWorker, RemoveWorker, SeeWorker

RESOLUTION: Final = 1000
"""A worker that was seen less than this long ago is not written again."""
SILENCE: Final = 24 * 3_600_000
LAST_POLL: Final = 60_000
"""A poll may have been open when its worker began to drain; one that ends later than this was begun after that."""
_MOST_KEPT: Final = 10_000


def see(ledger: Ledger, op: SeeWorker) -> Done:
    """A worker asks for work and may have to wait for it."""
    seen(ledger, op.namespace, op.worker_id, op.hostname, op.queues)
    return Done("seen")


def announce(ledger: Ledger, op: AnnounceWorker) -> Done:
    """A worker says of itself what it is. One that drained and does not any more has begun again."""
    ledger.execute(
        """
        INSERT INTO worker (namespace, id, hostname, queues, started_at, last_heartbeat, slots, draining_at)
        VALUES (?1, ?2, ?3, coalesce(?4, '[]'), ?5, ?5, ?6, iif(?7, ?5, NULL))
        ON CONFLICT DO UPDATE
           SET hostname = coalesce(?3, hostname), queues = coalesce(?4, queues), last_heartbeat = ?5,
               slots = coalesce(?6, slots),
               started_at = iif(NOT ?7 AND draining_at IS NOT NULL, ?5, started_at),
               draining_at = CASE ?7 WHEN TRUE THEN coalesce(draining_at, ?5) WHEN FALSE THEN NULL ELSE draining_at END
        """,
        (
            op.namespace,
            op.worker_id,
            op.hostname,
            None if op.queues is None else json_text(op.queues),
            ledger.now,
            op.slots,
            op.draining,
        ),
    )
    ledger.seen_workers.pop((op.namespace, op.worker_id), None)
    return Done("announced")


def register(ledger: Ledger, op: RegisterWorker) -> Done:
    """A worker begins; of an earlier one with its name nothing is left."""
    ledger.execute(
        """
        INSERT OR REPLACE INTO worker (namespace, id, hostname, queues, started_at, last_heartbeat, pid, pid_started)
        VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6, ?7)
        """,
        (op.namespace, op.worker_id, op.hostname, json_text(op.queues), ledger.now, op.pid, op.pid_started),
    )
    ledger.seen_workers.pop((op.namespace, op.worker_id), None)
    return Done("registered")


def remove(ledger: Ledger, op: RemoveWorker) -> Done:
    """A worker has ended, and what it held is none of its row's business."""
    ledger.execute("DELETE FROM worker WHERE namespace = ? AND id = ?", (op.namespace, op.worker_id))
    ledger.seen_workers.pop((op.namespace, op.worker_id), None)
    return Done("removed")


def seen(ledger: Ledger, namespace: str, worker_id: str, hostname: str | None, queues: tuple[str, ...]) -> None:
    """Register a worker, or refresh it. One that drained and asks for work again has begun again."""
    known = ledger.seen_workers.get((namespace, worker_id))
    text = json_text(queues)
    if known is not None and known[1:] == (hostname, text) and ledger.now - known[0] < RESOLUTION:
        return
    ledger.execute(
        """
        INSERT INTO worker (namespace, id, hostname, queues, started_at, last_heartbeat)
        VALUES (?1, ?2, ?3, ?4, ?5, ?5)
        ON CONFLICT DO UPDATE
           SET hostname = coalesce(?3, hostname), queues = ?4, last_heartbeat = ?5,
               started_at = iif(draining_at < ?6, ?5, started_at),
               draining_at = iif(draining_at < ?6, NULL, draining_at)
        """,
        (namespace, worker_id, hostname, text, ledger.now, ledger.now - LAST_POLL),
    )
    if len(ledger.seen_workers) >= _MOST_KEPT:
        ledger.seen_workers.clear()
    ledger.seen_workers[namespace, worker_id] = (ledger.now, hostname, text)


def heard(ledger: Ledger, namespace: str, worker_id: str) -> None:
    """A worker sent a heartbeat for a job it holds."""
    known = ledger.seen_workers.get((namespace, worker_id))
    if known is not None:
        if ledger.now - known[0] < RESOLUTION:
            return
        ledger.seen_workers[namespace, worker_id] = (ledger.now, *known[1:])
    ledger.execute(
        "UPDATE worker SET last_heartbeat = ? WHERE namespace = ? AND id = ?", (ledger.now, namespace, worker_id)
    )


def forget_silent(ledger: Ledger, limit: int) -> int:
    """Delete workers that have been silent for a day."""
    gone = ledger.execute(
        """
        DELETE FROM worker WHERE (namespace, id) IN (
          SELECT namespace, id FROM worker WHERE last_heartbeat < ? ORDER BY namespace, id LIMIT ?)
        RETURNING namespace, id
        """,
        (ledger.now - SILENCE, limit),
    ).fetchall()
    for namespace, worker_id in gone:
        ledger.seen_workers.pop((namespace, worker_id), None)
    return len(gone)
