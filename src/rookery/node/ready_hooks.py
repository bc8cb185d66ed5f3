"""Telling those who want to hear that a queue, which was empty, has jobs again: once, after the commit, no retries.

Nobody is told too often: what comes too early is dropped. While nobody wants to hear of anything, this costs nothing.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator
from typing import Final, Protocol
from weakref import WeakValueDictionary

import apsw
import msgspec

from rookery.engine import Machine
from rookery.model.origins import origin_of
from rookery.node.addresses import url_fault
from rookery.node.clock import Clock
from rookery.node.courier import Courier, Letter
from rookery.store.ready_hooks import FANOUT, GROUP, HASH, Audience, ReadyHook, read_ready_hooks

logger = logging.getLogger(__name__)

READINESS: Final = "readiness"
"""What this is called where it is counted."""
MOST_AT_A_TIME: Final = 256
MOST_OF_ONE: Final = 8
"""Notifications to one host at a time, so that those who hang cannot take all the room."""
MOST_UNDER_WAY: Final = 2048
"""So many may be under way or wait for room; what comes on top is dropped."""
LONGEST_WAIT: Final = 10_000
"""Milliseconds for which a notification may wait for room; then it is not news any more."""
_MAKING_READY: Final = frozenset({"enqueued", "promoted", "released", "reclaimed", "retried", "continued", "approved"})
_MINUTE: Final = 60_000


class Readiness(msgspec.Struct, frozen=True):
    """A queue has jobs that wait for nothing but a worker; `face` and `trace` are those of the job it is due to."""

    queue: str
    depth: int
    at: int
    face: str | None
    trace: str | None


class ReadyFace(Protocol):
    """The face whose callers want to hear of it."""

    def write_readiness(self, readiness: Readiness, hook: ReadyHook, now: int) -> Letter:
        """What is said of it."""

    def may_notify(self, url: str) -> bool:
        """Whether it is the URL's turn, which is taken with this."""


