"""One running server without its HTTP face: submit operations, wait for jobs, wait for results, follow events."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import apsw
import msgspec

from rookery.engine import Batch, Machine
from rookery.engine.ops import (
    AnyOperation,
    Claim,
    ClaimedJob,
    Cleared,
    ClearQueue,
    DeleteQueue,
    Sweep,
)
from rookery.log.local import LocalLog
from rookery.model.job import CANCELLED, COMPLETED, DEAD
from rookery.node.batcher import Batcher, resolver
from rookery.node.bulks import Bulks
from rookery.node.clock import Clock
from rookery.node.data_dir import DataDirectory
from rookery.node.news import News
from rookery.node.reads import Reads
from rookery.node.timers import Timers
from rookery.node.waiters import Deliver, Waiter, Waiters
from rookery.store.connections import open_reader

_ENDINGS: Final = frozenset({COMPLETED, DEAD, CANCELLED, "deleted"})


BUSY_TIMEOUT: Final = 250
"""Milliseconds for which another process's lock on the store may hold up the server."""


class NodeSettings(msgspec.Struct, frozen=True):
    """How a node runs. Durations are milliseconds."""

    data_dir: Path
    durability: str = "full"
    retention: int = 168 * 3_600_000
    retention_interval: int = 3_600_000
    most_waiting: int = 16_384
    most_claims: int = 64
    read_timeout: int = 10_000


class Node:
    """The owner of a data directory."""

    def __init__(self, settings: NodeSettings) -> None:
        self.settings = settings
        self.is_closing = False
        self._directory = DataDirectory(settings.data_dir)
        try:
            self._machine = Machine(self._directory.store, durability=settings.durability, busy_timeout=BUSY_TIMEOUT)
            self.reader: apsw.Connection = open_reader(self._directory.store)
            self.clock = Clock(not_before=self.reader.execute("SELECT now FROM machine").get)
            self._machine.apply(Batch(self.clock.now(), [Sweep()]))
        except BaseException:
            self._directory.release()
            raise
        self.reads = Reads(lambda: open_reader(self._directory.store), settings.read_timeout / 1000)
        self._log = LocalLog(self._machine, self.clock.now)
        self._batcher = Batcher(self._log, settings.most_waiting, self._after_commit)
        self._waiters = Waiters(self._machine, self._batcher, self.clock, settings.most_claims)
        self._timers = Timers(self._machine, self._batcher, self.clock, settings.retention, settings.retention_interval)
        self.bulks = Bulks(self._batcher, self.reads, self.reader)
        self._end_watchers: dict[str, set[asyncio.Future[None]]] = {}
        self._news = News()

    def start(self) -> None:
        """Begin to keep time."""
        self._timers.start()
        self.bulks.start()

    async def stop(self) -> None:
        """End parked polls and streams; operations that were submitted are finished first."""
        self.end_waiting()
        self._timers.stop()
        await self.bulks.stop()
        await self._batcher.idle()
        self._log.close()
        await self.reads.close()
        self.reader.close()
        self._machine.close()
        self._directory.release()

    def end_waiting(self) -> None:
        """Let everybody who waits for something go home."""
        self.is_closing = True
        self._waiters.release_all()
        for watchers in list(self._end_watchers.values()):
            for watcher in watchers:
                if not watcher.done():
                    watcher.set_result(None)
        self._news.tell()
        self.bulks.news.tell()

    # --- writing

    def submit(self, op: AnyOperation) -> asyncio.Future[Any]:
        """Have an operation applied; raises Overloaded when too many wait."""
        future = asyncio.get_running_loop().create_future()
        self.send(op, resolver(future))
        return future

    def send(self, op: AnyOperation, deliver: Callable[[Any], None]) -> None:
        """The same, for a caller who wants to be called with the result or the exception."""
        self._batcher.submit(op, deliver)

    async def clear(self, op: ClearQueue | DeleteQueue) -> int:
        """Delete a queue's jobs chunk by chunk, letting others have their turn between; how many went."""
        cleared: Cleared = await self.submit(op)
        deleted = cleared.deleted
        while not cleared.done:
            future: asyncio.Future[Cleared] = asyncio.get_running_loop().create_future()
            self._batcher.put(msgspec.structs.replace(op, up_to=cleared.up_to), resolver(future))
            cleared = await future
            deleted += cleared.deleted
        return deleted

    @property
    def storage_fault(self) -> str | None:
        """Why the store cannot be written, if it cannot."""
        return self._batcher.storage_fault

    # --- waiting for jobs

    def fetch(self, op: Claim, timeout: float, deliver: Deliver) -> Waiter | None:
        """Lease jobs, waiting for them up to `timeout` seconds; `abandon` the waiter when its caller goes."""
        if self.is_closing:
            deliver([])
            return None
        return self._waiters.wait(op, timeout, deliver)

    def abandon(self, waiter: Waiter) -> None:
        """The caller of a fetch is gone: it gets no job any more."""
        self._waiters.abandon(waiter)

    def hurry(self, waiter: Waiter) -> None:
        """The caller of a fetch wants something else: it is answered now."""
        self._waiters.hurry(waiter)

    def put_back(self, op: Claim, jobs: list[ClaimedJob]) -> None:
        """Undo claims that their caller did not live to hear of."""
        self._waiters.put_back(op, jobs)

    # --- waiting for results and news

    def watch_end(self, job_id: str) -> asyncio.Future[None]:
        """A future that is done when the job has ended (or the server stops). Cancel it when nobody waits any more."""
        watcher: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._end_watchers.setdefault(job_id, set()).add(watcher)

        def forget(_: asyncio.Future[None]) -> None:
            watchers = self._end_watchers.get(job_id)
            if watchers is not None:
                watchers.discard(watcher)
                if not watchers:
                    del self._end_watchers[job_id]

        watcher.add_done_callback(forget)
        return watcher

    def news(self) -> asyncio.Future[None]:
        """A future that is done as soon as there are new events. Shared: do not cancel it."""
        return self._news.next()

    def _after_commit(self) -> None:
        machine = self._machine
        self._waiters.wake(machine.changed_queues)
        if self._end_watchers:
            for _, type, job_id, _, _, _ in machine.events:
                if type in _ENDINGS:
                    for watcher in self._end_watchers.get(job_id, ()):
                        if not watcher.done():
                            watcher.set_result(None)
        if machine.events:
            self._news.tell()
        self._timers.look()
