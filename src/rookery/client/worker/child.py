"""The process of a function declared with `process=True`: runs the jobs that come through a pipe, one at a time."""

import asyncio
import logging
import os
import signal
import threading
from contextlib import AsyncExitStack
from multiprocessing.connection import Connection
from typing import Final, NamedTuple

import msgspec

from rookery.client.functions.claimed import ClaimedJob
from rookery.client.functions.current import CurrentJob, LogLine
from rookery.client.functions.functions import find_function
from rookery.client.functions.logs import LOG_FORMAT, capturing
from rookery.client.functions.outcomes import Failed, Outcome
from rookery.client.functions.running import backtrace_of, error_text, run

PARENT_IS_GONE: Final = 1


class Server(NamedTuple):
    """What the worker's app was told of its server, which the code of the app may not say."""

    url: str | None
    api_key: str | None
    namespace: str | None


class Job(msgspec.Struct, frozen=True):
    """To the process: run this."""

    module: str
    name: str
    claim: ClaimedJob


class Stop(msgspec.Struct, frozen=True):
    """To the process: a job is no longer wanted. By the time this is heard, it may run another one."""

    lease_token: str | None
    reason: str


class Leave(msgspec.Struct, frozen=True):
    """To the process: there is no more to do."""


class Report(msgspec.Struct, frozen=True):
    """From the process: what a job says of itself. Its lease token tells it from the job before, which may go on."""

    lease_token: str | None
    progress: msgspec.Raw | None
    checkpoint: msgspec.Raw | None


class Said(msgspec.Struct, frozen=True):
    """From the process: a line of a job's log."""

    lease_token: str | None
    line: LogLine


class Ended(msgspec.Struct, frozen=True):
    """From the process: how the job went."""

    lease_token: str | None
    outcome: Outcome


def serve(pipe: Connection, log_level: int, server: Server) -> None:
    """Run jobs until told to leave. Signals are the worker's business."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    logging.basicConfig(level=log_level, format=LOG_FORMAT)
    asyncio.run(_Child(pipe, server).serve())


class _Child:
    def __init__(self, pipe: Connection, server: Server) -> None:
        self._pipe = pipe
        self._server = server
        self._sending = threading.Lock()
        self._jobs: asyncio.Queue[Job | None] = asyncio.Queue()
        self._current: CurrentJob | None = None
        self._stop: Stop | None = None
        """The last of its kind: it may be about a job that has come, but not begun."""

    async def serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._listen, daemon=True).start()
        entered = set()
        async with AsyncExitStack() as stack:
            stack.enter_context(capturing())
            while (job := await self._jobs.get()) is not None:
                try:
                    function = find_function(job.module, job.name)
                    app = function.app
                    if app not in entered:
                        app.url, app.api_key, app.namespace = self._server
                        await stack.enter_async_context(app.running())
                        entered.add(app)
                    self._current = CurrentJob(job.claim, self, app.state, function.log_level)
                    self._obey(self._current)
                    outcome = await asyncio.create_task(run(function, self._current))
                except Exception as error:
                    outcome = Failed(error_text(error), backtrace_of(error))
                self._current = None
                self._send(Ended(job.claim.lease_token, outcome))

    def _listen(self) -> None:
        """Hear what the worker says, also while a job keeps this process busy."""
        try:
            while True:
                message = self._pipe.recv()
                if isinstance(message, Stop):
                    self._stop = message
                    self._obey(self._current)
                else:
                    job = message if isinstance(message, Job) else None
                    self._loop.call_soon_threadsafe(self._jobs.put_nowait, job)
        except (EOFError, OSError):
            os._exit(PARENT_IS_GONE)

    def _obey(self, job: CurrentJob | None) -> None:
        """Tell a job that it is no longer wanted, if it is the one that was meant."""
        stop = self._stop
        if job is not None and stop is not None and stop.lease_token == job.claim.lease_token:
            job.tell_cancelled(stop.reason)

    def _send(self, message: Report | Said | Ended) -> None:
        with self._sending:
            self._pipe.send(message)

    def report(self, job: CurrentJob, progress: msgspec.Raw | None, checkpoint: msgspec.Raw | None) -> None:
        """Pass on what a job says of itself."""
        self._send(Report(job.claim.lease_token, progress, checkpoint))

    def log(self, job: CurrentJob, line: LogLine) -> None:
        """Pass on a line of the job's log."""
        self._send(Said(job.claim.lease_token, line))
