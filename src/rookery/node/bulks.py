"""Actions on many jobs: a few at once, many in the background, chunk by chunk, beside everything else.

What is to be done and how far that is stands in the store, so that a server that starts goes on where the last one
was ended.
"""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from functools import partial
from time import perf_counter
from typing import Final

import apsw
import msgspec

from rookery.engine.bulk import MOST_LISTED
from rookery.engine.ops import (
    CHUNK,
    AddBulkTargets,
    Bulk,
    BulkDone,
    BulkStarted,
    Done,
    Refusal,
    RunBulk,
    StartBulk,
    StopBulk,
)
from rookery.node.batcher import Batcher, Overloaded, StorageDown
from rookery.node.news import News
from rookery.node.reads import Reads
from rookery.store.bulks import BulkRecord, Targets, next_targets, read_open_bulks

logger = logging.getLogger(__name__)

REST: Final = 1.5
"""How long to rest after a chunk while others want something done, as a multiple of what the chunk has taken."""
_PAUSE_AFTER_FAULT: Final = 1.0
_MOST_LOOKS: Final = 5
"""How often to look for the next jobs before giving up."""
INTERRUPTED: Final = "interrupted"


class AtOnce(msgspec.Struct):
    """What an action that was done at once came to."""

    affected: int = 0
    skipped: int = 0
    errors: int = 0


class Bulks:
    """Does actions on many jobs, one record at a time, in the order of their creation."""

    def __init__(self, batcher: Batcher, reads: Reads, reader: apsw.Connection) -> None:
        self.news = News()
        self._batcher = batcher
        self._reads = reads
        self._reader = reader
        self._left_unlisted: list[str] = []
        self._has_work = asyncio.Event()
        self._chunk = CHUNK
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Go on with what is there."""
        self._left_unlisted = [record.id for record in read_open_bulks(self._reader) if not record.is_ready]
        self._task = asyncio.create_task(self._work())

    async def stop(self) -> None:
        """Begin no other chunk."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._reads.close()

    # --- at once

    async def do(self, op: Bulk) -> AtOnce:
        """Do it to all the jobs that are named, letting others have their turn between the chunks."""
        came_to = AtOnce()
        for number, job_ids in enumerate(_chunks(op.job_ids, CHUNK)):
            await self._do_chunk(msgspec.structs.replace(op, job_ids=job_ids), came_to, may_be_refused=number == 0)
        return came_to

    async def _do_chunk(self, op: Bulk, came_to: AtOnce, *, may_be_refused: bool) -> None:
        """Do one chunk; if a bug shows in it, halves of it, down to the jobs that it shows in."""
        try:
            done: BulkDone = await self._batcher.apply(op, may_be_refused=may_be_refused)
        except (Overloaded, StorageDown):
            raise
        except Exception:
            if len(op.job_ids) == 1:
                came_to.errors += 1
                return
            for half in _chunks(op.job_ids, (len(op.job_ids) + 1) // 2):
                await self._do_chunk(msgspec.structs.replace(op, job_ids=half), came_to, may_be_refused=False)
        else:
            came_to.affected += done.affected
            came_to.skipped += done.skipped

    # --- in the background

    async def begin(self, op: StartBulk, job_ids: Sequence[str] = ()) -> str:
        """Have it done in the background; the id of its record."""
        started: BulkStarted = await self._batcher.apply(op)
        try:
            for some in _chunks(job_ids, MOST_LISTED):
                await self._batcher.apply(AddBulkTargets(bulk_id=started.bulk_id, job_ids=some), may_be_refused=False)
        except BaseException:
            self._left_unlisted.append(started.bulk_id)
            raise
        finally:
            self._has_work.set()
        return started.bulk_id

    async def cancel(self, bulk_id: str, namespace: str) -> Done | Refusal:
        """Stop it after the chunk that is under way."""
        op = StopBulk(bulk_id=bulk_id, error="cancelled", namespace=namespace)
        stopped: Done | Refusal = await self._batcher.apply(op)
        self.news.tell()
        return stopped

    async def _work(self) -> None:
        """Again and again: do the next chunk of the oldest record, or wait for one."""
        while True:
            self._has_work.clear()
            try:
                while self._left_unlisted:
                    await self._stop_record(self._left_unlisted[-1], INTERRUPTED)
                    self._left_unlisted.pop()
                if not await self.step():
                    await self._has_work.wait()
            except (Overloaded, StorageDown):
                await asyncio.sleep(_PAUSE_AFTER_FAULT)
            except Exception:
                logger.exception("a bulk operation does not get on")
                await asyncio.sleep(_PAUSE_AFTER_FAULT)

    async def step(self) -> bool:
        """Begin the oldest record, or do its next chunk; whether there was one."""
        record = self._next_record()
        if record is None:
            return False
        if record.status == "queued":
            await self._batcher.apply(RunBulk(bulk_id=record.id))
            self.news.tell()
        else:
            await self._advance(record)
        return True

    def _next_record(self) -> BulkRecord | None:
        """The oldest record of which it is known which jobs are meant."""
        return next((record for record in read_open_bulks(self._reader) if record.is_ready), None)

    async def _advance(self, record: BulkRecord) -> None:
        """Do a record's next chunk, then leave the others more time than that has taken."""
        begun, submitted = perf_counter(), self._batcher.submitted
        targets = await self._look(record)
        if targets is None:
            return
        await self._run_chunk(record, targets)
        self.news.tell()
        if self._batcher.submitted - submitted > 1:
            await asyncio.sleep(REST * (perf_counter() - begun))

    async def _look(self, record: BulkRecord) -> Targets | None:
        """The next jobs. If they cannot be found after some tries, the record fails, and others have their turn."""
        fault: Exception | None = None
        for _ in range(_MOST_LOOKS):
            try:
                return await self._reads.run(partial(next_targets, record=record, limit=self._chunk))
            except Exception as error:
                fault = error
                logger.warning("the jobs of bulk operation %s cannot be found: %r", record.id, error)
                await asyncio.sleep(_PAUSE_AFTER_FAULT)
        await self._stop_record(record.id, f"the jobs cannot be found: {fault}")
        return None

    async def _run_chunk(self, record: BulkRecord, targets: Targets) -> None:
        """Do a chunk. If a bug shows in it, the next one is smaller, until only the job is left that it shows in."""
        op = RunBulk(
            bulk_id=record.id,
            position=record.position,
            next_position=targets.position,
            job_ids=targets.job_ids,
            is_last=targets.is_last,
        )
        try:
            await self._batcher.apply(op)
        except (Overloaded, StorageDown):
            raise
        except Exception:
            if len(targets.job_ids) > 1:
                self._chunk = len(targets.job_ids) // 2
                return
            await self._batcher.apply(msgspec.structs.replace(op, job_ids=[], failed_at=targets.job_ids))
        else:
            self._chunk = min(2 * self._chunk, CHUNK)

    async def _stop_record(self, bulk_id: str, error: str) -> None:
        logger.warning("bulk operation %s has failed: %s", bulk_id, error)
        await self._batcher.apply(StopBulk(bulk_id=bulk_id, error=error))
        self.news.tell()


def _chunks(job_ids: Sequence[str], size: int) -> Iterator[list[str]]:
    return (list(job_ids[begin : begin + size]) for begin in range(0, len(job_ids), size))
