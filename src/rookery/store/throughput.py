"""Reading what happened minute by minute."""

from typing import Final

import apsw
import msgspec

from rookery.model.instants import format_instant
from rookery.model.names import DEFAULT_NAMESPACE

MINUTE: Final = 60_000
SHOWN: Final = 60
"""How many minutes are shown unless others are asked for, the current one being the last."""
KEPT: Final = 1_440

Counts = tuple[int, int, int]
"""Jobs enqueued, jobs completed, attempts failed."""


class MinuteView(msgspec.Struct):
    """What happened in one minute, or from it on for one step: jobs enqueued, jobs completed, attempts failed."""

    minute: str
    enqueued: int
    completed: int
    failed: int


class Span(msgspec.Struct, frozen=True):
    """The last so many minutes, in steps; the current minute is in the last of them."""

    now: int
    minutes: int = SHOWN
    step: int = 1

    @property
    def begins(self) -> list[int]:
        """When each step begins."""
        last = self.now - self.now % MINUTE
        first = last - (self.minutes - 1) * MINUTE
        return list(range(first, last + 1, self.step * MINUTE))


def read_throughput(
    db: apsw.Connection, now: int, namespace: str = DEFAULT_NAMESPACE, span: Span | None = None
) -> list[MinuteView]:
    """The last hour or that span, oldest first, over all queues that the caller may see."""
    span = span or Span(now)
    everything = namespace == DEFAULT_NAMESPACE
    visible = "" if everything else "JOIN queue ON queue.id = past.queue AND queue.namespace = ?3"
    rows = db.execute(
        f"""
        SELECT (past.minute - ?1) / ?2, sum(past.enqueued), sum(past.completed), sum(past.failed)
          FROM throughput AS past
               {visible}
         WHERE past.minute >= ?1
         GROUP BY 1
        """,
        (span.begins[0], span.step * MINUTE, *(() if everything else (namespace,))),
    )
    return _minutes(span, {step: (enqueued, completed, failed) for step, enqueued, completed, failed in rows})


def read_queue_throughput(db: apsw.Connection, queue_id: int, span: Span) -> list[MinuteView]:
    """The same of one queue."""
    return _minutes(span, read_steps(db, span, queue_id).get(queue_id, {}))


def read_steps(db: apsw.Connection, span: Span, queue_id: int | None = None) -> dict[int, dict[int, Counts]]:
    """By queue, what happened in each step of a span in which anything did."""
    found: dict[int, dict[int, Counts]] = {}
    for queue, step, enqueued, completed, failed in db.execute(
        f"""
        SELECT queue, (minute - ?1) / ?2, sum(enqueued), sum(completed), sum(failed)
          FROM throughput
         WHERE minute >= ?1 {"" if queue_id is None else "AND queue = ?3"}
         GROUP BY 1, 2
        """,
        (span.begins[0], span.step * MINUTE, *(() if queue_id is None else (queue_id,))),
    ):
        found.setdefault(queue, {})[step] = (enqueued, completed, failed)
    return found


def _minutes(span: Span, steps: dict[int, Counts]) -> list[MinuteView]:
    return [MinuteView(format_instant(at), *steps.get(step, (0, 0, 0))) for step, at in enumerate(span.begins)]


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
