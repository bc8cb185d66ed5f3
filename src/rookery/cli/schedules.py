"""`rookery schedules`: cron lines that enqueue jobs."""

from typing import Final

import click
import msgspec

from rookery.cli.answers import ask, pretty, read, report, segment
from rookery.cli.arguments import TEXT, NameType, json_text, queue_argument
from rookery.cli.flags import SwitchGroup, client_flags
from rookery.cli.remote import Remote
from rookery.cli.tables import Table

ID_PREFIX: Final = "sched_"


class Schedule(msgspec.Struct):
    """What the table shows of a schedule."""

    id: str
    name: str
    queue: str
    cron: str
    timezone: str
    next_run: str | None = None
    last_run: str | None = None


@click.group("schedules", cls=SwitchGroup, invoke_without_command=True)
@client_flags
@click.pass_context
def command(ctx: click.Context, /, remote: Remote, is_json: bool) -> None:
    """List the cron schedules, or create and delete them."""
    if ctx.invoked_subcommand is not None:
        return
    answer = ask(remote, "GET", "/schedules")
    found = read(answer, list[Schedule])
    if is_json:
        click.echo(pretty(answer))
    elif not found:
        click.echo("No schedules")
    else:
        rows = ((each.name, each.queue, each.cron, each.timezone, each.next_run, each.last_run) for each in found)
        Table("NAME", "QUEUE", "CRON", "TIMEZONE", "NEXT RUN", "LAST RUN").show(rows)


@command.command("create")
@click.argument("name", type=NameType("name"))
@queue_argument()
@click.argument("cron")
@click.option("--timezone", help="By whose clocks, like Europe/Paris.  [server's default: UTC]")
@click.option("--payload", metavar="JSON", help="Of each job; - reads it from stdin, @FILE from a file.")
@click.option("--unique-key", type=TEXT, help="Of each job: while one holds it, no other is added.")
@click.option("--max-retries", type=int, metavar="N", help="Of each job: attempts in all.  [server's default: 3]")
@client_flags
def create(remote: Remote, is_json: bool, payload: str | None, **fields: str | int | None) -> None:
    """Enqueue a job in QUEUE whenever CRON comes, like "0 3 * * *" or @daily."""
    schedule = {name: value for name, value in fields.items() if value is not None}
    body = schedule if payload is None else {**schedule, "payload": json_text(payload, "--payload")}
    answer = ask(remote, "POST", "/schedules", body)
    report(answer, is_json, f"Schedule created: {read(answer, Schedule).id}")


@command.command("delete")
@click.argument("schedule", metavar="ID", type=NameType("id"))
@client_flags
def delete(remote: Remote, is_json: bool, schedule: str) -> None:
    """Delete a schedule, by its id or by its name. Jobs that it has enqueued stay."""
    id = schedule if schedule.startswith(ID_PREFIX) else _id_of(remote, schedule)
    report(ask(remote, "DELETE", f"/schedules/{segment(id)}"), is_json, f"Schedule deleted: {id}")


def _id_of(remote: Remote, name: str) -> str:
    """The id of the schedule with a name; what is no name is left for the server to refuse."""
    found = read(ask(remote, "GET", "/schedules"), list[Schedule])
    return next((each.id for each in found if each.name == name), name)
