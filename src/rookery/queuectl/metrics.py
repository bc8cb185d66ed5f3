"""`queuectl metrics`: figures for Prometheus, of jobs, workers and runs."""

from collections.abc import Iterator
from typing import Any, Final

import apsw
import click

from rookery.queuectl.commands import in_home, json_flag
from rookery.queuectl.home import Home, now_ms
from rookery.queuectl.output import show_json
from rookery.queuectl.reads import count_by_queue
from rookery.queuectl.tallies import ENDLESS, read_tallies
from rookery.queuectl.workers import read_workers

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


@click.command("metrics")
@json_flag
@in_home
def command(home: Home, /, as_json: bool) -> None:
    """Print figures of jobs, workers and runs, in the text format of Prometheus or as JSON.

    \b
    queuectl metrics > /var/lib/node_exporter/queuectl.prom
    """
    if as_json:
        show_json(read_figures(home.reader()))
    else:
        click.echo(metrics_text(home.reader()), nl=False)


def read_figures(db: apsw.Connection) -> dict[str, Any]:
    """All figures by their names."""
    tallies, now = read_tallies(db), now_ms()
    return {
        "queuectl_jobs": count_by_queue(db),
        "queuectl_workers": sum(not worker.is_gone(now) for worker in read_workers(db)),
        "queuectl_job_runs_total": tallies.runs,
        "queuectl_job_retries_total": tallies.retries,
        "queuectl_job_duration_seconds": {
            "buckets": tallies.durations,
            "sum": tallies.seconds,
            "count": tallies.durations[ENDLESS],
        },
    }


def metrics_text(db: apsw.Connection) -> str:
    """All figures in the text format of Prometheus."""
    return "".join(f"{line}\n" for line in _lines(read_figures(db)))


def _lines(figures: dict[str, Any]) -> Iterator[str]:
    yield from _head("queuectl_jobs", "gauge", "Jobs by state and queue.")
    for queue, counts in figures["queuectl_jobs"].items():
        for state, count in counts.items():
            yield f'queuectl_jobs{{state="{state}",queue="{_escaped(queue)}"}} {count}'
    yield from _head("queuectl_workers", "gauge", "Workers whose processes are running.")
    yield f"queuectl_workers {figures['queuectl_workers']}"
    yield from _head("queuectl_job_runs_total", "counter", "Runs that came to an end, by how they ended.")
    for outcome, count in figures["queuectl_job_runs_total"].items():
        yield f'queuectl_job_runs_total{{outcome="{outcome}"}} {count}'
    yield from _head("queuectl_job_retries_total", "counter", "Failed runs after which the job was to run again.")
    yield f"queuectl_job_retries_total {figures['queuectl_job_retries_total']}"
    name = "queuectl_job_duration_seconds"
    yield from _head(name, "histogram", "How long runs took.")
    for bound, count in figures[name]["buckets"].items():
        yield f'{name}_bucket{{le="{bound}"}} {count}'
    yield f"{name}_sum {figures[name]['sum']}"
    yield f"{name}_count {figures[name]['count']}"


def _head(name: str, kind: str, text: str) -> Iterator[str]:
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"


def _escaped(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
