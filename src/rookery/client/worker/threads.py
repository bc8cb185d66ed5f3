"""Threads for plain functions. One that a timeout has given up on is left to itself, and another takes its place."""

import asyncio
import logging
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

logger = logging.getLogger("rookery.worker")


class Threads:
    """As many threads as are needed at a time, kept for the next call. They die with the process."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._idle: list[_Thread] = []
        self.abandoned = 0
        """How many threads still run a call that nobody waits for any more."""

    async def run(self, call: Callable[[], Any]) -> Any:
        """Call it in a thread. When the awaiting is cancelled the thread is abandoned: it cannot be stopped."""
        thread = self._idle.pop() if self._idle else _Thread(self._loop)
        future = self._loop.create_future()
        ended = self._loop.create_future()
        ended.add_done_callback(lambda _: self._idle.append(thread))
        thread.calls.put((call, future, ended))
        try:
            return await future
        except asyncio.CancelledError:
            if not ended.done():
                self.abandoned += 1
                logger.warning("a function goes on in a thread that nobody waits for (%d in all)", self.abandoned)
                ended.add_done_callback(self._came_back)
            raise

    def _came_back(self, _: asyncio.Future[None]) -> None:
        self.abandoned -= 1

    def close(self) -> None:
        """Let the idle threads go."""
        for thread in self._idle:
            thread.calls.put(None)
        self._idle.clear()


class _Thread:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.calls: SimpleQueue[tuple[Callable[[], Any], asyncio.Future[Any], asyncio.Future[None]] | None] = (
            SimpleQueue()
        )
        self._loop = loop
        threading.Thread(target=self._work, name="rookery-job", daemon=True).start()

    def _work(self) -> None:
        while (task := self.calls.get()) is not None:
            call, future, ended = task
            try:
                value, error = call(), None
            except BaseException as raised:
                value, error = None, raised
            del call, task
            try:
                self._loop.call_soon_threadsafe(_settle, future, value, error, ended)
            except RuntimeError:
                return
            del future, ended, value, error


def _settle(future: asyncio.Future[Any], value: Any, error: BaseException | None, ended: asyncio.Future[None]) -> None:
    ended.set_result(None)
    if future.done():
        return
    if isinstance(error, StopIteration):
        future.set_exception(RuntimeError(f"the function raised {error!r}"))
    elif error is not None:
        future.set_exception(error)
    else:
        future.set_result(value)
