"""`rookery worker --check`: what an app's jobs are, and whether the server has anything against them."""

from typing import Any

import click

from rookery.client.errors import RookeryError
from rookery.client.functions import JobFunction
from rookery.client.worker import Worker


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
    """What the server says against this: it cannot be reached, does not let us in, or knows otherwise."""
    with worker.app.new_client(retries=0) as client:
        client.heartbeat({})
        click.echo(f"server  {worker.app.url or 'from the environment'} answers")
    return []
