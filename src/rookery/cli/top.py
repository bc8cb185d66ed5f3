"""`rookery top`: watch a server in the terminal, or print how it is once."""

import os
import sys

import click
import msgspec

from rookery.cli.answers import ask, pretty
from rookery.cli.arguments import is_terminal
from rookery.cli.flags import DURATION, SwitchCommand, client_flags
from rookery.cli.remote import Remote

SHORTEST_INTERVAL = 100


@click.command("top", cls=SwitchCommand)
@click.option("--interval", type=DURATION, default="2s", show_default=True, help="How often to look.")
@click.option("--once", is_flag=True, help="Print one plain frame. So it is, too, if stdout is no terminal.")
@client_flags
@click.pass_context
def command(ctx: click.Context, /, interval: int, once: bool, remote: Remote, is_json: bool) -> None:
    """Watch queues, workers, throughput and failures. Press ? there for the keys, q to leave.

    With --output json it is one object with queues, workers and throughput, printed once.
    """
    if interval < SHORTEST_INTERVAL:
        raise click.BadParameter(f"must be at least {SHORTEST_INTERVAL}ms", ctx, param_hint="--interval")
    if is_json:
        paths = {"queues": "/queues", "workers": "/workers", "throughput": "/metrics/throughput"}
        answers = {name: ask(remote, "GET", path) for name, path in paths.items()}
        click.echo(pretty(msgspec.Raw(msgspec.json.encode(answers))))
    elif once or not _is_screen():
        from rookery.cli.frame import print_frame
        from rookery.cli.overview import read_overview

        print_frame(read_overview(remote), remote.url)
    else:
        from rookery.cli.dashboard.app import Dashboard

        ctx.exit(Dashboard(remote, interval / 1000).run() or 0)


def _is_screen() -> bool:
    """Whether somebody looks, at a terminal where the cursor can be moved."""
    return all(map(is_terminal, (sys.stdin, sys.stdout, sys.stderr))) and os.environ.get("TERM") != "dumb"
