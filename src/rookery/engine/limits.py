"""How many jobs of a queue may be claimed now: paused, concurrency, and the sliding window of its rate."""

from typing import Final

from rookery.engine.ledger import Ledger, Queue
from rookery.model.job import ACTIVE

UNLIMITED: Final = 1 << 31


def open_slots(ledger: Ledger, queue: Queue, now: int) -> int:
    """How many claims the queue's limits allow."""
    if queue.paused_at is not None:
        return 0
    slots = UNLIMITED
    if queue.max_concurrency is not None:
        slots = max(0, queue.max_concurrency - queue.counts[ACTIVE])
    if slots and queue.rate is not None:
        slots = min(slots, max(0, queue.rate - _claims_in_window(ledger, queue, now)))
    return slots


def next_slot_at(ledger: Ledger, queue: Queue, now: int) -> int | None:
    """When a full window opens again; None if the rate is not what holds the queue back."""
    if queue.rate is None or queue.window is None or _claims_in_window(ledger, queue, now) < queue.rate:
        return None
    last = _last_claim(ledger, queue)
    at: int = ledger.execute(
        "SELECT at FROM throttle_claim WHERE queue = ? AND n = ?", (queue.id, last - queue.rate + 1)
    ).get
    return at + queue.window


def record_claims(ledger: Ledger, queue: Queue, count: int) -> None:
    """Remember claims of a throttled queue."""
    if queue.rate is None:
        return
    last = _last_claim(ledger, queue)
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


def _claims_in_window(ledger: Ledger, queue: Queue, now: int) -> int:
    """Claims are numbered, so the first and the last number inside the window tell how many there are."""
    first = ledger.execute(
        "SELECT n FROM throttle_claim WHERE queue = ? AND at > ? ORDER BY at, n LIMIT 1",
        (queue.id, now - (queue.window or 0)),
    ).get
    return 0 if first is None else _last_claim(ledger, queue) - first + 1


def _last_claim(ledger: Ledger, queue: Queue) -> int:
    return (
        ledger.execute("SELECT n FROM throttle_claim WHERE queue = ? ORDER BY at DESC, n DESC LIMIT 1", (queue.id,)).get
        or 0
    )
