"""The wall clock, made fit for use: it runs on when somebody sets the machine's clock back."""

import time


class Clock:
    """Milliseconds since 1970 that never go back and never stand still."""

    def __init__(self, not_before: int = 0) -> None:
        self._offset = max(_wall(), not_before) - _monotonic()

    def now(self) -> int:
        """The time. It follows the wall clock forward, but not back."""
        self._offset = max(self._offset, _wall() - _monotonic())
        return _monotonic() + self._offset


def _wall() -> int:
    return time.time_ns() // 1_000_000


def _monotonic() -> int:
    return time.monotonic_ns() // 1_000_000
