"""`queuectl dlq`: the jobs that have failed too often, and running them again."""

import click

from rookery.engine.ops import CHUNK
from rookery.queuectl.commands import in_place, json_flag, refuse, reject
from rookery.queuectl.output import show_json_rows, show_table, shown
from rookery.queuectl.place import Place


@click.group("dlq")
def command() -> None:
    """List dead jobs, and run them again."""


@command.command("list")
@click.option("--queue", metavar="NAME", help="Only jobs of this queue.")
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="At most so many, the oldest first.")
@json_flag
@in_place
def list_dead(place: Place, /, queue: str | None, limit: int | None, as_json: bool) -> None:
    """List the dead jobs, the oldest first, each with its last error. JSON has every column."""
    jobs = place.find_jobs("dead", queue, limit)
    if as_json:
        show_json_rows(jobs)
    else:
        show_table(("id", "attempts", "max_retries", "last_error"), jobs, "No dead jobs.")


@command.command()
@click.argument("job_id", metavar="[ID]", required=False)
@click.option("--all", "wants_all", is_flag=True, help="Retry all dead jobs.")
@click.option("--queue", metavar="NAME", help="With --all: only those of this queue.")
@in_place
def retry(place: Place, /, job_id: str | None, wants_all: bool, queue: str | None) -> None:
    """Run a dead job again, as if it had never run: its attempts begin at 0, and it is due now.

    \b
    queuectl dlq retry job1
    queuectl dlq retry --all --queue reports
    """
    if wants_all == (job_id is not None):
        reject("give either an ID or --all")
    if queue is not None and not wants_all:
        reject("queue: goes only with --all")
    if job_id is None:
        _retry_all(place, queue)
    else:
        _retry_one(place, job_id)


def _retry_one(place: Place, job_id: str) -> None:
    if place.find_job(job_id) is None:
        refuse(f"job {job_id} not found")
    if not place.retry_dead([job_id]):
        job = place.find_job(job_id)
        refuse(f"job {job_id} not found" if job is None else f"job {job_id} is not dead but {job['state']}")
    click.echo(f"Retrying {shown(job_id)}")


def _retry_all(place: Place, queue: str | None) -> None:
    """Retry those that are dead now, a chunk at a time; what dies meanwhile is left alone."""
    ids = place.dead_ids(queue)
    retried = 0
    for start in range(0, len(ids), CHUNK):
        chunk = ids[start : start + CHUNK]
        retried += place.retry_dead(chunk)
        for job_id in chunk:
            click.echo(f"Retrying {shown(job_id)}")
    click.echo(f"{retried} of {len(ids)} dead jobs will run again", err=True)
