"""The `rookery` command. Each subcommand is loaded only when it is used, so that help comes at once."""

from importlib import import_module
from typing import Final

import click

from rookery.cli.flags import LOG_LEVELS

_COMMANDS: Final = {
    "server": ("rookery.cli.server", "Run the job server."),
    "backup": ("rookery.cli.backup", "Copy the store of a server into a file."),
    "restore": ("rookery.cli.restore", "Put a copy of a store into a data directory."),
    "version": ("rookery.cli.version", "Print the version."),
}


class LazyGroup(click.Group):
    """Knows the names of its commands; imports one when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name."""
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = import_module(_COMMANDS[cmd_name][0]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The names with a line each, without loading the commands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--log-level", type=LOG_LEVELS, default="info", help="What goes to stderr.")
@click.pass_context
def main(ctx: click.Context, log_level: str) -> None:
    """Rookery: a job server for any language."""
    ctx.obj = {"log_level": log_level}
