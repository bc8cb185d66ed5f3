"""An alarm clock: calls somebody when a time has come, and now and then before that."""

import asyncio
from collections.abc import Callable
from typing import Final

from rookery.node.clock import Clock

LONGEST_SLEEP: Final = 1000
"""Milliseconds. The wall clock may be set forward while we sleep, so we look now and then."""
PAUSE_AFTER_FAULT: Final = 1.0
"""Seconds to wait before something that went wrong is tried again."""


class Alarm:
    """One call to come."""

    def __init__(self, clock: Clock, ring: Callable[[], None], longest_sleep: int = LONGEST_SLEEP) -> None:
        self._clock = clock
        self._ring = ring
        self._longest_sleep = longest_sleep
        self._handle: asyncio.TimerHandle | None = None
        self._at = 0

    def set(self, due: int | None) -> None:
        """Ring at that time, or when it was to ring already if that is earlier."""
        now = self._clock.now()
        latest = now + self._longest_sleep
        at = latest if due is None else min(max(due, now), latest)
        if self._handle is not None:
            if self._at <= at:
                return
            self._handle.cancel()
        self._at = at
        self._handle = asyncio.get_running_loop().call_later((at - now) / 1000, self._rung)

    def stop(self) -> None:
        """Do not ring."""
        if self._handle is not None:
            self._handle.cancel()

    def _rung(self) -> None:
        self._handle = None
        self._ring()
