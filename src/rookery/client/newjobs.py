"""Jobs to add: what can be said about one, and how that is said to the server."""

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from difflib import get_close_matches
from typing import Any, Final, Literal, TypedDict

import msgspec
from msgspec import UNSET

from rookery.client import clock
from rookery.client.values import (
    Duration,
    JobRef,
    Time,
    duration_text,
    job_id_of,
    json_of,
    milliseconds_of,
    time_text,
    whole_seconds_of,
)

Priority = Literal["critical", "high", "normal", 0, 1, 2]
Backoff = Literal["none", "fixed", "linear", "exponential"]
OnConflict = Literal["keep", "replace", "reschedule"]
Tags = Mapping[str, str | int | float | bool | None]


class Agent(msgspec.Struct, kw_only=True):
    """Makes a job an agent job, which runs again and again until it says done. 0 means no limit."""

    max_iterations: int = 0
    max_cost_usd: float = 0.0
    iteration_timeout: Duration | None = None


class Batch(msgspec.Struct):
    """Jobs that are followed together: when all have ended, a job is enqueued in `callback_queue`, if there is one."""

    callback_queue: str | None = None
    callback_payload: Any = UNSET


class Step(msgspec.Struct):
    """A step of a chain: `Step("images.resize", {"width": 200})`."""

    queue: str
    payload: Any = UNSET


class NewJob(Step, kw_only=True):
    """A job to add: `NewJob("emails", {"to": "a@example.com"}, priority="high")`. What is None is up to the server."""

    priority: Priority | None = None
    delay: Duration | None = None
    scheduled_at: Time | None = None
    max_retries: int | None = None
    retry_backoff: Backoff | None = None
    retry_base_delay: Duration | None = None
    retry_max_delay: Duration | None = None
    max_lost_leases: int | None = None
    expire_after: Duration | None = None
    unique_key: str | None = None
    unique_period: Duration | None = None
    unique_on_conflict: OnConflict | None = None
    tags: Tags | None = None
    checkpoint: Any = None
    depends_on: Iterable[JobRef] | None = None
    parent_id: JobRef | None = None
    job_id: str | None = None
    agent: Agent | None = None
    chain: Mapping[str, Any] | None = None
    chain_id: str | None = None
    chain_step: int | None = None
    chain_config: Mapping[str, Any] | None = None


class JobOptions(TypedDict, total=False):
    """What can be said about a job beside its queue and payload; docs/python.md explains each."""

    priority: Priority | None
    delay: Duration | None
    scheduled_at: Time | None
    max_retries: int | None
    retry_backoff: Backoff | None
    retry_base_delay: Duration | None
    retry_max_delay: Duration | None
    max_lost_leases: int | None
    expire_after: Duration | None
    unique_key: str | None
    unique_period: Duration | None
    unique_on_conflict: OnConflict | None
    tags: Tags | None
    checkpoint: Any
    depends_on: Iterable[JobRef] | None
    parent_id: JobRef | None
    job_id: str | None
    agent: Agent | None
    chain: Mapping[str, Any] | None
    chain_id: str | None
    chain_step: int | None
    chain_config: Mapping[str, Any] | None


class EnqueueOptions(JobOptions, total=False):
    """The same, and what goes with the request: a mark against doubles of your own, and the trace it belongs to."""

    idempotency_key: str | None
    traceparent: str | None


def job_body(queue: str, payload: Any, options: Mapping[str, Any], where: str = "") -> dict[str, Any]:
    """A job as the API reads it. Options that there are not are refused with a TypeError, whatever is in them."""
    body: dict[str, Any] = {"queue": queue}
    if payload is not UNSET:
        body["payload"] = json_of(payload, f"{where}payload")
    for name, value in options.items():
        if name not in _OPTIONS:
            raise unknown_name(name, _OPTIONS, f"{where}a job has no option")
        if value is not None:
            convert = _CONVERSIONS.get(name)
            body[name] = value if convert is None else convert(value, where + name)
    if "delay" in body:
        _say_when(body, where)
    return body


def new_job_body(job: "NewJob | Mapping[str, Any]", where: str) -> dict[str, Any]:
    """One of many jobs as the API reads it."""
    if isinstance(job, NewJob):
        options = {name: getattr(job, name) for name in _OPTIONS}
        return job_body(job.queue, job.payload, options, where)
    options = dict(job)
    if "queue" not in options:
        raise TypeError(f"{where}queue is missing")
    return job_body(options.pop("queue"), options.pop("payload", UNSET), options, where)


def batch_body(batch: Batch) -> dict[str, Any]:
    """A batch as the API reads it."""
    body: dict[str, Any] = {"callback_queue": batch.callback_queue}
    if batch.callback_payload is not UNSET:
        body["callback_payload"] = json_of(batch.callback_payload, "batch.callback_payload")
    return body


def unknown_name(name: str, known: Iterable[str], complaint: str) -> TypeError:
    """An error about a name that was probably meant to be another."""
    close = get_close_matches(name, known, n=1)
    return TypeError(f"{complaint} {name!r}{f' (did you mean {close[0]!r}?)' if close else ''}")


def _say_when(body: dict[str, Any], where: str) -> None:
    """A delay is a time from now on."""
    delay = body.pop("delay")
    if "scheduled_at" in body:
        raise ValueError(f"{where}delay and scheduled_at exclude each other")
    if delay:
        body["scheduled_at"] = (clock.now() + timedelta(milliseconds=delay)).isoformat()


def _agent_body(agent: Agent, field: str) -> dict[str, Any]:
    timeout = agent.iteration_timeout
    return {
        "max_iterations": agent.max_iterations,
        "max_cost_usd": agent.max_cost_usd,
        "iteration_timeout": None if timeout is None else duration_text(timeout, f"{field}.iteration_timeout"),
    }


def _job_ids(jobs: Iterable[JobRef], field: str) -> list[str]:
    if isinstance(jobs, str):
        raise TypeError(f"{field} must be a list of jobs")
    return [job_id_of(job) for job in jobs]


_OPTIONS: Final = tuple(name for name in NewJob.__struct_fields__ if name not in ("queue", "payload"))
_CONVERSIONS: Final[dict[str, Callable[[Any, str], Any]]] = {
    "delay": milliseconds_of,
    "scheduled_at": time_text,
    "retry_base_delay": duration_text,
    "retry_max_delay": duration_text,
    "expire_after": duration_text,
    "unique_period": whole_seconds_of,
    "tags": json_of,
    "checkpoint": json_of,
    "depends_on": _job_ids,
    "parent_id": lambda job, _: job_id_of(job),
    "agent": _agent_body,
    "chain": json_of,
    "chain_config": json_of,
}
