"""`rookery bulk`: do the same to many jobs, named by a filter, as arguments, or by whatever comes in by a pipe."""

import sys
import time
from typing import Any, Final

import click
import msgspec

from rookery.cli.answers import LONG_WORK, ask, pretty, read
from rookery.cli.arguments import JOB_ID, QUEUE, is_terminal, json_text, read_stdin
from rookery.cli.flags import SwitchCommand, client_flags
from rookery.cli.progress import Progress
from rookery.cli.remote import Refused, Remote, Unexpected, Unreachable
from rookery.cli.tables import cell
from rookery.cli.targets import read_ids

ACTIONS: Final = ("retry", "delete", "cancel", "move", "requeue", "change_priority", "hold", "approve", "reject")
PRIORITIES: Final = ("critical", "high", "normal")
POLL_INTERVAL: Final = 0.5
LONGEST_SILENCE: Final = 60.0
"""Seconds: the server says every 15 of them that it is still there."""
PATIENCE: Final = 120.0
"""Seconds for which a server may be gone while it works something off: it goes on when it is back."""

_AFTER_DASHES: Final = "rookery.bulk.ids"


class Begun(msgspec.Struct):
    """Work that goes on in the background."""

    bulk_operation_id: str | None = None
    estimated_total: int = 0


class Done(msgspec.Struct):
    """Work that was done at once."""

    affected: int
    skipped: int = 0
    errors: int = 0
    duration_ms: float = 0


class Failure(msgspec.Struct):
    """A job that could not be changed."""

    job_id: str
    error: str


class Record(msgspec.Struct):
    """How far it is."""

    status: str
    total: int
    processed: int
    affected: int
    error: str | None = None
    failures: list[Failure] = []

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will happen."""
        return self.status in ("completed", "failed")


class BulkCommand(SwitchCommand):
    """A command that knows which of its arguments stood behind `--`: they are ids."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the ids aside."""
        if "--" in args:
            end = args.index("--")
            ctx.meta[_AFTER_DASHES] = args[end + 1 :]
            args = args[:end]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """The ids too."""
        return [*super().collect_usage_pieces(ctx), "[-- JOB_ID...]"]


@click.command("bulk", cls=BulkCommand)
@click.argument("action", type=click.Choice(ACTIONS), metavar="ACTION")
@click.argument("argument", required=False)
@click.option("--to", "queue", type=QUEUE, help="Where to move them.")
@click.option("--priority", type=click.Choice(PRIORITIES), help="What to change their priority to.")
@click.option("--filter", metavar="JSON", help='All jobs that a search finds: {"queue": "q", "state": ["dead"]}.')
@click.option("--async", "in_background", is_flag=True, help="In the background, also if they are few.")
@click.option(
    "--wait/--no-wait", default=True, show_default=True, help="What goes on in the background: wait until it is done."
)
@client_flags
@click.pass_context
def command(
    ctx: click.Context,
    /,
    remote: Remote,
    is_json: bool,
    action: str,
    argument: str | None,
    queue: str | None,
    priority: str | None,
    filter: str | None,
    in_background: bool,
    wait: bool,
) -> None:
    """Do the same to many jobs: those that --filter finds, or those named behind --, or else those on stdin.

    ACTION is retry, delete, cancel, move, requeue, change_priority, hold, approve or reject. `move` takes a queue
    as ARGUMENT (or --to), `change_priority` takes critical, high or normal (or --priority). Jobs in a state that the
    action is not for are skipped; of what was done in the background, stderr lists them (the first 100) and why.

    Stdin may be what `rookery search` prints, as a table or as JSON, what jq makes of it, or ids, one a line.

    \b
    rookery search --queue q --state dead | rookery bulk retry
    rookery bulk move new --filter '{"queue": "old"}'
    """
    deed = _deed(ctx, action, argument, queue, priority)
    body = {**deed, **_targets(ctx, filter), **({"async": True} if in_background else {})}
    answer = ask(remote, "POST", "/jobs/bulk", body, silence=LONG_WORK)
    begun = read(answer, Begun)
    if begun.bulk_operation_id is None:
        _report(answer, is_json)
        return
    try:
        if not is_json:
            click.echo(f"Bulk operation {begun.bulk_operation_id} started ({begun.estimated_total} jobs)")
        if wait:
            _report_end(_follow(remote, begun), is_json)
        elif is_json:
            click.echo(pretty(answer))
    except KeyboardInterrupt:
        click.echo(f"\nBulk operation {begun.bulk_operation_id} goes on in the background", err=True)
        raise


