"""Failing attempts: retries, backoff and death."""

from typing import Any

import pytest

from tests.api.expectations import (
    assert_refused,
    claim,
    job_in_state,
    moment,
    seconds_from_now,
    start_job,
    wait_for_state,
)
from tests.conftest import Api


def test_a_failed_attempt_is_tried_again_later(api: Api, queue: str) -> None:
    job_id = start_job(api, queue, checkpoint="kept")["job_id"]
    answer = api.post(f"/fail/{job_id}", {"error": "boom", "backtrace": "here"})
    assert answer.status_code == 200
    body = answer.json()
    assert body.keys() == {"status", "next_attempt_at", "attempts_remaining", "attempt"}
    assert (body["status"], body["attempts_remaining"], body["attempt"]) == ("retrying", 2, 1)
    assert 4 < seconds_from_now(body["next_attempt_at"]) <= 5
    job = api.job(job_id)
    assert job["state"] == "retrying"
    assert job["scheduled_at"] == body["next_attempt_at"]
    assert abs(seconds_from_now(job["failed_at"])) < 10
    assert job["checkpoint"] == "kept"
    assert [(error["error"], error["backtrace"]) for error in job["errors"]] == [("boom", "here")]
    assert api.events_of(job_id) == ["enqueued", "started", "failed"]


@pytest.mark.parametrize(("max_retries", "failures"), [(0, 1), (1, 1), (2, 2), (3, 3)])
def test_the_number_of_retries_is_the_number_of_attempts(api: Api, queue: str, max_retries: int, failures: int) -> None:
    job_id = api.enqueue(queue, max_retries=max_retries, retry_backoff="none")
    statuses = []
    for attempt in range(1, failures + 1):
        assert claim(api, queue, timeout=3)["attempt"] == attempt
        body = api.post(f"/fail/{job_id}").json()
        assert body["attempts_remaining"] == max(0, max_retries - attempt)
        statuses.append(body["status"])
    assert statuses == ["retrying"] * (failures - 1) + ["dead"]
    assert api.job(job_id)["state"] == "dead"


def test_a_dead_job_has_no_next_attempt(api: Api, queue: str) -> None:
    job_id = start_job(api, queue, max_retries=1)["job_id"]
    body = api.post(f"/fail/{job_id}", {"error": "boom"}).json()
    assert body == {"status": "dead", "next_attempt_at": None, "attempts_remaining": 0, "attempt": 1}
    job = api.job(job_id)
    assert job["scheduled_at"] is None
    assert abs(seconds_from_now(job["failed_at"])) < 10
    assert api.events_of(job_id) == ["enqueued", "started", "failed", "dead"]


@pytest.mark.parametrize(
    ("fields", "delays"),
    [
        ({}, [5, 10, 20, 40, 80]),
        ({"retry_backoff": "exponential", "retry_base_delay": "1s", "retry_max_delay": "3s"}, [1, 2, 3, 3]),
        ({"retry_backoff": "exponential", "retry_base_delay": "10m"}, [600, 600]),
        ({"retry_backoff": "exponential", "retry_base_delay": "10m", "retry_max_delay": "0s"}, [600, 1200, 2400]),
        ({"retry_backoff": "linear", "retry_base_delay": "7s"}, [7, 14, 21]),
        ({"retry_backoff": "linear", "retry_base_delay": "7s", "retry_max_delay": "10s"}, [7, 10]),
        ({"retry_backoff": "fixed", "retry_base_delay": "9s"}, [9, 9, 9]),
        ({"retry_backoff": "fixed", "retry_base_delay": "9s", "retry_max_delay": "4s"}, [4]),
    ],
    ids=["default", "exponential", "capped", "no-cap", "linear", "linear-capped", "fixed", "fixed-capped"],
)
def test_the_delay_grows_as_the_backoff_says(api: Api, queue: str, fields: Any, delays: list[int]) -> None:
    job_id = api.enqueue(queue, max_retries=len(delays) + 1, unique_key="k", **fields)
    for delay in delays:
        claim(api, queue)
        next_attempt = api.post(f"/fail/{job_id}").json()["next_attempt_at"]
        job = api.job(job_id)
        assert (moment(next_attempt) - moment(job["failed_at"])).total_seconds() == delay
        api.post("/enqueue", {"queue": queue, "unique_key": "k", "unique_on_conflict": "replace"})


def test_without_backoff_a_job_passes_through_retrying(api: Api, queue: str) -> None:
    job_id = start_job(api, queue, retry_backoff="none")["job_id"]
    body = api.post(f"/fail/{job_id}").json()
    assert body["status"] == "retrying"
    assert body["next_attempt_at"] is not None
    assert claim(api, queue, timeout=3)["job_id"] == job_id
    assert api.events_of(job_id) == ["enqueued", "started", "failed", "promoted", "started"]


