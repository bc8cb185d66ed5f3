"""Reads that may take long: in threads, on connections of their own, each with one view of the store and an end."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

import apsw

T = TypeVar("T")

THREADS: Final = 4
_AGAIN: Final = 0.05


class ReadTimeout(Exception):
    """The read took longer than it may."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the read took longer than {seconds:g} s")
        self.seconds = seconds


class Reads:
    """A few connections that only read. Whoever comes when all are in use waits for one."""

    def __init__(self, connect: Callable[[], apsw.Connection], timeout: float, threads: int = THREADS) -> None:
        self._connect = connect
        self._timeout = timeout
        self._free = asyncio.Semaphore(threads)
        self._threads = ThreadPoolExecutor(threads, "read")
        self._idle: list[apsw.Connection] = []
        self._alarms: dict[apsw.Connection, asyncio.TimerHandle] = {}

    async def run(self, read: Callable[[apsw.Connection], T]) -> T:
        """The result of a read; raises ReadTimeout when it takes too long, and stops when nobody waits any more."""
        try:
            async with asyncio.timeout(self._timeout):
                await self._free.acquire()
        except TimeoutError:
            raise ReadTimeout(self._timeout) from None
        loop = asyncio.get_running_loop()
        try:
            db = self._idle.pop() if self._idle else self._connect()
        except BaseException:
            self._free.release()
            raise
        self._alarms[db] = loop.call_later(self._timeout, self._interrupt, db)
        work = self._threads.submit(_in_one_view, db, read)
        work.add_done_callback(lambda _: loop.call_soon_threadsafe(self._give_back, db))
        try:
            return await asyncio.wrap_future(work)
        except apsw.InterruptError:
            raise ReadTimeout(self._timeout) from None
        except asyncio.CancelledError:
            if db in self._alarms:
                self._interrupt(db)
            raise

    def _interrupt(self, db: apsw.Connection) -> None:
        """Stop a read, and again a moment later: it may be between two statements."""
        db.interrupt()
        self._alarms[db].cancel()
        self._alarms[db] = asyncio.get_running_loop().call_later(_AGAIN, self._interrupt, db)

    def _give_back(self, db: apsw.Connection) -> None:
        self._alarms.pop(db).cancel()
        self._idle.append(db)
        self._free.release()

    async def close(self) -> None:
        """Stop what is under way and close the connections."""
        for db in list(self._alarms):
            self._interrupt(db)
        await asyncio.get_running_loop().run_in_executor(None, self._threads.shutdown)
        await asyncio.sleep(0)
        for db in self._idle:
            db.close()


def _in_one_view(db: apsw.Connection, read: Callable[[apsw.Connection], T]) -> T:
    db.execute("BEGIN")
    try:
        return read(db)
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")
