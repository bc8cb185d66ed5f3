"""Why a job is not running, over HTTP."""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from tests.api.expectations import TIME, assert_refused, claim, job_in_state, seconds_from_now, wait_until_parked
from tests.conftest import Api, wait_for


def why(api: Api, job_id: str, **options: Any) -> dict[str, Any]:
    answer = api.get(f"/jobs/{job_id}/why", **options)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    assert found["job_id"] == job_id
    assert all(reason["detail"].endswith((".", "look")) for reason in found["reasons"])
    return found


def codes(answer: dict[str, Any]) -> list[str]:
    return [reason["code"] for reason in answer["reasons"]]


EXPECTED: dict[str, tuple[list[str], set[str]]] = {
    "pending": (["no_workers"], {"last_seen"}),
    "scheduled": (["scheduled", "no_workers"], {"at", "in"}),
    "active": (["running"], {"worker_id", "since"}),
    "retrying": (["retry_backoff"], {"at", "in"}),
    "held": (["held", "no_workers"], {"hold_reason", "since"}),
    "completed": (["finished"], {"at"}),
    "dead": (["finished"], {"at"}),
    "cancelled": (["finished"], {"at"}),
}


@pytest.mark.parametrize("state", EXPECTED)
def test_every_state_has_its_reason(api: Api, queue: str, state: str) -> None:
    expected, fields = EXPECTED[state]
    answer = why(api, job_in_state(api, queue, state))
    assert (answer["state"], answer["runnable"], codes(answer)) == (state, state == "pending", expected)
    assert answer["reasons"][0].keys() == {"code", "detail", *fields}
    assert ("position" in answer, "ahead" in answer) == ((True, True) if state == "pending" else (False, False))


def test_the_fields_say_what_the_job_says(api: Api, queue: str) -> None:
    active = why(api, job_in_state(api, f"{queue}-a", "active"))
    assert active["reasons"][0]["worker_id"] == "w1"
    assert active["reasons"][0]["since"] == api.job(active["job_id"])["started_at"]
    held = why(api, job_in_state(api, f"{queue}-h", "held"))["reasons"][0]
    assert held["hold_reason"] == "look"
    assert -10 < seconds_from_now(held["since"]) <= 0
    done = why(api, job_in_state(api, f"{queue}-c", "completed"))
    assert done["reasons"][0]["at"] == api.job(done["job_id"])["completed_at"]
    retrying = why(api, job_in_state(api, f"{queue}-r", "retrying"))
    assert retrying["reasons"][0]["at"] == api.job(retrying["job_id"])["scheduled_at"]
    assert retrying["reasons"][0]["in"].startswith("59m59.")
    cancelled = why(api, job_in_state(api, f"{queue}-x", "cancelled"))
    assert -10 < seconds_from_now(cancelled["reasons"][0]["at"]) <= 0


def test_a_line_of_jobs(api: Api, queue: str) -> None:
    assert api.fetch(queue, worker_id=None, timeout=0.01) is None
    ids = [api.enqueue(queue) for _ in range(3)]
    urgent = api.enqueue(queue, priority="critical")
    answers = [why(api, job_id) for job_id in (urgent, *ids)]
    assert [(answer["position"], answer["ahead"]) for answer in answers] == [(1, 0), (2, 1), (3, 2), (4, 3)]
    assert all(answer["runnable"] and codes(answer) == ["behind_others"] for answer in answers)
    assert answers[2]["reasons"][0].keys() == {"code", "detail", "ahead", "eta"}
    assert answers[2]["reasons"][0]["ahead"] == 2


def test_every_obstacle_of_a_queue_at_once(api: Api, queue: str) -> None:
    api.enqueue(queue)
    claim(api, queue)
    ids = [api.enqueue(queue) for _ in range(2)]
    assert why(api, ids[0])["runnable"]
    api.post(f"/queues/{queue}/concurrency", {"max": 1})
    api.post(f"/queues/{queue}/throttle", {"rate": 1, "period": "1h"})
    api.post(f"/queues/{queue}/pause")
    answer = why(api, ids[1])
    assert codes(answer) == ["queue_paused", "queue_at_concurrency", "behind_others"]
    assert not answer["runnable"]
    paused, full, _ = answer["reasons"]
    assert TIME.fullmatch(paused["since"])
    assert (full["active"], full["max"]) == (1, 1)
    api.post(f"/queues/{queue}/resume")
    api.post(f"/queues/{queue}/concurrency", {"max": 2})
    claim(api, queue)
    answer = why(api, ids[1])
    assert codes(answer) == ["queue_at_concurrency", "rate_limited"]
    limited = answer["reasons"][1]
    assert limited.keys() == {"code", "detail", "rate", "period", "next_slot_at"}
    assert (limited["rate"], limited["period"]) == (1, "1h")
    assert 3500 < seconds_from_now(limited["next_slot_at"]) <= 3600


def test_a_blocked_job_names_those_it_waits_for(api: Api, queue: str) -> None:
    first, second = api.enqueue(f"{queue}-first"), api.enqueue(f"{queue}-second")
    blocked = api.enqueue(queue, depends_on=[first, second])
    api.delete(f"/jobs/{second}")
    reason = why(api, blocked)["reasons"][0]
    assert reason.keys() == {"code", "detail", "job_ids", "dependencies"}
    assert (reason["code"], reason["job_ids"]) == ("waiting_for_dependencies", [first, second])
    assert reason["dependencies"] == [{"job_id": first, "state": "pending"}, {"job_id": second, "state": "deleted"}]


def test_a_parked_poll_of_a_nameless_worker_is_a_worker(
    api: Api, queue: str, background: Callable[..., Future[Any]]
) -> None:
    job_id = api.enqueue(queue)
    assert codes(why(api, job_id)) == ["no_workers"]
    api.post(f"/queues/{queue}/pause")
    polling = background(api.fetch, queue, worker_id=None, timeout=60)
    wait_for(lambda: codes(why(api, job_id)) == ["queue_paused"])
    api.post(f"/queues/{queue}/resume")
    assert polling.result(10)["job_id"] == job_id


def test_a_worker_of_another_queue_is_none(api: Api, queue: str, background: Callable[..., Future[Any]]) -> None:
    job_id = api.enqueue(queue)
    polling = background(api.fetch, f"{queue}-other", worker_id=f"{queue}-w", timeout=60)
    wait_until_parked(api, f"{queue}-w")
    assert why(api, job_id)["reasons"][0]["last_seen"] is None
    api.enqueue(f"{queue}-other")
    assert polling.result(10) is not None


def test_other_namespaces_are_told_nothing(api: Api, queue: str) -> None:
    mine = {"X-Rookery-Namespace": "mine"}
    job_id = api.post("/enqueue", {"queue": queue}, headers=mine).json()["job_id"]
    assert f"queue {queue} in" in why(api, job_id, headers=mine)["reasons"][0]["detail"]
    assert f"queue mine::{queue} in" in why(api, job_id)["reasons"][0]["detail"]
    api.post("/fetch", {"queues": [queue], "timeout": 0.01})
    assert codes(why(api, job_id, headers=mine)) == ["no_workers"]
    assert_refused(api.get(f"/jobs/{job_id}/why", headers={"X-Rookery-Namespace": "other"}), 404, "NOT_FOUND")


def test_an_unknown_job_is_not_found(api: Api) -> None:
    assert_refused(api.get("/jobs/job_of_nobody/why"), 404, "NOT_FOUND", "job_of_nobody")
