"""Handing a job back without burning an attempt."""

from typing import Any

import pytest

from tests.api.expectations import (
    assert_refused,
    claim,
    is_empty,
    job_in_state,
    seconds_from_now,
    start_job,
    wait_for_state,
)
from tests.conftest import Api


def test_a_released_job_goes_back_as_if_it_had_not_been_fetched(api: Api, queue: str) -> None:
    job_id = start_job(api, queue, checkpoint="kept")["job_id"]
    answer = api.post(f"/release/{job_id}", {"reason": "deploy"})
    assert answer.status_code == 200
    assert answer.json() == {"status": "pending"}
    job = api.job(job_id)
    assert (job["state"], job["attempt"], job["errors"], job["checkpoint"]) == ("pending", 0, [], "kept")
    assert (job["worker_id"], job["lease_expires_at"]) == (None, None)
    assert api.events_of(job_id) == ["enqueued", "started", "released"]
    assert claim(api, queue)["attempt"] == 1


def test_a_release_can_leave_a_checkpoint(api: Api, queue: str) -> None:
    job_id = start_job(api, queue, checkpoint="old")["job_id"]
    api.post(f"/release/{job_id}", {"checkpoint": "new"})
    assert claim(api, queue)["checkpoint"] == "new"


def test_a_release_can_snooze(api: Api, queue: str) -> None:
    job_id = start_job(api, queue)["job_id"]
    assert api.post(f"/release/{job_id}", {"delay": "10m"}).json() == {"status": "scheduled"}
    job = api.job(job_id)
    assert (job["state"], job["attempt"]) == ("scheduled", 0)
    assert 590 < seconds_from_now(job["scheduled_at"]) <= 601
    assert is_empty(api, queue)


def test_a_snoozed_job_comes_back(api: Api, queue: str) -> None:
    job_id = start_job(api, queue)["job_id"]
    api.post(f"/release/{job_id}", {"delay": "100ms"})
    wait_for_state(api, job_id, "pending")
    assert claim(api, queue)["attempt"] == 1


def test_releases_never_use_up_the_attempts(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue, max_retries=1)
    for _ in range(5):
        assert claim(api, queue)["attempt"] == 1
        api.post(f"/release/{job_id}")
    assert api.job(job_id)["state"] == "pending"


def test_an_unknown_job_cannot_be_released(api: Api) -> None:
    assert_refused(api.post("/release/job_of_nobody"), 404, "NOT_FOUND")


@pytest.mark.parametrize("state", ["pending", "scheduled", "retrying", "held", "completed", "dead", "cancelled"])
def test_a_job_that_is_not_active_cannot_be_released(api: Api, queue: str, state: str) -> None:
    job_id = job_in_state(api, queue, state)
    before = api.job(job_id)
    answer = api.post(f"/release/{job_id}")
    assert answer.status_code == 400
    assert api.job(job_id) == before


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("delay", "soon", "VALIDATION_ERROR"),
        ("delay", "-5s", "VALIDATION_ERROR"),
        ("delay", 5, "PARSE_ERROR"),
        ("reason", 1, "PARSE_ERROR"),
        ("lease_token", 1, "PARSE_ERROR"),
    ],
)
def test_a_release_that_cannot_be_read_is_refused(api: Api, queue: str, field: str, value: Any, code: str) -> None:
    job_id = start_job(api, queue)["job_id"]
    assert_refused(api.post(f"/release/{job_id}", {field: value}), 400, code, field)
    assert api.job(job_id)["state"] == "active"
