"""Several workers, or one that starts again when its code changes: a parent that only looks after them."""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import Final

from rookery.client.transport.retries import jittered
from rookery.client.worker.health import answering_probes

logger = logging.getLogger("rookery.worker")

STATUS_FD: Final = "ROOKERY_WORKER_STATUS_FD"
"""Through which a worker tells its parent how it is."""
TELL_EVERY: Final = 1.0
SILENT_FOR: Final = 15.0
"""Seconds after which a worker that says nothing counts as stuck."""
STARTS_WITHIN: Final = 60.0
LIVED_LONG: Final = 10.0
_BY_SIGNAL: Final = (128 + signal.SIGINT, 128 + signal.SIGTERM)
_READY, _ALIVE = b"r", b"a"


class Supervisor:
    """Runs workers as processes, replaces those that die, and passes signals on to them."""

    def __init__(
        self,
        command: list[str],
        count: int,
        *,
        reload: bool,
        health: tuple[str, int] | None,
        worker_id: str | None = None,
    ) -> None:
        self._reload = reload
        self._health = health
        names = [worker_id] if count == 1 else [f"{worker_id}-{number}" for number in range(1, count + 1)]
        self._slots = [
            _Slot(number, [*command, "--worker-id", name] if worker_id and name else command)
            for number, name in enumerate(names, 1)
        ]
        self._signals = 0
        self._is_stopping = asyncio.Event()
        self._changed = asyncio.Event()

    async def run(self) -> int:
        """Look after the workers until told to stop; the exit code."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._pass_on, number)
        checks = {"/healthz": self._stuck, "/readyz": self._not_ready}
        async with answering_probes(self._health, checks) as bound:
            if bound is not None:
                logger.info("probes are answered on http://%s:%d", *bound)
            watching = asyncio.create_task(self._watch()) if self._reload else None
            codes = await asyncio.gather(*[self._keep(slot) for slot in self._slots])
            if watching is not None:
                watching.cancel()
                await asyncio.gather(watching, return_exceptions=True)
        return max(codes)

    def _pass_on(self, number: int) -> None:
        self._signals += 1
        self._is_stopping.set()
        self._changed.set()
        for slot in self._slots:
            slot.send(number)

    async def _keep(self, slot: "_Slot") -> int:
        """Run one worker, again and again; the code it ended with at last."""
        failures = 0
        while True:
            self._changed.clear()
            began = monotonic()
            code = await slot.run()
            if self._is_stopping.is_set():
                # Killed by the first signal, it had not come so far as to listen to any: it had no jobs either.
                return 0 if code in _BY_SIGNAL and self._signals == 1 else code
            if slot.is_reloading:
                slot.is_reloading = False
                continue
            if code in (1, 2) and not slot.was_ready:
                if not self._reload:
                    self._pass_on(signal.SIGTERM)
                    return code
                logger.warning("the worker cannot start; waiting for a change")
                await self._changed.wait()
                if self._is_stopping.is_set():
                    return code
                continue
            failures = 0 if monotonic() - began > LIVED_LONG else failures + 1
            pause = jittered(failures)
            logger.warning("worker %d ended with code %d; another starts in %.1f s", slot.number, code, pause)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._is_stopping.wait(), pause)
                return code

    async def _watch(self) -> None:
        """Have the workers start again when code has changed."""
        from watchfiles import PythonFilter, awatch

        logging.getLogger("watchfiles").setLevel(logging.WARNING)
        async for changes in awatch(Path.cwd(), watch_filter=PythonFilter()):
            names = sorted({Path(path).name for _, path in changes})
            logger.info("%s changed: starting again", ", ".join(names))
            self._changed.set()
            for slot in self._slots:
                if slot.is_running and not slot.is_reloading:
                    slot.is_reloading = True
                    slot.send(signal.SIGTERM)

    def _stuck(self) -> str | None:
        stuck = [str(slot.number) for slot in self._slots if slot.is_stuck]
        return f"not answering: worker {', '.join(stuck)}" if stuck else None

    def _not_ready(self) -> str | None:
        waiting = [str(slot.number) for slot in self._slots if not slot.is_ready]
        return f"not ready: worker {', '.join(waiting)}" if waiting else None


class _Slot:
    """The place of one worker."""

    def __init__(self, number: int, command: list[str]) -> None:
        self.number = number
        self.is_reloading = False
        self.is_ready = False
        self.was_ready = False
        self._command = command
        self._process: asyncio.subprocess.Process | None = None
        self._heard_at = 0.0
        self._is_starting = False
        self._unsent: list[int] = []
        """Signals that came while the process was being started."""

    @property
    def is_running(self) -> bool:
        return self._process is not None

    @property
    def is_stuck(self) -> bool:
        return self.is_running and monotonic() > self._heard_at + SILENT_FOR

    async def run(self) -> int:
        """Start the worker, and wait until it ends; its exit code."""
        self._heard_at = monotonic() + STARTS_WITHIN
        self.is_ready = self.was_ready = False
        status, other = os.pipe()
        self._is_starting = True
        try:
            # In a group of its own, Ctrl-C reaches it through its parent only, and once.
            self._process = await asyncio.create_subprocess_exec(
                *self._command, env={**os.environ, STATUS_FD: str(other)}, pass_fds=[other], start_new_session=True
            )
        finally:
            os.close(other)
            self._is_starting = False
        unsent, self._unsent = self._unsent, []
        for number in unsent:
            self.send(number)
        loop = asyncio.get_running_loop()
        loop.add_reader(status, self._hear, status)
        try:
            code = await self._process.wait()
        finally:
            loop.remove_reader(status)
            os.close(status)
            self._process = None
            self.is_ready = False
        return 128 - code if code < 0 else code

    def _hear(self, status: int) -> None:
        said = os.read(status, 4096)
        if said:
            self._heard_at = monotonic()
            self.is_ready = said.endswith(_READY)
            self.was_ready = self.was_ready or self.is_ready
        else:
            asyncio.get_running_loop().remove_reader(status)

    def send(self, number: int) -> None:
        """Send the worker a signal; one that is being started gets it as soon as it is there."""
        if self._is_starting:
            self._unsent.append(number)
        elif self._process is not None:
            with suppress(ProcessLookupError):
                self._process.send_signal(number)


@asynccontextmanager
async def telling_parent(is_ready: Callable[[], bool], stop: Callable[[], None]) -> AsyncIterator[None]:
    """While it lasts, the parent is told how the worker is, if there is one; when it is gone the worker stops."""
    if STATUS_FD not in os.environ:
        yield
        return
    status = int(os.environ.pop(STATUS_FD))
    os.set_inheritable(status, False)

    async def tell() -> None:
        while True:
            try:
                os.write(status, _READY if is_ready() else _ALIVE)
            except OSError:
                logger.warning("the parent process is gone: stopping")
                stop()
                return
            await asyncio.sleep(TELL_EVERY)

    telling = asyncio.create_task(tell())
    try:
        yield
    finally:
        telling.cancel()
        await asyncio.gather(telling, return_exceptions=True)
        os.close(status)


def worker_command(arguments: list[str]) -> list[str]:
    """How a worker is started as a process of its own."""
    return [sys.executable, "-m", "rookery", "worker", *arguments]
