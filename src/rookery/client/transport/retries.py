"""When a request that went wrong is sent again, and how long to wait before."""

import os
from typing import Any, Final

from rookery.client.errors import AnswerTimeout, ApiError, Overloaded, RookeryError, ServerUnreachable
from rookery.client.transport.requests import Request, Retry

RETRIES: Final = 3
FIRST_PAUSE: Final = 0.25
SHORTEST_PAUSE: Final = 0.01
LONGEST_PAUSE: Final = 5.0
MOST_PATIENCE: Final = 30.0
"""Seconds: a server that asks for more is taken at its word, and the caller is told."""
_TEMPORARY: Final = frozenset({502, 503, 504})


def pause_before_retry(
    request: Request[Any], error: RookeryError, retries_so_far: int, *, is_stream: bool = False
) -> float | None:
    """Seconds to wait before the request is sent again, or None if it must not be. A silent stream is broken too."""
    if isinstance(error, Overloaded):
        return _pause_when_busy(error, retries_so_far)
    if isinstance(error, AnswerTimeout):
        return jittered(retries_so_far) if is_stream else None
    return jittered(retries_so_far) if _may_be_repeated(request, error) else None


def _pause_when_busy(error: Overloaded, retries_so_far: int) -> float | None:
    """As long as the server asks for, and up to half as long again; a spent budget is not waited for."""
    told = error.retry_after
    if told > MOST_PATIENCE or error.code == "BUDGET_EXCEEDED":
        return None
    return max(told, SHORTEST_PAUSE * 2.0 ** min(retries_so_far, 10)) * (1 + chance() / 2)


def _may_be_repeated(request: Request[Any], error: RookeryError) -> bool:
    is_safe = request.retry is Retry.SAFE
    if isinstance(error, ServerUnreachable):
        return is_safe or not error.was_sent
    is_temporary = isinstance(error, ApiError) and error.status in _TEMPORARY and error.code != "SEARCH_TIMEOUT"
    return is_safe and is_temporary


def jittered(retries_so_far: int) -> float:
    """A pause that doubles each time, up to a limit, and anything from half of it to all of it."""
    pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(retries_so_far, 10))
    return pause * (1 + chance()) / 2


def chance() -> float:
    """Anything from 0 to 1. The module for that is slow to load, and this is asked for seldom."""
    return int.from_bytes(os.urandom(2)) / 65535
