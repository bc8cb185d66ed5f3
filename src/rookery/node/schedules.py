"""Running schedules: sleep until the next slot, decide which of the slots that have come are run, propose that."""

import asyncio
import logging
from itertools import islice, takewhile
from typing import Final

import apsw

from rookery.engine import Machine
from rookery.engine.ops import Enqueued, Refusal, RunSchedule
from rookery.node.alarm import PAUSE_AFTER_FAULT, Alarm
from rookery.node.batcher import Batcher
from rookery.node.clock import Clock
from rookery.node.cron import BadCron, BadTimezone, Cron, next_run, read_cron
from rookery.store.schedules import Schedule, due_schedules

logger = logging.getLogger(__name__)

MOST_MISSED: Final = 100
"""How many missed slots are made up for at the most, the newest of them."""
STILL_ON_TIME: Final = 60_000
"""Milliseconds after which a slot counts as missed."""
MOST_AT_ONCE: Final = 100
"""How many schedules, and about how many slots, are run in one go."""


def slots_to_run(cron: Cron, missed: str, due: int, now: int) -> list[int]:
    """Which of the slots that came from `due` until `now` are run, oldest first.

    `once` takes the newest for all of them, `skip` only if it has just come, `all` takes the newest hundred.
    """
    since_due = takewhile(lambda slot: slot >= due, cron.until(now))
    newest_first = list(islice(since_due, MOST_MISSED if missed == "all" else 1)) or [due]
    if missed == "skip" and now - newest_first[0] >= STILL_ON_TIME:
        return []
    return newest_first[::-1]


class Schedules:
    """Proposes runs when they are due."""

    def __init__(self, machine: Machine, batcher: Batcher, clock: Clock, reader: apsw.Connection) -> None:
        self._machine = machine
        self._batcher = batcher
        self._clock = clock
        self._reader = reader
        self._alarm = Alarm(clock, self._wake_up)
        self._under_way = 0
        self._is_pausing = False
        self._is_stopped = False

    def start(self) -> None:
        """Run schedules from now on."""
        self.look()

    def stop(self) -> None:
        """Propose nothing more."""
        self._is_stopped = True
        self._alarm.stop()

    def look(self) -> None:
        """Set the alarm to the next slot."""
        slot = self._machine.next_slot
        if slot is not None and not self._under_way and not self._is_pausing and not self._is_stopped:
            self._alarm.set(slot)

    def _wake_up(self) -> None:
        """Run what is due. While a commit is under way nobody knows what that is; after it we look again."""
        slot, now = self._machine.next_slot, self._clock.now()
        if self._batcher.is_committing:
            return
        if slot is None or slot > now:
            self.look()
            return
        runs = runs_of(due_schedules(self._reader, now, MOST_AT_ONCE), now)
        if not runs:
            self._pause()
        self._under_way = len(runs)
        for run in runs:
            self._batcher.put(run, self._ran)

    def _ran(self, result: Enqueued | Refusal | BaseException) -> None:
        """Go on when all of them are done; after a fault of the store, a moment later."""
        self._under_way -= 1
        if isinstance(result, BaseException):
            self._pause()
        self.look()

    def _pause(self) -> None:
        if not self._is_pausing:
            self._is_pausing = True
            asyncio.get_running_loop().call_later(PAUSE_AFTER_FAULT, self._go_on)

    def _go_on(self) -> None:
        self._is_pausing = False
        self.look()


def runs_of(due: list[Schedule], now: int) -> list[RunSchedule]:
    """What is to be done about schedules that are due, until there is enough to do."""
    runs: list[RunSchedule] = []
    slots = 0
    for schedule in due:
        runs.append(_run_of(schedule, now))
        slots += len(runs[-1].slots)
        if slots >= MOST_AT_ONCE:
            break
    return runs


def _run_of(schedule: Schedule, now: int) -> RunSchedule:
    """What is to be done about a schedule that is due. One that can no longer be read is not run any more."""
    due = schedule.next_run
    assert due is not None
    try:
        slots = slots_to_run(read_cron(schedule.cron, schedule.timezone), schedule.missed, due, now)
        following = next_run(schedule.cron, schedule.timezone, now)
    except (BadCron, BadTimezone) as error:
        logger.error("schedule %s (%s) is not run any more: %s", schedule.id, schedule.name, error)
        return RunSchedule(schedule_id=schedule.id, due=due, slots=(), next_run=None)
    return RunSchedule(schedule_id=schedule.id, due=due, slots=tuple(slots), next_run=following)
