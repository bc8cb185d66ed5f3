"""Managing one job: retry, cancel, move, delete, hold, approve, reject."""

from typing import Any

import httpx
import pytest

from tests.api.expectations import assert_refused, claim, is_empty, job_in_state, seconds_from_now, start_job
from tests.conftest import Api

STATES = ("pending", "scheduled", "active", "retrying", "held", "completed", "dead", "cancelled")
ALLOWED = {
    "retry": {"dead", "cancelled", "completed", "scheduled"},
    "cancel": {"pending", "scheduled", "retrying", "active"},
    "move": set(STATES) - {"active"},
    "hold": {"pending", "active", "scheduled", "retrying"},
    "approve": {"held"},
    "reject": {"held"},
}
STATUS = {
    "retry": "retried",
    "cancel": "cancelled",
    "move": "moved",
    "hold": "held",
    "approve": "pending",
    "reject": "dead",
}
BECOMES = {"retry": "pending", "cancel": "cancelled", "hold": "held", "approve": "pending", "reject": "dead"}
EVENT = {
    "retry": "retried",
    "cancel": "cancelled",
    "move": "moved",
    "hold": "held",
    "approve": "approved",
    "reject": "rejected",
}


def act(api: Api, job_id: str, action: str, queue: str) -> httpx.Response:
    return api.post(f"/jobs/{job_id}/{action}", {"queue": f"{queue}-target"} if action == "move" else None)


@pytest.mark.parametrize(
    ("action", "state"), [(action, state) for action in ALLOWED for state in sorted(ALLOWED[action])]
)
def test_an_action_changes_a_job_it_applies_to(api: Api, queue: str, action: str, state: str) -> None:
    job_id = job_in_state(api, queue, state)
    answer = act(api, job_id, action, queue)
    assert answer.status_code == 200
    expected = "cancelling" if (action, state) == ("cancel", "active") else STATUS[action]
    assert answer.json() == {"status": expected}
    assert api.job(job_id)["state"] == BECOMES.get(action, state)
    assert EVENT[action] in api.events_of(job_id)


@pytest.mark.parametrize(
    ("action", "state"), [(action, state) for action in ALLOWED for state in STATES if state not in ALLOWED[action]]
)
def test_an_action_that_does_not_apply_is_refused(api: Api, queue: str, action: str, state: str) -> None:
    job_id = job_in_state(api, queue, state)
    before = api.job(job_id)
    assert_refused(act(api, job_id, action, queue), 400, f"{action.upper()}_ERROR")
    assert api.job(job_id) == before


@pytest.mark.parametrize("action", ALLOWED)
def test_an_action_on_an_unknown_job_is_not_found(api: Api, queue: str, action: str) -> None:
    assert_refused(act(api, "job_of_nobody", action, queue), 404, "NOT_FOUND")


@pytest.mark.parametrize("state", STATES)
def test_a_job_is_deleted_in_any_state(api: Api, queue: str, state: str) -> None:
    job_id = job_in_state(api, queue, state)
    answer = api.delete(f"/jobs/{job_id}")
    assert answer.status_code == 200
    assert answer.json() == {"status": "deleted"}
    assert_refused(api.get(f"/jobs/{job_id}"), 404, "NOT_FOUND")
    assert_refused(api.delete(f"/jobs/{job_id}"), 404, "NOT_FOUND")
    assert api.events_of(job_id)[-1] == "deleted"
    assert api.get(f"/queues/{queue}").json()[state] == 0


def test_a_retried_job_begins_anew_and_keeps_what_it_learned(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue, max_retries=1, checkpoint="kept")
    claim(api, queue)
    api.post(f"/fail/{job_id}", {"error": "boom"})
    assert api.post(f"/jobs/{job_id}/retry").json() == {"status": "retried"}
    job = api.job(job_id)
    assert (job["state"], job["attempt"]) == ("pending", 0)
    for name in ("failed_at", "completed_at", "scheduled_at", "hold_reason", "worker_id", "hostname", "worker"):
        assert job[name] is None
    assert job["checkpoint"] == "kept"
    assert [error["error"] for error in job["errors"]] == ["boom"]
    assert claim(api, queue)["attempt"] == 1


def test_a_retried_job_keeps_its_result_until_there_is_a_new_one(api: Api, queue: str) -> None:
    job_id = start_job(api, queue)["job_id"]
    api.post(f"/ack/{job_id}", {"result": "old"})
    api.post(f"/jobs/{job_id}/retry")
    job = api.job(job_id)
    assert (job["result"], job["completed_at"]) == ("old", None)


def test_a_retried_agent_keeps_its_state(api: Api, queue: str) -> None:
    job_id = start_job(api, queue, agent={})["job_id"]
    api.post(f"/ack/{job_id}", {"agent_status": "continue", "usage": {"cost_usd": 0.5}})
    claim(api, queue)
    api.post(f"/ack/{job_id}")
    before = api.job(job_id)["agent"]
    api.post(f"/jobs/{job_id}/retry")
    assert api.job(job_id)["agent"] == before
    assert before["total_cost_usd"] == 0.5


def test_a_scheduled_job_can_be_run_now(api: Api, queue: str) -> None:
    job_id = job_in_state(api, queue, "scheduled")
    api.post(f"/jobs/{job_id}/retry")
    assert claim(api, queue)["job_id"] == job_id


