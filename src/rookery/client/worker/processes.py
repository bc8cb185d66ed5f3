"""Processes for functions declared with `process=True`: the worker's side. A process that takes too long is killed."""

import asyncio
import logging
import multiprocessing
import threading
from contextlib import suppress
from time import monotonic
from typing import Any, Final

from rookery.client.functions.current import CANCELLED, CurrentJob, JobReports
from rookery.client.functions.functions import JobFunction
from rookery.client.functions.outcomes import Dropped, Outcome
from rookery.client.functions.running import JobTimeout, judge, timed_out
from rookery.client.worker.child import Ended, Job, Leave, Report, Said, Server, Stop, serve
from rookery.client.worker.threads import Threads

logger = logging.getLogger("rookery.worker")

STOP_WITHIN: Final = 2.0
"""Seconds that an idle process has to leave by itself."""

_spawn: Final = multiprocessing.get_context("spawn")


class ProcessDied(Exception):
    """The process that ran a job ended without saying how the job went."""


class _NeverBegan(Exception):
    """A process was gone before it could be handed a job."""


class Processes:
    """As many processes as are needed at a time, kept for the next job."""

    def __init__(self, threads: Threads, server: Server) -> None:
        self._threads = threads
        self._server = server
        self._idle: list[_Process] = []
        self._all: set[_Process] = set()

    async def run(self, function: JobFunction[..., Any], job: CurrentJob, reports: JobReports) -> Outcome:
        """Run a job in a process of its own choice, watched by a thread."""
        process = self._take()
        try:
            outcome: Outcome = await self._threads.run(lambda: process.run(function, job, reports))
        except asyncio.CancelledError:
            self._end(process)
            if job.cancelled:
                return Dropped(job.cancel_reason or CANCELLED)
            raise
        except _NeverBegan:
            self._end(process)
            return await self.run(function, job, reports)
        except Exception as error:
            self._end(process)
            return judge(function, error)
        self._idle.append(process)
        return outcome

    def _take(self) -> "_Process":
        """An idle process that still lives, or a new one."""
        while self._idle:
            process = self._idle.pop()
            if process.is_alive:
                return process
            self._end(process)
        return self._start()

    def _start(self) -> "_Process":
        process = _Process(self._server)
        self._all.add(process)
        return process

    def _end(self, process: "_Process") -> None:
        process.kill()
        self._all.discard(process)

    def close(self) -> None:
        """Let the idle ones leave, and end the others."""
        for process in self._idle:
            process.leave()
        end = monotonic() + STOP_WITHIN
        for process in self._idle:
            process.wait(max(0.0, end - monotonic()))
        for process in list(self._all):
            self._end(process)
            process.wait(max(0.0, end - monotonic()))


class _Process:
    """One process, which runs one job at a time."""

    def __init__(self, server: Server) -> None:
        self._pipe, other = _spawn.Pipe()
        self._sending = threading.Lock()
        self._is_new = True
        level = logging.getLogger().getEffectiveLevel()
        self._process = _spawn.Process(target=serve, args=(other, level, server), name="rookery-job", daemon=True)
        self._process.start()
        other.close()

    def run(self, function: JobFunction[..., Any], job: CurrentJob, reports: JobReports) -> Outcome:
        """Hand over a job, pass on what it says, and wait for its outcome. Called in a thread."""
        end = None if function.timeout is None else monotonic() + function.timeout

        def stop() -> None:
            with suppress(OSError):
                self._send(Stop(job.claim.lease_token, job.cancel_reason or CANCELLED))

        try:
            self._hand_over(Job(function.function.__module__, function.name, job.claim))
            with job.told_when_cancelled(stop):
                while True:
                    if not self._pipe.poll(None if end is None else max(0.0, end - monotonic())):
                        raise timed_out(function.timeout or 0.0)
                    message: Report | Said | Ended = self._pipe.recv()
                    if message.lease_token != job.claim.lease_token:
                        continue
                    if isinstance(message, Ended):
                        return message.outcome
                    if isinstance(message, Said):
                        reports.log(job, message.line)
                    else:
                        reports.report(job, message.progress, message.checkpoint)
        except JobTimeout:
            # It is an OSError too, but the process still lives.
            self.kill()
            self._bury()
            raise
        except (EOFError, OSError):
            self._bury()
            raise ProcessDied(f"the process that ran the job ended with code {self._process.exitcode}") from None

    def _bury(self) -> None:
        """Wait for the end of a process that has died, so that nothing is left of it."""
        self._process.join(STOP_WITHIN)
        self._pipe.close()

    @property
    def is_alive(self) -> bool:
        """Whether it can be given a job."""
        return self._process.is_alive()

    def _hand_over(self, job: Job) -> None:
        try:
            self._send(job)
        except OSError:
            # One that dies as soon as it is started would die again and again.
            if self._is_new:
                raise
            raise _NeverBegan from None
        self._is_new = False

    def _send(self, message: Job | Stop | Leave) -> None:
        with self._sending:
            self._pipe.send(message)

    def leave(self) -> None:
        """Tell it that there is no more to do."""
        with suppress(OSError):
            self._send(Leave())

    def wait(self, seconds: float) -> None:
        """Wait until it has left."""
        self._process.join(seconds)

    def kill(self) -> None:
        """End it, if it has not left. The thread that waits for it hears of it by the end of the pipe."""
        self._process.kill()
