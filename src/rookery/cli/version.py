"""`rookery version`."""

import json
import os
from pathlib import Path

import click

from rookery import __version__
from rookery.cli.flags import SwitchCommand, output_flags


@click.command("version", cls=SwitchCommand)
@output_flags
def command(is_json: bool) -> None:
    """Print the version."""
    if is_json:
        click.echo(json.dumps({"version": __version__, "commit": _commit(), "date": _built()}, indent=2))
    else:
        click.echo(version_line())


def version_line() -> str:
    """Version, commit and date in a line."""
    return f"rookery {__version__} (commit: {_commit()}, built: {_built()})"


def _commit() -> str:
    return os.environ.get("ROOKERY_BUILD_COMMIT", "none")


def _built() -> str:
    """When this copy was installed; a build may say it better."""
    from rookery.model.instants import format_instant

    installed = Path(__file__).parent.parent / "__init__.py"
    return os.environ.get("ROOKERY_BUILD_DATE") or format_instant(int(installed.stat().st_mtime) * 1000)