class ReadyHooks:
    """Looks at what a commit has brought, and tells whoever wants to hear of it."""

    def __init__(
        self,
        machine: Machine,
        reader: apsw.Connection,
        clock: Clock,
        courier: Courier,
        may_reach_loopback: bool,
        face: ReadyFace,
        told: Counter[tuple[str, str, bool]],
    ) -> None:
        self._machine = machine
        self._reader = reader
        self._clock = clock
        self._courier = courier
        self._may_reach_loopback = may_reach_loopback
        self._face = face
        self._told = told
        self._hooks: list[ReadyHook] = []
        self._audience = Audience([])
        self._is_outdated = False
        """Whether hooks have come or gone. They are read when that matters, as there may be many."""
        self._ready: dict[str, int] = {}
        """How many jobs of each queue were ready after the last commit; kept only while somebody wants to hear."""
        self._told_at: dict[str, int] = {}
        self._turns: Counter[tuple[str, str]] = Counter()
        self._under_way: set[asyncio.Task[None]] = set()
        self._room = asyncio.Semaphore(MOST_AT_A_TIME)
        self._rooms: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        """One for each host, for as long as there is something for it."""
        self._is_stopped = False

    def start(self) -> None:
        """Find out who wants to hear."""
        self._load_hooks()

    async def stop(self) -> None:
        """Leave off what is under way."""
        self._is_stopped = True
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)

    def look(self) -> None:
        """After a commit: tell of the queues that it has made ready."""
        if self._is_stopped:
            return
        if self._machine.has_new_hooks:
            self._is_outdated = True
            if not self._hooks:
                self._load_hooks()
        if self._hooks:
            for queue in list(self._became_ready()):
                if self._is_outdated:
                    self._load_hooks()
                self._tell(queue)

    def _load_hooks(self) -> None:
        self._is_outdated = False
        had_hooks = bool(self._hooks)
        self._hooks = read_ready_hooks(self._reader, self._clock.now())
        self._audience = Audience(self._hooks)
        ids = {hook.id for hook in self._hooks}
        self._told_at = {hook_id: at for hook_id, at in self._told_at.items() if hook_id in ids}
        if not self._hooks:
            self._ready = {}
            self._turns.clear()
        elif not had_hooks:
            self._ready = {queue: self._machine.ready(queue) for queue in self._machine.queue_names()}

    def _became_ready(self) -> Iterator[str]:
        """The queues that had no ready jobs and have some now, and those where the time of a job has come."""
        machine = self._machine
        promoted = {event.queue for event in machine.events if event.type == "promoted"}
        for queue in machine.changed_queues:
            before, now = self._ready.get(queue, 0), machine.ready(queue)
            self._ready[queue] = now
            if now > 0 and (before <= 0 or queue in promoted):
                yield queue

    # --- whom to tell

    def _tell(self, queue: str) -> None:
        now = self._clock.now()
        if any(hook.expires_at <= now for hook in self._audience.of(queue)):
            self._load_hooks()  # some may have been renewed
        chosen = [hook for hook in self._chosen(self._audience.of(queue), queue, now) if self._is_due(hook, now)]
        if not chosen:
            return
        readiness = self._readiness(queue, now)
        for hook in chosen:
            if len(self._under_way) >= MOST_UNDER_WAY or not self._face.may_notify(hook.url):
                continue
            self._told_at[hook.id] = now
            task = asyncio.create_task(self._send(hook, readiness))
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)

    def _chosen(self, hooks: list[ReadyHook], queue: str, now: int) -> Iterator[ReadyHook]:
        """All of those who want everything, one of each group in turn, and one of those who share by the minute."""
        groups: dict[str, list[ReadyHook]] = {}
        sharing = []
        for hook in hooks:
            if hook.mode == FANOUT:
                yield hook
            elif hook.mode == GROUP:
                groups.setdefault(hook.group_id or "", []).append(hook)
            elif hook.mode == HASH:
                sharing.append(hook)
        for group, members in groups.items():
            yield members[self._turns[queue, group] % len(members)]
            self._turns[queue, group] += 1
        if sharing:
            yield sharing[now // _MINUTE % len(sharing)]

    def _is_due(self, hook: ReadyHook, now: int) -> bool:
        told_at = self._told_at.get(hook.id)
        return told_at is None or now - told_at >= hook.min_interval

    # --- telling

    def _readiness(self, queue: str, now: int) -> Readiness:
        job_id = next(
            (
                event.job_ids[0]
                for event in self._machine.events
                if event.queue == queue and event.type in _MAKING_READY
            ),
            None,
        )
        row = self._reader.execute("SELECT face, trace FROM job WHERE id = ?", (job_id,)).fetchone()
        face, trace = (None, None) if row is None else row
        return Readiness(queue, self._machine.ready(queue), now, face, trace)

    async def _send(self, hook: ReadyHook, readiness: Readiness) -> None:
        try:
            async with self._room_of(hook.url), self._room:
                fault = await self._post(hook, readiness)
        except Exception as error:
            logger.exception("subscription %s cannot be told of %s", hook.id, readiness.queue)
            fault = str(error)
        if fault is not None:
            logger.info("subscription %s could not be told of %s: %s", hook.id, readiness.queue, fault)
        self._told[READINESS, readiness.queue, fault is None] += 1

    def _room_of(self, url: str) -> asyncio.Semaphore:
        origin = origin_of(url)
        room = self._rooms.get(origin)
        if room is None:
            self._rooms[origin] = room = asyncio.Semaphore(MOST_OF_ONE)
        return room

    async def _post(self, hook: ReadyHook, readiness: Readiness) -> str | None:
        """Tell it; why that could not be done, or None."""
        now = self._clock.now()
        if now - readiness.at > LONGEST_WAIT:
            return "there was no room for it in time"
        fault = url_fault(hook.url, self._may_reach_loopback)
        if fault is not None:
            return fault
        letter = self._face.write_readiness(readiness, hook, now)
        return (await self._courier.post(letter.url, letter.headers, letter.body)).error
