"""How an attempt ends: what a handler may return or raise to steer its job, and what the server is told of it."""

from typing import Final, Literal

import msgspec

from rookery.client.values import Duration, milliseconds_of
from rookery.model.durations import format_duration

LONGEST_BACKTRACE: Final = 20_000
LONGEST_ERROR: Final = 4_000


class Steering(Exception):
    """What a handler returns, or raises, to say itself what becomes of its job."""


def _require(is_right: bool, rule: str, given: object) -> None:
    """A server would refuse the wrong type when the job has ended, and the job would run again and again."""
    if not is_right:
        raise TypeError(f"{rule}, not {given!r}")


class Snooze(Steering):
    """Run the job again after a while; the attempt does not count."""

    def __init__(self, delay: Duration, reason: str | None = None) -> None:
        _require(reason is None or isinstance(reason, str), "Snooze: reason must be text", reason)
        super().__init__(delay, reason)
        self.delay = format_duration(milliseconds_of(delay, "delay"))
        self.reason = reason


class Cancel(Steering):
    """The job is no longer wanted: it ends as cancelled."""

    def __init__(self, reason: str = "cancelled by its handler") -> None:
        _require(isinstance(reason, str), "Cancel: reason must be text", reason)
        super().__init__(reason)
        self.reason = reason


class Retry(Steering):
    """The attempt has failed; try again, after a while of the handler's choice if `after` is given."""

    def __init__(self, after: Duration | None = None, error: str | BaseException | None = None) -> None:
        is_error = error is None or isinstance(error, str | BaseException)
        _require(is_error, "Retry: error must be text or an exception", error)
        super().__init__(after, error)
        self.after = None if after is None else format_duration(milliseconds_of(after, "after"))
        self.error = error


class Dead(Steering):
    """There is no use in trying again: the job is dead, with this error and nothing else."""

    def __init__(self, error: str) -> None:
        super().__init__(error)
        self.error = error


class Done(msgspec.Struct, frozen=True):
    """The job is completed; `result` is JSON, or None if there is none."""

    result: msgspec.Raw | None = None


class Failed(msgspec.Struct, frozen=True):
    """The attempt has failed. `end` says that there is to be no other, `retry_after` when the next one is."""

    error: str
    backtrace: str | None = None
    retry_after: str | None = None
    end: Literal["dead"] | None = None


class Snoozed(msgspec.Struct, frozen=True):
    """The claim is undone; the job comes again, after `delay` if there is one."""

    delay: str | None = None
    reason: str | None = None


class Cancelled(msgspec.Struct, frozen=True):
    """The job ends as cancelled, because its handler said so."""

    reason: str


class Dropped(msgspec.Struct, frozen=True):
    """The server is told nothing: it has cancelled the job or given it to somebody else."""

    reason: str


Outcome = Done | Failed | Snoozed | Cancelled | Dropped
