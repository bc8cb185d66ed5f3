"""`queuectl worker`: start workers in the foreground, and tell those of a home to stop."""

import time
from math import isnan
from typing import Final

import click

from rookery.queuectl.commands import in_place, refuse
from rookery.queuectl.home import Home, now_ms
from rookery.queuectl.place import Place

_LOOK_EVERY: Final = 0.1


@click.group("worker", no_args_is_help=True)
def command() -> None:
    """Start and stop workers."""


def _queue_names(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    from rookery.queuectl.newjobs import BadInput, queue_name

    names = dict.fromkeys(name.strip() for value in values for name in value.split(","))
    try:
        return tuple(queue_name(repr(name), name) for name in names)
    except BadInput as error:
        raise click.BadParameter(str(error)) from None


def _interval(ctx: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    from rookery.queuectl.settings import BadSetting, checked_text

    if value is None:
        return None
    try:
        return float(checked_text("poll_interval", value))
    except BadSetting as error:
        raise click.BadParameter(str(error)) from None


@command.command("start")
@click.option("--count", "-c", type=click.IntRange(min=1), default=1, show_default=True, help="Worker processes.")
@click.option(
    "--queue",
    "queues",
    metavar="NAME",
    multiple=True,
    callback=_queue_names,
    help="Serve only this queue; may be repeated, or a list with commas.  [default: all, also those to come]",
)
@click.option(
    "--poll-interval",
    metavar="SECONDS",
    callback=_interval,
    help="How long an idle worker sleeps.  [default: the setting poll_interval]",
)
@click.option("--drain", is_flag=True, help="End when no job of these queues is left: none that waits, none that runs.")
@in_place
@click.pass_context
def start(
    ctx: click.Context, place: Place, /, count: int, queues: tuple[str, ...], poll_interval: float | None, drain: bool
) -> None:
    """Run workers in the foreground until they are told to stop.

    Each worker is a process that runs one command after the other. Ctrl-C, SIGTERM or `queuectl worker stop` lets
    them finish what they are at. Ctrl-C again kills it, and those jobs go back into the queue.

    The exit code is 0 when all workers have ended, and 1 if some died and were not replaced.

    With --server they run the commands of that server's queues, whoever has put them there.
    """
    from rookery.engine.ops import SaveSetting
    from rookery.queuectl.pool import Pool
    from rookery.queuectl.working import Wanted, Worker

    wanted = Wanted(queues, poll_interval, drain)
    if place.url is not None:
        from rookery.queuectl.remote.server import ServerPlace
        from rookery.queuectl.remote.working import start as start_at_server

        assert isinstance(place, ServerPlace)
        ctx.exit(start_at_server(place, wanted, count))
    home = place.home
    home.apply(SaveSetting(key="shutdown", value="false"))
    # A connection must not be used on both sides of a fork.
    home.close()
    ctx.exit(Pool(lambda parent: Worker(Home(home.path), wanted, parent).work(), count).run())


@command.command("stop")
@click.option("--wait", is_flag=True, help="Wait until all workers have ended.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="With --wait: for so long at the most, then exit with 1.",
)
@in_place
def stop(place: Place, /, wait: bool, timeout: float | None) -> None:
    """Tell all workers of this home to finish what they are at and end.

    Nothing is taken any more until the next `queuectl worker start`. With --server it is the workers that were started
    from this home for that server; others are not reached.
    """
    from rookery.engine.ops import SaveSetting
    from rookery.engine.taking import SHUTDOWN, STOPPED_AT

    if timeout is not None and not wait:
        raise click.UsageError("--timeout goes with --wait.")
    if timeout is not None and isnan(timeout):
        raise click.BadParameter("must be a number.", param_hint="'--timeout'")
    if place.url is not None:
        from rookery.queuectl.remote.server import ServerPlace
        from rookery.queuectl.remote.working import stop as stop_at_server

        assert isinstance(place, ServerPlace)
        stop_at_server(place, wait, timeout)
        return
    home = place.home
    home.apply(SaveSetting(key=SHUTDOWN, value="true"), SaveSetting(key=STOPPED_AT, value=str(now_ms())))
    if _running(home, now_ms()):
        click.echo("Workers are told to stop; jobs that run are finished first.")
    else:
        click.echo("No worker is running. None takes a job until the next `queuectl worker start`.")
    if wait:
        _wait(home, timeout)


def _running(home: Home, told_at: int) -> list[str]:
    """The workers that were there at that time and have not ended."""
    from rookery.queuectl.workers import read_workers

    return [
        worker.id
        for worker in read_workers(home.reader())
        if worker.started_at <= told_at and not worker.is_gone(now_ms())
    ]


def _wait(home: Home, timeout: float | None) -> None:
    """Wait for the workers that were told to stop."""
    end = None if timeout is None else time.monotonic() + timeout
    told_at = now_ms()
    while True:
        left = _running(home, told_at)
        if not left:
            return
        if end is not None and time.monotonic() >= end:
            refuse(f"still running after {timeout:g} s: {', '.join(left)}")
        time.sleep(_LOOK_EVERY)
