"""`queuectl status`: how many jobs there are in each state, and who works on them."""

import click

from rookery.queuectl.commands import in_place, json_flag
from rookery.queuectl.output import show_json, show_table
from rookery.queuectl.place import Place

_COLOURS = {"processing": "cyan", "completed": "green", "failed": "yellow", "dead": "red"}


@click.command("status")
@json_flag
@in_place
def command(place: Place, /, as_json: bool) -> None:
    """Count the jobs in each state, and list the workers that are running.

    With --server, workers that were started from elsewhere are listed until a minute after they were last heard of.
    """
    status = place.status()
    if as_json:
        show_json(status)
        return
    for state, count in status["jobs"].items():
        click.secho(f"{state:<10}  {count}", fg=_COLOURS.get(state) if count else None)
    click.echo()
    if status["workers"]:
        show_table(("worker_id", "pid", "started_at", "job_id"), status["workers"])
    else:
        click.echo("No workers are running.")
    if status["shutdown"]:
        click.echo("Workers have been told to stop (shutdown=true).")
