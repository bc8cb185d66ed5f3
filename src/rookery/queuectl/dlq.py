"""`queuectl dlq`: the jobs that have failed too often, and running them again."""

import click

from rookery.engine.ops import CHUNK, Bulk, BulkDone
from rookery.model.job import CANCELLED, DEAD
from rookery.queuectl.commands import in_home, json_flag, refuse, reject
from rookery.queuectl.home import Home
from rookery.queuectl.output import show_json_rows, show_table, shown
from rookery.queuectl.reads import dead_ids, find_job, find_jobs
from rookery.store.filters import JobFilter


@click.group("dlq")
def command() -> None:
    """List dead jobs, and run them again."""


@command.command("list")
@click.option("--queue", metavar="NAME", help="Only jobs of this queue.")
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="At most so many, the oldest first.")
@json_flag
@in_home
def list_dead(home: Home, /, queue: str | None, limit: int | None, as_json: bool) -> None:
    """List the dead jobs, the oldest first, each with its last error. JSON has every column."""
    jobs = find_jobs(home.reader(), "dead", queue, limit)
    if as_json:
        show_json_rows(jobs)
    else:
        show_table(("id", "attempts", "max_retries", "last_error"), jobs)


@command.command()
@click.argument("job_id", metavar="[ID]", required=False)
@click.option("--all", "wants_all", is_flag=True, help="Retry all dead jobs.")
@click.option("--queue", metavar="NAME", help="With --all: only those of this queue.")
@in_home
def retry(home: Home, /, job_id: str | None, wants_all: bool, queue: str | None) -> None:
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
        _retry_all(home, queue)
    elif not retry_one(home, job_id):
        job = find_job(home.reader(), job_id)
        refuse(f"job {job_id} not found" if job is None else f"job {job_id} is not dead but {job['state']}")
    else:
        click.echo(f"Retrying {shown(job_id)}")


def _retry_all(home: Home, queue: str | None) -> None:
    """Retry those that are dead now, a chunk at a time; what dies meanwhile is left alone."""
    ids = dead_ids(home.reader(), queue)
    retried = 0
    for start in range(0, len(ids), CHUNK):
        chunk = ids[start : start + CHUNK]
        retried += _retry_dead(home, chunk)
        for job_id in chunk:
            click.echo(f"Retrying {shown(job_id)}")
    click.echo(f"{retried} of {len(ids)} dead jobs will run again", err=True)


def retry_one(home: Home, job_id: str) -> bool:
    """Let a job run again, if it is there and dead."""
    return find_job(home.reader(), job_id) is not None and _retry_dead(home, [job_id]) == 1


def _retry_dead(home: Home, job_ids: list[str]) -> int:
    """Let these jobs run again, but for those that are not dead at that very moment; how many they were."""
    (result,) = home.apply(Bulk(action="retry", job_ids=job_ids, wanted=JobFilter(states=(DEAD, CANCELLED))))
    assert isinstance(result, BulkDone)
    return result.affected
