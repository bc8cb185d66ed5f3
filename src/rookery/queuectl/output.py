"""How results are printed: JSON for programs, plain tables for people. Text of jobs never steers a terminal."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final

import click
import msgspec

_PART: Final = 500
"""Rows that are printed together: a table of a million jobs begins at once."""


def show_json(value: Any) -> None:
    """One value, indented."""
    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2))


def show_json_rows(rows: Iterable[Any]) -> None:
    """An array, an item a line."""
    lead = "["
    for row in rows:
        click.echo(lead + msgspec.json.encode(row).decode(), nl=False)
        lead = ",\n "
    click.echo("[]" if lead == "[" else "]")


def shown(job_id: str) -> str:
    """An id may be any text; what would steer a terminal is written out."""
    if job_id.isprintable():
        return job_id
    from rookery.cli.tables import cell

    return cell(job_id)


def show_table(columns: Sequence[str], rows: Iterable[dict[str, Any]], none: str = "") -> None:
    """A header, with the names that JSON and the store have, and a line for each; if there are none, stderr says so."""
    from rookery.cli.tables import Table

    table = Table(*columns)
    rest = iter(rows)
    is_empty = True
    while part := list(islice(rest, _PART)):
        table.show([row[column] for column in columns] for row in part)
        is_empty = False
    if is_empty and none:
        click.echo(none, err=True)


def show_fields(fields: dict[str, Any]) -> None:
    """A line for each field, and more for a text of several lines."""
    width = max(map(len, fields))
    for name, value in fields.items():
        lines = list(_lines(value))
        click.echo(f"{name:<{width}}  {lines[0]}".rstrip())
        for line in lines[1:]:
            click.echo(f"{'':<{width}}  {line}".rstrip())


def _lines(value: Any) -> Iterator[str]:
    from rookery.cli.figures import without_controls

    yield from without_controls("" if value is None else str(value)).split("\n")
