"""Queues: list them, pause, resume, drain, clear, limit and destroy them."""

import time
from typing import Any, Final

import click
import msgspec

from rookery.cli.answers import LONG_WORK, ask, pretty, read, report, segment
from rookery.cli.arguments import queue_argument
from rookery.cli.flags import DURATION, SwitchCommand, client_flags
from rookery.cli.remote import Remote
from rookery.cli.tables import Table, counted
from rookery.model.durations import format_duration

POLL_INTERVAL: Final = 1.0
UNLIMITED: Final = "unlimited"


class Queue(msgspec.Struct):
    """What the tables show of a queue."""

    name: str
    pending: int = 0
    active: int = 0
    held: int = 0
    completed: int = 0
    dead: int = 0
    paused: bool = False

    def counts(self) -> tuple[str, int, int, int, int, int]:
        """Its name and how many jobs it has in which state."""
        return self.name, self.pending, self.active, self.held, self.completed, self.dead


COUNTS: Final = ("QUEUE", "PENDING", "ACTIVE", "HELD", "COMPLETED", "DEAD")


class LimitType(click.ParamType[int]):
    """How many at a time; 0 is no limit."""

    name = "max"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number."""
        return 0 if value == UNLIMITED else click.INT.convert(value, param, ctx)


@click.command("queues", cls=SwitchCommand)
@client_flags
def queues(remote: Remote, is_json: bool) -> None:
    """List the queues with their jobs by state."""
    answer = ask(remote, "GET", "/queues")
    if is_json:
        click.echo(pretty(answer))
        return
    rows = ((*queue.counts(), "yes" if queue.paused else "") for queue in read(answer, list[Queue]))
    Table(*COUNTS, "PAUSED").show(rows)


@click.command("pause", cls=SwitchCommand)
@queue_argument()
@client_flags
def pause(remote: Remote, is_json: bool, queue: str) -> None:
    """Hand out no more jobs of a queue. Those that run go on."""
    report(_act(remote, queue, "pause"), is_json, f"Queue {queue} paused")


@click.command("resume", cls=SwitchCommand)
@queue_argument()
@client_flags
def resume(remote: Remote, is_json: bool, queue: str) -> None:
    """Hand out jobs of a queue again."""
    report(_act(remote, queue, "resume"), is_json, f"Queue {queue} resumed")


@click.command("clear", cls=SwitchCommand)
@queue_argument()
@client_flags
def clear(remote: Remote, is_json: bool, queue: str) -> None:
    """Delete the pending and scheduled jobs of a queue. All others stay."""
    answer = ask(remote, "POST", f"/queues/{segment(queue)}/clear", silence=LONG_WORK)
    report(answer, is_json, f"Queue {queue} cleared")


@click.command("drain", cls=SwitchCommand)
@queue_argument()
@click.option("--timeout", type=DURATION, metavar="DUR", help="Give up waiting after this, like 5m; exit code 1.")
@click.option("--no-wait", is_flag=True, help="Only pause the queue.")
@client_flags
def drain(remote: Remote, is_json: bool, queue: str, timeout: int | None, no_wait: bool) -> None:
    """Pause a queue and wait until none of its jobs runs. `rookery resume` opens it again."""
    answer = _act(remote, queue, "drain")
    if not is_json:
        click.echo(f"Queue {queue} draining")
    if not no_wait:
        _wait_until_idle(remote, queue, timeout)
        if not is_json:
            click.echo(f"Queue {queue} drained")
    if is_json:
        click.echo(pretty(answer))


def _wait_until_idle(remote: Remote, queue: str, timeout: int | None) -> None:
    end = None if timeout is None else time.monotonic() + timeout / 1000
    while active := _active(remote, queue):
        left = POLL_INTERVAL if end is None else min(POLL_INTERVAL, end - time.monotonic())
        if left <= 0:
            raise click.ClickException(
                f"queue {queue} still has {counted(active, 'active job')} after {format_duration(timeout or 0)}"
            )
        time.sleep(left)


def _active(remote: Remote, queue: str) -> int:
    found = read(ask(remote, "GET", "/queues"), list[Queue])
    return next((each.active for each in found if each.name == queue), 0)


@click.command("destroy", cls=SwitchCommand)
@queue_argument()
@click.option("--confirm", is_flag=True, help="Yes, delete all of it.")
@client_flags
def destroy(remote: Remote, is_json: bool, queue: str, confirm: bool) -> None:
    """Delete a queue with all its jobs, also those that run, and its settings."""
    if not confirm:
        raise click.ClickException(f"this deletes queue {queue} and all its jobs: say so with --confirm")
    answer = ask(remote, "DELETE", f"/queues/{segment(queue)}", params={"confirm": "true"}, silence=LONG_WORK)
    report(answer, is_json, f"Queue {queue} destroyed")


@click.command("concurrency", cls=SwitchCommand)
@queue_argument()
@click.argument("most", type=LimitType(), metavar="MAX")
@client_flags
def concurrency(remote: Remote, is_json: bool, queue: str, most: int) -> None:
    """Let at most MAX jobs of a queue run at a time; 0 or `unlimited` lifts the limit."""
    answer = _act(remote, queue, "concurrency", {"max": most})
    report(answer, is_json, f"Queue {queue} concurrency: {most if most > 0 else UNLIMITED}")


@click.command("throttle", cls=SwitchCommand)
@queue_argument()
@click.argument("rate", type=int, required=False)
@click.argument("period", required=False)
@click.option("--remove", is_flag=True, help="Lift the limit.")
@client_flags
@click.pass_context
def throttle(
    ctx: click.Context, /, remote: Remote, is_json: bool, queue: str, rate: int | None, period: str | None, remove: bool
) -> None:
    """Let at most RATE jobs of a queue start in PERIOD, like 1s or 5m."""
    if remove:
        if rate is not None:
            raise click.UsageError("--remove takes no rate and no period", ctx)
        answer = ask(remote, "DELETE", f"/queues/{segment(queue)}/throttle")
        report(answer, is_json, f"Queue {queue} throttle removed")
        return
    if rate is None or period is None:
        raise click.UsageError("a rate and a period are needed, like 10 1m (or --remove)", ctx)
    answer = _act(remote, queue, "throttle", {"rate": rate, "period": period})
    report(answer, is_json, f"Queue {queue} throttled: {rate}/{period}")


def _act(remote: Remote, queue: str, action: str, body: dict[str, object] | None = None) -> msgspec.Raw:
    return ask(remote, "POST", f"/queues/{segment(queue)}/{action}", body)
