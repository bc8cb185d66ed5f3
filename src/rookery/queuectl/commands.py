"""The commands of `queuectl`, and what they share. Each is loaded only when it is used, so that all start at once."""

import sys
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from io import TextIOWrapper
from typing import Any, Final, NamedTuple, NoReturn

import click

from rookery.queuectl.home import Home, HomeError
from rookery.queuectl.place import Place, PlaceError

INTERRUPTED: Final = 130
"""The exit code after Ctrl-C."""


class Entry(NamedTuple):
    """Where a command is written, and what it does in a line."""

    place: str
    text: str


COMMANDS: Final[dict[str, dict[str, Entry]]] = {
    "Jobs": {
        "enqueue": Entry("enqueue:command", "Add a job."),
        "list": Entry("listing:list_jobs", "List jobs."),
        "show": Entry("listing:show", "Show a job in full."),
        "logs": Entry("listing:logs", "Show what a job has written."),
        "dlq": Entry("dlq:command", "List dead jobs, and run them again."),
    },
    "Workers": {
        "worker": Entry("worker:command", "Start and stop workers."),
        "config": Entry("config:command", "Show and change settings."),
    },
    "Watch": {
        "status": Entry("status:command", "Count jobs and list workers."),
        "metrics": Entry("metrics:command", "Print figures for Prometheus."),
        "dashboard": Entry("dashboard:command", "Serve a page to watch and retry jobs."),
    },
}
ALIASES: Final = {
    "stop": "worker:stop",
    "retry": "dlq:retry",
    "worker-start": "worker:start",
    "worker-stop": "worker:stop",
    "dlq-list": "dlq:list_dead",
    "dlq-retry": "dlq:retry",
    "config-get": "config:get",
    "config-set": "config:set_value",
}
_PLACES: Final = {name: entry.place for group in COMMANDS.values() for name, entry in group.items()} | ALIASES

_IN_FRONT: Final = {"--server": "URL", "--api-key": "KEY", "--namespace": "NAME"}
"""Flags that are not a command's but say where the jobs are."""


class LazyGroup(click.Group):
    """Knows the names of its commands; imports one when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names but other names for the same."""
        return [name for name in _PLACES if name not in ALIASES]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name."""
        if cmd_name not in _PLACES:
            return None
        module, _, name = _PLACES[cmd_name].partition(":")
        command: click.Command = getattr(import_module(f"rookery.queuectl.{module}"), name)
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read what stands before the command."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.option_name != "--json":
                raise
            text = f"--json goes behind the command: {ctx.command_path} list --json"
            raise click.UsageError(text, ctx) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; what is wrong with the home is told in a line, and Ctrl-C ends it without one."""
        try:
            return super().invoke(ctx)
        except click.NoSuchOption as error:
            if error.option_name not in _IN_FRONT or error.ctx is None:
                raise
            option = f"{error.option_name} {_IN_FRONT[error.option_name]}"
            behind = error.ctx.command_path.removeprefix(ctx.command_path)
            text = f"{error.option_name} goes before the command: {ctx.command_path} {option}{behind}"
            raise click.UsageError(text, error.ctx) from None
        except (HomeError, PlaceError) as error:
            refuse(str(error))
        except KeyboardInterrupt:
            click.echo(err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The names with a line each, by task, without loading the commands."""
        width = max(len(name) for group in COMMANDS.values() for name in group)
        for task, entries in COMMANDS.items():
            with formatter.section(task):
                formatter.write_dl([(name.ljust(width), entry.text) for name, entry in entries.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is meant; for one that does not exist, the nearest that do."""
        name = args[0]
        if name in _PLACES or name.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        from difflib import get_close_matches

        near = " or ".join(repr(match) for match in get_close_matches(name, _PLACES, n=2, cutoff=0.65))
        raise click.UsageError(f"No such command {name!r}.{f' Did you mean {near}?' if near else ''}", ctx)


def refuse(text: str) -> NoReturn:
    """What was asked for is not there, or cannot be done: exit code 1."""
    click.echo(f"Error: {text}", err=True)
    raise click.exceptions.Exit(1)


def reject(text: str) -> NoReturn:
    """What was said cannot be: exit code 2."""
    click.echo(f"Error: {text}", err=True)
    raise click.exceptions.Exit(2)


json_flag = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def in_place(function: Callable[..., Any]) -> Callable[..., Any]:
    """Hands the place of the jobs to a command: the home, or the server that `--server` names."""

    @wraps(function)
    def command(*args: Any, **options: Any) -> Any:
        return function(_current_place(), *args, **options)

    return command


def in_home(instead: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Hands the home to a command that is about nothing else; with `--server` it says what to do instead."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def command(*args: Any, **options: Any) -> Any:
            place = _current_place()
            if place.url is not None:
                refuse(instead.format(home=place.home.path, url=place.url))
            return function(place.home, *args, **options)

        return command

    return decorate


def _current_place() -> Place:
    place = click.get_current_context().obj
    assert isinstance(place, Place)
    return place


def _print_version(ctx: click.Context, _: click.Parameter, is_wanted: bool) -> None:
    if is_wanted and not ctx.resilient_parsing:
        from rookery import __version__

        click.echo(f"queuectl {__version__}")
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Print the version."
)
@click.option(
    "--server",
    metavar="URL",
    envvar="QUEUECTL_SERVER",
    show_envvar=True,
    help="Talk to this Rookery server instead of using a home.",
)
@click.option(
    "--api-key",
    envvar=["ROOKERY_API_KEY", "CORVO_API_KEY"],
    show_envvar=True,
    help="With --server: a key, or the admin password.",
)
@click.option(
    "--namespace",
    envvar=["ROOKERY_NAMESPACE", "CORVO_NAMESPACE"],
    show_envvar=True,
    help="With --server: the namespace to work in.",
)
@click.pass_context
def main(ctx: click.Context, /, server: str | None, api_key: str | None, namespace: str | None) -> None:
    """A queue of shell commands on this host, with no server.

    Jobs are kept in $QUEUECTL_HOME (or ~/.queuectl) and run by any number of worker processes; a job that fails is
    tried again later and later, and is dead in the end.

    \b
    queuectl enqueue --command "make report"
    queuectl worker start --count 4
    queuectl status
    queuectl --server http://jobs.example.com:8080 enqueue --command "make report"
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        ctx.obj = ctx.with_resource(_place(Home.from_environment(), server, api_key, namespace))
    except (HomeError, PlaceError) as error:
        refuse(str(error))


def _place(home: Home, server: str | None, api_key: str | None, namespace: str | None) -> Place:
    if not server:
        from rookery.queuectl.local import HomePlace

        return HomePlace(home)
    from rookery.queuectl.remote.server import ServerPlace

    try:
        return ServerPlace(home, server if "://" in server else f"http://{server}", api_key, namespace)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="'--server'") from None