def test_a_cancelled_worker_is_told_by_its_next_heartbeat(api: Api, queue: str) -> None:
    job_id = start_job(api, queue)["job_id"]
    assert api.post(f"/jobs/{job_id}/cancel").json() == {"status": "cancelling"}
    assert api.job(job_id)["state"] == "cancelled"
    assert api.post("/heartbeat", {"jobs": {job_id: {}}}).json()["jobs"][job_id]["status"] == "cancel"
    assert_refused(api.post(f"/ack/{job_id}"), 400, "ACK_ERROR")


def test_a_moved_job_keeps_its_place_in_time(api: Api, queue: str) -> None:
    target = f"{queue}-target"
    old = api.enqueue(queue, priority="high", max_retries=5)
    young = api.enqueue(target, priority="high")
    claim(api, queue)
    api.post(f"/fail/{old}")
    assert api.post(f"/jobs/{old}/move", {"queue": target}).json() == {"status": "moved"}
    moved = api.job(old)
    assert (moved["queue"], moved["attempt"], moved["priority"], moved["state"]) == (target, 1, 1, "retrying")
    oldest = api.enqueue(f"{queue}-x", priority="high")
    api.post(f"/jobs/{oldest}/move", {"queue": target})
    assert [claim(api, target)["job_id"] for _ in range(2)] == [young, oldest]


def test_a_moved_job_goes_before_younger_ones(api: Api, queue: str) -> None:
    old, young = api.enqueue(queue), api.enqueue(f"{queue}-target")
    api.post(f"/jobs/{old}/move", {"queue": f"{queue}-target"})
    assert [claim(api, f"{queue}-target")["job_id"] for _ in range(2)] == [old, young]
    assert is_empty(api, queue)


def test_a_move_can_reset_attempts_and_change_the_priority(api: Api, queue: str) -> None:
    job_id = job_in_state(api, queue, "dead")
    body = {"queue": f"{queue}-target", "reset_attempt": True, "priority": "critical"}
    assert api.post(f"/jobs/{job_id}/move", body).status_code == 200
    job = api.job(job_id)
    assert (job["attempt"], job["priority"], job["state"]) == (0, 0, "dead")


def test_a_move_makes_the_target_queue(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue)
    api.post(f"/jobs/{job_id}/move", {"queue": f"{queue}-target"})
    assert api.get(f"/queues/{queue}-target").json()["pending"] == 1
    assert api.get(f"/queues/{queue}").json()["pending"] == 0


def test_a_move_to_the_same_queue_changes_nothing(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue)
    before = api.job(job_id)
    assert api.post(f"/jobs/{job_id}/move", {"queue": queue}).json() == {"status": "moved"}
    assert api.job(job_id) == before


@pytest.mark.parametrize("body", [None, {}, {"queue": ""}, {"queue": "  "}, {"queue": "a\nb"}])
def test_a_move_to_nowhere_is_refused(api: Api, queue: str, body: Any) -> None:
    job_id = api.enqueue(queue)
    assert_refused(api.post(f"/jobs/{job_id}/move", body), 400, "VALIDATION_ERROR", "queue")


@pytest.mark.parametrize(("field", "value"), [("queue", 1), ("reset_attempt", "yes"), ("priority", [])])
def test_a_move_with_a_wrong_type_cannot_be_parsed(api: Api, queue: str, field: str, value: Any) -> None:
    job_id = api.enqueue(queue)
    answer = api.post(f"/jobs/{job_id}/move", {"queue": "x", field: value})
    assert_refused(answer, 400, "PARSE_ERROR", field)


@pytest.mark.parametrize("state", ["pending", "active", "scheduled", "retrying"])
def test_a_held_job_waits_for_a_person(api: Api, queue: str, state: str) -> None:
    job_id = job_in_state(api, queue, state)
    assert api.post(f"/jobs/{job_id}/hold", {"reason": "look at it"}).json() == {"status": "held"}
    job = api.job(job_id)
    assert (job["state"], job["hold_reason"]) == ("held", "look at it")
    assert (job["lease_expires_at"], job["worker_id"], job["scheduled_at"]) == (None, None, None)
    assert is_empty(api, queue)


def test_a_hold_needs_no_reason(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue)
    assert api.post(f"/jobs/{job_id}/hold").status_code == 200
    assert api.job(job_id)["hold_reason"] is None


def test_a_reason_must_be_text(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue)
    assert_refused(api.post(f"/jobs/{job_id}/hold", {"reason": 1}), 400, "PARSE_ERROR", "reason")


def test_an_approved_job_can_be_fetched(api: Api, queue: str) -> None:
    job_id = job_in_state(api, queue, "held")
    assert api.post(f"/jobs/{job_id}/approve").json() == {"status": "pending"}
    assert api.job(job_id)["hold_reason"] is None
    assert claim(api, queue)["job_id"] == job_id


def test_a_rejected_job_is_dead(api: Api, queue: str) -> None:
    job_id = job_in_state(api, queue, "held")
    assert api.post(f"/jobs/{job_id}/reject").json() == {"status": "dead"}
    job = api.job(job_id)
    assert (job["state"], job["hold_reason"]) == ("dead", None)
    assert abs(seconds_from_now(job["failed_at"])) < 10
    assert api.events_of(job_id)[-1] in ("rejected", "dead")


@pytest.mark.parametrize(("action", "state"), [("cancel", "pending"), ("hold", "pending"), ("retry", "dead")])
def test_an_action_that_was_done_already_is_refused(api: Api, queue: str, action: str, state: str) -> None:
    job_id = job_in_state(api, queue, state)
    assert act(api, job_id, action, queue).status_code == 200
    assert_refused(act(api, job_id, action, queue), 400, f"{action.upper()}_ERROR")
