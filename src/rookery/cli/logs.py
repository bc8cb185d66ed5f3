"""`rookery logs`: what a job has logged, and what it goes on to log."""

import json
import sys
import time
from collections.abc import Iterator
from typing import Any, Final, NamedTuple, TypedDict

import click

from rookery.cli.answers import segment
from rookery.cli.arguments import has_colours, is_terminal, job_argument
from rookery.cli.figures import without_controls
from rookery.cli.flags import SwitchCommand, client_flags
from rookery.cli.remote import Remote, Unreachable, checked, unpack

PAGE: Final = 1000
SILENCE: Final = 45.0
"""Seconds: a stream that lives says so every 15."""
PAUSES: Final = (0.2, 0.5, 1.0, 2.0, 5.0)
"""Seconds to wait before the stream is asked for again."""

_SEVERITIES: Final = {
    "trace": 0,
    "debug": 1,
    "info": 2,
    "notice": 2,
    "warn": 3,
    "warning": 3,
    "error": 4,
    "critical": 5,
    "fatal": 5,
}
_COLOURS: Final = {0: "bright_black", 1: "bright_black", 3: "yellow", 4: "red", 5: "red"}


class Line(TypedDict):
    """What is needed of a line."""

    n: int
    at: str
    level: str
    message: str
    attempt: int


class Page(TypedDict):
    """Some of the lines."""

    lines: list[Line]
    dropped: int
    next_after: int | None


class Wanted(NamedTuple):
    """Which lines of which job."""

    job_id: str
    after: int
    limit: int | None
    level: str | None

    @property
    def path(self) -> str:
        """Where they are."""
        return f"/jobs/{segment(self.job_id)}/logs"

    def takes(self, line: dict[str, Any]) -> bool:
        """Whether a line is severe enough; a level of one's own means exactly that one."""
        if self.level is None or line["level"] == self.level:
            return True
        least, severity = _SEVERITIES.get(self.level), _SEVERITIES.get(line["level"])
        return least is not None and severity is not None and severity >= least


@click.command("logs", cls=SwitchCommand)
@job_argument
@click.option("--follow", "-f", is_flag=True, help="Go on as lines come, until the job has ended.")
@click.option("--after", type=click.IntRange(min=0), default=0, help="Only lines with a greater number.")
@click.option("--limit", type=click.IntRange(min=1), help="At most so many lines.  [default: all]")
@click.option("--level", metavar="LEVEL", help="Only lines of this level or a more severe one.")
@client_flags
def command(
    job_id: str, follow: bool, after: int, limit: int | None, level: str | None, remote: Remote, is_json: bool
) -> None:
    """Show what a job has logged, the oldest line first.

    With --output json it is an array of lines. With --follow as well it is one JSON object a line, as they come.
    """
    wanted = Wanted(job_id, after, limit, level.strip().lower() if level else None)
    lines = _followed(remote, wanted) if follow else _pages(remote, wanted)
    chosen = _first(lines, wanted)
    if is_json and not follow:
        click.echo(json.dumps(list(chosen), indent=2, ensure_ascii=False))
        return
    for line in chosen:
        click.echo(json.dumps(line, ensure_ascii=False) if is_json else shown(line))


def shown(line: dict[str, Any]) -> str:
    """`2026-02-10T12:00:00.000Z INFO [attempt 1] begun`."""
    level, message = line["level"].upper(), line["message"]
    if is_terminal(sys.stdout):
        level, message = without_controls(level), without_controls(message)
        if has_colours():
            level = click.style(level, fg=_COLOURS.get(_SEVERITIES.get(line["level"], 2)))
    return f"{line['at']} {level} [attempt {line['attempt']}] {message}"


def _first(lines: Iterator[dict[str, Any]], wanted: Wanted) -> Iterator[dict[str, Any]]:
    """At most so many; nothing is asked for behind the last."""
    number = 0
    for number, line in enumerate(lines, 1):
        yield line
        if number == wanted.limit:
            return
    # Levels are free text, so that a mistaken one looks like one that no line has.
    if wanted.level is not None and not number:
        click.echo(f"No line has level {wanted.level!r}, or a more severe one", err=True)


def _pages(remote: Remote, wanted: Wanted) -> Iterator[dict[str, Any]]:
    after: int | None = wanted.after
    size = PAGE if wanted.limit is None or wanted.level is not None else min(PAGE, wanted.limit)
    while after is not None:
        page = remote.call("GET", wanted.path, params={"after": str(after), "limit": str(size)}, shape=Page)
        if after == wanted.after and page["dropped"] > after:
            _say_dropped(page["dropped"] - after)
        yield from filter(wanted.takes, page["lines"])
        after = page["next_after"]


def _followed(remote: Remote, wanted: Wanted) -> Iterator[dict[str, Any]]:
    """Lines as they come; a stream that breaks is asked for again, behind the last line it has brought."""
    after, failures, is_known, is_away = wanted.after, 0, False, False
    while True:
        try:
            with remote.stream("GET", f"{wanted.path}/stream", params={"after": str(after)}, silence=SILENCE) as answer:
                is_known, failures, is_away = True, 0, False
                for data in answer.events():
                    match unpack(data):
                        case {"state": state}:
                            click.echo(f"Job {state}", err=True)
                            return
                        case {"dropped": int(count)}:
                            _say_dropped(count)
                        case line:
                            after = checked(line, Line)["n"]
                            if wanted.takes(line):
                                yield line
        except Unreachable as error:
            if not is_known:
                raise
            if not is_away:
                click.echo(f"{error.message}; trying again", err=True)
            is_away = True
        time.sleep(PAUSES[min(failures, len(PAUSES) - 1)])
        failures += 1


def _say_dropped(count: int) -> None:
    click.echo(f"{count:,} older lines are gone: of a job the newest 10,000 are kept", err=True)
