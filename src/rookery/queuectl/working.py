"""One worker process: takes a job, runs it, and records what came of it with the same commit that takes the next.

It ends when it is told to (by its parent or by `worker stop`), when its parent is gone, or when all is done if that
is what it was started for; but never with a job in its hands.
"""

import os
import select
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from types import FrameType
from typing import Final, NamedTuple

from rookery.engine.ledger import NEVER
from rookery.engine.ops import (
    Acked,
    AnyOperation,
    Beat,
    Beaten,
    ClaimedJob,
    Failed,
    Heartbeat,
    Refusal,
    RegisterWorker,
    RemoveWorker,
    Result,
    SeeWorker,
    Sweep,
    Taken,
    TakeNext,
)
from rookery.model.backoff import power_delay
from rookery.queuectl import leftovers, recovery
from rookery.queuectl.errand import BEAT_EVERY, Errand
from rookery.queuectl.home import Home, HomeError, now_ms
from rookery.queuectl.jobs import QUEUE_PREFIX
from rookery.queuectl.notices import report, run_told, say
from rookery.queuectl.processes import own_mark
from rookery.queuectl.workers import SILENCE

KILL_NOW: Final = signal.SIGUSR1
"""What the parent sends to have running jobs killed."""
_RECOVER_EVERY: Final = 10.0
_SWEEP_EVERY: Final = 3600.0
_LOOK_EVERY: Final = 1.0
"""Seconds, at the most, until a sleeping worker finds that its parent is gone."""
_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 10.0


class Wanted(NamedTuple):
    """What workers are started for. No queues: all of them; no interval: what the settings say."""

    queues: tuple[str, ...] = ()
    poll_interval: float | None = None
    drain: bool = False


