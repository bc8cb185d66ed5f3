"""Waiting for the end of a job."""

import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from tests.api.expectations import SOON, assert_refused, finish_job, job_in_state, start_job
from tests.conftest import Api


@pytest.mark.parametrize("state", ["completed", "dead", "cancelled"])
def test_a_job_that_has_ended_is_answered_at_once(api: Api, queue: str, state: str) -> None:
    job_id = job_in_state(api, queue, state)
    answer = api.get(f"/jobs/{job_id}/wait")
    assert answer.status_code == 200
    assert answer.json() == api.job(job_id)


@pytest.mark.parametrize("state", ["pending", "scheduled", "active", "retrying", "held"])
def test_a_job_that_goes_on_is_shown_as_it_is_when_the_time_is_up(api: Api, queue: str, state: str) -> None:
    job_id = job_in_state(api, queue, state)
    start = time.monotonic()
    answer = api.get(f"/jobs/{job_id}/wait", params={"timeout": 0.3})
    assert answer.status_code == 202
    assert answer.json() == api.job(job_id)
    assert time.monotonic() - start > 0.2


ENDINGS: dict[str, Callable[[Api, str], Any]] = {
    "ack": lambda api, job_id: api.post(f"/ack/{job_id}", {"result": 42}),
    "ack-batch": lambda api, job_id: api.post("/ack/batch", {"acks": [{"job_id": job_id, "result": 42}]}),
    "fail": lambda api, job_id: api.post(f"/fail/{job_id}", {"error": "boom"}),
    "cancel": lambda api, job_id: api.post(f"/jobs/{job_id}/cancel"),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_whoever_waits_hears_of_the_end_at_once(
    api: Api, queue: str, background: Callable[..., Future[Any]], ending: str
) -> None:
    job_id = start_job(api, queue, max_retries=1)["job_id"]
    waiting = background(api.get, f"/jobs/{job_id}/wait")
    with pytest.raises(TimeoutError):
        waiting.result(0.2)
    ENDINGS[ending](api, job_id)
    answer = waiting.result(SOON)
    assert answer.status_code == 200
    assert answer.json() == api.job(job_id)


def test_a_failure_that_will_be_retried_is_not_the_end(
    api: Api, queue: str, background: Callable[..., Future[Any]]
) -> None:
    job_id = start_job(api, queue)["job_id"]
    waiting = background(api.get, f"/jobs/{job_id}/wait?timeout=0.5")
    api.post(f"/fail/{job_id}")
    assert waiting.result(SOON).status_code == 202


def test_many_may_wait_for_one_job(api: Api, queue: str, background: Callable[..., Future[Any]]) -> None:
    job_id = start_job(api, queue)["job_id"]
    waiting = [background(api.get, f"/jobs/{job_id}/wait") for _ in range(20)]
    with pytest.raises(TimeoutError):
        waiting[-1].result(0.2)
    api.post(f"/ack/{job_id}")
    assert [call.result(SOON).status_code for call in waiting] == [200] * 20


def test_a_job_that_is_deleted_meanwhile_is_not_found(
    api: Api, queue: str, background: Callable[..., Future[Any]]
) -> None:
    job_id = api.enqueue(queue)
    waiting = background(api.get, f"/jobs/{job_id}/wait?timeout=60")
    with pytest.raises(TimeoutError):
        waiting.result(0.2)
    api.delete(f"/jobs/{job_id}")
    assert_refused(waiting.result(SOON), 404, "NOT_FOUND")


def test_nobody_can_wait_for_an_unknown_job(api: Api) -> None:
    assert_refused(api.get("/jobs/job_of_nobody/wait"), 404, "NOT_FOUND")


@pytest.mark.parametrize("timeout", ["soon", "nan", "inf", "-1"])
def test_a_time_that_cannot_be_waited_is_refused(api: Api, queue: str, timeout: str) -> None:
    job_id = api.enqueue(queue)
    answer = api.get(f"/jobs/{job_id}/wait", params={"timeout": timeout})
    assert answer.status_code == 400
    assert "timeout" in answer.json()["error"]


def test_a_longer_time_than_the_longest_is_taken(api: Api, queue: str) -> None:
    job_id = finish_job(api, queue)
    assert api.get(f"/jobs/{job_id}/wait", params={"timeout": 3600}).status_code == 200
