"""The passing of time, exactly: sleep until the next thing is due, then propose that it be done."""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from rookery.engine import Machine
from rookery.engine.ops import AnyOperation, Purge, Sweep, Tick, Ticked
from rookery.node.alarm import PAUSE_AFTER_FAULT, Alarm
from rookery.node.batcher import Batcher, Overloaded, StorageDown
from rookery.node.clock import Clock
from rookery.node.measures import Chore, Measures

logger = logging.getLogger(__name__)

SWEEP_INTERVAL: Final = 30.0


class Timers:
    """Proposes ticks when they are due, and sweeps and purges now and then."""

    def __init__(
        self,
        machine: Machine,
        batcher: Batcher,
        clock: Clock,
        retention: int,
        retention_interval: int,
        measures: Measures,
    ) -> None:
        self._machine = machine
        self._batcher = batcher
        self._clock = clock
        self._retention = retention
        self._retention_interval = retention_interval / 1000
        self._measures = measures
        self._alarm = Alarm(clock, self._wake_up)
        self._is_ticking = False
        self._is_stopped = False
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Keep time from now on."""
        self._tasks = [
            asyncio.create_task(self._now_and_then(SWEEP_INTERVAL, Sweep, Chore())),
            asyncio.create_task(self._now_and_then(self._retention_interval, self._purge, self._measures.purge)),
        ]
        self.look()

    def stop(self) -> None:
        """Propose nothing more."""
        self._is_stopped = True
        self._alarm.stop()
        for task in self._tasks:
            task.cancel()

    def look(self) -> None:
        """Set the alarm to the next thing that is due."""
        if not self._is_ticking and not self._is_stopped:
            self._alarm.set(self._machine.next_due)

    def _wake_up(self) -> None:
        due = self._machine.next_due
        is_due = due is not None and due <= self._clock.now()
        if not is_due and (self._batcher.is_committing or not self._machine.is_outdated):
            self._note(Ticked(0, 0, 0, more=False))
            self.look()
            return
        self._is_ticking = True
        self._batcher.put(Tick(), self._ticked)

    def _ticked(self, result: Ticked | BaseException) -> None:
        self._note(result)
        if isinstance(result, BaseException):
            asyncio.get_running_loop().call_later(PAUSE_AFTER_FAULT, self._tick_again)
            return
        self._is_ticking = False
        self.look()

    def _note(self, result: Ticked | BaseException) -> None:
        """Count what a tick has done; to see that nothing is due is to have done all of it."""
        measures, now = self._measures, self._clock.now()
        if isinstance(result, BaseException):
            for chore in (measures.promote, measures.reclaim, measures.expire):
                chore.errors += 1
        else:
            measures.promote.done(result.promoted, now)
            measures.reclaim.done(result.reclaimed, now)
            measures.expire.done(result.expired, now)

    def _tick_again(self) -> None:
        if not self._is_stopped:
            self._batcher.put(Tick(), self._ticked)

    async def _now_and_then(self, interval: float, propose: Callable[[], AnyOperation], chore: Chore) -> None:
        """Every so often, propose something again and again until all of it is done."""
        while True:
            try:
                more = True
                while more:
                    purged = await self._batcher.apply(propose())
                    chore.done(purged.jobs, self._clock.now())
                    more = purged.more
                    await asyncio.sleep(0)
            except Exception as error:
                chore.errors += 1
                if isinstance(error, Overloaded | StorageDown):
                    logger.debug("no room to sweep up now")
                else:
                    logger.exception("sweeping up failed")
            await asyncio.sleep(interval)

    def _purge(self) -> AnyOperation:
        return Purge(before=self._clock.now() - self._retention)
