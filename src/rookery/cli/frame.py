"""One plain frame of `rookery top`: no colours, nothing that moves."""

from collections.abc import Sequence

from rookery.cli.figures import one_line, seconds_since, shown_age, spark
from rookery.cli.overview import Overview, last_minute
from rookery.model.instants import format_instant

FAILURES_SHOWN = 10


def frame(overview: Overview, url: str) -> str:
    """Queues, workers, throughput and failures as text."""
    now = overview.at
    parts = [f"{url}  {format_instant(int(now * 1000))}", _queues(overview, now), _workers(overview, now)]
    return "\n\n".join([*parts, _throughput(overview), *_failures(overview, now)])


def _queues(overview: Overview, now: float) -> str:
    if not overview.queues:
        return "No queues"
    return table(
        ["QUEUE", ">PENDING", ">ACTIVE", ">HELD", ">RETRYING", ">DEAD", ">COMPLETED", ">JOBS/MIN", ">OLDEST", "PAUSED"],
        [
            [
                queue["name"],
                *(f"{queue[state]:,}" for state in ("pending", "active", "held", "retrying", "dead", "completed")),
                f"{queue.get('throughput_per_min', 0):,}",
                _age(queue["oldest_pending_at"], now),
                "yes" if queue["paused"] else "",
            ]
            for queue in overview.queues
        ],
    )


def _workers(overview: Overview, now: float) -> str:
    if not overview.workers:
        return "No workers connected"
    return table(
        ["WORKER", "HOSTNAME", ">ACTIVE", ">LAST SEEN", "QUEUES"],
        [
            [
                worker["id"],
                worker["hostname"] or "",
                f"{worker['active_jobs']:,}",
                _age(worker["last_heartbeat"], now),
                ", ".join(worker["queues"]),
            ]
            for worker in overview.workers
        ],
    )


def _throughput(overview: Overview) -> str:
    minutes = overview.throughput
    rows = []
    for name in ("enqueued", "completed", "failed"):
        values = [minute[name] for minute in minutes]
        rows.append([name, f"{last_minute(minutes, name):,}", f"{max(values):,}", f"{sum(values):,}", spark(values)])
    return table(["THROUGHPUT", ">JOBS/MIN", ">PEAK", ">HOUR", "LAST 60 MINUTES"], rows)


def _failures(overview: Overview, now: float) -> list[str]:
    if not overview.failures:
        return []
    rows = [
        [
            job["id"],
            job["queue"],
            job["state"],
            f"{job['attempt']}/{job['max_retries']}",
            _age(job["failed_at"], now),
            job["last_error"] or "",
        ]
        for job in overview.failures[:FAILURES_SHOWN]
    ]
    return [table(["FAILED JOB", "QUEUE", "STATE", ">ATTEMPT", ">AGO", "ERROR"], rows)]


def _age(time: str | None, now: float) -> str:
    return shown_age(seconds_since(time, now)) if time else ""


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns with two spaces between them; those whose header begins with `>` stand on the right."""
    cells = [[header.lstrip(">") for header in headers], *([one_line(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(headers))]
    lines = []
    for row in cells:
        padded = [
            cell.rjust(width) if header.startswith(">") else cell.ljust(width)
            for cell, width, header in zip(row, widths, headers, strict=True)
        ]
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)
