"""Kinds of flag values, and flags that several commands share."""

import logging
import re
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlsplit

import click
from click.core import ParameterSource

from rookery.model.durations import BadDuration, parse_duration

if TYPE_CHECKING:
    from rookery.cli.remote import Remote

Command = TypeVar("Command", bound=Callable[..., Any])
DEFAULT_SERVER: Final = "http://localhost:8080"

COMMON_FLAGS: Final = ("server", "api_key", "namespace", "form", "output_json", "log_level", "help")
"""The options of every command that talks to a server, by the names that they have inside."""


class DurationType(click.ParamType[int]):
    """`5s`, `1h30m`: milliseconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Milliseconds."""
        if isinstance(value, int):
            return value
        if value.strip() == "0":
            return 0
        try:
            return parse_duration(value)
        except BadDuration as error:
            self.fail(str(error), param, ctx)


class AddressType(click.ParamType[tuple[str, int]]):
    """`host:port`; no host means all interfaces."""

    name = "addr"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        """Host and port."""
        if isinstance(value, tuple):
            return value
        host, colon, port = value.rpartition(":")
        if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:
            self.fail(f"{value!r} is not an address like 127.0.0.1:8080 or :8080", param, ctx)
        return host.strip("[]") or "0.0.0.0", int(port)


class MetricsPrefixType(click.ParamType[str]):
    """What the names of metrics begin with: letters, digits and underscores."""

    name = "prefix"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The prefix without an underscore at its end."""
        if not re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_]*", value, re.ASCII) or not value.strip("_"):
            self.fail(f"{value!r} cannot begin the name of a metric: use letters, digits and underscores", param, ctx)
        return str(value).rstrip("_")


class CollectorType(click.ParamType[str]):
    """Where an OpenTelemetry collector takes traces by HTTP: a URL, or `host:port`."""

    name = "url"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The whole URL; the usual path is added if there is none."""
        url = urlsplit(value if "://" in value else f"http://{value}")
        try:
            is_address = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
        except ValueError:
            is_address = False
        if not is_address:
            self.fail(f"{value!r} is not an address like http://localhost:4318", param, ctx)
        return url._replace(path=url.path if url.path.strip("/") else "/v1/traces").geturl()


def switch(
    name: str, default: bool, help: str, *, hidden: bool = False, envvar: str | None = None
) -> Callable[[Command], Command]:
    """A flag that is switched on by `--name` and set by `--name=true` or `--name=false`."""
    return click.option(
        name,
        type=click.BOOL,
        is_flag=False,
        flag_value=True,
        default=default,
        show_default=True,
        envvar=envvar,
        show_envvar=True,
        help=help,
        hidden=hidden,
    )


class PlainCommand(click.Command):
    """A command that shows its usage with every usage error."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the command line."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            if isinstance(error, click.NoSuchOption) and error.option_name[1:2].isdigit():
                hint = f"Put -- in front of arguments that begin with -, like -- {error.option_name}"
                raise click.NoSuchOption(error.option_name, f"{error.message} {hint}", ctx=ctx) from None
            raise


class SwitchCommand(PlainCommand):
    """A command whose switches may be set as well: `--force` is `--force=true`, and `--force=false` takes it back."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Say `=true` and `=false` as click knows it."""
        switches = {
            name: option
            for option in self.params
            if isinstance(option, click.Option) and option.is_flag
            for name in option.opts
        }
        end = args.index("--") if "--" in args else len(args)
        plain: list[str] = []
        for arg in args[:end]:
            name, _, value = arg.partition("=")
            if name not in switches or value not in ("true", "false"):
                plain.append(arg)
            elif value == "true":
                plain.append(name)
            elif switches[name].secondary_opts:
                plain.append(switches[name].secondary_opts[0])
            else:
                plain = [other for other in plain if other not in switches[name].opts]
        return super().parse_args(ctx, plain + args[end:])

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The command's own options first, then those that all commands have."""
        own: list[tuple[str, str]] = []
        common: list[tuple[str, str]] = []
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                (common if parameter.name in COMMON_FLAGS else own).append(record)
        for title, records in (("Options", own), ("Common options", common)):
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


