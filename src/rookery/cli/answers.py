"""What a server answers, as it came: JSON text that is shown without being changed, or read for a table."""

from collections.abc import Mapping
from typing import Any, Final, TypeVar
from urllib.parse import quote

import click
import msgspec

from rookery.cli.remote import TIMEOUT, Remote, Unexpected

T = TypeVar("T")

LONG_WORK: Final = 3600.0
"""Seconds that a server may take for what it does to very many jobs before it answers."""


def ask(
    remote: Remote,
    method: str,
    path: str,
    body: Any = None,
    params: Mapping[str, str] | None = None,
    silence: float = TIMEOUT,
) -> msgspec.Raw:
    """The answer's JSON text, which may take so many seconds; `path` is below `/api/v1`."""
    with remote.stream(method, path, body=body, params=params, silence=silence) as answer:
        return msgspec.Raw(answer.read())


def segment(name: str) -> str:
    """A name as one part of a path."""
    return name.replace(".", "%2E") if name in (".", "..") else quote(name, safe="")


def read(answer: msgspec.Raw, kind: type[T]) -> T:
    """What a command needs of an answer."""
    try:
        return msgspec.json.decode(answer, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Unexpected(error) from None


def pretty(answer: msgspec.Raw) -> bytes:
    """The same JSON with two spaces of indentation; numbers and texts stay as they came."""
    try:
        return msgspec.json.format(bytes(answer), indent=2)
    except msgspec.DecodeError as error:
        raise Unexpected(error) from None


def report(answer: msgspec.Raw, is_json: bool, text: str) -> None:
    """Say how it went: the answer itself, or a line."""
    click.echo(pretty(answer) if is_json else text)
