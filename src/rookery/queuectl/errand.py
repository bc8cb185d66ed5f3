"""One job in the hands of a worker: its command is run and logged, and its outcome put into operations."""

import os
from collections.abc import Callable
from functools import cache
from shlex import quote
from typing import Final

import msgspec

from rookery.engine.ops import (
    Ack,
    AddToTally,
    AnyOperation,
    ClaimedJob,
    Completion,
    Fail,
    Failure,
    LoseLeases,
    LostJob,
)
from rookery.queuectl import leftovers, tallies
from rookery.queuectl.home import Home, now_ms
from rookery.queuectl.joblog import JobLog
from rookery.queuectl.shell import CANNOT_START, Ran, ShellRun

BEAT_EVERY: Final = 5.0
"""Seconds between two signs of life."""


class ShellPayload(msgspec.Struct, frozen=True):
    """What a job of a shell queue carries."""

    command: str
    timeout: float | None = None


class Errand:
    """One run of one job."""

    def __init__(self, home: Home, job: ClaimedJob) -> None:
        self.job = job
        self._home = home
        self._payload = _payload_of(job)
        settings = home.settings()
        timeout = self._payload.timeout
        self._run = ShellRun(
            self._payload.command,
            environment={
                **_environment(),
                "QUEUECTL_JOB_ID": job.job_id,
                "QUEUECTL_ATTEMPT": str(job.attempt),
                leftovers.MARK: leftovers.mark(home, job.job_id, job.attempt),
            },
            timeout=settings.job_timeout if timeout is None else timeout,
            kill_grace=settings.kill_grace,
        )

    def do(self, show_life: Callable[[], None]) -> Ran:
        """Run the command and log it; `show_life` is called again and again meanwhile."""
        log = JobLog(self._home.log_path(self.job.job_id))
        log.begin(now_ms(), self.job.attempt, self._payload.command)
        try:
            ran = self._run.run(log.write, show_life, BEAT_EVERY)
            log.end(in_words(ran), ran.duration)
        finally:
            log.close()
        return ran

    def stop(self) -> None:
        """End the command before its time: at once, when said twice."""
        self._run.stop()

    def outcome(self, ran: Ran) -> list[AnyOperation]:
        """What there is to record. A run that was stopped is as good as lost: it says nothing about the job."""
        job = self.job
        if ran.was_stopped:
            return [LoseLeases(items=[LostJob(job.job_id, job.lease)])]
        face = _json({"exit_code": ran.exit_code})
        if not ran.error:
            result = {
                "exit_code": ran.exit_code,
                "duration_ms": round(ran.duration * 1000),
                "stdout_tail": ran.stdout_tail,
                "stderr_tail": ran.stderr_tail,
            }
            done = Completion(job.job_id, lease=job.lease, result=_json(result), face=face)
            return [self._count("success", ran), Ack(items=[done])]
        failure = Failure(job.job_id, lease=job.lease, error=ran.error, face=face)
        return [self._count("timeout" if ran.timed_out else "failure", ran), Fail(items=[failure])]

    def _count(self, outcome: str, ran: Ran) -> AddToTally:
        """Comes before the outcome itself, because it counts only while the job is still held."""
        is_retried = outcome != "success" and self.job.attempt < self.job.max_retries
        counted = tallies.run_ended(outcome, ran.duration, is_retried=is_retried)
        return msgspec.structs.replace(counted, job_id=self.job.job_id, lease=self.job.lease)


def in_words(ran: Ran) -> str:
    """How it went, shortly."""
    if ran.was_stopped:
        return "stopped"
    timed_out = " (timed out)" if ran.timed_out else ""
    cannot_start = f" ({ran.error})" if ran.exit_code == CANNOT_START and ran.error.startswith("cannot start") else ""
    return f"exit code {ran.exit_code}{timed_out}{cannot_start}"


@cache
def _environment() -> dict[str, str]:
    """That of the worker, which nobody changes."""
    return dict(os.environ)


def _payload_of(job: ClaimedJob) -> ShellPayload:
    """The command to run. A job that has none was not made by `queuectl`; it fails like any other."""
    try:
        return msgspec.json.decode(job.payload, type=ShellPayload)
    except msgspec.DecodeError as error:
        return ShellPayload(f"echo {quote(f'no command in the payload: {error}')} >&2; exit {CANNOT_START}")


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
