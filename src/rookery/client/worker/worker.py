"""A worker: takes the jobs of an app from a server, runs them, and tells how they went."""

import asyncio
import logging
import os
import secrets
import signal
import socket
from collections import deque
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from time import monotonic
from typing import Any, Final, Literal

from rookery.client.functions.app import App
from rookery.client.functions.claimed import ClaimedJob
from rookery.client.functions.current import CANCELLED, LEASE_LOST
from rookery.client.functions.functions import JobFunction
from rookery.client.functions.logs import capturing
from rookery.client.functions.outcomes import Done, Dropped, Failed, Outcome, Snoozed
from rookery.client.functions.running import error_text, run
from rookery.client.values import Duration, seconds_of, sendable, whole_seconds_of
from rookery.client.worker.child import Server
from rookery.client.worker.credit import Credit
from rookery.client.worker.heartbeats import Heartbeats, RunningJob
from rookery.client.worker.lines import CannotStart, Line
from rookery.client.worker.outbox import Outbox, message_of
from rookery.client.worker.presence import Presence
from rookery.client.worker.processes import Processes
from rookery.client.worker.threads import Threads

logger = logging.getLogger("rookery.worker")
jobs_logger = logging.getLogger("rookery.worker.jobs")
"""Where it is told how jobs went, for whoever has words of their own for that."""

CLEAN: Final = 0
UNFINISHED: Final = 3
"""Exit code when jobs had to be handed back because they did not end in time."""

FLUSH_EVERY: Final = 0.004
"""While there is more to do, outcomes are gathered for so many seconds."""
FLUSH_AT: Final = 256
STALE_FOR: Final = 0.1
"""For so many seconds after the loop was blocked, what comes may have waited to be read."""
LONGEST_LEASE: Final = 86_400
"""Seconds."""
LAST_WORDS: Final = 5.0
"""Seconds that a stopping worker takes to tell the server its last outcomes."""
HEARTBEAT_TIMEOUT: Final = 10.0
LAST_MOMENT: Final = 1.0
"""The same for one that was told twice to stop."""

TransportKind = Literal["auto", "stream", "http"]


