"""The wall clock, made fit for use: it runs on when somebody sets the machine's clock back."""

import time
from collections.abc import Callable


def _wall() -> int:
    return time.time_ns() // 1_000_000


def _monotonic() -> int:
    return time.monotonic_ns() // 1_000_000


class Clock:
    """Milliseconds since 1970 that never go back and never stand still."""

    def __init__(
        self, not_before: int = 0, wall: Callable[[], int] = _wall, monotonic: Callable[[], int] = _monotonic
    ) -> None:
        self._wall = wall
        self._monotonic = monotonic
        self._offset = max(wall(), not_before) - monotonic()

    def now(self) -> int:
        """The time. It follows the wall clock forward, but not back."""
        monotonic = self._monotonic()
        self._offset = max(self._offset, self._wall() - monotonic)
        return monotonic + self._offset
