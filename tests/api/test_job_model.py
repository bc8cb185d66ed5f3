"""The job as it is shown, and the states it goes through."""

from collections.abc import Callable
from typing import Any

from tests.api.expectations import (
    FAR_FUTURE,
    LONG_AGO,
    assert_refused,
    claim,
    finish_job,
    is_empty,
    moment,
    seconds_from_now,
    start_job,
    wait_for_state,
)
from tests.conftest import Api, ServerProcess, wait_for


def test_a_new_job_shows_every_field_with_its_default(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue)
    job = api.job(job_id)
    assert abs(seconds_from_now(job.pop("created_at"))) < 10
    expected = {
        "id": job_id,
        "queue": queue,
        "state": "pending",
        "payload": {},
        "priority": 2,
        "priority_name": "normal",
        "attempt": 0,
        "max_retries": 3,
        "retry_backoff": "exponential",
        "retry_base_delay_ms": 5000,
        "retry_max_delay_ms": 600_000,
        "retry_base_delay": "5s",
        "retry_max_delay": "10m",
        "unique_key": None,
        "unique_period": None,
        "batch_id": None,
        "worker_id": None,
        "hostname": None,
        "worker": None,
        "tags": None,
        "progress": None,
        "checkpoint": None,
        "result": None,
        "scheduled_at": None,
        "started_at": None,
        "completed_at": None,
        "failed_at": None,
        "lease_expires_at": None,
        "expire_at": None,
        "expire_after": None,
        "parent_id": None,
        "chain_id": None,
        "chain_step": None,
        "chain_config": None,
        "depends_on": None,
        "agent": None,
        "hold_reason": None,
        "errors": [],
    }
    assert {name: job.get(name, "missing") for name in expected} == expected


def test_an_active_job_shows_its_worker_its_lease_and_its_attempt(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue)
    claim(api, queue, worker_id="w7", hostname="host7")
    job = api.job(job_id)
    assert job["state"] == "active"
    assert job["attempt"] == 1
    assert job["worker_id"] == "w7"
    assert job["hostname"] == "host7"
    assert job["worker"] == {"id": "w7", "hostname": "host7"}
    assert abs(seconds_from_now(job["started_at"])) < 10
    assert 50 < seconds_from_now(job["lease_expires_at"]) <= 61


def test_a_completed_job_keeps_its_worker(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue)
    claim(api, queue, worker_id="w8", hostname="host8")
    api.post(f"/ack/{job_id}")
    job = api.job(job_id)
    assert job["worker_id"] == "w8"
    assert job["worker"] == {"id": "w8", "hostname": "host8"}
    assert job["lease_expires_at"] is None


def test_a_job_that_returns_to_the_pool_has_no_worker(api: Api, queue: str) -> None:
    job_id = start_job(api, queue, retry_backoff="none")["job_id"]
    api.post(f"/fail/{job_id}")
    job = wait_for_state(api, job_id, "pending")
    assert job["worker_id"] is None
    assert job["worker"] is None
    assert job["lease_expires_at"] is None


def test_the_errors_of_a_job_are_listed_oldest_first(api: Api, queue: str) -> None:
    job_id = start_job(api, queue, max_retries=2, retry_backoff="none")["job_id"]
    api.post(f"/fail/{job_id}", {"error": "first", "backtrace": "line 1\nline 2"})
    claim(api, queue, timeout=3)
    api.post(f"/fail/{job_id}", {"error": "second"})
    first, second = api.job(job_id)["errors"]
    assert (first["job_id"], first["attempt"], first["error"], first["backtrace"]) == (
        job_id,
        1,
        "first",
        "line 1\nline 2",
    )
    assert (second["attempt"], second["error"], second["backtrace"]) == (2, "second", None)
    assert isinstance(first["id"], int)
    assert first["id"] < second["id"]
    assert first["at"] == first["created_at"]
    assert moment(first["at"]) <= moment(second["at"])


def test_a_job_for_later_is_scheduled_and_not_fetched(api: Api, queue: str) -> None:
    answer = api.post("/enqueue", {"queue": queue, "scheduled_at": FAR_FUTURE})
    assert answer.json()["status"] == "scheduled"
    assert api.job(answer.json()["job_id"])["scheduled_at"].startswith("2090-01-01T00:00:00")
    assert is_empty(api, queue)


def test_a_job_scheduled_in_the_past_is_scheduled_first_and_promoted_at_once(api: Api, queue: str) -> None:
    answer = api.post("/enqueue", {"queue": queue, "scheduled_at": LONG_AGO})
    job_id = answer.json()["job_id"]
    assert answer.json()["status"] == "scheduled"
    job = wait_for_state(api, job_id, "pending")
    assert job["scheduled_at"] is None
    assert api.events_of(job_id) == ["enqueued", "promoted"]
    assert claim(api, queue)["job_id"] == job_id


def test_a_null_time_means_now(api: Api, queue: str) -> None:
    assert api.post("/enqueue", {"queue": queue, "scheduled_at": None}).json()["status"] == "pending"


def test_attempts_count_the_fetches(api: Api, queue: str) -> None:
    job_id = start_job(api, queue, retry_backoff="none", max_retries=5)["job_id"]
    for attempt in (2, 3):
        api.post(f"/fail/{job_id}")
        assert claim(api, queue, timeout=3)["attempt"] == attempt
    assert api.job(job_id)["attempt"] == 3


def test_ended_jobs_are_purged_after_the_retention_period(start_server: Callable[..., ServerProcess]) -> None:
    api = Api(start_server("--retention=1s", "--retention-interval=1s"))
    live = api.enqueue("live")
    ended = [finish_job(api, "q"), api.enqueue("q"), start_job(api, "r", max_retries=1)["job_id"]]
    api.post(f"/jobs/{ended[1]}/cancel")
    api.post(f"/fail/{ended[2]}")
    for job_id in ended:
        wait_for(lambda job_id=job_id: api.get(f"/jobs/{job_id}").status_code == 404)
    assert api.job(live)["state"] == "pending"


def test_a_job_that_does_not_exist_is_not_found(api: Api) -> None:
    assert_refused(api.get("/jobs/job_00000000000000000000000000"), 404, "NOT_FOUND")


def test_an_agent_job_shows_its_limits_and_its_state(api: Api, queue: str) -> None:
    limits: dict[str, Any] = {"max_iterations": 5, "max_cost_usd": 1.5, "iteration_timeout": "2m"}
    job_id = api.enqueue(queue, agent=limits)
    expected = {**limits, "iteration": 1, "total_cost_usd": 0}
    assert api.job(job_id)["agent"] == expected
    assert claim(api, queue)["agent"] == expected
