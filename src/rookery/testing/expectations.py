"""What a test expects of the jobs that were enqueued, and how it is told what there was instead."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from types import EllipsisType
from typing import Any, Final, TypedDict

import msgspec

from rookery.client.functions.functions import JobFunction
from rookery.client.functions.signatures import InvalidPayload
from rookery.client.newjobs import Priority, unknown_name
from rookery.client.records import Job
from rookery.client.values import Duration, Time, json_of, milliseconds_of, time_text
from rookery.model.durations import format_duration
from rookery.model.instants import format_instant, parse_instant
from rookery.model.job import PRIORITY_RANKS, priority_name

AnyFunction = JobFunction[..., Any]
Seen = tuple[Job, AnyFunction | None]
"""A job that was enqueued, and the function that takes it, if there is one."""

_LONGEST_VALUE: Final = 200
_MOST_SHOWN: Final = 20
_MISSING: Final = object()


class Options(TypedDict, total=False):
    """What can be expected of a job beside its arguments: these tags and maybe more, and what `where` says of it."""

    queue: str | None
    priority: Priority | None
    tags: Mapping[str, Any] | None
    scheduled_at: Time | Callable[[datetime], bool] | EllipsisType | None
    delay: Duration | None
    unique_key: str | None
    where: Callable[[Job], bool] | None


class Expectation:
    """A job that a test expects, as far as it says."""

    def __init__(self, what: AnyFunction | str | None, arguments: Mapping[str, Any], options: Options) -> None:
        __tracebackhide__ = True
        self._function = what if isinstance(what, JobFunction) else None
        self._queue = what.queue if isinstance(what, JobFunction) else what
        self._arguments = arguments
        self._options = options
        if what is not None and not isinstance(what, JobFunction | str):
            raise TypeError(f"expected a job function or the name of a queue, not {what!r}")
        if self._function is not None:
            _check_names(self._function, arguments)
        priority = options.get("priority")
        if priority is not None and priority not in (*PRIORITY_RANKS, *PRIORITY_RANKS.values()):
            raise ValueError(f"priority must be one of {', '.join(PRIORITY_RANKS)}, not {priority!r}")

    def concerns(self, job: Job, function: AnyFunction | None) -> bool:
        """Whether the job is at least one of the function or queue that is meant."""
        if self._function is not None:
            return function is self._function
        return self._queue is None or job.queue == self._queue

    def fits(self, job: Job, function: AnyFunction | None) -> bool:
        """Whether the job is one like that."""
        return self.concerns(job, function) and not self.differences(job, function)

    def differences(self, job: Job, function: AnyFunction | None) -> list[str]:
        """What is otherwise, a line each."""
        options = self._options
        lines = _argument_differences(self._arguments, job, function)
        queue, priority, key = options.get("queue"), options.get("priority"), options.get("unique_key")
        if queue is not None and job.queue != queue:
            lines.append(f"queue is {job.queue}, not {queue}")
        if priority is not None and priority not in (job.priority, job.priority_name):
            lines.append(f"priority is {job.priority_name}, not {_priority_text(priority)}")
        if key is not None and job.unique_key != key:
            lines.append(f"unique_key is {_shown(job.unique_key)}, not {_shown(key)}")
        for name, value in (options.get("tags") or {}).items():
            lines += _difference(f"tag {name}", value, (job.tags or {}).get(name, _MISSING))
        lines += self._time_differences(job)
        where = options.get("where")
        if where is not None and not where(job):
            lines.append(f"{name_of(where)} says no")
        return lines

    def _time_differences(self, job: Job) -> list[str]:
        expected, delay, due = self._options.get("scheduled_at", ...), self._options.get("delay"), job.scheduled_at
        is_late = "is not scheduled" if due is None else f"is scheduled for {_time(due)}"
        if delay is not None:
            length = 0 if due is None else _milliseconds(due) - _milliseconds(job.created_at)
            if length != milliseconds_of(delay, "delay"):
                wanted = format_duration(milliseconds_of(delay, "delay"))
                return [f"delay is {format_duration(length) if length else 'none'}, not {wanted}"]
        if expected is ... or isinstance(expected, EllipsisType):
            return []
        if expected is None:
            return [] if due is None else [f"it {is_late}, not for at once"]
        if callable(expected):
            return [] if due is not None and expected(due) else [f"it {is_late}: {name_of(expected)} says no"]
        wanted_ms = parse_instant(time_text(expected, "scheduled_at"))
        if due is not None and _milliseconds(due) == wanted_ms:
            return []
        return [f"it {is_late}, not for {format_instant(wanted_ms)}"]

    def __str__(self) -> str:
        name = name_of(self._function) if self._function is not None else self._queue or "any job"
        text = f"{name}({', '.join(f'{key}={_expected(value)}' for key, value in self._arguments.items())})"
        said = [
            f"{key} {_expected(value)}"
            for key, value in self._options.items()
            if value is not ... and (value is not None or key == "scheduled_at")
        ]
        return ", ".join([text, *said])


def described(job: Job, function: AnyFunction | None) -> str:
    """A job in a line, as a call of its function."""
    payload = job.payload
    if isinstance(payload, dict):
        arguments = ", ".join(f"{key}={_shown(value)}" for key, value in payload.items())
    else:
        arguments = _shown(payload)
    parts = [f"{job.queue if function is None else name_of(function)}({arguments})"]
    if job.priority_name != "normal":
        parts.append(f"priority {job.priority_name}")
    if job.tags:
        parts.append(f"tags {_shown(job.tags)}")
    if job.unique_key:
        parts.append(f"unique_key {_shown(job.unique_key)}")
    if job.scheduled_at is not None:
        parts.append(f"scheduled for {_time(job.scheduled_at)}")
    return ", ".join(parts)


def not_enqueued(expected: Expectation, found: int, times: int | None, seen: Sequence[Seen]) -> str:
    """What to say when there are not as many jobs as were expected."""
    if times is None:
        head = f"no job was enqueued like\n    {expected}"
    else:
        head = f"expected {_times(times)} like\n    {expected}\nbut found {found}{' (*)' if found else ''}"
    if not seen:
        return f"{head}\n\nnothing was enqueued at all"
    return f"{head}\n\n{_listed(expected, seen)}"


def was_enqueued(expected: Expectation, found: Sequence[Seen]) -> str:
    """What to say when there are jobs that there should not be."""
    lines = [f"expected no job like\n    {expected}\n\nbut found {_times(len(found))}:"]
    lines += [f"  {described(*job)}" for job in found[:_MOST_SHOWN]]
    return "\n".join([*lines, *_rest(found)])


def _listed(expected: Expectation, seen: Sequence[Seen]) -> str:
    """The jobs that there are, the most alike first, with what is otherwise about them."""
    alike = [(expected.differences(*job), job) for job in seen if expected.concerns(*job)]
    others = [job for job in seen if not expected.concerns(*job)]
    blocks = []
    for differences, job in sorted(alike, key=lambda pair: len(pair[0])):
        mark = " " if differences else "*"
        blocks.append("\n".join([f"{mark} {described(*job)}", *(f"      {line}" for line in differences)]))
    blocks += [f"  {described(*job)}" for job in others]
    return "\n".join([f"enqueued {'was' if len(seen) == 1 else 'were'}:", *blocks[:_MOST_SHOWN], *_rest(seen)])


def _rest(seen: Sequence[Seen]) -> list[str]:
    return [f"  … and {len(seen) - _MOST_SHOWN} more"] if len(seen) > _MOST_SHOWN else []


def _check_names(function: AnyFunction, arguments: Mapping[str, Any]) -> None:
    """An argument that there is not would never be found, nor missed."""
    __tracebackhide__ = True
    parameters = inspect.signature(function.function).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return
    for name in arguments:
        if name not in function.signature.fields:
            raise unknown_name(name, function.signature.fields, f"{name_of(function)} has no parameter")


def _argument_differences(expected: Mapping[str, Any], job: Job, function: AnyFunction | None) -> list[str]:
    plain = job.payload if isinstance(job.payload, dict) else {}
    typed: dict[str, Any] = {}
    if expected and function is not None:
        try:
            typed = function.signature.keywords(json_of(job.payload, "payload"))
        except InvalidPayload as error:
            return [str(error)]
    lines: list[str] = []
    for name, value in expected.items():
        actual = plain.get(name, _MISSING)
        lines += _difference(name, value, actual, typed.get(name, actual))
    return lines


def _difference(name: str, expected: Any, plain: Any, typed: Any = _MISSING) -> list[str]:
    typed = plain if typed is _MISSING else typed
    if typed is _MISSING:
        return [f"{name} is not there, expected {_expected(expected)}"]
    if _is_match(expected, plain, typed):
        return []
    says = " says no" if callable(expected) else ""
    return [f"{name} is {_shown(typed if plain is _MISSING else plain)}, not {_expected(expected)}{says}"]


def _is_match(expected: Any, plain: Any, typed: Any) -> bool:
    """Equal as the function would see it or as JSON; or of that type; or as a predicate says."""
    if expected in (typed, plain):
        return True
    if isinstance(expected, type):
        return isinstance(typed, expected)
    if callable(expected):
        return bool(expected(typed))
    try:
        return bool(msgspec.json.decode(json_of(expected, "value")) == plain)
    except (TypeError, ValueError):
        return False


def _shown(value: Any) -> str:
    """A value as JSON, or else as Python shows it; not too much of it."""
    try:
        text = bytes(json_of(value, "value")).decode()
    except (TypeError, ValueError):
        text = repr(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"


def _expected(value: Any) -> str:
    return name_of(value) if callable(value) else _shown(value)


def name_of(value: Any) -> str:
    """What people call a function."""
    return getattr(value, "__name__", None) or repr(value)


def _priority_text(priority: Priority) -> str:
    return priority_name(priority) if isinstance(priority, int) else priority


def _times(count: int) -> str:
    return f"{count} {'job' if count == 1 else 'jobs'}"


def _milliseconds(time: datetime) -> int:
    return round(time.timestamp() * 1000)


def _time(time: datetime) -> str:
    return format_instant(_milliseconds(time))
