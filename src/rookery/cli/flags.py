"""Kinds of flag values: durations and addresses."""

from collections.abc import Callable
from typing import Any, TypeVar

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
