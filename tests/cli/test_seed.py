"""`rookery seed demo`: a server full of believable jobs."""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from rookery.cli.demo import FATES, QUEUES
from rookery.model.job import STATES
from tests.cli.conftest import Run, assert_failed, said
from tests.conftest import Api, ServerProcess


@pytest.fixture
def api(start_server: Callable[..., ServerProcess]) -> Api:
    return Api(start_server())


def jobs_of(api: Api) -> list[dict[str, Any]]:
    return api.post("/jobs/search", {"limit": 1000}).json()["jobs"]


def test_every_state_is_there_with_all_that_belongs_to_it(api: Api, rookery: Run) -> None:
    counts = json.loads(said(rookery("seed", "demo", "--server", api.server.url, "-o", "json")))

    jobs = jobs_of(api)
    assert counts["jobs"] == len(jobs) == 48
    states = Counter(job["state"] for job in jobs)
    assert {state: counts[state] for state in STATES} == dict(states)
    assert all(job["queue"].startswith("demo.") for job in jobs)
    assert {job["queue"] for job in jobs} == {queue.name for queue in QUEUES}
    assert len({job["last_error"] for job in jobs if job["state"] == "dead"}) > 2
    assert {job["priority_name"] for job in jobs} == {"normal", "high", "critical"}
    assert all(job["tags"]["tenant"] for job in jobs)
    whole = [api.job(job["id"]) for job in jobs]
    assert all(job["progress"] for job in whole if job["state"] == "active")
    assert all(job["hold_reason"] for job in whole if job["state"] == "held")
    assert all(job["scheduled_at"] for job in whole if job["state"] in ("scheduled", "retrying"))
    assert sum(job["chain_id"] is not None for job in whole) == counts["chains"] == 1
    assert len({job["batch_id"] for job in whole if job["batch_id"]}) == counts["batches"] == 1
    assert [queue["name"] for queue in api.get("/queues").json() if queue["paused"]] == ["demo.reports"]
    assert len(api.get("/workers").json()) == counts["workers"] == 3
    assert len(api.get("/schedules").json()) == counts["schedules"] == 1
    assert api.get("/usage/summary").json()["totals"]["count"] == counts["usage_reports"] > 0
    lines = sum(len(api.get(f"/jobs/{job['id']}/logs").json()["lines"]) for job in jobs)
    assert lines == counts["log_lines"] > 0


def test_it_may_be_run_again(api: Api, rookery: Run) -> None:
    first = json.loads(said(rookery("seed", "demo", "--server", api.server.url, "-o", "json")))
    second = json.loads(said(rookery("seed", "demo", "--server", api.server.url, "-o", "json")))
    assert second == {**first, "schedules": 0}
    # A chain that went on has added steps of its own.
    assert len([job for job in jobs_of(api) if not job["chain_step"]]) == 96


@pytest.mark.parametrize("count", [1, 7, 150])
def test_as_many_jobs_are_added_as_were_asked_for(api: Api, rookery: Run, count: int) -> None:
    counts = json.loads(said(rookery("seed", "demo", "--count", count, "--server", api.server.url, "-o", "json")))
    assert counts["jobs"] == sum(counts[state] for state in STATES) == len(jobs_of(api)) == count
    assert counts["queues"] == min(count, len(QUEUES))


def test_the_table_ends_with_what_to_do_next(api: Api, rookery: Run) -> None:
    lines = said(rookery("seed", "demo", "--server", api.server.url)).splitlines()
    assert lines[0].split() == ["ADDED", "COUNT"]
    assert lines[1].split() == ["jobs", "48"]
    assert lines[-2:] == [
        f"Look at it:  rookery top --server {api.server.url}",
        f"             {api.server.url}/ui",
    ]


def test_no_other_job_is_touched(api: Api, rookery: Run) -> None:
    job_id = api.enqueue("emails")
    before = api.job(job_id)
    said(rookery("seed", "demo", "--server", api.server.url))
    assert api.job(job_id) == before


@pytest.mark.parametrize("count", ["0", "-1", "1001", "many"])
def test_a_count_must_make_sense(rookery: Run, count: str) -> None:
    assert_failed(rookery("seed", "demo", "--count", count), "--count", code=2)


def test_seed_alone_shows_help(rookery: Run) -> None:
    run = rookery("seed")
    assert run.returncode == 2
    assert "demo" in run.stdout + run.stderr


def test_every_state_is_a_fate_and_every_queue_sees_them_all() -> None:
    assert set(FATES) == set(STATES)
    assert len(FATES) % len(QUEUES) != 0
