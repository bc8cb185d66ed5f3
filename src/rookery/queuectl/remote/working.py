"""`queuectl --server URL worker`: worker processes that run the commands of a server's queues on this machine."""

import asyncio
import logging
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Final

import click

from rookery.client.errors import RookeryError
from rookery.client.worker.worker import Worker, jobs_logger
from rookery.model.backoff import power_delay
from rookery.queuectl.commands import refuse
from rookery.queuectl.home import Home
from rookery.queuectl.jobs import DEFAULT_QUEUE, QUEUE_PREFIX
from rookery.queuectl.notices import report, say
from rookery.queuectl.pool import Pool
from rookery.queuectl.remote.register import Register
from rookery.queuectl.remote.server import ServerPlace
from rookery.queuectl.remote.shelljobs import ShellJobs
from rookery.queuectl.settings import LONGEST_TIME, Settings
from rookery.queuectl.working import KILL_NOW, Wanted

_LEASE: Final = 30.0
_LOOK_EVERY: Final = 0.1
_SETTINGS_FOR: Final = 1.0
"""Seconds for which settings that were read are good."""


def start(place: ServerPlace, wanted: Wanted, count: int) -> int:
    """Run workers until they are told to stop; the exit code."""
    with place.problems_told():
        place.client.heartbeat({})
    say(f"these workers run whatever commands are in the queues {_names(wanted)} of {place.url}")
    # Connections must not be used on both sides of a fork.
    place.close()
    return Pool(lambda parent: _Worker(place, wanted, parent).work(), count).run()


def stop(place: ServerPlace, wait: bool, timeout: float | None) -> None:
    """Leave a note for each worker that was started from this home for this server."""
    running = place.register.running(place.url, place.namespace)
    for entry in running:
        place.register.tell_to_stop(entry.worker_id)
    workers = "worker" if len(running) == 1 else "workers"
    told = f"Told to stop: {len(running)} {workers} of {place.home.path}; jobs that run are finished first."
    none = f"No worker that was started from {place.home.path} for {place.url} is running."
    click.echo(f"{told if running else none} Stop those that were started elsewhere where they run.")
    end = None if timeout is None else monotonic() + timeout
    while wait and (left := [entry.worker_id for entry in running if entry.is_running]):
        if end is not None and monotonic() >= end:
            refuse(f"still running after {timeout:g} s: {', '.join(left)}")
        time.sleep(_LOOK_EVERY)


def _names(wanted: Wanted) -> str:
    return ", ".join(QUEUE_PREFIX + name for name in wanted.queues) or f"{QUEUE_PREFIX}*"


class _Worker:
    """One worker process."""

    def __init__(self, place: ServerPlace, wanted: Wanted, parent: int) -> None:
        self._place = ServerPlace(Home(place.home.path), place.address, place.api_key, place.namespace)
        self._register = Register(self._place.home)
        self._wanted = wanted
        self._parent = parent
        self._id = f"w-{os.urandom(4).hex()}"
        self._settings = self._place.settings()
        self._read_at = monotonic()
        self._is_stopping = False
        self._jobs = ShellJobs(
            place.address,
            place.api_key,
            place.namespace,
            concurrency=1,
            kill_grace=lambda: self._settings_now().kill_grace,
            job_timeout=lambda: self._settings_now().job_timeout,
            wait_after=lambda attempt: power_delay(self._settings_now().backoff_base, attempt) / 1000,
            tell=lambda text: report(f"{self._id} {text}"),
        )

    def work(self) -> None:
        """Work until it is time to end."""
        logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="queuectl: %(message)s", force=True)
        jobs_logger.setLevel(logging.ERROR)  # A line of ours tells of each job.
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._register.enter(self._id, self._place.url, self._place.namespace)
        report(f"{self._id} started (pid {os.getpid()})")
        try:
            asyncio.run(self._work())
        finally:
            self._place.close()
        report(f"{self._id} ended")

    async def _work(self) -> None:
        names = [QUEUE_PREFIX + name for name in self._wanted.queues or (DEFAULT_QUEUE,)]
        for name in names:
            self._jobs.serve(name)
        worker = Worker(
            self._jobs.app,
            queues=names,
            concurrency=1,
            shutdown_timeout=LONGEST_TIME,
            lease_duration=_LEASE,
            worker_id=self._id,
        )
        blocked = self._listen_to_signals(worker)
        looking = asyncio.create_task(self._look_around(worker))
        try:
            await worker.run()
        finally:
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)
            # The loop takes its handlers with it: a signal that comes then is to be nothing to die of.
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)

    def _listen_to_signals(self, worker: Worker) -> set[signal.Signals]:
        """What a signal means is for the parent to say; Ctrl-C reaches this process too, and means nothing here.

        Those that were blocked until now are given back.
        """

        def kill() -> None:
            self._stop(worker)
            self._jobs.stop_running()

        loop = asyncio.get_running_loop()
        meanings: dict[int, Callable[[], None]] = {
            signal.SIGINT: lambda: None,
            signal.SIGTERM: lambda: self._stop(worker),
            KILL_NOW: kill,
        }
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            meanings[signal.SIGHUP] = meanings[signal.SIGTERM]
        for number, meaning in meanings.items():
            loop.add_signal_handler(number, meaning)
        return signal.pthread_sigmask(signal.SIG_SETMASK, ())  # type: ignore[return-value]

    def _stop(self, worker: Worker) -> None:
        """Said twice, it would mean not to wait for running jobs."""
        if not self._is_stopping:
            self._is_stopping = True
            worker.stop()

    async def _look_around(self, worker: Worker) -> None:
        """See again and again whether to end, and whether there are other queues."""
        while not self._is_stopping:
            if os.getppid() != self._parent or self._register.is_told_to_stop(self._id):
                self._stop(worker)
                return
            with suppress(RookeryError):  # The worker itself tells of it, and tries until the server is there again.
                await self._look_at_queues(worker)
            await asyncio.sleep(self._wanted.poll_interval or self._settings_now().poll_interval)

    async def _look_at_queues(self, worker: Worker) -> None:
        if self._wanted.queues and not self._wanted.drain:
            return
        queues = [queue for queue in await self._jobs.app.client.queues() if queue.name.startswith(QUEUE_PREFIX)]
        if not self._wanted.queues:
            new = [queue.name for queue in queues if queue.name not in worker.queues]
            for name in new:
                self._jobs.serve(name)
            if new:
                worker.take_also(new)
        if self._wanted.drain:
            served = [queue for queue in queues if queue.name in worker.queues]
            left = sum(q.pending + q.scheduled + q.held + q.retrying + q.active for q in served)
            if not left and not worker.in_hand:
                self._stop(worker)

    def _settings_now(self) -> Settings:
        """The settings of the home as they are now, or were a moment ago."""
        if monotonic() - self._read_at > _SETTINGS_FOR:
            self._settings, self._read_at = self._place.settings(), monotonic()
        return self._settings
