"""The `rookery` command. Each subcommand is loaded only when it is used, so that help comes at once."""

import errno
import os
import sys
from importlib import import_module
from io import TextIOWrapper
from typing import Any, Final, NamedTuple

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from rookery.cli.flags import LOG_LEVELS, SwitchGroup, root_flags


class Entry(NamedTuple):
    """Where a command is written, and what it does in a line."""

    place: str
    text: str


COMMANDS: Final[dict[str, dict[str, Entry]]] = {
    "Run": {
        "server": Entry("server:command", "Run the job server."),
        "worker": Entry("worker:command", "Run the jobs of a Python app, or shell commands."),
        "dev": Entry("dev:command", "Server and worker in one terminal, started again when code changes."),
    },
    "Jobs": {
        "enqueue": Entry("enqueue:command", "Add a job."),
        "search": Entry("search:command", "Find jobs."),
        "inspect": Entry("jobs:inspect", "Show a job."),
        "why": Entry("why:command", "Say why a job is not running."),
        "logs": Entry("logs:command", "Show what a job has logged."),
        "retry": Entry("jobs:retry", "Run a dead, cancelled or completed job again."),
        "cancel": Entry("jobs:cancel", "Cancel a job."),
        "move": Entry("jobs:move", "Move a job to another queue."),
        "delete": Entry("jobs:delete", "Delete a job."),
        "hold": Entry("jobs:hold", "Hold a job until somebody approves it."),
        "approve": Entry("jobs:approve", "Let a held job go on."),
        "reject": Entry("jobs:reject", "Bury a held job."),
        "held": Entry("jobs:held", "List the jobs that are held."),
        "bulk": Entry("bulk:command", "Do the same to many jobs."),
    },
    "Queues": {
        "queues": Entry("queues:queues", "List the queues."),
        "pause": Entry("queues:pause", "Hand out no more jobs of a queue."),
        "resume": Entry("queues:resume", "Hand out its jobs again."),
        "drain": Entry("queues:drain", "Pause a queue and wait until nothing of it runs."),
        "clear": Entry("queues:clear", "Delete the waiting jobs of a queue."),
        "destroy": Entry("queues:destroy", "Delete a queue with all its jobs."),
        "concurrency": Entry("queues:concurrency", "Limit how many jobs of a queue run at a time."),
        "throttle": Entry("queues:throttle", "Limit how many jobs of a queue start in a while."),
        "schedules": Entry("schedules:command", "List, create and delete cron schedules."),
    },
    "Watch": {
        "top": Entry("top:command", "Watch queues, workers and throughput."),
        "status": Entry("operations:status", "Show the server and its queues."),
        "workers": Entry("operations:workers", "List the workers."),
        "cluster": Entry("operations:cluster", "Show the nodes of a cluster."),
        "usage": Entry("usage:usage", "Add up tokens and costs."),
        "cache": Entry("usage:cache", "Show how well prompt caches work."),
    },
    "Look after": {
        "backup": Entry("backup:command", "Copy the store of a server into a file."),
        "restore": Entry("restore:command", "Put a copy of a store into a data directory."),
        "bench": Entry("bench:command", "Measure how fast a server is."),
        "seed": Entry("seed:command", "Fill a server with jobs to look at."),
        "completion": Entry("completion:command", "Set up completion of commands and flags in your shell."),
        "version": Entry("version:command", "Print the version."),
    },
}
_ENTRIES: Final = {name: entry for group in COMMANDS.values() for name, entry in group.items()}


INTERRUPTED: Final = 130
"""The exit code after Ctrl-C."""
UNWRITABLE: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class LazyGroup(SwitchGroup):
    """Knows the names of its commands; imports one when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names."""
        return list(_ENTRIES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name."""
        if cmd_name not in _ENTRIES:
            return None
        module, _, name = _ENTRIES[cmd_name].place.partition(":")
        command: click.Command = getattr(import_module(f"rookery.cli.{module}"), name)
        return command

    def main(self, *args: Any, **options: Any) -> Any:
        """Run the command line; a result that cannot be written ends it with a message."""
        try:
            return super().main(*args, **options)
        except OSError as error:
            if error.errno not in UNWRITABLE or error.filename is not None:
                raise
            _forget_output()
            click.echo(f"Error: cannot write: {os.strerror(error.errno)}", err=True)
            sys.exit(1)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """`help` in front is `--help` behind."""
        return super().parse_args(ctx, [*args[1:], "--help"] if args[:1] == ["help"] else args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; Ctrl-C ends it as it ends other programs."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo(err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The names with a line each, by task, without loading the commands."""
        width = max(map(len, _ENTRIES))
        for task, entries in COMMANDS.items():
            with formatter.section(task):
                formatter.write_dl([(name.ljust(width), entry.text) for name, entry in entries.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is meant; for one that does not exist, the nearest that do."""
        name = args[0]
        if name in _ENTRIES or name.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        from difflib import get_close_matches

        near = " or ".join(repr(match) for match in get_close_matches(name, _ENTRIES, n=2, cutoff=0.65))
        raise click.UsageError(f"No such command {name!r}.{f' Did you mean {near}?' if near else ''}", ctx)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The names that begin so, without loading the commands, or the flags of the group itself."""
        names = [
            CompletionItem(name, help=entry.text) for name, entry in _ENTRIES.items() if name.startswith(incomplete)
        ]
        return names + click.Command.shell_complete(self, ctx, incomplete)


def _forget_output() -> None:
    """What could not be written is not to be tried again when the program ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _print_version(ctx: click.Context, _: click.Parameter, is_wanted: bool) -> None:
    if is_wanted and not ctx.resilient_parsing:
        from rookery.cli.version import version_line

        click.echo(version_line())
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--log-level", type=LOG_LEVELS, default="info", help="What goes to stderr.")
@root_flags
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Print the version."
)
@click.pass_context
def main(ctx: click.Context, /, log_level: str, **flags: Any) -> None:
    """Rookery: a job server for any language."""
    ctx.obj = {"log_level": log_level}
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    _refuse_idle_flags(ctx, flags)


def _refuse_idle_flags(ctx: click.Context, flags: dict[str, Any]) -> None:
    """A flag in front of a command that would not heed it is an error."""
    command = main.get_command(ctx, ctx.invoked_subcommand or "")
    heeded = {parameter.name for parameter in command.params} if command else set(flags)
    for option in main.params:
        if (
            option.name in flags
            and option.name not in heeded
            and ctx.get_parameter_source(option.name) is ParameterSource.COMMANDLINE
        ):
            raise click.UsageError(f"{ctx.invoked_subcommand} takes no {option.opts[0]}", ctx)
