"""Processes for functions declared with `process=True`: the worker's side. A process that takes too long is killed."""

import asyncio
import logging
import multiprocessing
import threading
from contextlib import suppress
from time import monotonic
from typing import Any, Final

from rookery.client.child import Ended, Job, Leave, Server, Stop, serve
from rookery.client.current import CANCELLED, CurrentJob, JobReports, LogLine
from rookery.client.functions import JobFunction
from rookery.client.outcomes import Dropped, Outcome
from rookery.client.running import judge, timed_out
from rookery.client.threads import Threads

logger = logging.getLogger("rookery.worker")

STOP_WITHIN: Final = 2.0
"""Seconds that an idle process has to leave by itself."""

_spawn: Final = multiprocessing.get_context("spawn")


class ProcessDied(Exception):
    """The process that ran a job ended without saying how the job went."""


class Processes:
    """As many processes as are needed at a time, kept for the next job."""

    def __init__(self, threads: Threads, server: Server) -> None:
        self._threads = threads
        self._server = server
        self._idle: list[_Process] = []
        self._all: set[_Process] = set()

    async def run(self, function: JobFunction[..., Any], job: CurrentJob, reports: JobReports) -> Outcome:
        """Run a job in a process of its own choice, watched by a thread."""
        process = self._idle.pop() if self._idle else self._start()
        try:
            outcome: Outcome = await self._threads.run(lambda: process.run(function, job, reports))
        except asyncio.CancelledError:
            self._end(process)
            if job.cancelled:
                return Dropped(job.cancel_reason or CANCELLED)
            raise
        except Exception as error:
            self._end(process)
            return judge(function, error)
        self._idle.append(process)
        return outcome

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
            self._send(Job(function.function.__module__, function.name, job.claim))
            with job.told_when_cancelled(stop):
                while True:
                    if not self._pipe.poll(None if end is None else max(0.0, end - monotonic())):
                        raise timed_out(function.timeout or 0.0)
                    message = self._pipe.recv()
                    if isinstance(message, Ended):
                        return message.outcome
                    if isinstance(message, LogLine):
                        reports.log(job, message)
                    else:
                        reports.report(job, message.progress, message.checkpoint)
        except (EOFError, OSError):
            self._process.join(STOP_WITHIN)
            self._pipe.close()
            raise ProcessDied(f"the process that ran the job ended with code {self._process.exitcode}") from None

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