class SwitchGroup(SwitchCommand, click.Group):
    """The same for a command with commands below it."""

    command_class = SwitchCommand

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Its options, then its commands."""
        super().format_options(ctx, formatter)
        self.format_commands(ctx, formatter)


def output_flags(function: Callable[..., Any]) -> Callable[..., Any]:
    """`--output json`, or `--output-json` for short: the command is told whether it `is_json`. And `--log-level`."""

    @wraps(function)
    def command(*args: Any, form: str, output_json: bool, **options: Any) -> Any:
        ctx = click.get_current_context()
        is_json = chosen(ctx, "output_json") or chosen(ctx, "form") == "json"
        return function(*args, is_json=is_json, **options)

    return _with_flags(log_flag(command), _output_flags())


def client_flags(function: Callable[..., Any]) -> Callable[..., Any]:
    """The flags of every command that talks to a server: the command gets a `remote` and what `output_flags` gives."""

    @wraps(function)
    def command(*args: Any, server: str, api_key: str | None, namespace: str | None, **options: Any) -> Any:
        try:
            return function(*args, remote=remote_of(click.get_current_context()), **options)
        except UnicodeEncodeError:
            raise click.ClickException("an argument is not valid UTF-8") from None

    return output_flags(_with_flags(command, _server_flags()))


def log_flag(function: Callable[..., Any]) -> Callable[..., Any]:
    """`--log-level`: with debug the requests are shown."""

    @wraps(function)
    def command(*args: Any, log_level: str | None, **options: Any) -> Any:
        if chosen(click.get_current_context(), "log_level") == "debug":
            logging.basicConfig(stream=sys.stderr, format="%(message)s")
            logging.getLogger("rookery").setLevel(logging.DEBUG)
        return function(*args, **options)

    return click.option("--log-level", type=LOG_LEVELS, help="What goes to stderr; debug shows every request.")(command)


def root_flags(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same flags in front of the command's name, for those who write them there; not shown in the help."""
    return _with_flags(function, (*_server_flags(hidden=True), *_output_flags(hidden=True)))


def remote_of(ctx: click.Context) -> "Remote":
    """The server that a command is to talk to; `host:port` will do."""
    from rookery.cli.remote import Remote

    url = chosen(ctx, "server")
    return Remote(url if "://" in url else f"http://{url}", chosen(ctx, "api_key"), chosen(ctx, "namespace"))


def chosen(ctx: click.Context, name: str) -> Any:
    """A flag's value: the nearest that was given on the command line, else what the command itself has."""
    context: click.Context | None = ctx
    while context is not None:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            return context.params[name]
        context = context.parent
    return ctx.params[name]


def _with_flags(function: Callable[..., Any], flags: Sequence[Callable[..., Any]]) -> Callable[..., Any]:
    for flag in reversed(flags):
        function = flag(function)
    return function


def _output_flags(*, hidden: bool = False) -> tuple[Callable[..., Any], ...]:
    forms = click.Choice(["table", "json"])
    return (
        click.option(
            "--output",
            "-o",
            "form",
            type=forms,
            default="table",
            show_default=True,
            hidden=hidden,
            help="Output form.",
        ),
        click.option("--output-json", is_flag=True, hidden=hidden, help="Same as --output json."),
    )


def _server_flags(*, hidden: bool = False) -> tuple[Callable[..., Any], ...]:
    return (
        click.option(
            "--server",
            envvar=["ROOKERY_URL", "CORVO_URL"],
            default=DEFAULT_SERVER,
            show_default=True,
            show_envvar=True,
            hidden=hidden,
            help="Base URL of the server.",
        ),
        click.option(
            "--api-key",
            envvar=["ROOKERY_API_KEY", "CORVO_API_KEY"],
            show_envvar=True,
            hidden=hidden,
            help="A key, or the admin password.",
        ),
        click.option(
            "--namespace",
            envvar=["ROOKERY_NAMESPACE", "CORVO_NAMESPACE"],
            show_envvar=True,
            hidden=hidden,
            help="The namespace to work in.",
        ),
    )


LOG_LEVELS = click.Choice(["debug", "info", "warn", "error"])
DURATION = DurationType()
ADDRESS = AddressType()
METRICS_PREFIX = MetricsPrefixType()
COLLECTOR = CollectorType()
