"""Shell commands as jobs of a server: an app of the SDK whose every queue runs what its payloads say.

Leases, heartbeats and the telling of outcomes are the SDK's; the running itself is `shell.py`.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, Final

from rookery.client.functions.app import App
from rookery.client.functions.current import CurrentJob, current_job
from rookery.client.functions.outcomes import Dead, Retry, Snooze
from rookery.client.functions.signatures import InvalidPayload
from rookery.queuectl.errand import in_words
from rookery.queuectl.home import now_ms
from rookery.queuectl.joblog import first_line, last_line
from rookery.queuectl.notices import refusal_told, run_told
from rookery.queuectl.remote.rows import EXIT_CODE
from rookery.queuectl.settings import LONGEST_TIME
from rookery.queuectl.shell import Ran, ShellRun, readable

KILL_GRACE: Final = 5.0
_SECRETS: Final = ("ROOKERY_API_KEY", "CORVO_API_KEY")
"""What a worker needs and its commands do not: whoever adds a job would have the worker's key."""
_LOOK_EVERY: Final = 0.5
"""Seconds, at the most, until a command that was asked to end and did not is killed after its time."""
_HURRY: Final = 0.1
"""The same for a worker that must be gone within a moment."""
_MOST_LINES: Final = 2000
_MOST_CHARACTERS: Final = 200_000
_LONGEST_LINE: Final = 4000


class ShellJobs:
    """Runs the commands of any number of queues, at most `concurrency` at a time."""

    def __init__(
        self,
        url: str | None,
        api_key: str | None,
        namespace: str | None,
        *,
        concurrency: int,
        kill_grace: Callable[[], float] = lambda: KILL_GRACE,
        job_timeout: Callable[[], float | None] = lambda: None,
        wait_after: Callable[[int], float | None] = lambda attempt: None,
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.app = App(
            url, api_key=api_key, namespace=namespace, lifespan=self._threads_there, middleware=[self._refusals_told]
        )
        self._concurrency = concurrency
        self._kill_grace = kill_grace
        self._job_timeout = job_timeout
        self._wait_after = wait_after
        self._tell = tell
        self._runs: set[ShellRun] = set()
        self._is_stopping = False
        self._environment = {name: value for name, value in os.environ.items() if name not in _SECRETS}

    def serve(self, queue: str) -> None:
        """Run the commands of a queue."""
        grace = self._kill_grace() + KILL_GRACE
        self.app.job(queue=queue, cancel_grace=grace)(self.run_command)

    def stop_running(self) -> None:
        """End all commands before their time, gently; at once, when said again. Their jobs go back to the server."""
        self._is_stopping = True
        for run in list(self._runs):
            run.stop()

    @asynccontextmanager
    async def _threads_there(self, _: App) -> AsyncIterator[None]:
        self._threads = ThreadPoolExecutor(self._concurrency, "rookery-shell")
        try:
            yield
        finally:
            self._threads.shutdown(wait=False)

    async def _refusals_told(self, job: CurrentJob, call_next: Callable[[CurrentJob], Awaitable[Any]]) -> Any:
        try:
            try:
                return await call_next(job)
            except InvalidPayload:
                raise Dead("the payload must be an object with a `command`") from None
        except Dead as refusal:
            self._tell(refusal_told(job.id, job.attempt, job.max_retries, refusal.error))
            raise

    async def run_command(self, command: Any = None, timeout: Any = None, **rest: Any) -> Any:
        """Run one command, and say what becomes of its job."""
        job = current_job()
        run = ShellRun(
            _command(command),
            environment={**self._environment, "QUEUECTL_JOB_ID": job.id, "QUEUECTL_ATTEMPT": str(job.attempt)},
            timeout=_timeout(timeout) or self._job_timeout(),
            kill_grace=self._kill_grace(),
        )
        self._runs.add(run)
        try:
            if self._is_stopping:
                run.stop()
            ran = await self._run(run, job, command)
        finally:
            self._runs.discard(run)
        wait = self._wait_after(job.attempt) if ran.error else None
        reason = (job.cancel_reason or "") if job.cancelled else ""
        self._tell(run_told(job.id, ran, job.attempt, job.max_retries, wait, reason))
        if ran.was_stopped:
            return Snooze(0, "the command was stopped")
        if ran.error:
            job.progress({EXIT_CODE: ran.exit_code})
            return Retry(wait, ran.error)
        return {
            EXIT_CODE: ran.exit_code,
            "duration_ms": round(ran.duration * 1000),
            "stdout_tail": ran.stdout_tail,
            "stderr_tail": ran.stderr_tail,
        }

    async def _run(self, run: ShellRun, job: CurrentJob, command: str) -> Ran:
        """Run it in a thread. If nobody can wait for its end any more, it is over before this is."""
        work = asyncio.get_running_loop().run_in_executor(self._threads, _run_and_log, run, job, command)
        try:
            with job.told_when_cancelled(run.stop):
                return await asyncio.shield(work)
        except asyncio.CancelledError:
            run.stop()
            await asyncio.wait({work}, timeout=_HURRY)
            run.stop()
            await asyncio.wait({work})
            raise


def _run_and_log(run: ShellRun, job: CurrentJob, command: str) -> Ran:
    log = OutputLog(job)
    log.say(first_line(now_ms(), job.attempt, command))
    ran = run.run(log.write, lambda: None, _LOOK_EVERY)
    log.end()
    log.say(last_line(in_words(ran), ran.duration))
    return ran


def _command(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise Dead("`command` must be text that is not blank")
    return value


def _timeout(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= LONGEST_TIME:
        raise Dead("`timeout` must be a number of seconds above 0, or null")
    return float(value)


class OutputLog:
    """The output of one run as lines of the job's log. However much it is, only the beginning of it is sent."""

    def __init__(self, job: CurrentJob) -> None:
        self._job = job
        self._rest = b""
        self._lines = 0
        self._characters = 0
        self._is_full = False

    def say(self, line: str) -> None:
        """Add a line that the command has not written."""
        self._job.log(line)

    def write(self, data: bytes) -> None:
        """Add what the command says."""
        if self._is_full:
            return
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._add(line)
        while len(self._rest) > _LONGEST_LINE:
            self._add(self._rest[:_LONGEST_LINE])
            self._rest = self._rest[_LONGEST_LINE:]

    def end(self) -> None:
        """Nothing more comes; what has no line end is a line all the same."""
        if self._rest and not self._is_full:
            self._add(self._rest)

    def _add(self, line: bytes) -> None:
        text = readable(line)
        self._lines += 1
        self._characters += len(text)
        if self._is_full:
            return
        if self._lines > _MOST_LINES or self._characters > _MOST_CHARACTERS:
            self._is_full = True
            self._rest = b""
            self.say("--- the rest of the output is not kept")
        else:
            self._job.log(text)
