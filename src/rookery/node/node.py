"""One running server without its HTTP face: submit operations, wait for jobs, wait for results, follow events."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final, Protocol

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
from rookery.node.backups import Backups
from rookery.node.batcher import Batcher
from rookery.node.bulks import Bulks
from rookery.node.callbacks import CallbackFace, Callbacks
from rookery.node.clock import Clock
from rookery.node.courier import Courier
from rookery.node.data_dir import DataDirectory
from rookery.node.fulltext import FullText
from rookery.node.measures import Measures
from rookery.node.news import News
from rookery.node.process import GarbageWatch
from rookery.node.reads import THREADS, Reads
from rookery.node.ready_hooks import ReadyFace, ReadyHooks
from rookery.node.schedules import Schedules
from rookery.node.teller import Teller
from rookery.node.timers import Timers
from rookery.node.tracing import Tracing
from rookery.node.waiters import Deliver, Waiter, Waiters
from rookery.node.wants import Want
from rookery.node.watchers import Watchers
from rookery.node.webhooks import Webhooks
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
    fulltext_enabled: bool = True
    may_reach_loopback: bool = False


class Face(CallbackFace, ReadyFace, Protocol):
    """Another face of the server, and what it tells the URLs of its callers."""


class Node:
    """The owner of a data directory."""

    def __init__(self, settings: NodeSettings, tracing: Tracing | None = None) -> None:
        self.settings = settings
        self.is_closing = False
        self.measures = Measures()
        self.garbage = GarbageWatch()
        self.tracing = tracing
        self._directory = DataDirectory(settings.data_dir)
        try:
            self._machine = Machine(self._directory.store, durability=settings.durability, busy_timeout=BUSY_TIMEOUT)
            self.reader: apsw.Connection = open_reader(self._directory.store)
            self.clock = Clock(not_before=self.reader.execute("SELECT now FROM machine").get)
            self._machine.apply(Batch(self.clock.now(), [Sweep()]))
        except BaseException:
            self._directory.release()
            raise
        self.started_at = self.clock.now()
        self.backups = Backups(self._directory.store)
        self.reads = self._make_reads()
        self.overviews = self._make_reads(threads=2)
        self._log = LocalLog(self._machine, self.clock.now)
        self._batcher = Batcher(
            self._log,
            settings.most_waiting,
            self._after_commit,
            self.measures,
            tracing,
            lambda ops: self._waiters.join(ops),
        )
        self._waiters = Waiters(self._machine, self._batcher, self.clock, settings.most_claims, self.measures)
        self._timers = Timers(
            self._machine,
            self._batcher,
            self.clock,
            settings.retention,
            settings.retention_interval,
            self.measures,
        )
        self._end_watchers = Watchers()
        self._log_watchers = Watchers()
        self._schedules = Schedules(self._machine, self._batcher, self.clock, self.reader)
        self._courier = Courier(settings.may_reach_loopback)
        self.webhooks = Webhooks(self.reader, self._batcher, self.clock, self._courier, settings.may_reach_loopback)
        self._callbacks: Callbacks | None = None
        self._ready_hooks: ReadyHooks | None = None
        self._teller = Teller(self._machine, self._batcher)
        self._news = News()
        self.fulltext = FullText(
            self._directory.store,
            self._directory.fulltext,
            self.reads,
            self.clock,
            self.news,
            lambda: self._machine.events_ever,
            is_enabled=settings.fulltext_enabled,
        )
        self.bulks = Bulks(self._batcher, self._make_reads(threads=1), self.reader)

    def _make_reads(self, threads: int = THREADS) -> Reads:
        return Reads(lambda: open_reader(self._directory.store), self.settings.read_timeout / 1000, threads)

    def serve(self, face: Face) -> None:
        """Tell the callers of another face what they want to hear; to be called before the start."""
        loopback = self.settings.may_reach_loopback
        told = self.measures.face_work.told
        self._callbacks = Callbacks(self.reader, self._batcher, self.clock, self._courier, loopback, face, told)
        self._ready_hooks = ReadyHooks(self._machine, self.reader, self.clock, self._courier, loopback, face, told)

    def start(self) -> None:
        """Begin to keep time, and to deliver what waits."""
        self.garbage.start()
        self._timers.start()
        self._schedules.start()
        self.fulltext.start()
        self.webhooks.look()
        self._teller.look()
        if self._callbacks is not None and self._ready_hooks is not None:
            self._callbacks.look()
            self._ready_hooks.start()
        self.bulks.start()

    async def stop(self) -> None:
        """End parked polls and streams; operations that were submitted are finished first."""
        self.end_waiting()
        self._timers.stop()
        self._schedules.stop()
        self._teller.stop()
        async with AsyncExitStack() as backwards:  # whatever fails, the rest is closed too
            backwards.callback(self._directory.release)
            backwards.callback(self._machine.close)
            backwards.callback(self.reader.close)
            if self.tracing is not None:
                backwards.push_async_callback(self.tracing.close)
            backwards.callback(self.garbage.stop)
            backwards.push_async_callback(self.overviews.close)
            backwards.push_async_callback(self.reads.close)
            backwards.push_async_callback(self.backups.close)
            backwards.push_async_callback(self.fulltext.stop)
            backwards.callback(self._log.close)
            backwards.push_async_callback(self._batcher.idle)
            backwards.push_async_callback(self.bulks.stop)
            backwards.push_async_callback(self._courier.close)
            backwards.push_async_callback(self.webhooks.stop)
            if self._callbacks is not None and self._ready_hooks is not None:
                backwards.push_async_callback(self._callbacks.stop)
                backwards.push_async_callback(self._ready_hooks.stop)

    def end_waiting(self) -> None:
        """Let everybody who waits for something go home."""
        self.is_closing = True
        self._waiters.release_all()
        self._end_watchers.tell_all()
        self._log_watchers.tell_all()
        self._news.tell()
        self.bulks.news.tell()

    # --- writing

    def submit(self, op: AnyOperation) -> asyncio.Future[Any]:
        """Have an operation applied; raises Overloaded when too many wait."""
        return self._batcher.apply(op)

    def send(self, op: AnyOperation, deliver: Callable[[Any], None]) -> None:
        """The same, for a caller who wants to be called with the result or the exception."""
        self._batcher.submit(op, deliver)

    def send_more(self, op: AnyOperation, deliver: Callable[[Any], None]) -> None:
        """The same for what belongs to something that was let in already: it is not refused any more."""
        self._batcher.put(op, deliver)

    async def clear(self, op: ClearQueue | DeleteQueue) -> int:
        """Delete a queue's jobs chunk by chunk, letting others have their turn between; how many went."""
        cleared: Cleared = await self.submit(op)
        deleted = cleared.deleted
        while not cleared.done:
            again = msgspec.structs.replace(op, up_to=cleared.up_to, created_by=cleared.created_by)
            cleared = await self._batcher.apply(again, may_be_refused=False)
            deleted += cleared.deleted
        if isinstance(op, DeleteQueue):
            self.measures.forget_queue(op.queue)
        return deleted

    async def apply_in_turn(self, ops: Iterable[AnyOperation]) -> AsyncIterator[Any]:
        """Have operations applied one after another, letting others have their turn between; their results.

        Raises Overloaded before the first of them or not at all.
        """
        is_first = True
        for op in ops:
            yield await self._batcher.apply(op, may_be_refused=is_first)
            is_first = False

    @property
    def storage_fault(self) -> str | None:
        """Why the store cannot be written, if it cannot."""
        return self._batcher.storage_fault

    @property
    def store(self) -> Path:
        """The SQLite file."""
        return self._directory.store

    @property
    def waiting(self) -> int:
        """How many operations wait for their batch."""
        return self._batcher.waiting

    @property
    def applied_index(self) -> int:
        """How far the store has come, as the number of its last event."""
        return self._machine.events_ever

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

    def last_asked(self, queue: str) -> int | None:
        """When somebody last asked for jobs of a queue, as far as this server remembers."""
        return self._waiters.last_asked(queue)

    def want(self, deliver: Callable[[list[ClaimedJob]], None]) -> Want:
        """Standing credit for jobs, none at first; `close` it in the end."""
        return Want(self._waiters, deliver)

    def put_back(self, op: Claim, jobs: list[ClaimedJob]) -> None:
        """Undo claims that their caller did not live to hear of."""
        self._waiters.put_back(op, jobs)

    # --- waiting for results and news

    def watch_end(self, job_id: str) -> asyncio.Future[None]:
        """A future that is done when the job has ended (or the server stops). Cancel it when nobody waits any more."""
        return self._end_watchers.watch(job_id)

    def watch_log(self, job_id: str) -> asyncio.Future[None]:
        """The same, done also when the job's log has got lines."""
        return self._log_watchers.watch(job_id)

    def news(self) -> asyncio.Future[None]:
        """A future that is done as soon as there are new events. Shared: do not cancel it."""
        return self._news.next()

    def _after_commit(self) -> None:
        machine = self._machine
        self.measures.jobs_moved(machine.waits, machine.runs)
        self._waiters.wake(machine.changed_queues)
        if self._end_watchers or self._log_watchers:
            for ended in machine.events:
                for job_id in ended.job_ids if ended.type in _ENDINGS else ():
                    self._end_watchers.tell(job_id)
                    self._log_watchers.tell(job_id)
            for job_id in machine.logged_jobs:
                self._log_watchers.tell(job_id)
        if machine.events:
            self._news.tell()
        if machine.has_deliveries:
            self.webhooks.look()
        if machine.fates:
            self.measures.face_work.fared(machine.fates)
        if self._callbacks is not None and machine.has_callbacks:
            self._callbacks.look()
        if self._ready_hooks is not None:
            self._ready_hooks.look()
        self._teller.look()
        self._timers.look()
        self._schedules.look()
