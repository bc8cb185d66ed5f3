"""The job that a handler is working on, wherever the handler runs: on the loop, in a thread, in a process."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, Protocol

import msgspec

from rookery.client import clock
from rookery.client.functions.claimed import ClaimedJob
from rookery.client.values import json_of, sendable

CANCELLED: Final = "cancelled"
LEASE_LOST: Final = "lease lost"


class JobCancelled(Exception):
    """The work is no longer wanted: somebody cancelled the job, or it was given to another worker."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class LogLine(msgspec.Struct, omit_defaults=True):
    """Something a handler said."""

    message: str
    level: str
    at: str
    attempt: int


class JobReports(Protocol):
    """Where a handler's reports go. Called from any thread; must not block."""

    def report(self, job: "CurrentJob", progress: msgspec.Raw | None, checkpoint: msgspec.Raw | None) -> None:
        """Keep what a job says of itself, as JSON; None means unchanged."""

    def log(self, job: "CurrentJob", line: LogLine) -> None:
        """Add a line to the job's log."""


class CurrentJob:
    """A job under way: what it is, and what its handler can say of it."""

    __slots__ = ("_cancelled", "_checkpoint", "_reports", "_waiters", "cancel_reason", "claim", "log_level", "state")

    def __init__(self, claim: ClaimedJob, reports: JobReports, state: Any = None, log_level: int = 100) -> None:
        self.claim = claim
        self.log_level = log_level
        """From which level on records of `logging` are kept in the job's log."""
        self.state = state
        """What the app's lifespan has given."""
        self.cancel_reason: str | None = None
        """`cancelled` or `lease lost`, when the work is no longer wanted."""
        self._reports = reports
        self._checkpoint = claim.checkpoint
        self._waiters: list[Callable[[], object]] | None = None
        self._cancelled = False

    def __repr__(self) -> str:
        return f"<job {self.id} of {self.queue}, attempt {self.attempt}>"

    @property
    def id(self) -> str:
        """The job's id."""
        return self.claim.job_id

    @property
    def queue(self) -> str:
        """The queue it came from."""
        return self.claim.queue

    @property
    def attempt(self) -> int:
        """Which attempt this is, from 1."""
        return self.claim.attempt

    @property
    def max_retries(self) -> int:
        """How many attempts there are in all."""
        return self.claim.max_retries

    @property
    def priority(self) -> int:
        """Its rank: 0 critical, 1 high, 2 normal."""
        return self.claim.priority

    @property
    def traceparent(self) -> str | None:
        """The W3C trace context of whoever enqueued it."""
        return self.claim.traceparent

    @property
    def payload(self) -> Any:
        """The payload as it came, in plain Python values."""
        return msgspec.json.decode(self.claim.payload)

    @property
    def tags(self) -> dict[str, str | int | float | bool | None]:
        """Its tags."""
        return self.claim.tags or {}

    @property
    def agent(self) -> Any:
        """Limits and state of an agent job, None for others."""
        return msgspec.json.decode(self.claim.agent) if self.claim.agent else None

    @property
    def checkpoint(self) -> Any:
        """What an earlier attempt, or this one, has saved; None if nothing."""
        return msgspec.json.decode(self._checkpoint) if self._checkpoint else None

    def save_checkpoint(self, value: Any) -> None:
        """Keep a value for the next attempt. It is sent at once, and always ahead of the attempt's outcome."""
        text = json_of(value, "checkpoint")
        self._checkpoint = text
        self._reports.report(self, None, text)

    def progress(self, value: Any) -> None:
        """Say how far the job is: any JSON value. When they come fast only the newest is sent."""
        self._reports.report(self, json_of(value, "progress"), None)

    def log(self, message: str, level: str = "info") -> None:
        """Add a line to the job's log."""
        at = clock.now().isoformat(timespec="microseconds").replace("+00:00", "Z")
        self._reports.log(self, LogLine(sendable(message), sendable(level), at, self.attempt))

    @property
    def cancelled(self) -> bool:
        """Whether the work is no longer wanted; `cancel_reason` says why."""
        return self._cancelled

    def raise_if_cancelled(self) -> None:
        """Raise JobCancelled if the work is no longer wanted."""
        if self._cancelled:
            raise JobCancelled(self.cancel_reason or CANCELLED)

    async def wait_cancelled(self) -> str:
        """Wait until the work is no longer wanted; the reason."""
        loop = asyncio.get_running_loop()
        told = asyncio.Event()
        with self.told_when_cancelled(lambda: loop.call_soon_threadsafe(told.set)):
            await told.wait()
        return self.cancel_reason or CANCELLED

    @contextmanager
    def told_when_cancelled(self, tell: Callable[[], object]) -> Iterator[None]:
        """While it lasts, `tell` is called when the work is no longer wanted, from any thread."""
        with _TELLING:
            is_late = self._cancelled
            self._waiters = [*(self._waiters or ()), tell]
        try:
            if is_late:
                tell()
            yield
        finally:
            with _TELLING:
                self._waiters = [waiter for waiter in self._waiters or () if waiter is not tell]

    def tell_cancelled(self, reason: str) -> bool:
        """The work is no longer wanted. True the first time. Called by whoever runs the job, from any thread."""
        with _TELLING:
            if self._cancelled:
                return False
            self.cancel_reason = reason
            self._cancelled = True
            waiters = self._waiters or ()
        for tell in waiters:
            tell()
        return True


_TELLING: Final = threading.Lock()
_current: ContextVar[CurrentJob] = ContextVar("rookery_job")


def current_job() -> CurrentJob:
    """The job that this code runs for. Raises LookupError outside of one."""
    try:
        return _current.get()
    except LookupError:
        raise LookupError("current_job() is only for code that runs as part of a job") from None
