"""`queuectl list`, `show` and `logs`: jobs, one job, and what it has written."""

import sys

import click

from rookery.queuectl.commands import in_place, json_flag, refuse
from rookery.queuectl.jobs import STATES
from rookery.queuectl.output import show_fields, show_json, show_json_rows, show_table
from rookery.queuectl.place import Place, Row

SHOWN: tuple[str, ...] = (
    *("id", "state", "attempts", "max_retries", "priority", "next_run_at", "updated_at", "command"),
)


@click.command("list")
@click.option("--state", type=click.Choice(STATES), help="Only jobs in this state.")
@click.option("--queue", metavar="NAME", help="Only jobs of this queue.")
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="At most so many, the oldest first.")
@json_flag
@in_place
def list_jobs(place: Place, /, state: str | None, queue: str | None, limit: int | None, as_json: bool) -> None:
    """List jobs, the oldest first. JSON has every column.

    \b
    queuectl list --state failed
    queuectl list --queue reports --limit 20
    queuectl list --json | jq -r '.[] | select(.exit_code == 127) | .id'
    """
    jobs = place.find_jobs(state, queue, limit)
    if as_json:
        show_json_rows(jobs)
    else:
        show_table(SHOWN, map(_without_past, jobs), "No jobs.")


def _without_past(job: Row) -> Row:
    """A job that runs no more has no next run, though its time is kept."""
    return {**job, "next_run_at": None} if job["state"] in ("completed", "dead") else job


@click.command()
@click.argument("job_id", metavar="ID")
@json_flag
@in_place
def show(place: Place, /, job_id: str, as_json: bool) -> None:
    """Show all that is known of a job."""
    job = place.find_job(job_id)
    if job is None:
        refuse(f"job {job_id} not found")
    if as_json:
        show_json(job)
    else:
        show_fields(job)


@click.command()
@click.argument("job_id", metavar="ID")
@click.option("--tail", type=click.IntRange(min=0), metavar="N", help="Only the last N lines.")
@json_flag
@in_place
def logs(place: Place, /, job_id: str, tail: int | None, as_json: bool) -> None:
    """Show what a job has written in all its runs. It is printed as it is, but made safe for a terminal.

    \b
    queuectl logs job1 --tail 20
    """
    if place.find_job(job_id) is None:
        refuse(f"job {job_id} not found")
    try:
        if as_json:
            show_json({"id": job_id, "path": place.log_path(job_id), "log": _text(place, job_id, tail)})
        elif sys.stdout.isatty():
            from rookery.cli.figures import without_controls

            click.echo(without_controls(_text(place, job_id, tail)))
        else:
            for block in place.read_log(job_id, tail):
                sys.stdout.buffer.write(block)
    except FileNotFoundError:
        click.echo(f"job {job_id} has not written anything yet", err=True)
    except OSError as error:
        refuse(f"cannot read {place.log_path(job_id)}: {error.strerror}")


def _text(place: Place, job_id: str, tail: int | None) -> str:
    return b"".join(place.read_log(job_id, tail)).decode(errors="replace")
