"""One plain frame of `rookery top`: no colours, nothing that moves."""

from typing import Final

import click

from rookery.cli.figures import seconds_since, shown_age, shown_slots, spark
from rookery.cli.overview import Overview, last_minute
from rookery.cli.tables import Table
from rookery.model.instants import format_instant

FAILURES_SHOWN: Final = 10
_STATES: Final = ("pending", "active", "held", "retrying", "dead", "completed")


def print_frame(overview: Overview, url: str) -> None:
    """Print queues, workers, throughput and failures."""
    click.echo(f"{url}  {format_instant(int(overview.at * 1000))}\n")
    _print_queues(overview)
    click.echo()
    _print_workers(overview)
    click.echo()
    _print_throughput(overview)
    if overview.failures:
        click.echo()
        _print_failures(overview)


def _print_queues(overview: Overview) -> None:
    if not overview.queues:
        click.echo("No queues")
        return
    header = (*(state.upper() for state in _STATES), "JOBS/MIN", "OLDEST", "PAUSED")
    Table("QUEUE", *header).show(
        [
            queue["name"],
            *(queue[state] for state in _STATES),
            queue.get("throughput_per_min", 0),
            _age(queue["oldest_pending_at"], overview.at),
            "yes" if queue["paused"] else "",
        ]
        for queue in overview.queues
    )


def _print_workers(overview: Overview) -> None:
    if not overview.workers:
        click.echo("No workers connected")
        return
    Table("WORKER", "HOSTNAME", "JOBS", "LAST SEEN", "QUEUES", "STATE").show(
        [
            worker["id"],
            worker["hostname"],
            shown_slots(worker["active_jobs"], worker.get("slots")),
            _age(worker["last_heartbeat"], overview.at),
            ", ".join(worker["queues"]),
            "draining" if worker.get("draining") else "",
        ]
        for worker in overview.workers
    )


def _print_throughput(overview: Overview) -> None:
    rows = []
    for name in ("enqueued", "completed", "failed"):
        values = [minute[name] for minute in overview.throughput]
        rows.append([name, last_minute(overview.throughput, name), max(values, default=0), sum(values), spark(values)])
    Table("THROUGHPUT", "JOBS/MIN", "PEAK", "HOUR", "LAST 60 MINUTES").show(rows)


def _print_failures(overview: Overview) -> None:
    Table("FAILED JOB", "QUEUE", "STATE", "ATTEMPT", "AGO", "ERROR").show(
        [
            job["id"],
            job["queue"],
            job["state"],
            f"{job['attempt']}/{job['max_retries']}",
            _age(job["failed_at"], overview.at),
            job["last_error"],
        ]
        for job in overview.failures[:FAILURES_SHOWN]
    )


def _age(time: str | None, now: float) -> str:
    return shown_age(seconds_since(time, now)) if time else ""
