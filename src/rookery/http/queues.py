"""Queues: look at them, pause, resume, drain, clear, limit, delete."""

from typing import Annotated, Final

import msgspec

from rookery.engine.ops import (
    ClearQueue,
    DeleteQueue,
    LimitConcurrency,
    PauseQueue,
    ResumeQueue,
    Throttle,
)
from rookery.http.call import Answer, Call, Handler, Parameter, Route, json_answer, says
from rookery.http.errors import invalid, not_found
from rookery.http.values import LARGEST_COUNT, duration
from rookery.http.work import Status
from rookery.model.durations import LONGEST
from rookery.store.views import QueueView, read_queue, read_queues


class ConcurrencyRequest(msgspec.Struct):
    """At most so many at a time; 0, null or nothing lifts the limit."""

    max: Annotated[int | None, says("0, null or nothing lifts the limit")] = None


class ThrottleRequest(msgspec.Struct):
    """So many claims in a period (`1m`) or in so many milliseconds."""

    rate: Annotated[int | None, says("Required. Claims")] = None
    period: Annotated[str | None, says("in a duration like `1m`")] = None
    window_ms: Annotated[int | None, says("or in so many milliseconds")] = None


class ClearAnswer(msgspec.Struct):
    """How many jobs went."""

    status: str
    deleted: int


_concurrency_decoder = msgspec.json.Decoder(ConcurrencyRequest)
_throttle_decoder = msgspec.json.Decoder(ThrottleRequest)


def _queue(call: Call) -> str:
    return call.queue(call.params["queue"])


async def list_queues(call: Call) -> Answer:
    """All queues, by name."""
    now = call.node.clock.now()
    return await call.node.overviews.run(lambda db: json_answer(read_queues(db, call.namespace, now)))


async def get_queue(call: Call) -> Answer:
    """One queue."""
    queue = read_queue(call.node.reader, _queue(call), call.namespace, call.node.clock.now())
    if queue is None:
        raise not_found(f"queue {call.params['queue']} not found")
    return json_answer(queue)


def _setting(operation: type[PauseQueue | ResumeQueue], status: str) -> Handler:
    async def handler(call: Call) -> Answer:
        await call.node.submit(operation(queue=_queue(call), namespace=call.namespace))
        return json_answer(Status(status))

    return handler


async def clear(call: Call) -> Answer:
    """Delete what has not run yet."""
    deleted = await call.node.clear(ClearQueue(queue=_queue(call), namespace=call.namespace))
    return json_answer(ClearAnswer("cleared", deleted))


async def delete(call: Call) -> Answer:
    """Delete the queue and all its jobs."""
    if call.query().get("confirm") != "true":
        raise invalid("confirm=true is required: this deletes the queue and all its jobs")
    await call.node.clear(DeleteQueue(queue=_queue(call), namespace=call.namespace))
    return json_answer(Status("deleted"))


async def set_concurrency(call: Call) -> Answer:
    """Limit how many jobs run at a time."""
    request = await call.parse(_concurrency_decoder)
    most = request.max if request.max is not None and request.max > 0 else None
    if most is not None and most > LARGEST_COUNT:
        raise invalid(f"max must be at most {LARGEST_COUNT}, not {most}")
    await call.node.submit(LimitConcurrency(queue=_queue(call), max_active=most, namespace=call.namespace))
    return json_answer(Status("ok"))


async def set_throttle(call: Call) -> Answer:
    """Limit how many jobs begin in a period."""
    request = await call.parse(_throttle_decoder)
    if request.rate is None or not 0 < request.rate <= LARGEST_COUNT:
        raise invalid(f"rate must be between 1 and {LARGEST_COUNT}")
    if not request.period and request.window_ms is None:
        raise invalid("period (like 1m) or window_ms is required")
    field = "period" if request.period else "window_ms"
    window = duration(request.period, request.window_ms or 0, "period")
    if not 0 < window <= LONGEST:
        raise invalid(f"{field} must be more than 0 and at most a hundred years")
    await call.node.submit(Throttle(queue=_queue(call), rate=request.rate, window=window, namespace=call.namespace))
    return json_answer(Status("ok"))


async def remove_throttle(call: Call) -> Answer:
    """Lift the limit."""
    await call.node.submit(Throttle(queue=_queue(call), namespace=call.namespace))
    return json_answer(Status("ok"))


_PATH: Final = "/api/v1/queues/{queue}"


def _action(name: str, handler: Handler, summary: str, request: type | None = None, answer: type = Status) -> Route:
    return Route(
        method="POST",
        path=f"{_PATH}/{name}",
        handler=handler,
        summary=summary,
        request=request,
        answers={200: answer},
        tag="Queues",
    )


ROUTES = [
    Route(
        method="GET",
        path="/api/v1/queues",
        handler=list_queues,
        summary="All queues",
        answers={200: list[QueueView]},
        tag="Queues",
    ),
    Route(method="GET", path=_PATH, handler=get_queue, summary="One queue", answers={200: QueueView}, tag="Queues"),
    Route(
        method="DELETE",
        path=_PATH,
        handler=delete,
        summary="Delete a queue and all its jobs",
        answers={200: Status},
        parameters=(Parameter("confirm", "Must be `true`"),),
        tag="Queues",
    ),
    _action("pause", _setting(PauseQueue, "paused"), "No new claims"),
    _action("resume", _setting(ResumeQueue, "resumed"), "Claims again"),
    _action("drain", _setting(PauseQueue, "draining"), "No new claims; watch `active` go to 0"),
    _action("clear", clear, "Delete pending and scheduled jobs", answer=ClearAnswer),
    _action("concurrency", set_concurrency, "Limit how many jobs run at a time", ConcurrencyRequest),
    _action("throttle", set_throttle, "Limit how many jobs begin in a period", ThrottleRequest),
    Route(
        method="DELETE",
        path=f"{_PATH}/throttle",
        handler=remove_throttle,
        summary="Lift the limit",
        answers={200: Status},
        tag="Queues",
    ),
]
