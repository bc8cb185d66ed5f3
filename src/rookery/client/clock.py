"""The time as clients and workers know it. Tests put another clock in its place."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def _wall() -> datetime:
    return datetime.now(UTC)


_clock: Clock = _wall


def now() -> datetime:
    """The time, in UTC."""
    return _clock()


@contextmanager
def substitute_clock(clock: Clock) -> Iterator[None]:
    """While it lasts, this is the time for all clients of the process: for tests."""
    global _clock
    before, _clock = _clock, clock
    try:
        yield
    finally:
        _clock = before