def test_a_job_is_tried_again_when_its_time_has_come(api: Api, queue: str) -> None:
    job_id = start_job(api, queue, retry_backoff="fixed", retry_base_delay="300ms")["job_id"]
    due = moment(api.post(f"/fail/{job_id}").json()["next_attempt_at"])
    job = wait_for_state(api, job_id, "pending")
    assert job["scheduled_at"] is None
    claim(api, queue)
    assert moment(api.job(job_id)["started_at"]) >= due


def test_the_event_of_a_failure_tells_what_happened(api: Api, queue: str) -> None:
    job_id = start_job(api, queue)["job_id"]
    body = api.post(f"/fail/{job_id}", {"error": "boom"}).json()
    events = api.get("/cluster/events", params={"job_ids": job_id, "types": "failed"}).json()["events"]
    assert [event["data"] for event in events] == [
        {"error": "boom", "attempt": 1, "status": "retrying", "next_attempt_at": body["next_attempt_at"]}
    ]


@pytest.mark.parametrize("body", [None, {}, {"error": "", "backtrace": ""}, {"error": None, "backtrace": None}])
def test_a_failure_needs_no_reason(api: Api, queue: str, body: Any) -> None:
    job_id = start_job(api, queue)["job_id"]
    assert api.post(f"/fail/{job_id}", body).json()["status"] == "retrying"
    errors = api.job(job_id)["errors"]
    assert len(errors) == 1
    assert errors[0]["attempt"] == 1
    assert errors[0]["backtrace"] is None


def test_an_unknown_job_cannot_fail(api: Api) -> None:
    assert_refused(api.post("/fail/job_of_nobody"), 404, "NOT_FOUND")


@pytest.mark.parametrize("state", ["pending", "scheduled", "retrying", "held", "completed", "dead", "cancelled"])
def test_a_job_that_is_not_active_cannot_fail(api: Api, queue: str, state: str) -> None:
    job_id = job_in_state(api, queue, state)
    before = api.job(job_id)
    assert_refused(api.post(f"/fail/{job_id}", {"error": "late"}), 400, "FAIL_ERROR")
    assert api.job(job_id) == before


@pytest.mark.parametrize(("field", "value"), [("error", 1), ("backtrace", []), ("lease_token", 1)])
def test_a_failure_with_a_wrong_type_cannot_be_parsed(api: Api, queue: str, field: str, value: Any) -> None:
    job_id = start_job(api, queue)["job_id"]
    assert_refused(api.post(f"/fail/{job_id}", {field: value}), 400, "PARSE_ERROR", field)


def test_a_delay_beyond_all_bounds_breaks_nothing(api: Api, queue: str) -> None:
    fields = {"retry_base_delay": "800000h", "retry_max_delay": "0s", "max_retries": 1000, "unique_key": "k"}
    job_id = api.enqueue(queue, **fields)
    for _ in range(16):
        claim(api, queue)
        assert api.post(f"/fail/{job_id}").status_code == 200
        assert api.job(job_id)["state"] == "retrying"
        api.post("/enqueue", {"queue": queue, "unique_key": "k", "unique_on_conflict": "replace"})


def test_the_next_attempt_comes_when_the_worker_says(api: Api, queue: str) -> None:
    job = start_job(api, queue)
    body = api.post(f"/fail/{job['job_id']}", {"lease_token": job["lease_token"], "retry_after": "1h30m"}).json()
    assert (body["status"], body["attempts_remaining"]) == ("retrying", 2)
    assert 5390 < seconds_from_now(body["next_attempt_at"]) <= 5401


def test_at_once_is_a_time_too(api: Api, queue: str) -> None:
    job_id = start_job(api, queue)["job_id"]
    api.post(f"/fail/{job_id}", {"retry_after": "0s"})
    assert claim(api, queue, timeout=3)["attempt"] == 2


@pytest.mark.parametrize("end", ["dead", "cancelled"])
def test_the_worker_may_end_the_job_for_good(api: Api, queue: str, end: str) -> None:
    job = start_job(api, queue, max_retries=9)
    body = {"lease_token": job["lease_token"], "error": "no such user", "end": end}
    expected = {"status": end, "next_attempt_at": None, "attempts_remaining": 0, "attempt": 1}
    assert [api.post(f"/fail/{job['job_id']}", body).json() for _ in range(2)] == [expected] * 2
    found = api.job(job["job_id"])
    assert (found["state"], [error["error"] for error in found["errors"]]) == (end, ["no such user"])


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"end": "gone"}, "end"),
        ({"end": "Dead"}, "end"),
        ({"retry_after": "soon"}, "retry_after"),
        ({"retry_after": "-5s"}, "retry_after"),
        ({"retry_after": "5s", "end": "dead"}, "retry_after"),
    ],
)
def test_an_ending_that_cannot_be_changes_nothing(api: Api, queue: str, fields: Any, named: str) -> None:
    job_id = start_job(api, queue)["job_id"]
    answer = api.post(f"/fail/{job_id}", fields)
    assert_refused(answer, 400, "VALIDATION_ERROR")
    assert answer.json()["error"].startswith(named)
    assert api.job(job_id)["state"] == "active"
