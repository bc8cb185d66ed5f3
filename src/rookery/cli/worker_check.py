"""`rookery worker --check`: what an app's jobs are, and whether the server has anything against them."""

from collections.abc import Iterator
from typing import Any, Final

import click
import msgspec

from rookery.client.client import Client
from rookery.client.errors import Forbidden, RookeryError
from rookery.client.functions.functions import JobFunction
from rookery.client.functions.signatures import InvalidPayload
from rookery.client.worker.worker import Worker

WAITING: Final = ("pending", "scheduled", "retrying")
SAMPLE: Final = 100
"""How many of the newest jobs that wait in a queue are looked at."""
SHOWN: Final = 3
"""How many of those that do not fit are named, for each queue."""


def check(worker: Worker) -> bool:
    """List the jobs, and ask the server. Whether all is well."""
    for queue in worker.queues:
        click.echo(_described(worker.app.functions[queue]))
    try:
        problems = _asked(worker)
    except (RookeryError, ValueError) as error:
        problems = [str(error)]
    for problem in problems:
        click.echo(f"Error: {problem}", err=True)
    return not problems


def _described(function: JobFunction[..., Any]) -> str:
    signature = function.signature
    fields = [
        f"{name}: {_type_name(kind)}{'' if name in signature.required else ' (optional)'}"
        for name, kind in signature.fields.items()
    ]
    place = "process" if function.process else "event loop" if function.is_async else "thread"
    options: dict[str, Any] = {"runs in": place}
    if function.timeout is not None:
        options["timeout"] = f"{function.timeout:g} s"
    if function.retry_on is not None:
        options["retry_on"] = ", ".join(kind.__name__ for kind in function.retry_on) or "nothing"
    if function.discard_on:
        options["discard_on"] = ", ".join(kind.__name__ for kind in function.discard_on)
    options |= function.job_options
    lines = [f"{function.queue}  {function.function.__module__}.{function.name}"]
    lines.append(f"  payload  {', '.join(fields) or 'nothing'}")
    if signature.injected:
        lines.append(f"  injected  {', '.join(f'{name}: {given}' for name, given in signature.injected.items())}")
    lines.append(f"  {'  '.join(f'{name}={value}' for name, value in options.items())}")
    return "\n".join(lines)


def _type_name(kind: Any) -> str:
    return (
        getattr(kind, "__name__", str(kind))
        if isinstance(kind, type) and not getattr(kind, "__args__", None)
        else str(kind).replace("typing.", "")
    )


def _asked(worker: Worker) -> list[str]:
    """What stands against the jobs at the server: payloads of schedules and of waiting jobs that do not fit."""
    with worker.app.new_client(retries=0) as client:
        client.heartbeat({})
        click.echo(f"server  {worker.app.url or 'at its default address'} answers")
        try:
            return [*_bad_schedules(worker, client), *_bad_jobs(worker, client)]
        except Forbidden:
            click.echo("note  this key may not look at schedules and waiting jobs: they are not checked", err=True)
            return []


def _bad_schedules(worker: Worker, client: Client) -> Iterator[str]:
    for schedule in client.schedules():
        if schedule.queue in worker.queues:
            problem = _mismatch(worker, schedule.queue, schedule.payload)
            if problem:
                yield f"schedule {schedule.name}: {problem}"


def _bad_jobs(worker: Worker, client: Client) -> Iterator[str]:
    for queue in worker.queues:
        jobs = client.search(queue=queue, state=list(WAITING), limit=SAMPLE)
        bad = [(job.id, problem) for job in jobs if (problem := _mismatch(worker, queue, job.payload))]
        yield from (f"job {job_id}, waiting in {queue}: {problem}" for job_id, problem in bad[:SHOWN])
        more = len(bad) - SHOWN
        if more > 0:
            yield f"and {more} more of those waiting in {queue}"


def _mismatch(worker: Worker, queue: str, payload: Any) -> str | None:
    try:
        worker.app.functions[queue].signature.read(msgspec.json.encode({} if payload is None else payload))
    except InvalidPayload as error:
        return str(error)
    return None
