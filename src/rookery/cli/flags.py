"""Kinds of flag values: durations, addresses, prefixes."""

import re
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import urlsplit

import click

from rookery.model.durations import BadDuration, parse_duration

Command = TypeVar("Command", bound=Callable[..., Any])


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


LOG_LEVELS = click.Choice(["debug", "info", "warn", "error"])
DURATION = DurationType()
ADDRESS = AddressType()
METRICS_PREFIX = MetricsPrefixType()
COLLECTOR = CollectorType()
