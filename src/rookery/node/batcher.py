"""Group commit: operations that wait together become one batch, one transaction, one fsync.

When nothing waits, an operation goes at once. What arrives while a batch is being committed is the next batch.
"""

import asyncio
import logging
import random
from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import Any, Final

import apsw

from rookery.engine.ops import (
    Ack,
    AnyOperation,
    AppendLogs,
    Bulk,
    Claim,
    Enqueue,
    Fail,
    Heartbeat,
    Release,
    RestoreJobs,
    RunBulk,
    RunSchedule,
    TellWebhooks,
)
from rookery.log import Log
from rookery.node.measures import Measures
from rookery.node.tracing import Tracing

logger = logging.getLogger(__name__)

MOST_JOBS: Final = 2000
"""About how many jobs one batch may carry."""

_STORAGE_FAULTS: Final = (
    apsw.FullError,
    apsw.IOError,
    apsw.BusyError,
    apsw.ReadOnlyError,
    apsw.CantOpenError,
    apsw.CorruptError,
    apsw.NoMemError,
)
_TURN: Final[dict[type, int]] = {Ack: 0, Fail: 0, Release: 0, Heartbeat: 1, Claim: 3}
_OTHERS_TURN: Final = 2

Deliver = Callable[[Any], None]
"""Takes a result, or the exception that came instead of it."""
Entry = tuple[AnyOperation, Deliver, float]
"""The operation, who hears of its result, and when it came."""
Join = Callable[[list[AnyOperation]], list[tuple[AnyOperation, Deliver]]]
"""Is shown a batch, and says what else is to be done in it."""


class Overloaded(Exception):
    """Too much is waiting already; nothing was done."""

    def __init__(self, retry_after_ms: int) -> None:
        super().__init__("the server is overloaded, try again")
        self.retry_after_ms = retry_after_ms


class StorageDown(Exception):
    """The store cannot be written now; nothing was done."""


class Batcher:
    """Takes operations, applies them in batches, delivers the results after the commit."""

    def __init__(
        self,
        log: Log,
        most_waiting: int,
        after_commit: Callable[[], None],
        measures: Measures,
        tracing: Tracing | None = None,
        join: Join = lambda _: [],
    ) -> None:
        self.storage_fault: str | None = None
        self.is_committing = False
        self.submitted = 0
        self._log = log
        self._most_waiting = most_waiting
        self._after_commit = after_commit
        self._measures = measures
        self._tracing = tracing
        self._join = join
        self._waiting: deque[Entry] = deque()
        self._run: asyncio.Task[None] | None = None

    def submit(self, op: AnyOperation, deliver: Deliver) -> None:
        """Have an operation applied; its result is delivered once that is durable."""
        if len(self._waiting) >= self._most_waiting:
            self._measures.overloads += 1
            raise Overloaded(random.randint(4, 12))
        self.put(op, deliver)

    def apply(self, op: AnyOperation, *, may_be_refused: bool = True) -> asyncio.Future[Any]:
        """Have an operation applied, for somebody who waits for its result; an own one however many wait."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        (self.submit if may_be_refused else self.put)(op, resolver(future))
        return future

    def put(self, op: AnyOperation, deliver: Deliver) -> None:
        """Have an operation of the node's own applied, however many wait."""
        self._waiting.append((op, deliver, perf_counter()))
        self.submitted += 1
        if self._run is None:
            self._run = asyncio.get_running_loop().create_task(self._commit_all())

    @property
    def waiting(self) -> int:
        """How many operations wait for their batch."""
        return len(self._waiting)

    async def idle(self) -> None:
        """Wait until nothing waits."""
        while self._run is not None:
            await self._run

    async def _commit_all(self) -> None:
        try:
            while self._waiting:
                await self._commit(self._next_entries())
        finally:
            self._run = None

    async def _commit(self, entries: list[Entry]) -> None:
        """Apply a batch and deliver its results. If a bug shows in it, each operation goes alone."""
        self.is_committing = True
        try:
            results = await self._append([op for op, _, _ in entries])
        except Exception as error:
            if len(entries) > 1:
                for entry in entries:
                    await self._commit([entry])
                return
            logger.exception("operation %s failed", type(entries[0][0]).__name__)
            results = [error]
        finally:
            self.is_committing = False
        for entry, result in zip(entries, results, strict=True):
            _unharmed(entry[1], result)
        _unharmed(self._after_commit)

    async def _append(self, ops: list[AnyOperation]) -> list[Any]:
        started = perf_counter()
        try:
            results = await self._log.append(ops)
        except _STORAGE_FAULTS as error:
            if self.storage_fault is None:
                logger.error("the store cannot be written: %s", error)
            self.storage_fault = str(error) or type(error).__name__
            return [StorageDown(self.storage_fault)] * len(ops)
        if self.storage_fault is not None:
            logger.warning("the store can be written again")
            self.storage_fault = None
        ended, commit = perf_counter(), self._log.last_commit
        self._measures.batch_applied(len(ops), ended - started, commit)
        if self._tracing is not None:
            self._tracing.batch(len(ops), sum(map(_weight, ops)), (started, ended), commit)
        return results

    def _next_entries(self) -> list[Entry]:
        """What goes into the next batch: acks before claims, so that freed slots are seen."""
        entries, jobs = [], 0
        while self._waiting and jobs < MOST_JOBS:
            entry = self._waiting.popleft()
            jobs += _weight(entry[0])
            entries.append(entry)
        now = perf_counter()
        entries += [(op, deliver, now) for op, deliver in self._join([op for op, _, _ in entries])]
        self._measures.batch_begins([arrival for _, _, arrival in entries], now)
        entries.sort(key=lambda entry: _TURN.get(type(entry[0]), _OTHERS_TURN))
        return entries


def _unharmed(call: Callable[..., None], *arguments: Any) -> None:
    """Call somebody who is to hear of a commit; their failure is not ours."""
    try:
        call(*arguments)
    except Exception:
        logger.exception("a result could not be delivered")


def _weight(op: AnyOperation) -> int:
    if isinstance(op, Enqueue | RestoreJobs):
        return len(op.jobs)
    if isinstance(op, Claim):
        return op.count
    if isinstance(op, Ack | Fail | Release | Heartbeat):
        return len(op.items)
    if isinstance(op, AppendLogs):
        return len(op.lines)
    if isinstance(op, RunSchedule):
        return max(1, len(op.slots))
    if isinstance(op, Bulk | RunBulk):
        return len(op.job_ids)
    if isinstance(op, TellWebhooks):
        return MOST_JOBS
    return 1


def resolver(future: asyncio.Future[Any]) -> Deliver:
    """Delivers into a future."""

    def deliver(result: Any) -> None:
        if future.done():
            return
        if isinstance(result, BaseException):
            future.set_exception(result)
        else:
            future.set_result(result)

    return deliver