def _deed(
    ctx: click.Context, action: str, argument: str | None, queue: str | None, priority: str | None
) -> dict[str, Any]:
    """What is to be done, with its argument, wherever that was given."""
    wanted = {
        "move": ("move_to_queue", "a queue", queue, "--to", QUEUE),
        "change_priority": ("priority", "a priority", priority, "--priority", click.Choice(PRIORITIES)),
    }
    for other, (_, _, value, flag, _) in wanted.items():
        if value is not None and other != action:
            raise click.UsageError(f"{flag} is for {other}, not for {action}", ctx)
    if action not in wanted:
        if argument is not None:
            raise click.UsageError(f"{action} takes no argument (ids of jobs stand behind --)", ctx)
        return {"action": action}
    field, what, value, flag, kind = wanted[action]
    if argument is not None and value is not None:
        raise click.UsageError(f"{action} takes {what} as an argument or with {flag}: both were given", ctx)
    if argument is None and value is None:
        raise click.UsageError(f"{action} takes {what}, as an argument or with {flag}", ctx)
    place = next(parameter for parameter in ctx.command.params if parameter.name == "argument")
    return {"action": action, field: value if argument is None else kind.convert(argument, place, ctx)}


def _targets(ctx: click.Context, filter: str | None) -> dict[str, Any]:
    """Which jobs: the first that applies of a filter, ids behind `--`, and stdin."""
    if filter is not None:
        wanted = json_text(filter, "--filter")
        if not bytes(wanted).lstrip().startswith(b"{"):
            raise click.ClickException('--filter must be a JSON object, like {"queue": "q"}')
        return {"filter": wanted}
    given = ctx.meta.get(_AFTER_DASHES)
    if given:
        for id in given:
            if id.startswith("--"):
                raise click.UsageError(f"behind -- there are ids of jobs: put {id} in front of it", ctx)
        ids = [JOB_ID.convert(id, None, ctx) for id in given]
    else:
        ids = [] if is_terminal(sys.stdin) else read_ids(read_stdin())
    if not ids:
        raise click.ClickException("no job IDs provided (pipe from search or use --filter)")
    return {"job_ids": list(dict.fromkeys(ids))}


def _report(answer: msgspec.Raw, is_json: bool) -> None:
    done = read(answer, Done)
    click.echo(pretty(answer) if is_json else f"Affected: {done.affected} jobs ({done.duration_ms:.0f}ms)")
    if done.skipped and not is_json:
        click.echo(f"Skipped: {done.skipped} (not there, or in a state that the action is not for)", err=True)
    if done.errors:
        click.echo(f"Errors: {done.errors}", err=True)


def _report_end(answer: msgspec.Raw, is_json: bool) -> None:
    record = read(answer, Record)
    if is_json:
        click.echo(pretty(answer))
    elif record.status == "completed":
        click.echo(f"Affected: {record.affected} of {record.total} jobs")
    if not is_json:
        _list_failures(record)
    if record.status == "failed":
        reason = record.error or "no reason was given"
        raise click.ClickException(f"the bulk operation failed after {record.processed} jobs: {reason}")


def _list_failures(record: Record) -> None:
    """Which jobs could not be changed, and why; the server names the first of them."""
    if not record.failures:
        return
    count = record.processed - record.affected
    click.echo(f"Not changed: {count}", err=True)
    for failure in record.failures:
        click.echo(f"  {cell(failure.job_id)}: {cell(failure.error)}", err=True)
    if count > len(record.failures):
        click.echo(f"  and {count - len(record.failures)} more", err=True)


def _follow(remote: Remote, begun: Begun) -> msgspec.Raw:
    """Wait until it is done; the last record of it. A server that goes away meanwhile may come back."""
    path = f"/bulk/{begun.bulk_operation_id}"
    with Progress("working", begun.estimated_total, unit="jobs") as bar:
        _listen(remote, path, bar)
        return _poll(remote, path, bar)


def _listen(remote: Remote, path: str, bar: Progress) -> None:
    """Show the progress as the server tells it, for as long as it does."""
    try:
        with remote.stream("GET", f"{path}/progress", silence=LONGEST_SILENCE) as answer:
            for data in answer.events():
                _show(read(msgspec.Raw(data), Record), bar)
    except (Unreachable, Refused, Unexpected):
        return


def _poll(remote: Remote, path: str, bar: Progress) -> msgspec.Raw:
    """Ask how far it is until it is done."""
    give_up = time.monotonic() + PATIENCE
    while True:
        try:
            answer = ask(remote, "GET", path)
        except (Unreachable, Refused) as error:
            is_passing = isinstance(error, Unreachable) or error.status in (429, 503)
            if not is_passing or time.monotonic() > give_up:
                raise
        else:
            give_up = time.monotonic() + PATIENCE
            record = read(answer, Record)
            _show(record, bar)
            if record.has_ended:
                return answer
        time.sleep(POLL_INTERVAL)


def _show(record: Record, bar: Progress) -> None:
    """Jobs may come and go meanwhile, so that there may be more than were counted at first."""
    bar.update(record.processed, max(record.total, record.processed))
