"""Kinds of flag values, and flags that several commands share."""

import re
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar
from urllib.parse import urlsplit

import click

from rookery.cli import LOG_LEVELS as LOG_LEVELS
from rookery.cli.remote import Remote
from rookery.model.durations import BadDuration, parse_duration

Command = TypeVar("Command", bound=Callable[..., Any])
DEFAULT_SERVER = "http://localhost:8080"


class DurationType(click.ParamType[int]):
    """`5s`, `1h30m`: milliseconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Milliseconds."""
        if isinstance(value, int):
            return value
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


def switch(name: str, default: bool, help: str, *, hidden: bool = False) -> Callable[[Command], Command]:
    """A flag that is switched on by `--name` and set by `--name=true` or `--name=false`."""
    return click.option(
        name,
        type=click.BOOL,
        is_flag=False,
        flag_value=True,
        default=default,
        show_default=True,
        help=help,
        hidden=hidden,
    )


class SwitchCommand(click.Command):
    """A command whose switches may be set as well: `--force` is `--force=true`, and `--force=false` is nothing."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Say `=true` and `=false` as click knows it."""
        switches = {name for option in self.params if getattr(option, "is_flag", False) for name in option.opts}
        end = args.index("--") if "--" in args else len(args)
        plain = []
        for arg in args[:end]:
            name, _, value = arg.partition("=")
            if name not in switches or value not in ("true", "false"):
                plain.append(arg)
            elif value == "true":
                plain.append(name)
        return super().parse_args(ctx, plain + args[end:])


def output_flags(function: Callable[..., Any]) -> Callable[..., Any]:
    """`--output json`, or `--output-json` for short: the command is told whether it `is_json`."""

    @wraps(function)
    def command(*args: Any, form: str, output_json: bool, **options: Any) -> Any:
        return function(*args, is_json=output_json or form == "json", **options)

    forms = click.Choice(["table", "json"])
    flags = (
        click.option("--output", "-o", "form", type=forms, default="table", show_default=True, help="Output form."),
        click.option("--output-json", is_flag=True, help="Same as --output json."),
    )
    return _with_flags(command, flags)


def client_flags(function: Callable[..., Any]) -> Callable[..., Any]:
    """The flags of every command that talks to a server: the command gets a `remote` and what `output_flags` gives."""

    @wraps(function)
    def command(*args: Any, server: str, api_key: str | None, namespace: str | None, **options: Any) -> Any:
        return function(*args, remote=Remote(server, api_key, namespace), **options)

    flags = (
        click.option(
            "--server",
            envvar=["ROOKERY_URL", "CORVO_URL"],
            default=DEFAULT_SERVER,
            show_default=True,
            show_envvar=True,
            help="Base URL of the server.",
        ),
        click.option(
            "--api-key",
            envvar=["ROOKERY_API_KEY", "CORVO_API_KEY"],
            show_envvar=True,
            help="A key, or the admin password.",
        ),
        click.option(
            "--namespace",
            envvar=["ROOKERY_NAMESPACE", "CORVO_NAMESPACE"],
            show_envvar=True,
            help="The namespace to work in.",
        ),
        click.option("--log-level", type=LOG_LEVELS, default=None, expose_value=False, help="What goes to stderr."),
    )
    return output_flags(_with_flags(command, flags))


def _with_flags(function: Callable[..., Any], flags: Sequence[Callable[..., Any]]) -> Callable[..., Any]:
    for flag in reversed(flags):
        function = flag(function)
    return function


DURATION = DurationType()
ADDRESS = AddressType()
METRICS_PREFIX = MetricsPrefixType()
COLLECTOR = CollectorType()
