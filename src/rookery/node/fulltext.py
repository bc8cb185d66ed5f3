"""Full text: an index kept a moment behind the store, by a thread that everybody else goes before, and asked here.

Whatever befalls the index, the server goes on: a search then looks at the jobs themselves.
"""

import asyncio
import logging
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Final, TypeVar

import apsw
import msgspec

from rookery.node.clock import Clock
from rookery.node.reads import Reads
from rookery.store.fulltext import FullTextHit, FullTextIndex, OutOfStep, find_by_text, find_by_words

T = TypeVar("T")

logger = logging.getLogger(__name__)

INTERVAL: Final = 0.5
"""Seconds between two looks at what is new, so that a job that changes quickly is indexed once."""
LONGEST_SLEEP: Final = 60.0
"""Seconds. Another process may have written to the store without our hearing of it."""
PURGE_INTERVAL: Final = 3600.0
DELETION_INTERVAL: Final = 30.0
"""Seconds between two looks for documents whose jobs are gone: always, and when jobs have been deleted."""
FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 60.0
"""Seconds to rest after a fault: the first time, and when it stays."""
NICENESS: Final = 10
_RUINED: Final = (OutOfStep, apsw.CorruptError, apsw.NotADBError)


class IndexDown(Exception):
    """The index cannot be written now."""


class RebuildRecord(msgspec.Struct, frozen=True):
    """The last time the index was made anew. Times are milliseconds."""

    ran: bool = False
    last_started_at: int | None = None
    last_duration_ms: int | None = None
    last_success: bool | None = None


class FullText:
    """Keeps the index and searches in it."""

    def __init__(
        self,
        store: Path,
        path: Path,
        reads: Reads,
        clock: Clock,
        news: Callable[[], asyncio.Future[None]],
        last_event: Callable[[], int],
        *,
        is_enabled: bool,
    ) -> None:
        self.is_enabled = is_enabled
        self.position = 0
        self.fault: str | None = None
        self.rebuild_record = RebuildRecord()
        self._store = store
        self._path = path
        self._reads = reads
        self._clock = clock
        self._news = news
        self._last_event = last_event
        self._thread = ThreadPoolExecutor(1, "fulltext", _give_way)
        self._index: FullTextIndex | None = None
        self._is_current = False
        self._run: asyncio.Task[None] | None = None
        self._rebuild: asyncio.Task[int] | None = None

    # --- searching

    async def search(self, text: str, limit: int, namespace: str) -> list[FullTextHit]:
        """The newest jobs for a query of words, or that have the text in them as it stands."""
        if self._is_current:
            try:
                return await self._reads.run(partial(self._find, text, limit, namespace))
            except (*_RUINED, apsw.CantOpenError, apsw.IOError) as error:
                logger.warning("the full-text index cannot be read: %s", error)
                if isinstance(error, _RUINED) or not self._path.exists():
                    self._start_rebuild()
        return await self._reads.run(lambda db: find_by_text(db, text, limit, namespace))

    def _find(self, text: str, limit: int, namespace: str, db: apsw.Connection) -> list[FullTextHit]:
        return find_by_words(db, self._path, text, limit, namespace) or find_by_text(db, text, limit, namespace)

    @property
    def lag(self) -> int:
        """How many events are not in the index yet."""
        return max(0, self._last_event() - self.position) if self.is_enabled else 0

    # --- making the index anew

    async def rebuild(self) -> int:
        """Make the index anew; the milliseconds it took. Who comes while that is under way gets the same answer."""
        task = self._rebuild or self._start_rebuild()
        try:
            return await asyncio.shield(task)
        except (apsw.Error, OSError) as error:
            raise IndexDown(str(error)) from None

    def _start_rebuild(self) -> asyncio.Task[int]:
        if self._rebuild is None:
            self._rebuild = asyncio.get_running_loop().create_task(self._make_anew())
            self._rebuild.add_done_callback(self._rebuilt)
        return self._rebuild

    async def _make_anew(self) -> int:
        started_at, started = self._clock.now(), perf_counter()
        self.rebuild_record = RebuildRecord(True, started_at)
        is_success = False
        try:
            await self._in_thread(self._replace)
            while await self._in_thread(self._step):
                pass
            is_success = True
        finally:
            duration = int((perf_counter() - started) * 1000)
            self.rebuild_record = RebuildRecord(True, started_at, duration, is_success)
        self._keeps_up()
        return duration

    def _rebuilt(self, task: asyncio.Task[int]) -> None:
        self._rebuild = None
        if not task.cancelled() and (error := task.exception()) is not None:
            self._falters(error)

    # --- keeping up

    def start(self) -> None:
        """Follow the store from now on."""
        if self.is_enabled:
            self._run = asyncio.create_task(self._follow())

    async def stop(self) -> None:
        """Finish the step that is under way."""
        for task in (self._run, self._rebuild):
            if task is not None:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
        await asyncio.get_running_loop().run_in_executor(None, self._thread.shutdown)
        if self._index is not None:
            self._index.close()

    async def _follow(self) -> None:
        """Take in what is new, at most every so often; sleep when there is nothing."""
        pause, forgotten_at = FIRST_PAUSE, float("-inf")
        loop = asyncio.get_running_loop()
        while True:
            news = self._news()
            try:
                await self._catch_up()
                if loop.time() >= forgotten_at + (DELETION_INTERVAL if self._has_deletions() else PURGE_INTERVAL):
                    await self._forget_purged()
                    forgotten_at = loop.time()
            except Exception as error:
                self._falters(error)
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
            else:
                pause = FIRST_PAUSE
                await asyncio.sleep(INTERVAL)
                await asyncio.wait({news}, timeout=LONGEST_SLEEP)

    async def _catch_up(self) -> None:
        try:
            while await self._in_thread(self._step):
                pass
        except _RUINED as error:
            logger.warning("the full-text index is of no use (%s): making it anew", error)
            await asyncio.shield(self._start_rebuild())
        self._keeps_up()

    async def _forget_purged(self) -> None:
        """Jobs that are gone leave a document that finds nothing; of those that were purged not even an event tells."""
        if self._index is not None:
            self._index.has_seen_deletions = False
        after: int | None = 0
        while after is not None:
            after = await self._in_thread(partial(self._forget_purged_behind, after))
            await self._catch_up()

    def _has_deletions(self) -> bool:
        return self._index is not None and self._index.has_seen_deletions

    def _keeps_up(self) -> None:
        if self.fault is not None:
            logger.warning("the full-text index can be written again")
            self.fault = None

    def _falters(self, error: BaseException) -> None:
        self._is_current = False
        if self.fault is None:
            logger.error("the full-text index cannot be kept, searches do without it: %s", error)
        self.fault = str(error) or type(error).__name__

    # --- in the thread

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _opened(self) -> FullTextIndex:
        if self._index is None:
            self._index = (FullTextIndex if self._path.exists() else FullTextIndex.create)(self._path, self._store)
        return self._index

    def _step(self) -> bool:
        """Bring the index a bit further; whether there is more to do."""
        index = self._opened()
        has_more = index.advance()
        self.position = index.position
        if not has_more:
            self._is_current = True
        return has_more

    def _replace(self) -> None:
        """Begin with an empty index."""
        self._is_current = False
        if self._index is not None:
            self._index.close()
            self._index = None
        self._index = FullTextIndex.create(self._path, self._store)

    def _forget_purged_behind(self, number: int) -> int | None:
        return self._opened().forget_purged(number)


def _give_way() -> None:
    """Let everything else on the machine go before this thread."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
