"""Backups of a running server: few at a time, each made in a thread of its own, no faster than it is read.

Of restores there is one at a time.
"""

import asyncio
import os
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Final

from rookery.node.data_dir import LEFTOVER
from rookery.store.backup import document_parts
from rookery.store.connections import open_reader
from rookery.store.snapshot import copy_store

MOST: Final = 2
READ_SIZE: Final = 1 << 20
LOOK_EVERY: Final = 100_000
"""After so many of its steps SQLite looks whether anybody still waits for what it does."""

Parts = Generator[bytes, None, None]
Make = Callable[[threading.Event], Parts]
"""Makes parts until there are no more, or until the event says that nobody wants them."""


class TooManyAtOnce(Exception):
    """As many as may be are under way already."""


class Download(AsyncGenerator[bytes, None]):
    """Bytes that are made in a thread when the reader asks for more. Close it, whether it was read or not."""

    def __init__(self, make: Make, closed: Callable[["Download"], None]) -> None:
        self._is_closed = threading.Event()
        self._parts = make(self._is_closed)
        self._closed = closed
        self._thread = ThreadPoolExecutor(1, "backup")
        self._first: bytes | None = None

    async def begin(self) -> None:
        """Make the first part, so that what can go wrong does so before there is an answer."""
        try:
            self._first = await self.asend(None)
        except BaseException:
            await self.aclose()
            raise

    async def asend(self, _: None) -> bytes:
        """The next part."""
        part, self._first = self._first, None
        if part is None:
            part = await asyncio.wrap_future(self._thread.submit(next, self._parts, None))
        if part is None:
            raise StopAsyncIteration
        return part

    async def athrow(self, typ: Any, val: Any = None, tb: Any = None) -> bytes:
        """The reader has failed: there is no more to read."""
        await self.aclose()
        raise typ if val is None else val

    async def aclose(self) -> None:
        """Stop what is under way, then let go of everything; the thread does that when it comes to it."""
        if self._is_closed.is_set():
            return
        self._is_closed.set()
        try:
            await asyncio.wrap_future(self._thread.submit(self._parts.close))
        finally:
            self._thread.shutdown(wait=False)
            self._closed(self)


class Backups:
    """Makes them, and ends those that are under way when the server stops."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._numbers = count(1)
        self._open: set[Download] = set()
        self._is_restoring = False

    async def document(self, namespace: str, now: int) -> Download:
        """What a namespace sees, as a JSON document."""
        return await self._begin(partial(_document, self._store, namespace, now))

    async def snapshot(self) -> tuple[Download, int]:
        """A copy of the store, and its size in bytes."""
        snapshot = _Snapshot(self._store, self._store.with_name(f"{next(self._numbers)}{LEFTOVER}"))
        return await self._begin(snapshot.parts), snapshot.size

    @contextmanager
    def restoring(self) -> Iterator[None]:
        """A restore is under way in here, and no other."""
        if self._is_restoring:
            raise TooManyAtOnce("a restore is under way already, try again when it is done")
        self._is_restoring = True
        try:
            yield
        finally:
            self._is_restoring = False

    async def close(self) -> None:
        """End those that are under way."""
        for download in list(self._open):
            await download.aclose()

    async def _begin(self, make: Make) -> Download:
        if len(self._open) >= MOST:
            raise TooManyAtOnce(f"{MOST} backups are under way already, try again when one of them is done")
        download = Download(make, self._open.discard)
        self._open.add(download)
        await download.begin()
        return download


def _document(store: Path, namespace: str, now: int, is_unwanted: threading.Event) -> Parts:
    db = open_reader(store)
    try:
        db.set_progress_handler(is_unwanted.is_set, LOOK_EVERY)
        db.execute("BEGIN")
        yield from document_parts(db, namespace, now)
    finally:
        db.close()


class _Unwanted(Exception):
    """Nobody waits for the copy any more."""


class _Snapshot:
    """A copy of the store in a file that goes as soon as it is open, so that it cannot be left behind."""

    def __init__(self, store: Path, path: Path) -> None:
        self.size = 0
        self._store = store
        self._path = path

    def parts(self, is_unwanted: threading.Event) -> Parts:
        """The bytes of the copy; it is made before the first of them."""

        def look(_: int, __: int) -> None:
            if is_unwanted.is_set():
                raise _Unwanted

        db = open_reader(self._store)
        try:
            copy_store(db, self._path, look)
        finally:
            db.close()
        with self._path.open("rb") as file:
            self._path.unlink()
            self.size = os.fstat(file.fileno()).st_size
            while part := file.read(READ_SIZE):
                yield part
