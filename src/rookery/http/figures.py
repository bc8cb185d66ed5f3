"""Figures for dashboards: the pace of each queue, and what fails. None of them counts jobs."""

import math
from typing import Any, Final

import apsw
import msgspec

from rookery.http.call import Answer, Call, Parameter, Route, json_answer
from rookery.http.errors import invalid, not_found
from rookery.http.values import whole_number
from rookery.model.histogram import Histogram
from rookery.model.names import DEFAULT_NAMESPACE, is_visible, shown_name
from rookery.store.failures import FailuresView, read_failures
from rookery.store.throughput import (
    KEPT,
    MINUTE,
    SHOWN,
    MinuteView,
    Span,
    read_queue_throughput,
    read_steps,
    read_throughput,
)

MOST_LOCKS: Final = 10_000
LONGEST_LOOK_BACK: Final = 10_080


class Times(msgspec.Struct):
    """How long something took, in milliseconds, since the server started."""

    count: int
    p50_ms: float
    p90_ms: float
    p99_ms: float


class QueueFigures(msgspec.Struct):
    """The pace of a queue: in each step of a span what was enqueued, completed and failed, oldest first."""

    name: str
    enqueued: list[int]
    completed: list[int]
    failed: list[int]
    wait: Times | None
    run: Times | None
    unique_locks: int


async def get_throughput(call: Call) -> Answer:
    """What happened minute by minute, in all queues or in one."""
    span, queue = _span(call), call.query().get("queue")
    stored = None if queue is None else call.queue(queue)

    def read(db: apsw.Connection) -> list[MinuteView]:
        if stored is None:
            return read_throughput(db, span.now, call.namespace, span)
        queue_id = db.execute("SELECT id FROM queue WHERE name = ?", (stored,)).get
        if queue_id is None or not is_visible(call.namespace, stored):
            raise not_found(f"queue {queue} not found")
        return read_queue_throughput(db, queue_id, span)

    return json_answer(await call.node.overviews.run(read))


async def get_queue_figures(call: Call) -> Answer:
    """The pace of every queue."""
    span, queue = _span(call), call.query().get("queue")
    stored = None if queue is None else call.queue(queue)
    return json_answer(await call.node.overviews.run(lambda db: _figures(call, db, span, stored)))


def _figures(call: Call, db: apsw.Connection, span: Span, only: str | None) -> list[QueueFigures]:
    everything = call.namespace == DEFAULT_NAMESPACE
    rows: list[Any] = db.execute(
        f"""
        SELECT id, name FROM queue
         WHERE ?1 IN ('', name) {"" if everything else "AND namespace = ?2"}
         ORDER BY name
        """,
        (only or "", *(() if everything else (call.namespace,))),
    ).fetchall()
    locks = _count_locks(db, span.now)
    steps = read_steps(db, span, rows[0][0] if only and rows else None)
    measures = call.node.measures
    length = len(span.begins)
    shown = []
    for queue_id, name in rows:
        found = [steps.get(queue_id, {}).get(step, (0, 0, 0)) for step in range(length)]
        shown.append(
            QueueFigures(
                shown_name(call.namespace, name),
                [counts[0] for counts in found],
                [counts[1] for counts in found],
                [counts[2] for counts in found],
                _times(measures.waits.get(name)),
                _times(measures.runs.get(name)),
                locks.get(queue_id, 0),
            )
        )
    return shown


def _count_locks(db: apsw.Connection, now: int) -> dict[int, int]:
    """How many unique keys each queue's jobs hold, counting no more than a few thousand."""
    rows: list[Any] = db.execute(
        "SELECT queue, count(*) FROM (SELECT queue FROM unique_lock WHERE expires_at > ? LIMIT ?) GROUP BY queue",
        (now, MOST_LOCKS),
    ).fetchall()
    return dict(rows)


def _times(histogram: Histogram | None) -> Times | None:
    if histogram is None or not histogram.count:
        return None
    p50, p90, p99 = (round(histogram.quantile(share) * 1000, 3) for share in (0.5, 0.9, 0.99))
    return Times(histogram.count, p50, p90, p99)


async def get_failures(call: Call) -> Answer:
    """What failed lately, by what was said."""
    query = call.query()
    minutes = whole_number(query.get("minutes"), "minutes", SHOWN, least=1)
    if minutes > LONGEST_LOOK_BACK:
        raise invalid(f"minutes must be at most {LONGEST_LOOK_BACK}")
    since = call.node.clock.now() - minutes * MINUTE
    queue = query.get("queue")
    stored = None if queue is None else call.queue(queue)
    return json_answer(await call.node.overviews.run(lambda db: read_failures(db, since, call.namespace, stored)))


def _span(call: Call) -> Span:
    query = call.query()
    minutes = whole_number(query.get("minutes"), "minutes", SHOWN, least=1)
    step = whole_number(query.get("step"), "step", 1, least=1)
    if minutes > KEPT:
        raise invalid(f"minutes must be at most {KEPT}")
    step = min(step, minutes)
    return Span(call.node.clock.now(), math.ceil(minutes / step) * step, step)


_QUEUE: Final = Parameter("queue", "Only this queue")
_SPAN: Final = (
    Parameter("minutes", f"How far to look back: {SHOWN} by default, {KEPT} at the most", "integer"),
    Parameter("step", "Minutes that are taken together, 1 by default", "integer"),
    _QUEUE,
)

ROUTES: Final = [
    Route(
        method="GET",
        path="/api/v1/metrics/throughput",
        handler=get_throughput,
        summary="Jobs enqueued and completed and attempts failed in each of the last 60 minutes",
        answers={200: list[MinuteView]},
        parameters=_SPAN,
        tag="Looking on",
    ),
    Route(
        method="GET",
        path="/api/v1/metrics/queues",
        handler=get_queue_figures,
        summary="The pace of each queue: throughput step by step, wait and run times, unique keys that are held",
        answers={200: list[QueueFigures]},
        parameters=_SPAN,
        tag="Looking on",
    ),
    Route(
        method="GET",
        path="/api/v1/metrics/failures",
        handler=get_failures,
        summary="What failed lately, taken together by what was said",
        answers={200: FailuresView},
        parameters=(
            Parameter(
                "minutes", f"How far to look back: {SHOWN} by default, {LONGEST_LOOK_BACK} at the most", "integer"
            ),
            _QUEUE,
        ),
        tag="Looking on",
    ),
]
