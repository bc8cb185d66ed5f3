"""Values that callers give, as the API wants them: payloads, durations, times, ids of jobs."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

import msgspec

from rookery.client.records import Enqueued, FetchedJob, Job, JobSummary
from rookery.model.durations import format_duration, parse_duration

Duration = str | timedelta | float
"""`"5m"`, `timedelta(minutes=5)`, or seconds."""
Time = datetime | str
"""A datetime that knows its time zone, or text like `2026-02-10T12:00:00Z`."""
Day = datetime | date | str
"""The same, or a day."""
JobRef = str | Enqueued | FetchedJob | Job | JobSummary
"""A job by its id, or as any call has returned it."""

_MILLISECOND: Final = timedelta(milliseconds=1)


def job_id_of(job: JobRef) -> str:
    """The id of a job."""
    if isinstance(job, str):
        return job
    return job.job_id if isinstance(job, Enqueued | FetchedJob) else job.id


def lease_of(job: JobRef, given: str | None) -> str | None:
    """The lease token that goes with a message about a job: the given one, or that of the fetched job."""
    return job.lease_token if given is None and isinstance(job, FetchedJob) else given


def json_of(value: Any, field: str) -> msgspec.Raw:
    """Any value as JSON: what msgspec knows, and models of pydantic."""
    try:
        return msgspec.Raw(_encode(value))
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{field} cannot be written as JSON: {error}") from None


def sendable(text: str) -> str:
    """The text, with a question mark for whatever UTF-8 has no bytes for (half of a surrogate pair)."""
    return str(text).encode("utf-8", "replace").decode()


def _plain(value: Any) -> Any:
    """A value that msgspec does not know, in the words of one that it knows."""
    dump: Callable[..., Any] | None = getattr(value, "model_dump", None)
    if dump is not None:
        return dump(mode="json")
    raise TypeError(f"objects of type {type(value).__qualname__} are not supported")


_encode: Final = msgspec.json.Encoder(enc_hook=_plain).encode


def milliseconds_of(value: Duration, field: str) -> int:
    """A duration in whole milliseconds; any part of one counts as a whole one. Raises ValueError."""
    if isinstance(value, str):
        try:
            return parse_duration(value)
        except ValueError as error:
            raise ValueError(f"{field}: {error}") from None
    length = value if isinstance(value, timedelta) else timedelta(seconds=value)
    if length < timedelta(0):
        raise ValueError(f"{field} must not be negative")
    return -(-length // _MILLISECOND)


def duration_text(value: Duration, field: str) -> str:
    """A duration as the API reads it; text goes as it is."""
    return value if isinstance(value, str) else format_duration(milliseconds_of(value, field))


def seconds_of(value: Duration, field: str) -> float:
    """A duration in seconds."""
    return float(value) if isinstance(value, int | float) else milliseconds_of(value, field) / 1000


def whole_seconds_of(value: Duration, field: str) -> int:
    """A duration in whole seconds, at least as long."""
    return -(-milliseconds_of(value, field) // 1000)


def time_text(value: Day, field: str) -> str:
    """A point in time as the API reads it; text goes as it is."""
    if isinstance(value, datetime) and value.tzinfo is None:
        raise ValueError(f"{field}: {value.isoformat()} has no time zone (use datetime.now(UTC), or .astimezone())")
    if isinstance(value, str):
        return value
    return value.astimezone(UTC).isoformat() if isinstance(value, datetime) else value.isoformat()
