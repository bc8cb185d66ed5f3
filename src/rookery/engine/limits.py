"""How many jobs of a queue may be claimed now: paused, concurrency, and the sliding window of its rate."""

from typing import Final

from rookery.engine.ledger import Ledger, Queue
from rookery.model.job import ACTIVE
from rookery.store import rates

UNLIMITED: Final = 1 << 31


def open_slots(ledger: Ledger, queue: Queue, now: int) -> int:
    """How many claims the queue's limits allow."""
    if queue.paused_at is not None:
        return 0
    slots = UNLIMITED
    if queue.max_concurrency is not None:
        slots = max(0, queue.max_concurrency - queue.counts[ACTIVE])
    if slots and queue.rate is not None:
        slots = min(slots, max(0, queue.rate - rates.claims_in_window(ledger.db, queue.id, queue.window or 0, now)))
    return slots


def next_slot_at(ledger: Ledger, queue: Queue, now: int) -> int | None:
    """When a full window opens again; None if the rate is not what holds the queue back."""
    if queue.rate is None or queue.window is None:
        return None
    return rates.next_slot_at(ledger.db, queue.id, queue.rate, queue.window, now)


def record_claims(ledger: Ledger, queue: Queue, count: int) -> None:
    """Remember claims of a throttled queue."""
    if queue.rate is None:
        return
    last = rates.last_claim(ledger.db, queue.id)
    ledger.executemany(
        "INSERT INTO throttle_claim VALUES (?, ?, ?)", [(queue.id, ledger.now, last + n + 1) for n in range(count)]
    )


def forget_old_claims(ledger: Ledger, limit: int) -> int:
    """Delete claims that have left their window, at most `limit` of each queue; the most of any queue."""
    most = 0
    for queue in ledger.throttled_queues():
        old = ledger.execute(
            "SELECT at, n FROM throttle_claim WHERE queue = ? AND at <= ? ORDER BY at, n LIMIT ?",
            (queue.id, ledger.now - (queue.window or 0), limit),
        ).fetchall()
        if old:
            ledger.execute("DELETE FROM throttle_claim WHERE queue = ? AND (at, n) <= (?, ?)", (queue.id, *old[-1]))
        most = max(most, len(old))
    return most
