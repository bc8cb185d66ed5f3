"""Tables and numbers as plain text: no colours, nothing cut off, one row a line."""

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

import click


class Table:
    """A table whose rows may come in parts: columns grow as they have to, and never shrink."""

    def __init__(self, *header: str) -> None:
        self._header: Sequence[str] | None = header
        self._widths = [0] * len(header)

    def show(self, rows: Iterable[Sequence[Any]]) -> None:
        """Print rows, the header in front of the first of them."""
        lines = [] if self._header is None else [list(self._header)]
        self._header = None
        lines += [[cell(value) for value in row] for row in rows]
        for line in lines:
            self._widths = [max(width, _width(text)) for width, text in zip(self._widths, line, strict=True)]
        if lines:
            click.echo("\n".join(self._line(line) for line in lines))

    def _line(self, cells: list[str]) -> str:
        padded = (text + " " * (width - _width(text)) for text, width in zip(cells, self._widths, strict=True))
        return "  ".join(padded).rstrip()


def counted(count: int, noun: str) -> str:
    """`1 job`, `2 jobs`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def cell(value: Any) -> str:
    """A value on one line; what would steer a terminal is written out."""
    text = "" if value is None else str(value)
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else " " if char.isspace() else ascii(char)[1:-1] for char in text)


def _width(text: str) -> int:
    """How many places a text takes in a terminal."""
    if text.isascii():
        return len(text)
    return sum(_places(char) for char in text)


def _places(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
