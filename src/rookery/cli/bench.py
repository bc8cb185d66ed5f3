"""`rookery bench`: how many jobs a second a server takes, and how long each takes."""

import asyncio
import os
import signal
import tempfile
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager, ExitStack, closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec
from click.core import ParameterSource

from rookery.cli.answers import ask, read
from rookery.cli.arguments import NEW_QUEUE
from rookery.cli.flags import DURATION, Command, SwitchCommand, client_flags
from rookery.cli.load.settings import MATRIX, PROTOCOLS, Settings
from rookery.cli.remote import Remote
from rookery.cli.throwaway import TERMINATED, is_in_memory, throwaway_server

if TYPE_CHECKING:
    from rookery.cli.load.report import SavedRun

MOST_JOBS: Final = 10_000_000
MOST_CONNECTIONS: Final = 1000
MOST_NEW_JOBS: Final = 20_000
MOST_AT_ONCE: Final = 512
"""Jobs of one fetch, and of one ack."""

_RPC: Final = "rpc"
"""What the server this one is compatible with calls its stream."""
_PRESETS: Final[dict[str, dict[str, Any]]] = {
    "single-node": {"jobs": 10_000, "concurrency": 10, "workers": 1, "worker_queues": False},
    "cluster": {"jobs": 50_000, "concurrency": 50, "workers": 5, "worker_queues": True},
}
_THROWAWAY_FLAGS: Final = ("--durability=full", "--rate-limit-enabled=false", "--stream-max-fps=1000000")


class MeasuredQueue(msgspec.Struct):
    """A queue that is there already."""

    name: str
    paused: bool = False
    pending: int = 0
    active: int = 0
    held: int = 0
    scheduled: int = 0
    retrying: int = 0

    @property
    def unfinished(self) -> int:
        """How many of its jobs have not ended."""
        return self.pending + self.active + self.held + self.scheduled + self.retrying


def _size(flag: str, most: int, help: str) -> Callable[[Command], Command]:
    return click.option(flag, type=click.IntRange(1, most), default=64, show_default=True, help=help)


@click.command("bench", cls=SwitchCommand, short_help="Measure how fast a server is.")
@click.option(
    "--protocol",
    type=click.Choice([*PROTOCOLS, _RPC, MATRIX]),
    default="stream",
    show_default=True,
    help="How jobs travel. http: one request a job. http-batch: requests of many. stream (or rpc): frames of many "
    "over a WebSocket. matrix: all of them, one after the other.",
)
@click.option("--jobs", type=click.IntRange(1, MOST_JOBS), default=10_000, show_default=True, help="How many jobs.")
@click.option(
    "--concurrency",
    type=click.IntRange(1, MOST_CONNECTIONS),
    default=10,
    show_default=True,
    help="Requests or frames under way at a time; workers share it.",
)
@click.option("--workers", type=click.IntRange(1, MOST_CONNECTIONS), default=1, show_default=True, help="Workers.")
@click.option("--worker-queues", is_flag=True, help="Give each worker a queue of its own: QUEUE.1, QUEUE.2, …")
@click.option(
    "--queue", type=NEW_QUEUE, default="bench.q", show_default=True, help="The queue; it must have no jobs to run."
)
@_size("--enqueue-batch-size", MOST_NEW_JOBS, "Jobs of one enqueue.")
@_size("--fetch-batch-size", MOST_AT_ONCE, "Jobs of one fetch; of a stream: for each of a worker's share, up to 512.")
@_size("--ack-batch-size", MOST_AT_ONCE, "Jobs of one ack.")
@click.option(
    "--work-duration", type=DURATION, default="0s", show_default=True, help="How long the jobs of one fetch take."
)
@click.option("--combined", is_flag=True, help="Enqueue, fetch and ack at the same time instead of in two phases.")
@click.option("--repeats", type=click.IntRange(1, 1000), default=1, show_default=True, help="Measure so often.")
@click.option("--repeat-pause", type=DURATION, default="0s", show_default=True, help="Rest between repeats.")
@click.option(
    "--preset",
    type=click.Choice([*_PRESETS]),
    help="single-node: 10000 jobs, concurrency 10, 1 worker. cluster: 50000, 50, 5 with queues of their own. "
    "Flags beside it count.",
)
@click.option(
    "--save", type=click.Path(path_type=Path, dir_okay=False, writable=True), help="Write the figures to a file."
)
@click.option(
    "--compare", type=click.Path(path_type=Path, dir_okay=False, exists=True), help="Show ratios to a saved run."
)
@client_flags
@click.pass_context
def command(
    ctx: click.Context,
    /,
    remote: Remote,
    is_json: bool,
    preset: str | None,
    save: Path | None,
    compare: Path | None,
    **flags: Any,
) -> None:
    """Measure how fast a server is.

    Without --server and ROOKERY_URL that is a server of its own, on a temporary directory, with full durability and no
    rate limits. Another server's limits are obeyed: an answer 429 is waited for, and counted.

    \b
    enqueue    All jobs are added. An operation is one request or frame.
    lifecycle  All of them are claimed and ended. An operation is
                 http        a fetch and its ack
                 http-batch  a fetch and the acks of all its jobs
                 stream      from the arrival of jobs to the answer to their acks
    combined   Everything at once. An operation is the whole life of a job, from
               sending its enqueue to the answer to its ack.

    OPS/S are jobs a second in every phase. A latency includes --work-duration, and the wait after a 429.
    """
    from rookery.cli.load.report import as_json, compare_runs, read_run

    if preset is not None:
        given = {name for name in flags if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE}
        flags |= {name: value for name, value in _PRESETS[preset].items() if name not in given}
    if flags["protocol"] == _RPC:
        flags["protocol"] = "stream"
    saved = None if compare is None else read_run(compare)
    if save is not None and not os.access(save.absolute().parent, os.W_OK):
        raise click.ClickException(f"cannot write {save}: its directory cannot be written")
    with ExitStack() as stack:
        is_own = not _is_given(ctx, "server")
        if is_own:
            remote = remote._replace(url=stack.enter_context(_own_server()))
        settings = Settings(server=remote.url, **flags)
        _check_health(remote)
        _check_queues(remote, settings)
        if not is_json:
            _show(settings, is_own)
        run = _measure(settings, remote, is_json)
    if save is not None:
        _write(save, as_json(run))
    if is_json:
        click.echo(as_json(run))
    if compare is not None and saved is not None:
        compare_runs(run, saved, compare, to_stderr=is_json)


