"""What happened in each minute: jobs enqueued, jobs completed, attempts failed, by queue. Kept for a day."""

from typing import Final

from rookery.engine.ledger import Ledger, Queue

KEPT: Final = 24 * 3_600_000
GONE: Final = 0
"""Stands for all queues that exist no more."""


def outlive(ledger: Ledger, queue: Queue) -> None:
    """The queue goes, what happened has happened: its figures are kept without its name."""
    ledger.count_minute(queue)
    ledger.end_minute(queue)
    ledger.execute(
        """
        INSERT INTO past_throughput
        SELECT minute, ?, enqueued, completed, failed FROM past_throughput WHERE queue = ?
        ON CONFLICT DO UPDATE
           SET enqueued = enqueued + excluded.enqueued,
               completed = completed + excluded.completed,
               failed = failed + excluded.failed
        """,
        (GONE, queue.id),
    )
    ledger.execute("DELETE FROM past_throughput WHERE queue = ?", (queue.id,))


def forget_old(ledger: Ledger, limit: int) -> int:
    """Delete figures of the day before."""
    gone = ledger.execute(
        """
        DELETE FROM past_throughput WHERE (minute, queue) IN (
          SELECT minute, queue FROM past_throughput WHERE minute < ? ORDER BY minute, queue LIMIT ?)
        RETURNING 1
        """,
        (ledger.now - KEPT, limit),
    ).fetchall()
    return len(gone)
