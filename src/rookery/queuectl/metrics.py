"""`queuectl metrics`: figures for Prometheus, of jobs, workers and runs."""

from collections.abc import Iterator
from typing import Any, Final

import click

from rookery.queuectl.commands import in_place, json_flag
from rookery.queuectl.output import show_json
from rookery.queuectl.place import Place

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


@click.command("metrics")
@json_flag
@in_place
def command(place: Place, /, as_json: bool) -> None:
    """Print figures of jobs, workers and runs, in the text format of Prometheus or as JSON.

    \b
    queuectl metrics > /var/lib/node_exporter/queuectl.prom
    """
    if as_json:
        show_json(place.figures())
    else:
        click.echo(metrics_text(place.figures()), nl=False)


def metrics_text(figures: dict[str, Any]) -> str:
    """Figures in the text format of Prometheus; those that nobody has are left out."""
    return "".join(f"{line}\n" for line in _lines(figures))


def _lines(figures: dict[str, Any]) -> Iterator[str]:
    yield from _head("queuectl_jobs", "gauge", "Jobs by state and queue.")
    for queue, counts in figures["queuectl_jobs"].items():
        for state, count in counts.items():
            yield f'queuectl_jobs{{state="{state}",queue="{_escaped(queue)}"}} {count}'
    yield from _head("queuectl_workers", "gauge", "Workers whose processes are running.")
    yield f"queuectl_workers {figures['queuectl_workers']}"
    if "queuectl_job_runs_total" in figures:
        yield from _run_lines(figures)


def _run_lines(figures: dict[str, Any]) -> Iterator[str]:
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
