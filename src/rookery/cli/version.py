"""`rookery version`."""

import json
import os
from pathlib import Path

import click

from rookery import __version__


@click.command("version")
@click.option("--output", "-o", "form", type=click.Choice(["table", "json"]), default="table", help="Output form.")
@click.option("--output-json", is_flag=True, help="Same as --output json.")
def command(form: str, output_json: bool) -> None:
    """Print the version."""
    commit, date = os.environ.get("ROOKERY_BUILD_COMMIT", "none"), _built()
    if output_json or form == "json":
        click.echo(json.dumps({"version": __version__, "commit": commit, "date": date}, indent=2))
    else:
        click.echo(f"rookery {__version__} (commit: {commit}, built: {date})")


def _built() -> str:
    """When this copy was installed; a build may say it better."""
    from rookery.model.instants import format_instant

    installed = Path(__file__).parent.parent / "__init__.py"
    return os.environ.get("ROOKERY_BUILD_DATE") or format_instant(int(installed.stat().st_mtime) * 1000)
