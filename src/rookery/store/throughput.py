"""Reading what happened minute by minute."""

from typing import Final

import apsw
import msgspec

from rookery.model.instants import format_instant
from rookery.model.names import DEFAULT_NAMESPACE

MINUTE: Final = 60_000
SHOWN: Final = 60
"""How many minutes are shown, the current one being the last."""


class MinuteView(msgspec.Struct):
    """What happened in one minute: jobs enqueued, jobs completed, attempts failed."""

    minute: str
    enqueued: int
    completed: int
    failed: int


def read_throughput(db: apsw.Connection, now: int, namespace: str = DEFAULT_NAMESPACE) -> list[MinuteView]:
    """The last hour, oldest minute first, over all queues that the caller may see."""
    last = now - now % MINUTE
    first = last - (SHOWN - 1) * MINUTE
    everything = namespace == DEFAULT_NAMESPACE
    visible = "" if everything else "JOIN queue ON queue.id = throughput.queue AND queue.namespace = ?2"
    found = {
        minute: counts
        for minute, *counts in db.execute(
            f"""
            SELECT minute, sum(throughput.enqueued), sum(throughput.completed), sum(throughput.failed)
              FROM throughput
                   {visible}
             WHERE minute >= ?1
             GROUP BY minute
            """,
            (first,) if everything else (first, namespace),
        )
    }
    minutes = range(first, last + 1, MINUTE)
    return [MinuteView(format_instant(minute), *found.get(minute, (0, 0, 0))) for minute in minutes]


def completed_in_last_minute(db: apsw.Connection, now: int, queue_id: int | None = None) -> dict[int, int]:
    """How many jobs were completed in the last 60 seconds, by queue, supposing that a minute passes evenly."""
    minute, elapsed = now - now % MINUTE, now % MINUTE
    rows = db.execute(
        f"""
        SELECT queue, total(iif(minute = ?1, completed, completed * ?2)) FROM throughput
         WHERE minute >= ?1 - {MINUTE} {"" if queue_id is None else "AND queue = ?3"}
         GROUP BY queue
        """,
        (minute, 1 - elapsed / MINUTE) if queue_id is None else (minute, 1 - elapsed / MINUTE, queue_id),
    )
    return {queue: round(completed) for queue, completed in rows}