class Worker:
    """Runs jobs until it is told to stop."""

    def __init__(
        self,
        app: App,
        *,
        queues: list[str] | None = None,
        concurrency: int = 10,
        shutdown_timeout: Duration = 30.0,
        lease_duration: Duration = 60.0,
        transport: TransportKind = "auto",
        worker_id: str | None = None,
    ) -> None:
        self.app = app
        self.queues = queues or list(app.functions)
        if not self.queues:
            raise CannotStart("the app has no jobs: declare a function with @app.job")
        unknown = [queue for queue in self.queues if queue not in app.functions]
        if unknown:
            known = ", ".join(app.functions) or "none"
            raise CannotStart(f"the app has no job for queue {', '.join(unknown)} (it has: {known})")
        if concurrency < 1:
            raise CannotStart(f"concurrency must be at least 1, not {concurrency}")
        self.concurrency = concurrency
        self.lease_seconds = whole_seconds_of(lease_duration, "lease_duration")
        if not 1 <= self.lease_seconds <= LONGEST_LEASE:
            raise CannotStart(f"lease_duration must be from 1 s to {LONGEST_LEASE} s, not {self.lease_seconds} s")
        self.transport: TransportKind = transport
        self.hostname = sendable(socket.gethostname())
        self.worker_id = sendable(worker_id) if worker_id else f"{self.hostname}-{os.getpid()}-{secrets.token_hex(3)}"
        self.running: dict[str | None, RunningJob] = {}
        """The jobs that have begun, by the token of their lease."""
        self.waiting: deque[tuple[ClaimedJob, float]] = deque()
        """The jobs in hand that have not begun, each with when it came."""
        self.outbox = Outbox()
        self.begun: list[RunningJob] = []
        """Jobs that have begun since the server was last told which."""
        self.is_stopping = False
        self._shutdown_timeout = seconds_of(shutdown_timeout, "shutdown_timeout")
        self._stop_asked = asyncio.Event()
        self._stop_now = asyncio.Event()
        self._is_quiet = asyncio.Event()
        self._flush_timer: asyncio.Handle | None = None
        self._is_flushing_now = False
        self._finished = 0
        self._signal_number = 0
        self._asked_at: float | None = None
        self._stale_until = 0.0
        self._blocking = "something"
        self._is_verbose = False
        self._line: Line | None = None

    def check(self) -> None:
        """See that every function can be run, and that the server's address is one. Raises CannotStart."""
        for queue in self.queues:
            function = self.app.functions[queue]
            try:
                function.check()
            except (TypeError, ValueError) as error:
                raise CannotStart(str(error)) from None
        try:
            self.app.new_client().close()
        except ValueError as error:
            raise CannotStart(str(error)) from None

    @property
    def is_ready(self) -> bool:
        """Whether it is connected to the server and takes jobs."""
        return self._line is not None and self._line.is_connected and not self.is_stopping

    @property
    def in_hand(self) -> int:
        """How many jobs it has taken and not ended."""
        return len(self.running) + len(self.waiting)

    @property
    def room(self) -> int:
        """How many more jobs it would take."""
        return 0 if self.is_stopping else max(0, self.credit.window - self.in_hand)

    async def run(self) -> int:
        """Run jobs until `stop`; the exit code, 0 if every job that had begun has ended."""
        self.check()
        self._loop = asyncio.get_running_loop()
        self.credit = Credit(self.concurrency, monotonic())
        self._is_verbose = logger.isEnabledFor(logging.DEBUG)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self.app.close)
            stack.enter_context(capturing())
            self._state = await stack.enter_async_context(self.app.running())
            self._threads = Threads()
            stack.callback(self._threads.close)
            server = Server(self.app.url, self.app.api_key, self.app.namespace)
            self._processes = Processes(self._threads, server)
            stack.callback(self._processes.close)
            self._heartbeats = Heartbeats(self, self.app.new_client(timeout=HEARTBEAT_TIMEOUT, retries=0))
            stack.callback(self._heartbeats.close, LAST_MOMENT)
            self._heartbeats.start()
            self._presence = Presence(self)
            stack.push_async_callback(self._presence.close)
            self._line = Line(self)
            return await self._work(self._line)

    def run_sync(self) -> int:
        """The same without an event loop, in the main thread of a program; SIGINT and SIGTERM stop it."""

        async def run_until_signalled() -> int:
            self.stop_at_signals()
            return await self.run()

        return asyncio.run(run_until_signalled())

    def stop_at_signals(self) -> None:
        """Let SIGINT and SIGTERM stop it, if this is the loop of the main thread."""
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, self.stop, number)

    def stop(self, signal_number: int = 0) -> None:
        """Take no more jobs and finish those that run. Told a second time, hand them back and end at once."""
        if self._stop_asked.is_set():
            self._signal_number = signal_number
            self._stop_now.set()
        self._stop_asked.set()

    async def _work(self, line: Line) -> int:
        keeping = asyncio.create_task(line.run())
        stopping = asyncio.create_task(self._stop_asked.wait())
        try:
            await asyncio.wait({keeping, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if keeping.done():
                keeping.result()
            return await self._stop(line)
        finally:
            stopping.cancel()
            keeping.cancel()
            await asyncio.gather(keeping, stopping, return_exceptions=True)

    async def _stop(self, line: Line) -> int:
        """Hand back what has not begun, finish what has, hand back what takes too long, say the last words."""
        self.is_stopping = True
        running = len(self.running)
        logger.info("stopping: %d %s running", running, "job is" if running == 1 else "jobs are")
        for claim, _ in self._take_all_waiting():
            self._tell(claim, Snoozed(None, "the worker stopped"))
        line.stop_taking()
        self.flush()
        if running:
            self._presence.say(draining=True)
        await self._quiet(self._shutdown_timeout, self._stop_now)
        left = len(self.running)
        if left:
            said = "job did not end in time and is" if left == 1 else "jobs did not end in time and are"
            logger.warning("%d %s handed back", left, said)
            await self._hand_back_running()
        patience = LAST_MOMENT if self._stop_now.is_set() else LAST_WORDS
        await self._delivered(patience)
        if self._stop_now.is_set():
            return 128 + self._signal_number
        return UNFINISHED if left else CLEAN

    async def _quiet(self, patience: float, unless: asyncio.Event) -> None:
        """Wait until nothing runs, or the time is up, or it must not wait any more."""
        self._is_quiet = asyncio.Event()
        if not self.running:
            return
        waits = [asyncio.create_task(event.wait()) for event in (self._is_quiet, unless)]
        await asyncio.wait(waits, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()

    async def _hand_back_running(self) -> None:
        """End by force what can be ended; what cannot is handed back all the same."""
        jobs = list(self.running.values())
        for job in jobs:
            if job.task is not None:
                job.task.cancel()
        # Told twice, the same moment must do for the last words too.
        await self._quiet(LAST_MOMENT / 4 if self._stop_now.is_set() else LAST_MOMENT, asyncio.Event())
        for job in jobs:
            if self.running.pop(job.claim.lease_token, None) is not None:
                self._conclude(job, Snoozed(None, "the worker stopped"))

    async def _delivered(self, patience: float) -> None:
        """Wait until the server has heard everything, but not for ever."""
        assert self._line is not None
        end = monotonic() + patience
        while self._heartbeats.is_finishing or self.outbox or self._line.is_unanswered:
            if monotonic() > end:
                logger.warning("the server has not heard of all outcomes; leases that are left run out")
                return
            self.flush()
            await asyncio.sleep(0.01)

    def connected(self, kind: str) -> None:
        """The server is there."""
        logger.info(
            "worker %s ready: %d %s at a time of %s, by %s",
            self.worker_id,
            self.concurrency,
            "job" if self.concurrency == 1 else "jobs",
            ", ".join(self.queues),
            kind,
        )
        self.credit.is_off = True
        self.flush()
        self._presence.say(draining=self.is_stopping)

    def receive(self, claims: list[ClaimedJob]) -> None:
        """Jobs came from the server."""
        now = monotonic()
        if self.is_stopping or self._was_blocked(now):
            for claim in claims:
                self._tell(claim, Snoozed(None, "the worker stopped" if self.is_stopping else "the worker was blocked"))
            return
        self._give_up_older(claims)
        for claim in claims:
            self.waiting.append((claim, now))
        self._begin_next(now)
        if self.credit.window == self.concurrency:
            # These jobs take long: the server is told that they have arrived before one of them blocks the loop.
            self.flush()

    def _give_up_older(self, claims: list[ClaimedJob]) -> None:
        """A job that runs and comes again was lost meanwhile: the older lease is of no use any more."""
        ids = {claim.job_id for claim in claims}
        for job in self.running.values():
            if job.id in ids:
                self.tell_cancelled(job, LEASE_LOST)

    def look_at_loop(self) -> None:
        """See whether the loop turns. Called by the heartbeat thread."""
        if self._asked_at is None:
            self._asked_at = monotonic()
            self._from_thread(self._loop_turns)
        else:
            self._blocking = self._on_loop()

    def _on_loop(self) -> str:
        """The job whose code runs on the loop at this moment, or else those that may be behind it."""
        task = asyncio.current_task(self._loop)
        jobs = [job for job in list(self.running.values()) if job.function.is_async and not job.function.process]
        for job in jobs:
            if job.task is task:
                return f"job {job.id} ({job.function.name})"
        names = sorted({job.function.name for job in jobs})
        return f"something ({', '.join(names)})" if names else "something"

    def _loop_turns(self) -> None:
        now = monotonic()
        if self._was_blocked(now):
            logger.warning(
                "%s has blocked the event loop for %.1f s: use def instead of async def, or asyncio.to_thread",
                self._blocking,
                now - (self._asked_at or now),
            )
            self._stale_until = now + STALE_FOR
        self._asked_at = None

    def _was_blocked(self, now: float) -> bool:
        """Whether jobs that come now may have come long ago, and be somebody else's by now."""
        asked_at = self._asked_at
        return now < self._stale_until or (asked_at is not None and now - asked_at > self.lease_seconds / 2)

    def _begin_next(self, now: float) -> None:
        """Begin jobs as long as there is one, and a hand free."""
        running, waiting, functions = self.running, self.waiting, self.app.functions
        while waiting and len(running) < self.concurrency:
            try:
                claim, came = waiting.popleft()
            except IndexError:
                # The heartbeat thread took the last one away.
                return
            if now - came > claim.lease_duration:
                # The server has given it to somebody else long ago.
                self.credit.is_off = True
                self._flush_soon()
                continue
            function = functions[claim.queue]
            job = RunningJob(claim, self._heartbeats, self._state, function, came)
            running[claim.lease_token] = job
            self.begun.append(job)
            job.task = self._loop.create_task(self._perform(job, function))

    async def _perform(self, job: RunningJob, function: JobFunction[..., Any]) -> None:
        began = monotonic() if self._is_verbose else 0.0
        try:
            if function.process:
                outcome = await self._processes.run(function, job, self._heartbeats)
            else:
                outcome = await run(function, job, self._threads)
        except asyncio.CancelledError:
            outcome = Snoozed(None, "the worker stopped")
        except Exception as error:
            logger.exception("job %s: the worker could not run it", job.id)
            outcome = Failed(error_text(error))
        finally:
            is_ours = self.running.pop(job.claim.lease_token, None) is not None
        if not is_ours:
            return
        self._finished += 1
        if self._is_verbose and type(outcome) is Done:
            logger.debug("job %s of %s: completed in %.0f ms", job.id, job.queue, (monotonic() - began) * 1000)
        self._conclude(job, outcome)
        if self.waiting:
            self._begin_next(monotonic())
        elif not self.running:
            self._is_quiet.set()

    def _conclude(self, job: RunningJob, outcome: Outcome) -> None:
        """A job has ended: what it reported goes first, then its outcome."""
        if job.cancelled:
            outcome = Dropped(job.cancel_reason or CANCELLED)
        if type(outcome) is not Done:
            _note(job, outcome)
        if isinstance(outcome, Dropped):
            job.forget_reports()
        if job.has_unsent:
            self._heartbeats.finish(job, outcome)
        else:
            self._tell(job.claim, outcome)

    def conclude(self, job: RunningJob, outcome: Outcome) -> None:
        """All reports of a job have been heard, says the heartbeat thread."""
        self._from_thread(self._tell, job.claim, outcome)

    def _tell(self, claim: ClaimedJob, outcome: Outcome) -> None:
        message = message_of(outcome, claim.job_id, claim.lease_token)
        if message is None:
            self.credit.is_off = True
        else:
            self.outbox.add(message)
        self._flush_soon()

    def _flush_soon(self) -> None:
        """Send what there is to tell: at once if there is nothing else to do, else together with what comes next."""
        if not self.waiting or len(self.outbox) >= FLUSH_AT:
            if not self._is_flushing_now:
                self._is_flushing_now = True
                self._loop.call_soon(self.flush)
        elif self._flush_timer is None:
            self._flush_timer = self._loop.call_later(FLUSH_EVERY, self.flush)

    def flush(self) -> None:
        """Send what there is to tell."""
        self._is_flushing_now = False
        if self._flush_timer is not None:
            self._flush_timer.cancel()
            self._flush_timer = None
        self.credit.observe(self._finished, monotonic())
        self._finished = 0
        if self._line is not None:
            self._line.flush()

    def begun_jobs(self) -> list[str]:
        """The jobs that have begun, still run, and are not known to the server as received."""
        begun, self.begun = self.begun, []
        return [job.id for job in begun if job.claim.lease_token in self.running]

    def _take_all_waiting(self) -> list[tuple[ClaimedJob, float]]:
        taken = []
        with suppress(IndexError):
            while True:
                taken.append(self.waiting.popleft())
        return taken

    def lose_waiting(self, since: float) -> None:
        """The stream that was there since then is gone: the server has put back its jobs that have not begun."""
        self.waiting.extend([(claim, came) for claim, came in self._take_all_waiting() if came < since])

    def take_waiting(self, received_before: float) -> list[ClaimedJob]:
        """Take out the jobs that could not begin since then. Called by the heartbeat thread."""
        taken = []
        with suppress(IndexError):
            while self.waiting[0][1] < received_before:
                claim, came = self.waiting.popleft()
                if came >= received_before:
                    self.waiting.appendleft((claim, came))
                    break
                taken.append(claim)
        return taken

    def take_also(self, queues: list[str]) -> None:
        """Take jobs of these queues too, for which the app must have functions by now."""
        self.queues = [*self.queues, *queues]
        self.credit.is_off = True
        self._flush_soon()

    def forget_handed_back(self) -> None:
        """Jobs were handed back by the heartbeat thread: say anew how many are wanted."""

        def ask_anew() -> None:
            self.credit.is_off = True
            self._flush_soon()

        self._from_thread(ask_anew)

    def tell_cancelled(self, job: RunningJob, reason: str) -> None:
        """The work on a job is no longer wanted. Called by any thread."""
        if job.tell_cancelled(reason):
            logger.info("job %s: %s", job.id, reason)
            self._from_thread(self._loop.call_later, job.function.cancel_grace, self._end_by_force, job)

    def _end_by_force(self, job: RunningJob) -> None:
        """A thread cannot be stopped: there it is up to the function to look whether it is still wanted."""
        is_in_thread = not job.function.is_async and not job.function.process
        if job.claim.lease_token in self.running and job.task is not None and not is_in_thread:
            logger.info("job %s did not end by itself and is stopped", job.id)
            job.task.cancel()

    def _from_thread(self, call: Callable[..., Any], *args: Any) -> None:
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(call, *args)


def _note(job: RunningJob, outcome: Outcome) -> None:
    match outcome:
        case Failed():
            is_last = outcome.end is not None or job.attempt >= job.max_retries
            told = "job %s of %s, attempt %d of %d: %s%s"
            last = " (dead)" if is_last else ""
            jobs_logger.warning(told, job.id, job.queue, job.attempt, job.max_retries, outcome.error, last)
            if outcome.backtrace is not None:
                jobs_logger.debug("job %s: %s", job.id, outcome.backtrace.rstrip())
        case Dropped():
            jobs_logger.info("job %s of %s: its outcome is dropped (%s)", job.id, job.queue, outcome.reason)
