"""`queuectl metrics`: figures for Prometheus."""

import os

from prometheus_client.parser import text_string_to_metric_families

from rookery.engine.ops import RegisterWorker
from rookery.queuectl.processes import own_mark
from rookery.queuectl.tallies import run_ended
from tests.queuectl.desk import Desk


def samples(text: str) -> dict[tuple[str, ...], float]:
    """Every sample by its name and the values of its labels."""
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_the_figures_of_an_empty_home_are_zeros(desk: Desk) -> None:
    found = samples(desk.ok("metrics"))

    assert set(found.values()) == {0}
    assert ("queuectl_jobs", "failed", "default") in found
    assert ("queuectl_job_runs_total", "timeout") in found
    assert ("queuectl_job_duration_seconds_bucket", "+Inf") in found


def test_jobs_workers_and_runs_are_counted(desk: Desk) -> None:
    desk.add()
    desk.bury("x", queue="a:b")
    desk.home.apply(
        RegisterWorker(worker_id="w-1", pid=os.getpid(), pid_started=own_mark()),
        RegisterWorker(worker_id="w-2", pid=os.getpid(), pid_started="gone"),
        run_ended("success", 0.2, is_retried=False),
        run_ended("failure", 0.25, is_retried=True),
        run_ended("failure", 7200, is_retried=False),
        run_ended("timeout", 5.5, is_retried=True),
    )

    found = samples(desk.ok("metrics"))
    assert found["queuectl_jobs", "pending", "default"] == 1
    assert found["queuectl_jobs", "dead", "a:b"] == 1
    assert found["queuectl_jobs", "pending", "a:b"] == 0
    assert found[("queuectl_workers",)] == 1
    assert [found["queuectl_job_runs_total", outcome] for outcome in ("success", "failure", "timeout")] == [1, 2, 1]
    assert found[("queuectl_job_retries_total",)] == 2
    bounds = {"0.1": 0, "0.25": 2, "5": 2, "10": 3, "3600": 3, "+Inf": 4}
    assert {bound: found["queuectl_job_duration_seconds_bucket", bound] for bound in bounds} == bounds
    assert found[("queuectl_job_duration_seconds_count",)] == 4
    assert found[("queuectl_job_duration_seconds_sum",)] == 7205.95


def test_the_figures_come_as_json_too(desk: Desk) -> None:
    desk.add()
    desk.home.apply(run_ended("success", 0.5, is_retried=False))

    figures = desk.json("metrics")
    assert figures["queuectl_jobs"]["default"]["pending"] == 1
    assert figures["queuectl_job_runs_total"] == {"success": 1, "failure": 0, "timeout": 0}
    assert figures["queuectl_job_duration_seconds"]["count"] == 1
    assert figures["queuectl_job_duration_seconds"]["sum"] == 0.5