class Worker:
    """One worker on one home."""

    def __init__(self, home: Home, wanted: Wanted, parent: int) -> None:
        self.id = f"w-{os.urandom(4).hex()}"
        self._home = home
        self._wanted = wanted
        self._queues = tuple(QUEUE_PREFIX + name for name in wanted.queues)
        self._parent = parent
        self._is_told_to_end = False
        self._kills = 0
        self._errand: Errand | None = None
        self._beaten_at = 0.0
        self._recovered_at: float | None = None
        self._swept_at: float | None = None
        self._alarm, self._bell = os.pipe()

    # --- its life

    def work(self) -> None:
        """Work until it is time to end."""
        self._listen_to_signals()
        with self._home:
            self._commit(
                RegisterWorker(
                    worker_id=self.id, pid=os.getpid(), pid_started=own_mark(), hostname=recovery.own_hostname()
                )
            )
            self._beaten_at = monotonic()
            report(f"{self.id} started (pid {os.getpid()})")
            unrecorded = self._work()
            self._commit(*unrecorded, RemoveWorker(worker_id=self.id))
        report(f"{self.id} ended")

    def _work(self) -> list[AnyOperation]:
        """Do job after job; what is left to record at the end."""
        unrecorded: list[AnyOperation] = []
        while not self._is_to_end():
            self._recover_if_time()
            taken = self._commit(*unrecorded, self._take_next())[-1]
            assert isinstance(taken, Taken)
            unrecorded = []
            if taken.more:
                continue
            if taken.is_stopped or (self._wanted.drain and not taken.unended):
                break
            if taken.job is None:
                self._rest()
            else:
                # Even if the end was told meanwhile: everybody can see by now that this worker has it.
                unrecorded = self._run(taken.job, taken.lost_leases)
        return unrecorded

    def _is_to_end(self) -> bool:
        return self._is_told_to_end or os.getppid() != self._parent

    def _take_next(self) -> TakeNext:
        return TakeNext(worker_id=self.id, queues=self._queues, prefix=QUEUE_PREFIX, lease=SILENCE)

    # --- one job

    def _run(self, job: ClaimedJob, lost_leases: int) -> list[AnyOperation]:
        """Run a job; what there is to record."""
        if lost_leases:
            leftovers.end(self._home, job.job_id, job.attempt)
        self._errand = errand = Errand(self._home, job)
        if self._kills:
            errand.stop()
        try:
            ran = errand.do(lambda: self._show_life(errand))
        finally:
            self._errand = None
        wait = power_delay(self._home.settings().backoff_base, job.attempt) / 1000 if ran.error else None
        report(f"{self.id} {run_told(job.job_id, ran, job.attempt, job.max_retries, wait)}")
        return errand.outcome(ran)

    def _show_life(self, errand: Errand) -> None:
        """Renew the lease. Who has lost it stops, for the job may already be running elsewhere."""
        job = errand.job
        with self._trouble_told():
            beaten = self._home.apply(Heartbeat(items=[Beat(job.job_id, lease=job.lease, renew_for=SILENCE)]))[0]
            if isinstance(beaten, Beaten) and beaten.outcomes != ["ok"]:
                say(f"{self.id} {job.job_id}: was given back while this worker was not heard of; stopping it here")
                errand.stop()
        self._recover_if_time()

    # --- between jobs

    def _rest(self) -> None:
        """Sleep until there may be something to take: something is due, or a look each poll interval finds a change."""
        machine = self._home.machine()
        beat_at = self._beaten_at + BEAT_EVERY
        look_at = monotonic() + self._poll_interval()
        while not self._is_to_end():
            now = monotonic()
            due_at = now + ((machine.next_due or NEVER) - now_ms()) / 1000
            self._sleep(min(look_at, due_at, beat_at) - now)
            if monotonic() >= beat_at:
                # This brings the machine up to date, so that no later look would find what has changed before.
                self._beaten_at = monotonic()
                with self._trouble_told():
                    self._home.apply(SeeWorker(worker_id=self.id, queues=self._queues))
                return
            if machine.next_due is not None and machine.next_due <= now_ms():
                return
            if monotonic() >= look_at:
                if machine.is_outdated:
                    return
                look_at = monotonic() + self._poll_interval()

    def _poll_interval(self) -> float:
        return self._wanted.poll_interval or self._home.settings().poll_interval

    def _sleep(self, seconds: float) -> None:
        """Sleep, unless it is time to end."""
        until = monotonic() + seconds
        while (left := until - monotonic()) > 0 and not self._is_to_end():
            if select.select([self._alarm], [], [], min(left, _LOOK_EVERY))[0]:
                os.read(self._alarm, 4096)

    def _recover_if_time(self) -> None:
        if self._recovered_at is None or monotonic() - self._recovered_at >= _RECOVER_EVERY:
            self._recovered_at = monotonic()
            with self._trouble_told():
                recovery.recover(self._home)
                if self._swept_at is None or monotonic() - self._swept_at >= _SWEEP_EVERY:
                    self._swept_at = monotonic()
                    self._home.apply(Sweep())

    # --- the store

    def _commit(self, *operations: AnyOperation) -> list[Result]:
        """Apply operations however long that takes: what a job came to must not be lost because a disk is full."""
        pause = _FIRST_PAUSE
        while True:
            try:
                results = self._home.apply(*operations)
                break
            except HomeError as error:
                if self._kills > 1:
                    raise
                say(f"{self.id}: {error}; trying again")
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
        for result in results:
            if isinstance(result, Acked | Failed):
                for outcome in result.outcomes:
                    if isinstance(outcome, Refusal):
                        say(f"{self.id}: {outcome.message}; how this run ended does not count")
        return results

    @contextmanager
    def _trouble_told(self) -> Iterator[None]:
        """What is done every few seconds may fail once: the next time comes."""
        try:
            yield
        except HomeError as error:
            say(f"{self.id}: {error}")

    # --- signals

    def _listen_to_signals(self) -> None:
        """Take signals as what they mean to a worker; those that came since it was forked come now.

        Ctrl-C reaches the whole process group. What it means is for the parent to say; but it is not ignored, because
        commands would inherit that.
        """
        os.set_blocking(self._bell, False)
        signal.set_wakeup_fd(self._bell, warn_on_full_buffer=False)
        signal.signal(signal.SIGINT, lambda number, frame: None)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, self._end)
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            signal.signal(signal.SIGHUP, self._end)
        signal.signal(KILL_NOW, self._kill)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())

    def _end(self, number: int, frame: FrameType | None) -> None:
        self._is_told_to_end = True

    def _kill(self, number: int, frame: FrameType | None) -> None:
        self._is_told_to_end = True
        self._kills += 1
        if self._errand is not None:
            self._errand.stop()
