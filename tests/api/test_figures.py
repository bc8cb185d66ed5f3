"""Figures for dashboards: throughput of any span, the pace of each queue, and what fails."""

from typing import Any

import pytest

from tests.api.expectations import assert_refused, bury_job, claim, finish_job
from tests.conftest import Api


def figures(api: Api, **params: Any) -> list[dict[str, Any]]:
    answer = api.get("/metrics/queues", params=params)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()
    return found


def failures(api: Api, **params: Any) -> dict[str, Any]:
    answer = api.get("/metrics/failures", params=params)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def fail(api: Api, queue: str, error: str, **fields: Any) -> str:
    """A job whose first attempt failed."""
    job_id = api.enqueue(queue, **fields)
    claim(api, queue)
    assert api.post(f"/fail/{job_id}", {"error": error}).status_code == 200
    return job_id


@pytest.mark.parametrize(
    ("params", "points"),
    [({}, 60), ({"minutes": 15}, 15), ({"minutes": 1440, "step": 20}, 72), ({"minutes": 7, "step": 3}, 3)],
)
def test_throughput_is_of_the_span_that_is_asked_for(api: Api, params: dict[str, int], points: int) -> None:
    assert len(api.get("/metrics/throughput", params=params).json()) == points


def test_throughput_may_be_that_of_one_queue(api: Api, queue: str) -> None:
    finish_job(api, queue)
    bury_job(api, queue)
    finish_job(api, f"{queue}.other")
    rows = api.get("/metrics/throughput", params={"queue": queue, "minutes": 10, "step": 5}).json()
    assert len(rows) == 2
    assert [sum(row[what] for row in rows) for what in ("enqueued", "completed", "failed")] == [2, 1, 1]
    assert_refused(api.get("/metrics/throughput", params={"queue": f"{queue}.none"}), 404, "NOT_FOUND", "not found")


@pytest.mark.parametrize("path", ["/metrics/throughput", "/metrics/queues", "/metrics/failures"])
@pytest.mark.parametrize(("name", "value"), [("minutes", "0"), ("minutes", "x"), ("minutes", "99999")])
def test_a_span_that_is_none_is_refused(api: Api, path: str, name: str, value: str) -> None:
    assert_refused(api.get(path, params={name: value}), 400, "VALIDATION_ERROR", "minutes")


def test_each_queue_has_its_pace_and_its_times(api: Api, queue: str) -> None:
    finish_job(api, queue)
    bury_job(api, queue)
    api.enqueue(queue, unique_key="k")
    (found,) = figures(api, queue=queue, minutes=5)
    assert found["name"] == queue
    assert [sum(found[what]) for what in ("enqueued", "completed", "failed")] == [3, 1, 1]
    assert [len(found[what]) for what in ("enqueued", "completed", "failed")] == [5, 5, 5]
    assert found["wait"]["count"] == found["run"]["count"] == 2
    assert 0 <= found["run"]["p50_ms"] <= found["run"]["p90_ms"] <= found["run"]["p99_ms"]
    assert found["unique_locks"] == 1


def test_a_queue_in_which_nothing_was_run_has_no_times(api: Api, queue: str) -> None:
    api.enqueue(queue)
    (found,) = figures(api, queue=queue)
    assert (found["wait"], found["run"], found["unique_locks"]) == (None, None, 0)
    assert len(found["completed"]) == 60


def test_all_queues_are_shown_unless_one_is_asked_for(api: Api, queue: str) -> None:
    api.enqueue(queue)
    api.enqueue(f"{queue}.b")
    assert {queue, f"{queue}.b"} <= {found["name"] for found in figures(api)}
    assert figures(api, queue=f"{queue}.none") == []


def test_failures_that_say_the_same_are_taken_together(api: Api, queue: str) -> None:
    fail(api, queue, "SMTP timeout after 30s")
    dead = fail(api, queue, "SMTP timeout after 45s\nTraceback: ...", max_retries=1)
    fail(api, queue, "KeyError: 'to'")
    found = failures(api, queue=queue)
    assert (found["attempts"], found["is_partial"]) == (3, False)
    group, other = found["groups"]
    assert (group["attempts"], group["jobs"], group["dead"]) == (2, 2, 1)
    assert (group["pattern"], group["contains"]) == ("SMTP timeout after …s", "SMTP timeout after")
    assert (group["last_job_id"], group["last_attempt"], group["max_retries"]) == (dead, 1, 1)
    assert (group["queues"], group["last_queue"]) == ([queue], queue)
    assert group["first_at"] <= group["last_at"]
    assert (other["attempts"], other["contains"]) == (1, "KeyError: 'to'")


def test_the_text_of_a_group_finds_its_jobs(api: Api, queue: str) -> None:
    jobs = {fail(api, queue, f"row {number} of 0x{number:x}f is bad") for number in (3, 17)}
    (group,) = failures(api, queue=queue)["groups"]
    found = api.post("/jobs/search", {"queue": queue, "error_contains": group["contains"]}).json()
    assert {job["id"] for job in found["jobs"]} == jobs


def test_failures_of_deleted_jobs_are_gone(api: Api, queue: str) -> None:
    job_id = fail(api, queue, "gone")
    api.delete(f"/jobs/{job_id}")
    assert failures(api, queue=queue) == {"groups": [], "attempts": 0, "is_partial": False}


def test_a_namespace_sees_its_own_figures(api: Api, queue: str) -> None:
    mine = {"headers": {"X-Rookery-Namespace": "figures"}}
    api.enqueue(queue)
    api.post("/enqueue", {"queue": queue}, **mine)
    job = api.post("/fetch", {"queues": [queue]}, **mine).json()
    api.post(f"/fail/{job['job_id']}", {"error": "theirs"}, **mine)
    names = [found["name"] for found in api.get("/metrics/queues", **mine).json()]
    assert names == [queue]
    assert [group["queues"] for group in api.get("/metrics/failures", **mine).json()["groups"]] == [[queue]]
    assert failures(api, queue=queue)["groups"] == []
    assert_refused(
        api.get("/metrics/throughput", params={"queue": f"{queue}.none"}, **mine), 404, "NOT_FOUND", "not found"
    )
