"""`rookery completion`: the script that lets a shell complete commands and flags."""

import os
import sys
from pathlib import PurePath
from typing import Final

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from rookery.cli.flags import PlainCommand, log_flag

PROGRAM: Final = "rookery"
VARIABLE: Final = "_ROOKERY_COMPLETE"
"""By which the script asks the command what may come next."""

SHELLS: Final[dict[str, type[ShellComplete]]] = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}
STEPS: Final = {
    "bash": 'add this line to ~/.bashrc:  eval "$(rookery completion bash)"',
    "zsh": 'add this line to ~/.zshrc, behind compinit:  eval "$(rookery completion zsh)"',
    "fish": "run:  rookery completion fish > ~/.config/fish/completions/rookery.fish",
}


@click.command("completion", cls=PlainCommand)
@click.argument("shell", type=click.Choice(list(SHELLS)), required=False)
@log_flag
@click.pass_context
def command(ctx: click.Context, /, shell: str | None) -> None:
    """Print the script that lets SHELL complete commands and flags of rookery. Without SHELL it is the one of $SHELL.

    \b
    bash  in ~/.bashrc:  eval "$(rookery completion bash)"
    zsh   in ~/.zshrc, behind compinit:  eval "$(rookery completion zsh)"
    fish  rookery completion fish > ~/.config/fish/completions/rookery.fish
    """
    shell = shell or PurePath(os.environ.get("SHELL", "")).name
    if shell not in SHELLS:
        raise click.UsageError(f"cannot tell your shell: name one of {', '.join(SHELLS)}", ctx)
    script = SHELLS[shell](ctx.find_root().command, {}, PROGRAM, VARIABLE)
    click.echo(script.source_template % script.source_vars())
    if sys.stdout.isatty():
        click.echo(f"# To use it, {STEPS[shell]}", err=True)
