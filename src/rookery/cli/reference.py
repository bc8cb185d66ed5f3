"""The reference of all commands, `docs/cli.md`, made from the commands: `python -m rookery.cli.reference`."""

import inspect
from collections.abc import Iterator
from typing import Final

import click

from rookery.cli import COMMANDS, main
from rookery.cli.flags import COMMON_FLAGS

INTRODUCTION: Final = """\
# The command line

This page is made from the commands: `make docs` writes it anew. `rookery COMMAND --help` says the same.

Flags may stand before or after arguments. `--flag value` and `--flag=value` are the same, and a switch may be set:
`--wait=false`. Behind `--` nothing is a flag: `rookery enqueue numbers -- -5`.

| exit code | |
|---|---|
| 0 | done; stdout has the result and nothing else |
| 1 | the server said no or was not reached, or the input was bad: stdout is empty, stderr says `Error: …` |
| 2 | a command or flag that there is not, or the wrong number of arguments |
| 130 | Ctrl-C |

With `--output json` stdout has exactly one JSON document: what the server answered, every number and text as it came.
Tables have no colours, cut nothing off, and go through pipes:

```sh
rookery search --queue emails --state dead | rookery bulk retry
rookery search --state dead --output json | jq 'group_by(.queue) | map({queue: .[0].queue, count: length})'
rookery search --state completed --created-before "$(date -d '7 days ago' -Iseconds)" | rookery bulk delete
```

`CORVO_URL`, `CORVO_API_KEY` and `CORVO_NAMESPACE` count where the variable of the same meaning is not set.
"""


def reference() -> str:
    """The whole page."""
    return "\n".join([INTRODUCTION, *_common_flags(), *_commands()])


def _common_flags() -> Iterator[str]:
    yield "## Flags of every command that talks to a server\n"
    yield "They may also stand in front of the command's name.\n"
    context = click.Context(main, info_name="rookery")
    command = main.get_command(context, "queues")
    assert command is not None
    yield from _table(option for option in command.params if option.name in COMMON_FLAGS)


def _commands() -> Iterator[str]:
    root = click.Context(main, info_name="rookery")
    for task, entries in COMMANDS.items():
        yield f"## {task}\n"
        for name in entries:
            command = main.get_command(root, name)
            assert command is not None
            yield from _command(command, click.Context(command, root, name))


def _command(command: click.Command, context: click.Context) -> Iterator[str]:
    """How it is called, what it does, its options, and the commands below it."""
    pieces = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield f"### {context.command_path}\n\n```\n{pieces}\n```\n"
    yield from _paragraphs(inspect.cleandoc(command.help or ""))
    is_client = any(parameter.name == "server" for parameter in command.params)
    yield from _table(
        parameter
        for parameter in command.params
        if isinstance(parameter, click.Option)
        and not parameter.hidden
        and not (is_client and parameter.name in COMMON_FLAGS)
    )
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from _command(below, click.Context(below, context, name))


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in text.split("\n\n"):
        if paragraph.startswith("\b"):
            yield f"```sh\n{paragraph.removeprefix(chr(8)).strip()}\n```\n"
        else:
            yield f"{paragraph}\n"


def _table(options: Iterator[click.Parameter]) -> Iterator[str]:
    rows = []
    for option in options:
        record = option.get_help_record(click.Context(main))
        if record is not None:
            names, text = (part.replace("|", "\\|") for part in record)
            rows.append(f"| `{names}` | {' '.join(text.split())} |")
    if rows:
        yield "\n".join(["| option | |", "|---|---|", *rows]) + "\n"


if __name__ == "__main__":
    print(reference(), end="")
