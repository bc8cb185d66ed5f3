"""Unique keys: who holds one, how long, and what a second job with it may do."""

import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import httpx
import pytest

from tests.api.expectations import FAR_FUTURE, assert_refused, bury_job, claim, moment, start_job, wait_for_state
from tests.conftest import Api, wait_for


def enqueue(api: Api, queue: str, **fields: Any) -> httpx.Response:
    return api.post("/enqueue", {"queue": queue, "unique_key": "k", **fields})


def is_duplicate(api: Api, queue: str, job_id: str) -> bool:
    answer = enqueue(api, queue)
    duplicate = {"job_id": job_id, "status": "duplicate", "unique_existing": True}
    return answer.status_code == 200 and answer.json() == duplicate


def test_a_duplicate_key_finds_the_first_job(api: Api, queue: str) -> None:
    first = enqueue(api, queue, payload=1)
    second = enqueue(api, queue, payload=2)
    assert first.status_code == 201
    assert second.status_code == 200
    job_id = first.json()["job_id"]
    assert second.json() == {"job_id": job_id, "status": "duplicate", "unique_existing": True}
    assert api.job(job_id)["payload"] == 1
    assert api.events_of(job_id) == ["enqueued"]
    assert api.get(f"/queues/{queue}").json()["enqueued"] == 1


def test_a_key_belongs_to_its_queue(api: Api, queue: str) -> None:
    assert enqueue(api, queue).status_code == 201
    assert enqueue(api, f"{queue}-other").status_code == 201
    assert enqueue(api, queue, unique_key="other").status_code == 201


@pytest.mark.parametrize("key", ["", None])
def test_no_key_means_no_lock(api: Api, queue: str, key: str | None) -> None:
    assert [enqueue(api, queue, unique_key=key).status_code for _ in range(2)] == [201, 201]


@pytest.mark.parametrize("ending", ["ack", "ack-batch", "delete", "clear"])
def test_completion_and_deletion_release_the_key(api: Api, queue: str, ending: str) -> None:
    job_id = enqueue(api, queue).json()["job_id"]
    match ending:
        case "ack":
            claim(api, queue)
            api.post(f"/ack/{job_id}")
        case "ack-batch":
            claim(api, queue)
            api.post("/ack/batch", {"acks": [{"job_id": job_id}]})
        case "delete":
            api.delete(f"/jobs/{job_id}")
        case _:
            api.post(f"/queues/{queue}/clear")
    assert enqueue(api, queue).status_code == 201


def test_an_active_job_keeps_its_key(api: Api, queue: str) -> None:
    job = start_job(api, queue, unique_key="k")
    assert is_duplicate(api, queue, job["job_id"])


@pytest.mark.parametrize("actions", [["cancel"], ["hold"], ["hold", "reject"]])
def test_cancel_hold_and_reject_keep_the_key(api: Api, queue: str, actions: list[str]) -> None:
    job_id = enqueue(api, queue).json()["job_id"]
    for action in actions:
        assert api.post(f"/jobs/{job_id}/{action}").status_code == 200
    assert is_duplicate(api, queue, job_id)


def test_a_dead_job_keeps_its_key(api: Api, queue: str) -> None:
    assert is_duplicate(api, queue, bury_job(api, queue, unique_key="k"))


def test_the_key_is_free_as_soon_as_its_period_has_passed(api: Api, queue: str) -> None:
    job_id = enqueue(api, queue, unique_period=1).json()["job_id"]
    start = time.monotonic()
    second = wait_for(lambda: (answer := enqueue(api, queue)).status_code == 201 and answer.json()["job_id"])
    assert time.monotonic() - start > 0.8
    assert api.job(job_id)["state"] == "pending"
    assert is_duplicate(api, queue, second)
    claim(api, queue)
    api.post(f"/ack/{job_id}")
    assert is_duplicate(api, queue, second)


@pytest.mark.parametrize("period", [0, -5])
def test_a_period_of_nothing_means_an_hour(api: Api, queue: str, period: int) -> None:
    job_id = enqueue(api, queue, unique_period=period).json()["job_id"]
    assert api.job(job_id)["unique_period"] == 3600
    assert is_duplicate(api, queue, job_id)


def test_a_retried_job_does_not_take_its_key_again(api: Api, queue: str) -> None:
    job_id = enqueue(api, queue).json()["job_id"]
    claim(api, queue)
    api.post(f"/ack/{job_id}")
    assert api.post(f"/jobs/{job_id}/retry").status_code == 200
    assert enqueue(api, queue).status_code == 201


def test_of_many_at_the_same_moment_one_gets_the_key(
    api: Api, queue: str, background: Callable[..., Future[httpx.Response]]
) -> None:
    calls = [background(enqueue, api, queue) for _ in range(30)]
    answers = [call.result() for call in calls]
    assert sorted(answer.status_code for answer in answers) == [200] * 29 + [201]
    assert len({answer.json()["job_id"] for answer in answers}) == 1


