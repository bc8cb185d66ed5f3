"""Running jobs for a test, by the worker's own code: right where the test is, or on its event loop."""

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from functools import partial
from threading import Lock
from typing import Any, Protocol, TypeVar

import msgspec

from rookery.client.functions.app import App
from rookery.client.functions.current import CANCELLED, LEASE_LOST, CurrentJob, LogLine
from rookery.client.functions.functions import JobFunction
from rookery.client.functions.middleware import run_without_loop
from rookery.client.functions.outcomes import Outcome
from rookery.client.functions.running import run
from rookery.testing.node import drive

T = TypeVar("T")

OnError = Callable[[BaseException], None]
Tell = Callable[[str, Any], dict[str, Any]]
"""Posts a record to a path of the API; its answer, errors too."""


class Hands(Protocol):
    """Who runs a job."""

    async def enter(self, app: App) -> None:
        """See to it that the app's lifespan has begun."""

    async def run(self, function: JobFunction[..., Any], job: CurrentJob, on_error: OnError) -> Outcome:
        """Run a job to its outcome."""


class PlainHands:
    """For plain code. Its methods never wait, so that they need no loop around them.

    Plain functions run in the caller's thread, without a loop, as they are used to. What needs a loop gets one that is
    kept for all of them.
    """

    def __init__(self, alive: set[App]) -> None:
        self._alive = alive
        self._lives: list[_Life] = []
        self._runner: asyncio.Runner | None = None
        self._in_use = Lock()

    async def enter(self, app: App) -> None:
        """Begin the app's lifespan, unless it has begun; it ends with `close`."""
        if app.has_lifespan and app not in self._alive:
            life = _Life(app)
            self._alive.add(app)
            try:
                self._complete(life.begin())
            except BaseException:
                self._alive.discard(app)
                raise
            self._lives.append(life)

    async def run(self, function: JobFunction[..., Any], job: CurrentJob, on_error: OnError) -> Outcome:
        """Run a job to its outcome."""
        if not _needs_loop(function):
            return contextvars.copy_context().run(drive, run(function, job, None, on_error))
        return self._complete(run(function, job, _Threads(), on_error))

    def close(self) -> None:
        """End what was begun."""
        for life in reversed(self._lives):
            self._complete(life.end())
        if self._runner is not None:
            self._runner.close()

    def _complete(self, work: Coroutine[Any, Any, T]) -> T:
        """Run it on the loop that is kept; on another one if that is what the work was begun by."""
        if not self._in_use.acquire(blocking=False):
            return run_without_loop(work)
        try:
            if self._runner is None:
                self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
            run_here = partial(self._runner.run, work, context=contextvars.copy_context())
            if not is_in_loop():
                return run_here()
            with ThreadPoolExecutor(1) as thread:
                return thread.submit(run_here).result()
        finally:
            self._in_use.release()


class LoopHands:
    """For the test's own event loop; plain functions run in threads, as they do in a worker."""

    def __init__(self, alive: set[App], lives: AsyncExitStack) -> None:
        self._alive = alive
        self._lives = lives

    async def enter(self, app: App) -> None:
        """Begin the app's lifespan, unless it has begun; it ends with the exit stack."""
        if app.has_lifespan and app not in self._alive:
            self._alive.add(app)
            self._lives.callback(self._alive.discard, app)
            try:
                await self._lives.enter_async_context(app.running())
            except BaseException:
                self._alive.discard(app)
                raise

    async def run(self, function: JobFunction[..., Any], job: CurrentJob, on_error: OnError) -> Outcome:
        """Run a job to its outcome."""
        return await asyncio.create_task(run(function, job, _Threads(), on_error))


class _Threads:
    """A thread for each call of a plain function."""

    def run(self, call: Callable[[], Any]) -> Awaitable[Any]:
        return asyncio.to_thread(call)


class _Life:
    """An app's lifespan, begun and ended by one task, as some of what people put into them demands."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def begin(self) -> None:
        self._is_over = asyncio.Event()
        begun = asyncio.Event()
        self._task = asyncio.create_task(self._live(begun))
        waiting = asyncio.create_task(begun.wait())
        await asyncio.wait({self._task, waiting}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if self._task.done():
            self._task.result()

    async def end(self) -> None:
        self._is_over.set()
        if not self._task.done():
            await self._task

    async def _live(self, begun: asyncio.Event) -> None:
        async with self._app.running():
            begun.set()
            await self._is_over.wait()


class Reports:
    """What a handler says of its job goes to the engine at once."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell

    def report(self, job: CurrentJob, progress: msgspec.Raw | None, checkpoint: msgspec.Raw | None) -> None:
        """Progress and checkpoints travel as heartbeats; the answer may be that the job is no longer wanted."""
        said = {"lease_token": job.claim.lease_token, "progress": progress, "checkpoint": checkpoint}
        beat = {name: value for name, value in said.items() if value is not None}
        answer = self._tell("heartbeat", {"jobs": {job.id: beat}})
        status = answer["jobs"][job.id]["status"]
        if status != "ok":
            job.tell_cancelled(LEASE_LOST if status == "lost" else CANCELLED)

    def log(self, job: CurrentJob, line: LogLine) -> None:
        """A line of the job's log."""
        self._tell(f"jobs/{job.id}/logs", {"lease_token": job.claim.lease_token, "lines": [line]})


def _needs_loop(function: JobFunction[..., Any]) -> bool:
    is_layered = bool(function.app.middleware) or function.signature.plan.needs_loop
    return function.is_async or is_layered or function.timeout is not None


def is_in_loop() -> bool:
    """Whether an event loop runs in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
