"""`rookery search`: find jobs, for people to read and for other commands to go on with."""

import sys
from collections.abc import Iterable, Iterator
from typing import Any, Final

import click
import msgspec

from rookery.cli.answers import ask, pretty, read
from rookery.cli.arguments import KNOWN_PRIORITY, QUEUE, TEXT, TIME, is_terminal
from rookery.cli.flags import Command, SwitchCommand, client_flags
from rookery.cli.remote import Remote
from rookery.cli.tables import Table
from rookery.model.job import STATES

SCREENFUL: Final = 50
"""Rows for a person who has not said how many."""
LARGEST_PAGE: Final = 1000
_TIMES: Final = {
    "created": "Created",
    "scheduled": "Due",
    "started": "Last fetched",
    "completed": "Completed",
    "expire": "Expiring",
}


class Page(msgspec.Struct):
    """Some of the jobs, as they came, and how many there are."""

    jobs: list[msgspec.Raw]
    total: int
    cursor: str | None = None
    has_more: bool = False
    duration_ms: float = 0


class Row(msgspec.Struct):
    """What the table shows of a job."""

    id: str
    queue: str
    state: str
    attempt: int
    created_at: str
    priority: int | str = ""
    priority_name: str | None = None


class StatesType(click.ParamType[list[str]]):
    """One or more states with commas between them."""

    name = "states"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[str]:
        """The states; what is none is the server's to refuse."""
        states = [state.strip() for state in value.split(",")]
        if not all(states):
            self.fail("must not be blank", param, ctx)
        return states

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[click.shell_completion.CompletionItem]:
        """The states that there are."""
        done, comma, begun = incomplete.rpartition(",")
        states = (state for state in STATES if state.startswith(begun))
        return [click.shell_completion.CompletionItem(f"{done}{comma}{state}") for state in states]


class TagType(click.ParamType[tuple[str, str]]):
    """`name=value`."""

    name = "tag"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Name and value."""
        name, equals, text = value.partition("=")
        if not equals or not name:
            self.fail(f"{value!r} is not a tag like customer=acme", param, ctx)
        return name, text


def _times(function: Command) -> Command:
    for name, word in reversed(_TIMES.items()):
        for side, meaning in (("before", "earlier"), ("after", "later")):
            help = f"{word} {meaning} than this."
            function = click.option(f"--{name}-{side}", type=TIME, metavar="TIME", help=help)(function)
    return function


@click.command("search", cls=SwitchCommand)
@click.option("--queue", type=QUEUE, help="Of this queue.")
@click.option("--state", "states", type=StatesType(), multiple=True, help="In any of these states: dead,cancelled.")
@click.option("--priority", type=KNOWN_PRIORITY, help="Of this priority: critical, high or normal.")
@click.option("--tag", "tags", type=TagType(), multiple=True, metavar="K=V", help="With this tag; repeatable: all.")
@click.option("--payload-contains", type=TEXT, metavar="TEXT", help="With this text in the payload.")
@click.option("--payload-jq", type=TEXT, metavar="EXPR", help="With a payload like this: '.user.age >= 18'.")
@click.option("--error-contains", type=TEXT, metavar="TEXT", help="With this text in an error.")
@click.option("--has-errors/--no-errors", default=None, help="That have failed before, or never.")
@_times
@click.option("--attempt-min", type=int, metavar="N", help="With at least so many attempts.")
@click.option("--attempt-max", type=int, metavar="N", help="With at most so many attempts.")
@click.option("--unique-key", type=TEXT, metavar="KEY", help="Enqueued with this unique key.")
@click.option("--batch-id", type=TEXT, metavar="ID", help="Of this batch.")
@click.option("--worker-id", type=TEXT, metavar="ID", help="That this worker has, or has finished.")
@click.option("--parent-id", type=TEXT, metavar="ID", help="With this parent.")
@click.option("--chain-id", type=TEXT, metavar="ID", help="Of this chain.")
@click.option("--depends-on", type=TEXT, metavar="ID", help="That wait, or have waited, for this job.")
@click.option("--job-id-prefix", type=TEXT, metavar="TEXT", help="With an id that begins with this.")
@click.option(
    "--sort",
    type=click.Choice(["created_at", "priority", "started_at", "completed_at", "attempt"]),
    help="By what.  [server's default: created_at]",
)
@click.option("--order", type=click.Choice(["asc", "desc"]), help="Which way.  [server's default: desc]")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="So many jobs.  [default: 50, all in a pipe]")
@click.option("--cursor", metavar="C", help='One page, from here on; "" is the first. The next is named on stderr.')
@client_flags
def command(
    remote: Remote,
    is_json: bool,
    states: tuple[list[str], ...],
    tags: tuple[tuple[str, str], ...],
    limit: int | None,
    cursor: str | None,
    **filters: Any,
) -> None:
    """Find jobs by everything that is known of them, newest first.

    A terminal shows 50 of them; into a pipe or a file go all, so that `rookery bulk` misses none. Times are ISO 8601
    with an offset, as `date -Iseconds` prints them, or days.
    """
    wanted = {name: value for name, value in filters.items() if value is not None}
    if states:
        wanted["state"] = [state for part in states for state in part]
    if tags:
        wanted["tags"] = dict(tags)
        if len(wanted["tags"]) < len(set(tags)):
            raise click.UsageError("--tag: a tag has one value")
    if limit is None and cursor is None and is_terminal(sys.stdout):
        limit = SCREENFUL
    pages = [_page(remote, wanted, cursor, limit)] if cursor is not None else _pages(remote, wanted, limit)
    last = _show_json(pages) if is_json else _show_table(pages)
    if last.cursor is not None and (cursor is not None or is_terminal(sys.stderr)):
        click.echo(f"more: --cursor {last.cursor}", err=True)


def _page(remote: Remote, wanted: dict[str, Any], cursor: str | None, limit: int | None) -> Page:
    place = {"cursor": cursor, "limit": None if limit is None else min(limit, LARGEST_PAGE)}
    return read(ask(remote, "POST", "/jobs/search", {**wanted, **place}), Page)


def _pages(remote: Remote, wanted: dict[str, Any], limit: int | None) -> Iterator[Page]:
    """One page after another, until there are no more or as many as were asked for."""
    cursor, left = None, limit
    while True:
        page = _page(remote, wanted, cursor, LARGEST_PAGE if left is None else left)
        yield page
        cursor = page.cursor
        if left is not None:
            left -= len(page.jobs)
        if cursor is None or not page.jobs or left == 0:
            return


def _show_table(pages: Iterable[Page]) -> Page:
    """Rows as they come, then on stderr how many there are; the last page."""
    table, count, total, duration = Table("ID", "QUEUE", "STATE", "PRIORITY", "ATTEMPT", "CREATED"), 0, 0, 0.0
    for page in pages:
        rows = (read(job, Row) for job in page.jobs)
        table.show(
            (row.id, row.queue, row.state, row.priority_name or row.priority, row.attempt, row.created_at)
            for row in rows
        )
        count += len(page.jobs)
        total = max(total, page.total)
        duration += page.duration_ms
    click.echo(f"{count} of {total} jobs ({duration:.0f}ms)", err=True)
    return page


def _show_json(pages: Iterable[Page]) -> Page:
    """One array, written as it comes; the last page."""
    is_first = True
    for page in pages:
        if page.jobs:
            jobs = b",\n  ".join(pretty(job).replace(b"\n", b"\n  ") for job in page.jobs)
            click.echo((b"[\n  " if is_first else b",\n  ") + jobs, nl=False)
            is_first = False
    click.echo(b"[]" if is_first else b"\n]")
    return page
