"""`queuectl status`: how many jobs there are in each state, and who works on them."""

from typing import Any

import apsw
import click

from rookery.model.instants import format_instant
from rookery.queuectl.commands import in_home, json_flag
from rookery.queuectl.home import Home, now_ms
from rookery.queuectl.output import show_json, show_table
from rookery.queuectl.reads import count_all
from rookery.queuectl.settings import read_settings
from rookery.queuectl.workers import read_workers

_COLOURS = {"processing": "cyan", "completed": "green", "failed": "yellow", "dead": "red"}


@click.command("status")
@json_flag
@in_home
def command(home: Home, /, as_json: bool) -> None:
    """Count the jobs in each state, and list the workers that are running."""
    status = read_status(home.reader())
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


def read_status(db: apsw.Connection) -> dict[str, Any]:
    """Counts, workers whose processes are there, and whether they are to stop."""
    now = now_ms()
    return {
        "jobs": count_all(db),
        "workers": [
            {
                "worker_id": worker.id,
                "pid": worker.pid,
                "started_at": format_instant(worker.started_at),
                "job_id": worker.job_id,
            }
            for worker in read_workers(db)
            if not worker.is_gone(now)
        ],
        "shutdown": read_settings(db).shutdown,
    }
