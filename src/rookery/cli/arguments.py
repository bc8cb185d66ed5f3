"""What people give to commands: JSON, times, numbers, names of queues and jobs."""

import os
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from threading import Thread
from typing import Any, Final, TextIO

import click
import msgspec
from click.shell_completion import CompletionItem

from rookery.cli.flags import Command, remote_of
from rookery.model.instants import BadInstant, parse_bound
from rookery.model.job import PRIORITY_RANKS
from rookery.model.names import queue_name_fault

COMPLETION_PATIENCE: Final = 0.3
"""Seconds after which a shell that wants names of queues goes without."""

_DAY_ONLY: Final = len("2026-02-10")


class NameType(click.ParamType[str]):
    """A name that is not blank."""

    def __init__(self, name: str) -> None:
        self.name = name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name."""
        if not value.strip():
            self.fail("must not be blank", param, ctx)
        return str(value)


class NewQueueType(click.ParamType[str]):
    """The name of a queue that may not be there yet."""

    name = "queue"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name, if a queue can have it."""
        fault = queue_name_fault(value)
        if fault:
            self.fail(f"the name of a queue {fault}", param, ctx)
        return str(value)


class QueueType(NameType):
    """The name of a queue; a shell can complete it."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The queues that the server has, if it says so at once."""
        found: list[CompletionItem] = []

        def look() -> None:
            try:
                names = [queue["name"] for queue in remote_of(ctx).call("GET", "/queues")]
            except Exception:
                return
            found.extend(CompletionItem(name) for name in names if name.startswith(incomplete))

        looking = Thread(target=look, daemon=True)
        looking.start()
        looking.join(COMPLETION_PATIENCE)
        return list(found)


class TimeType(click.ParamType[str]):
    """A point in time as people and `date` write it: ISO 8601 with an offset, or a day."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The time as the server reads it."""
        text = value.strip()
        try:
            parse_bound(text, round_up=False)
            return f"{text}T00:00:00Z" if len(text) == _DAY_ONLY else str(text)
        except BadInstant:
            return self._from_iso(text, param, ctx)

    def _from_iso(self, text: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            time = datetime.fromisoformat(text)
        except ValueError:
            self.fail(f"{text!r} is not a time like 2026-02-10T12:00:00+01:00 or a day like 2026-02-10", param, ctx)
        if time.tzinfo is None:
            self.fail(f"{text!r} needs an offset, like {time:%Y-%m-%dT%H:%M:%S}Z", param, ctx)
        return time.isoformat()


class NumberType(click.ParamType[msgspec.Raw]):
    """A number, whole or not, that is sent just as it was given."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> msgspec.Raw:
        """The number as JSON text."""
        if isinstance(value, msgspec.Raw):
            return value
        try:
            msgspec.json.decode(value, type=float)
        except msgspec.DecodeError:
            self.fail(f"{value!r} is not a number", param, ctx)
        return msgspec.Raw(value.encode())


class PriorityType(click.ParamType[str | int]):
    """A priority, by name or by number; what a name means is the server's business."""

    name = "priority"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str | int:
        """The name, or the number."""
        if not str(value).strip():
            self.fail("must not be blank", param, ctx)
        return int(value) if str(value).isascii() and str(value).isdigit() else str(value)


class KnownPriorityType(PriorityType):
    """A priority that jobs can have."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str | int:
        """The name, or the number."""
        priority = super().convert(value, param, ctx)
        if priority not in PRIORITY_RANKS and priority not in PRIORITY_RANKS.values():
            self.fail(f"{value!r} is not critical, high, normal, 0, 1 or 2", param, ctx)
        return priority


JOB_ID: Final = NameType("job-id")
TEXT: Final = NameType("text")
QUEUE: Final = QueueType("queue")
NEW_QUEUE: Final = NewQueueType()
TIME: Final = TimeType()
NUMBER: Final = NumberType()
PRIORITY: Final = PriorityType()
KNOWN_PRIORITY: Final = KnownPriorityType()


def queue_argument(name: str = "queue") -> Callable[[Command], Command]:
    """The queue that a command is about."""
    return click.argument(name, type=QUEUE)


def job_argument(function: Command) -> Command:
    """The job that a command is about."""
    return click.argument("job_id", type=JOB_ID)(function)


def json_text(given: str, what: str) -> msgspec.Raw:
    """JSON from the command line, from stdin (`-`) or from a file (`@file`), not changed in any way."""
    text = _text(given, what)
    if not text.strip():
        raise click.ClickException(f"{what} is not valid JSON: it is empty")
    try:
        text.decode()
        msgspec.json.decode(text, type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise click.ClickException(f"{what} is not valid JSON: {error}") from None
    return msgspec.Raw(text)


def read_stdin() -> bytes:
    """All that comes in by stdin; nothing if that is closed."""
    stdin: TextIO | None = sys.stdin
    return b"" if stdin is None else stdin.buffer.read()


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person is at the other end; nobody is if it is closed."""
    return stream is not None and stream.isatty()


def has_colours() -> bool:
    """Whether whoever reads stdout in a terminal wants colours, and the terminal has them."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _text(given: str, what: str) -> bytes:
    if given == "-":
        return read_stdin()
    if not given.startswith("@"):
        return given.encode()
    if given == "@":
        raise click.ClickException(f"{what}: the name of a file is missing behind @")
    try:
        return Path(given[1:]).read_bytes()
    except OSError as error:
        raise click.ClickException(f"cannot read {what} from {given[1:]}: {error.strerror or error}") from None
