"""Queues: look at them, pause, resume, drain, clear, limit, delete."""

from typing import Final

import msgspec

from rookery.client.reports import Queue
from rookery.client.transport.requests import API, Request, Response, Retry, answer_as, no_answer, part_of_path
from rookery.client.values import Duration, milliseconds_of

_LONG: Final = 600.0
"""Seconds that it may take to delete many jobs."""


class _Cleared(msgspec.Struct):
    deleted: int


def _path(queue: str) -> str:
    return f"{API}/queues/{part_of_path(queue)}"


def list_all() -> Request[list[Queue]]:
    """All queues."""
    return Request("GET", f"{API}/queues", answer_as(list[Queue]))


def get(queue: str) -> Request[Queue]:
    """One queue."""
    return Request("GET", _path(queue), answer_as(Queue))


def switch(queue: str, action: str) -> Request[None]:
    """`pause`, `resume` or `drain`."""
    return Request("POST", f"{_path(queue)}/{action}", no_answer)


def clear(queue: str) -> Request[int]:
    """Delete what has not run yet."""
    return Request("POST", f"{_path(queue)}/clear", _deleted, retry=Retry.UNSENT, waits=_LONG)


def _deleted(response: Response) -> int:
    cleared: _Cleared = answer_as(_Cleared)(response)
    return cleared.deleted


def delete(queue: str) -> Request[None]:
    """Delete a queue and all its jobs."""
    return Request("DELETE", _path(queue), no_answer, query="confirm=true", retry=Retry.UNSENT, waits=_LONG)


def set_concurrency(queue: str, most: int | None) -> Request[None]:
    """Limit how many jobs run at a time."""
    return Request("POST", f"{_path(queue)}/concurrency", no_answer, body=msgspec.json.encode({"max": most}))


def throttle(queue: str, rate: int, period: Duration) -> Request[None]:
    """Limit how many jobs begin in a period."""
    body = msgspec.json.encode({"rate": rate, "window_ms": milliseconds_of(period, "period")})
    return Request("POST", f"{_path(queue)}/throttle", no_answer, body=body)


def remove_throttle(queue: str) -> Request[None]:
    """Lift that limit."""
    return Request("DELETE", f"{_path(queue)}/throttle", no_answer)