@pytest.mark.parametrize("state", ["pending", "scheduled", "retrying"])
def test_replace_gives_a_waiting_job_what_is_new(api: Api, queue: str, state: str) -> None:
    fields: dict[str, Any] = {"scheduled_at": FAR_FUTURE} if state == "scheduled" else {}
    job_id = enqueue(api, queue, payload=1, retry_base_delay="1h", retry_max_delay="1h", **fields).json()["job_id"]
    if state == "retrying":
        claim(api, queue)
        api.post(f"/fail/{job_id}")
    assert api.job(job_id)["state"] == state
    new = {"payload": {"v": 2}, "priority": "high", "tags": {"new": "yes"}, "expire_after": "1h"}
    answer = enqueue(api, queue, unique_on_conflict="replace", **new)
    assert answer.status_code == 200
    assert answer.json() == {"job_id": job_id, "status": "replaced", "unique_existing": True}
    job = api.job(job_id)
    assert (job["payload"], job["priority"], job["tags"]) == ({"v": 2}, 1, {"new": "yes"})
    assert job["expire_at"] is not None
    assert api.get(f"/queues/{queue}").json()["enqueued"] == 1


def test_replace_without_a_time_makes_a_scheduled_job_ready(api: Api, queue: str) -> None:
    job_id = enqueue(api, queue, scheduled_at=FAR_FUTURE).json()["job_id"]
    assert enqueue(api, queue, unique_on_conflict="replace").json()["status"] == "replaced"
    assert claim(api, queue)["job_id"] == job_id


def test_replace_with_a_time_makes_a_pending_job_wait(api: Api, queue: str) -> None:
    job_id = enqueue(api, queue).json()["job_id"]
    enqueue(api, queue, unique_on_conflict="replace", scheduled_at=FAR_FUTURE)
    assert api.job(job_id)["state"] == "scheduled"
    assert api.fetch(queue, timeout=0.05) is None


def test_reschedule_moves_the_time_and_nothing_else(api: Api, queue: str) -> None:
    job_id = enqueue(api, queue, payload=1, scheduled_at=FAR_FUTURE).json()["job_id"]
    answer = enqueue(
        api, queue, payload=2, priority="high", scheduled_at="2091-01-01T00:00:00Z", unique_on_conflict="reschedule"
    )
    assert answer.status_code == 200
    assert answer.json() == {"job_id": job_id, "status": "rescheduled", "unique_existing": True}
    job = api.job(job_id)
    assert moment(job["scheduled_at"]) == moment("2091-01-01T00:00:00.000Z")
    assert (job["payload"], job["priority"], job["state"]) == (1, 2, "scheduled")


def test_reschedule_makes_a_pending_job_wait(api: Api, queue: str) -> None:
    job_id = enqueue(api, queue).json()["job_id"]
    enqueue(api, queue, unique_on_conflict="reschedule", scheduled_at=FAR_FUTURE)
    assert api.job(job_id)["state"] == "scheduled"


def test_a_rescheduled_job_runs_at_its_new_time(api: Api, queue: str) -> None:
    job_id = enqueue(api, queue, scheduled_at=FAR_FUTURE).json()["job_id"]
    enqueue(api, queue, unique_on_conflict="reschedule", scheduled_at="2001-01-01T00:00:00Z")
    wait_for_state(api, job_id, "pending")
    assert claim(api, queue)["job_id"] == job_id


@pytest.mark.parametrize("conflict", ["replace", "reschedule"])
@pytest.mark.parametrize("state", ["active", "dead", "cancelled"])
def test_a_running_or_ended_holder_is_never_changed(api: Api, queue: str, conflict: str, state: str) -> None:
    job_id = start_job(api, queue, payload=1, unique_key="k", max_retries=1)["job_id"]
    if state == "dead":
        api.post(f"/fail/{job_id}")
    elif state == "cancelled":
        api.post(f"/jobs/{job_id}/cancel")
    before = api.job(job_id)
    answer = enqueue(api, queue, payload=2, unique_on_conflict=conflict, scheduled_at=FAR_FUTURE)
    assert answer.json() == {"job_id": job_id, "status": "duplicate", "unique_existing": True}
    assert api.job(job_id) == before


def test_keep_is_what_happens_by_default(api: Api, queue: str) -> None:
    job_id = enqueue(api, queue, payload=1).json()["job_id"]
    assert enqueue(api, queue, payload=2, unique_on_conflict="keep").json()["status"] == "duplicate"
    assert api.job(job_id)["payload"] == 1


def test_another_way_to_resolve_a_conflict_is_refused(api: Api, queue: str) -> None:
    answer = enqueue(api, queue, unique_on_conflict="merge")
    assert_refused(answer, 400, "VALIDATION_ERROR", "unique_on_conflict")
