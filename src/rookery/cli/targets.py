"""Ids of jobs in whatever comes in by a pipe: JSON of any shape that names jobs, tables, lists."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

import click

from rookery.cli.tables import counted
from rookery.model.names import is_job_id

ID_PREFIX: Final = "job_"
TABLE_HEADER: Final = ["ID", "QUEUE", "STATE"]
"""How the tables of `search` and `held` begin."""

# Numbers do not matter here, and some are longer than Python would read.
_decoder: Final = json.JSONDecoder(parse_int=bool, parse_float=bool, parse_constant=bool)


def read_ids(text: bytes) -> list[str]:
    """The ids in a text, recognised by its content, in its order."""
    try:
        content = text.decode("utf-8-sig").strip()
    except UnicodeDecodeError as error:
        raise click.ClickException(f"stdin is not valid UTF-8: {error}") from None
    if content.startswith(("[", "{", '"')):
        return [id for value in _values(content) for id in _ids_of(value)]
    return _ids_of_lines(line.strip() for line in content.splitlines())


def _ids_of_lines(lines: Iterable[str]) -> list[str]:
    """The first words that are ids. In a table all of them are, whatever they begin with."""
    ids, skipped, is_table = list[str](), 0, False
    for line in filter(None, lines):
        word = line.split(maxsplit=1)[0]
        if line.split()[: len(TABLE_HEADER)] == TABLE_HEADER:
            is_table = True
        elif word.startswith(ID_PREFIX) or (is_table and line.partition("  ")[0] == word and is_job_id(word)):
            ids.append(word)
        else:
            skipped += 1
    if ids and skipped:
        click.echo(f"{counted(skipped, 'line')} of stdin skipped: no job id in front", err=True)
    return ids


def _values(content: str) -> Iterator[Any]:
    """JSON values, one after another: a single document, JSON lines, or what jq prints."""
    position = 0
    while position < len(content):
        try:
            value, position = _decoder.raw_decode(content, position)
        except (ValueError, RecursionError) as error:
            raise click.ClickException(f"stdin is not valid JSON: {error}") from None
        yield value
        while content[position : position + 1].isspace():
            position += 1


def _ids_of(value: Any) -> Iterator[str]:
    """The ids that a value names: of itself, or of the jobs that it lists."""
    if isinstance(value, dict) and isinstance(value.get("jobs"), list):
        value = value["jobs"]
    for item in value if isinstance(value, list) else [value]:
        id = item.get("id") or item.get("job_id") if isinstance(item, dict) else item
        if isinstance(id, str) and id:
            yield id
