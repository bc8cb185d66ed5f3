"""Producing: one job, many jobs, chains."""

import os
import sys
from collections.abc import Iterable, Mapping
from time import time_ns
from typing import Any, Final

import msgspec
from msgspec import UNSET

from rookery.client.newjobs import Batch, NewJob, Step, batch_body, job_body, new_job_body
from rookery.client.records import Enqueued, EnqueuedMany
from rookery.client.transport.requests import API, Request, answer_as
from rookery.client.values import json_of

StepLike = Step | tuple[str, Any] | str
"""A step with its payload, or only the name of its queue."""

_encode: Final = msgspec.json.Encoder().encode
_read_enqueued: Final = answer_as(Enqueued)
_read_enqueued_many: Final = answer_as(EnqueuedMany)


def enqueue(queue: str, payload: Any, options: Mapping[str, Any]) -> Request[Enqueued]:
    """Add one job."""
    options = dict(options)
    headers = _marks(options)
    return _enqueue(job_body(queue, payload, options), headers)


def enqueue_many(
    jobs: Iterable[NewJob | Mapping[str, Any]],
    batch: Batch | None,
    idempotency_key: str | None,
    traceparent: str | None,
) -> Request[EnqueuedMany]:
    """Add many jobs, all or none."""
    bodies = [new_job_body(job, f"jobs[{number}]: ") for number, job in enumerate(jobs)]
    headers = _marks({"idempotency_key": idempotency_key, "traceparent": traceparent})
    body: dict[str, Any] = {"jobs": bodies}
    if batch is not None:
        body["batch"] = batch_body(batch)
    return Request("POST", f"{API}/enqueue/batch", _read_enqueued_many, body=_encode(body), headers=headers)


def chain(
    steps: Iterable[StepLike], on_failure: StepLike | None, on_exit: StepLike | None, options: Mapping[str, Any]
) -> Request[Enqueued]:
    """Add the first job of a chain; the others follow it."""
    listed = [_as_step(step) for step in steps]
    if not listed:
        raise ValueError("steps is empty")
    first = listed[0]
    first_options = _own_options(first)
    for number, step in enumerate(listed[1:], 1):
        if _own_options(step):
            raise ValueError(f"steps[{number}]: only the first step can have options, the others a queue and a payload")
    options = {**first_options, **options}
    headers = _marks(options)
    body = job_body(first.queue, UNSET, options)
    body["chain"] = {
        "steps": [_step_body(step, f"steps[{number}].") for number, step in enumerate(listed)],
        "on_failure": None if on_failure is None else _step_body(_as_step(on_failure), "on_failure."),
        "on_exit": None if on_exit is None else _step_body(_as_step(on_exit), "on_exit."),
    }
    return _enqueue(body, headers)


def _enqueue(body: dict[str, Any], headers: dict[str, str]) -> Request[Enqueued]:
    return Request("POST", f"{API}/enqueue", _read_enqueued, body=_encode(body), headers=headers)


def _marks(options: dict[str, Any]) -> dict[str, str]:
    """The headers: a mark by which the server knows the same request when it comes again, and the trace."""
    key = options.pop("idempotency_key", None)
    if key is not None and options.get("delay") is not None:
        raise ValueError(
            "with an idempotency_key of your own use scheduled_at: a delay makes every request another one"
        )
    headers = {"idempotency-key": _new_key() if key is None else key}
    traceparent = options.pop("traceparent", None) or _current_trace()
    if traceparent is not None:
        headers["traceparent"] = traceparent
    return headers


def _new_key() -> str:
    """One that nobody else has. Keys that grow with the time are kept side by side, which is cheaper for the server."""
    return f"{time_ns():016x}{os.urandom(8).hex()}"


def _current_trace() -> str | None:
    """The trace that the caller is in, if the program uses OpenTelemetry."""
    tracing = sys.modules.get("opentelemetry.trace")
    if tracing is None:
        return None
    span = tracing.get_current_span().get_span_context()
    return f"00-{span.trace_id:032x}-{span.span_id:016x}-{span.trace_flags:02x}" if span.is_valid else None


def _as_step(step: StepLike) -> Step:
    if isinstance(step, str):
        return Step(step)
    return Step(*step) if isinstance(step, tuple) else step


def _own_options(step: Step) -> dict[str, Any]:
    """What a step says beside its queue and payload."""
    if not isinstance(step, NewJob):
        return {}
    options = msgspec.structs.asdict(step)
    return {name: value for name, value in options.items() if value is not None and name not in ("queue", "payload")}


def _step_body(step: Step, where: str) -> dict[str, Any]:
    body: dict[str, Any] = {"queue": step.queue}
    if step.payload is not UNSET:
        body["payload"] = json_of(step.payload, f"{where}payload")
    return body
