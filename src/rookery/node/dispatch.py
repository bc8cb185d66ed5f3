"""Working off an outbox: what is due goes out at once, and again when it failed, never in the way of a commit.

An outcome is recorded by an operation like any other. What was under way when the server stopped or died is sent
again after its next start, so everything arrives at least once, unless it is given up.
"""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final, Generic, Protocol, TypeVar

import apsw

from rookery.engine.ops import AnyOperation
from rookery.node.alarm import PAUSE_AFTER_FAULT, Alarm
from rookery.node.batcher import Batcher
from rookery.node.clock import Clock

logger = logging.getLogger(__name__)

MOST_AT_A_TIME: Final = 64
MOST_OF_ONE: Final = 8
"""Deliveries to one recipient at a time, while it answers well. Until it has, and when it fails, there is a single one,
so that those who hang cannot take all the room from those who do not."""
_LONGEST_SLEEP: Final = 60_000
"""Milliseconds. The host may be asleep for a while, which its timers do not notice."""


class Recipient(Protocol):
    """Somebody for whom deliveries wait."""

    @property
    def id(self) -> str:
        """Its name in the outbox."""

    @property
    def due_at(self) -> int:
        """When the first of them is to be tried."""


class Entry(Protocol):
    """One delivery that waits in the outbox."""

    @property
    def outbox_id(self) -> int:
        """Its number."""

    @property
    def due_at(self) -> int:
        """When it is to be tried."""


R = TypeVar("R", bound=Recipient)
E = TypeVar("E", bound=Entry)
Outcome = TypeVar("Outcome")
Done = tuple[str, E, Outcome]
"""The recipient, the entry, and what came of it."""


class Lane:
    """What is under way to one recipient."""

    __slots__ = ("begun", "is_open", "under_way")

    def __init__(self) -> None:
        self.under_way: dict[int, asyncio.Task[None]] = {}
        self.is_open = False
        self.begun = 0


class Dispatcher(ABC, Generic[R, E, Outcome]):
    """Takes deliveries from the outbox when they are due, and reports what came of them."""

    def __init__(self, reader: apsw.Connection, batcher: Batcher, clock: Clock) -> None:
        self._reader = reader
        self._batcher = batcher
        self._clock = clock
        self._lanes: dict[str, Lane] = {}
        self._done: list[Done[E, Outcome]] = []
        self._is_recording = False
        self._is_stopped = False
        self._alarm = Alarm(clock, self.look, _LONGEST_SLEEP)
        self._begun = 0

    # --- what is delivered, and how

    @abstractmethod
    def _read_waiting(self) -> list[R]:
        """Those for whom something waits."""

    @abstractmethod
    def _read_next(self, recipient: R, limit: int) -> Sequence[E]:
        """What waits for one of them, what is due first in front."""

    @abstractmethod
    async def _attempt(self, recipient: R, entry: E) -> tuple[Outcome, bool | None]:
        """Try to deliver it: what came of it, and whether the recipient does well, if that is known."""

    @abstractmethod
    def _report(self, outcomes: list[Outcome]) -> AnyOperation:
        """The operation that records outcomes."""

    def _recorded(self, done: list[Done[E, Outcome]], result: Any) -> None:
        """The outcomes are written down."""

    # --- sending

    def look(self) -> None:
        """Begin what is due, and set the alarm to what is due next."""
        if self._is_stopped:
            return
        now = self._clock.now()
        try:
            due = min(self._begin_due(now), default=None)
        except apsw.Error:
            logger.exception("the outbox cannot be read")
            due = now + int(1000 * PAUSE_AFTER_FAULT)
        if due is not None:
            self._alarm.set(due)

    async def stop(self) -> None:
        """Abandon what is under way: its entries are still in the outbox."""
        self._is_stopped = True
        self._alarm.stop()
        tasks = [task for lane in self._lanes.values() for task in lane.under_way.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin_due(self, now: int) -> Iterator[int]:
        """Begin what is due and has room; when the rest of those that have room is due."""
        waiting = self._read_waiting()
        self._forget_lanes({recipient.id for recipient in waiting})
        yield from (recipient.due_at for recipient in waiting if recipient.due_at > now)
        room = MOST_AT_A_TIME - sum(len(lane.under_way) for lane in self._lanes.values())
        for recipient in sorted((recipient for recipient in waiting if recipient.due_at <= now), key=self._turn):
            if room <= 0:
                return
            lane = self._lanes.setdefault(recipient.id, Lane())
            own_room = min(room, (MOST_OF_ONE if lane.is_open else 1) - len(lane.under_way))
            if own_room <= 0:
                continue
            for entry in self._read_next(recipient, len(lane.under_way) + own_room + 1):
                if entry.outbox_id in lane.under_way:
                    continue
                if entry.due_at > now:
                    yield entry.due_at
                    break
                if own_room == 0:
                    break
                self._begin(recipient, lane, entry)
                own_room -= 1
                room -= 1

    def _turn(self, recipient: R) -> tuple[int, int]:
        """Who has least under way comes first, and of those, who has waited longest."""
        lane = self._lanes.get(recipient.id)
        return (0, 0) if lane is None else (len(lane.under_way), lane.begun)

    def _forget_lanes(self, waiting: set[str]) -> None:
        for recipient_id, lane in list(self._lanes.items()):
            if not lane.under_way and recipient_id not in waiting:
                del self._lanes[recipient_id]

    def _begin(self, recipient: R, lane: Lane, entry: E) -> None:
        self._begun += 1
        lane.begun = self._begun
        lane.under_way[entry.outbox_id] = asyncio.create_task(self._deliver(recipient, lane, entry))

    async def _deliver(self, recipient: R, lane: Lane, entry: E) -> None:
        outcome, does_well = await self._attempt(recipient, entry)
        if does_well is not None:
            lane.is_open = does_well
        self._done.append((recipient.id, entry, outcome))
        self._record()

    # --- recording

    def _record(self) -> None:
        """Have the outcomes written down; those that come in the meantime go together after that."""
        if self._done and not self._is_recording:
            self._is_recording = True
            done, self._done = self._done, []
            self._put(done)

    def _put(self, done: list[Done[E, Outcome]]) -> None:
        self._batcher.put(self._report([outcome for _, _, outcome in done]), partial(self._put_down, done))

    def _put_down(self, done: list[Done[E, Outcome]], result: Any) -> None:
        if isinstance(result, BaseException):
            asyncio.get_running_loop().call_later(PAUSE_AFTER_FAULT, self._put_again, done)
            return
        for recipient_id, entry, _ in done:
            if recipient_id in self._lanes:
                self._lanes[recipient_id].under_way.pop(entry.outbox_id, None)
        self._recorded(done, result)
        self._is_recording = False
        self._record()

    def _put_again(self, done: list[Done[E, Outcome]]) -> None:
        if not self._is_stopped:
            self._put(done)
