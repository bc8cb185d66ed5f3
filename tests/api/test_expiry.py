"""Jobs that are worthless after a while."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.api.expectations import FAR_FUTURE, claim, is_empty, moment, seconds_from_now, wait_for_state
from tests.conftest import Api, wait_for


def wait_until_past(api: Api, job_id: str) -> None:
    expiry = moment(api.job(job_id)["expire_at"])
    wait_for(lambda: datetime.now(UTC) > expiry)


@pytest.mark.parametrize("state", ["pending", "scheduled", "retrying", "held"])
def test_a_waiting_job_dies_when_it_expires(api: Api, queue: str, state: str) -> None:
    fields: dict[str, Any] = {"scheduled_at": FAR_FUTURE} if state == "scheduled" else {}
    job_id = api.enqueue(queue, expire_after="300ms", retry_base_delay="1h", retry_max_delay="1h", **fields)
    if state == "retrying":
        claim(api, queue)
        api.post(f"/fail/{job_id}", {"error": "boom"})
    elif state == "held":
        api.post(f"/jobs/{job_id}/hold")
    assert api.job(job_id)["state"] == state
    job = wait_for_state(api, job_id, "dead")
    assert abs(seconds_from_now(job["failed_at"])) < 15
    error = job["errors"][-1]
    assert (error["error"], error["attempt"]) == ("expired", 1 if state == "retrying" else 0)
    assert api.events_of(job_id)[-2:] == ["expired", "dead"]


def test_an_expired_job_is_never_handed_out(api: Api, queue: str) -> None:
    for _ in range(5):
        job_id = api.enqueue(queue, expire_after="1ms")
        wait_until_past(api, job_id)
        assert is_empty(api, queue)


def test_a_job_that_expires_while_it_waits_for_a_dependency_dies(api: Api, queue: str) -> None:
    dependency = api.enqueue(f"{queue}-a")
    job_id = api.enqueue(queue, depends_on=[dependency], expire_after="50ms")
    wait_for_state(api, job_id, "dead")


def test_an_active_job_may_finish_after_its_expiry(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue, expire_after="200ms")
    claim(api, queue)
    wait_until_past(api, job_id)
    assert api.job(job_id)["state"] == "active"
    assert api.post(f"/ack/{job_id}").json() == {"status": "ok"}
    assert api.job(job_id)["state"] == "completed"


def test_an_expired_job_that_fails_is_dead_whatever_retries_are_left(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue, expire_after="200ms", max_retries=9)
    claim(api, queue)
    wait_until_past(api, job_id)
    answer = api.post(f"/fail/{job_id}", {"error": "boom"}).json()
    assert answer["status"] == "dead"
    assert answer["next_attempt_at"] is None
    assert api.job(job_id)["state"] == "dead"


def test_an_expired_job_that_loses_its_lease_is_dead(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue, expire_after="200ms")
    claim(api, queue, lease_duration=1)
    job = wait_for_state(api, job_id, "dead")
    assert job["errors"][-1]["error"] == "expired"
    assert api.events_of(job_id)[-1] == "dead"


def test_an_expired_agent_job_that_continues_is_dead(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue, expire_after="200ms", agent={})
    claim(api, queue)
    wait_until_past(api, job_id)
    assert api.post(f"/ack/{job_id}", {"agent_status": "continue"}).status_code == 200
    assert api.job(job_id)["state"] == "dead"


def test_a_retry_starts_the_clock_again(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue, expire_after="1s")
    wait_for_state(api, job_id, "dead")
    assert api.post(f"/jobs/{job_id}/retry").status_code == 200
    job = api.job(job_id)
    assert job["state"] == "pending"
    assert 0 < seconds_from_now(job["expire_at"]) <= 1
    assert claim(api, queue)["job_id"] == job_id


def test_the_end_of_a_job_ends_its_expiry(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue, expire_after="150ms")
    api.post(f"/jobs/{job_id}/cancel")
    other = api.enqueue(queue, expire_after="200ms")
    wait_for_state(api, other, "dead")
    assert api.job(job_id)["state"] == "cancelled"