def _is_given(ctx: click.Context, name: str) -> bool:
    """Whether a flag was given, here or in front of the command, or by the environment."""
    context: click.Context | None = ctx
    while context is not None:
        if context.get_parameter_source(name) in (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT):
            return True
        context = context.parent
    return False


def _own_server() -> AbstractContextManager[str]:
    place = tempfile.gettempdir()
    if is_in_memory(place):
        click.echo(
            f"Note: {place} is in memory; set TMPDIR to a directory on a disk to measure durable writes", err=True
        )
    return throwaway_server(*_THROWAWAY_FLAGS)


def _check_health(remote: Remote) -> None:
    """A server that is not well is not measured."""
    from rookery.client.errors import ServerUnreachable
    from rookery.client.transport.blocking import HttpTransport
    from rookery.client.transport.requests import Request, no_answer

    try:
        transport = HttpTransport(remote.url, api_key=remote.api_key, namespace=remote.namespace)
        with closing(transport):
            answer = transport.send(Request("GET", "/healthz", no_answer))
    except (ServerUnreachable, ValueError) as error:
        raise remote.unreachable(error) from None
    if answer.status != 200:
        raise click.ClickException(f"the server is not healthy: it answers {answer.status} to /healthz")


def _check_queues(remote: Remote, settings: Settings) -> None:
    """The workers end whatever they are handed, so there must be nothing of anybody else."""
    for queue in read(ask(remote, "GET", "/queues"), list[MeasuredQueue]):
        if queue.name not in settings.queues:
            continue
        if queue.unfinished:
            raise click.ClickException(
                f"queue {queue.name} has {queue.unfinished} jobs that are not finished, and they would be ended: "
                f"name another one by --queue, or clear it"
            )
        if queue.paused:
            raise click.ClickException(f"queue {queue.name} is paused: name another one by --queue, or resume it")


def _show(settings: Settings, is_own: bool) -> None:
    server = f"{settings.server}{' (started for this, durability full, no rate limits)' if is_own else ''}"
    queue = f"{settings.queue}.1 to {settings.queue}.{settings.workers}" if settings.worker_queues else settings.queue
    rows = {
        "server": server,
        "protocol": ", ".join(settings.protocols),
        "jobs": f"{settings.jobs:,}",
        "concurrency": settings.concurrency,
        "workers": settings.workers,
        "queue": queue,
        "batches": f"enqueue {settings.enqueue_batch_size}, fetch {settings.fetch_batch_size}, "
        f"ack {settings.ack_batch_size}{' (http: 1)' if 'http' in settings.protocols else ''}",
        "work": f"{settings.work_duration} ms",
        "repeats": settings.repeats,
    }
    click.echo("\n".join(f"{name:<13}{value}" for name, value in rows.items()) + "\n")


def _measure(settings: Settings, remote: Remote, is_json: bool) -> "SavedRun":
    import uvloop

    from rookery.cli.load.lane import Patience
    from rookery.cli.load.phases import run_load
    from rookery.cli.load.report import Report
    from rookery.client.errors import RookeryError

    patience, report = Patience(), Report(settings, is_shown=not is_json)
    try:
        uvloop.run(_until_terminated(run_load(settings, remote, patience, report.tell)))
    except asyncio.CancelledError:
        raise SystemExit(TERMINATED) from None
    except (RookeryError, BaseExceptionGroup) as error:
        cause = _first(error)
        if not isinstance(cause, RookeryError):
            raise cause from None
        raise click.ClickException(str(cause)) from None
    run = report.finish(datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
    if patience.throttled:
        times = "once" if patience.throttled == 1 else f"{patience.throttled:,} times"
        click.echo(f"The server answered 429 {times}, and was given the time it asked for", err=is_json)
    return run


async def _until_terminated(work: Coroutine[Any, Any, None]) -> None:
    """End the work by SIGTERM as by Ctrl-C, from inside: nothing of it is left open."""
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    await work


def _first(error: BaseException) -> BaseException:
    """What went wrong, out of everything that ended because of it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(f"{text}\n")
    except OSError as error:
        raise click.ClickException(f"cannot write {path}: {error.strerror}") from None
