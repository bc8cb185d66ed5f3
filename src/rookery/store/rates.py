"""The sliding window of a throttled queue. Claims are numbered, so that nobody counts rows."""

import apsw


def claims_in_window(db: apsw.Connection, queue_id: int, window: int, now: int) -> int:
    """How many claims there have been in the window that ends now: the first and the last number in it tell."""
    first: int | None = db.execute(
        "SELECT n FROM throttle_claim WHERE queue = ? AND at > ? ORDER BY at, n LIMIT 1", (queue_id, now - window)
    ).get
    return 0 if first is None else last_claim(db, queue_id) - first + 1


def next_slot_at(db: apsw.Connection, queue_id: int, rate: int, window: int, now: int) -> int | None:
    """When a full window opens again; None if it is not full."""
    if claims_in_window(db, queue_id, window, now) < rate:
        return None
    at: int = db.execute(
        "SELECT at FROM throttle_claim WHERE queue = ? AND n = ?", (queue_id, last_claim(db, queue_id) - rate + 1)
    ).get
    return at + window


def last_claim(db: apsw.Connection, queue_id: int) -> int:
    """The number of the newest claim."""
    return (
        db.execute("SELECT n FROM throttle_claim WHERE queue = ? ORDER BY at DESC, n DESC LIMIT 1", (queue_id,)).get
        or 0
    )
