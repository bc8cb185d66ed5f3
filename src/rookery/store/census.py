"""What a scrape of the metrics reads: a few rows for each queue, never the jobs themselves."""

from typing import Any, Final

import apsw
import msgspec

from rookery.model.names import DEFAULT_NAMESPACE
from rookery.store.throughput import MinuteView, read_throughput
from rookery.store.views import WITH_RANKS

SHOWN_STATES: Final = ("pending", "active", "held", "completed", "dead", "scheduled", "retrying")
ACTIVE_WORKER: Final = 5 * 60_000
"""A worker heard of within so many milliseconds is active."""
_LOOKED_AT: Final = 16
"""Jobs that were put back go in front of younger ones that wait longer, so that the first alone would not do."""


class QueueCensus(msgspec.Struct, frozen=True):
    """One queue by its stored name: how many jobs in which state, and since when the oldest waits."""

    name: str
    counts: dict[str, int]
    oldest_ready_at: int | None


class Census(msgspec.Struct, frozen=True):
    """All that a caller may see."""

    queues: list[QueueCensus]
    workers: int
    active_workers: int
    minutes: list[MinuteView]


def take_census(db: apsw.Connection, now: int, namespace: str = DEFAULT_NAMESPACE) -> Census:
    """Count what there is."""
    everything = namespace == DEFAULT_NAMESPACE
    where, parameters = ("", ()) if everything else ("WHERE namespace = ?", (namespace,))
    rows: list[Any] = db.execute(
        f"SELECT id, name, blocked, {', '.join(SHOWN_STATES)} FROM queue {where} ORDER BY name", parameters
    ).fetchall()
    workers, active = db.execute(
        f"SELECT count(*), coalesce(sum(last_heartbeat > ?), 0) FROM worker {where}", (now - ACTIVE_WORKER, *parameters)
    ).get
    return Census([_queue(db, row) for row in rows], workers, active, read_throughput(db, now, namespace))


def _queue(db: apsw.Connection, row: tuple[Any, ...]) -> QueueCensus:
    queue_id, name, blocked, *numbers = row
    counts = dict(zip(SHOWN_STATES, numbers, strict=True))
    has_ready = counts["pending"] > blocked
    return QueueCensus(name, counts, _oldest_ready(db, queue_id) if has_ready else None)


def _oldest_ready(db: apsw.Connection, queue_id: int) -> int | None:
    """Since when the job that waits longest has been ready, as far as the first few of each rank tell."""
    oldest: int | None = db.execute(
        f"""
        {WITH_RANKS}
        SELECT min((SELECT min(since)
                      FROM (SELECT coalesce(ready_at, created_at) AS since FROM job
                             WHERE state = 'pending' AND waiting_on = 0 AND queue = ?1 AND job.rank = ranks.rank
                             ORDER BY order_key, seq
                             LIMIT ?2)))
          FROM ranks
         WHERE rank IS NOT NULL
        """,
        (queue_id, _LOOKED_AT),
    ).get
    return oldest
