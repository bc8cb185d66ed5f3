"""Completing jobs, one or many, and the steps of agent jobs."""

from typing import Any

import pytest

from tests.api.expectations import assert_refused, claim, is_empty, job_in_state, seconds_from_now, start_job
from tests.conftest import Api


def test_an_acked_job_is_completed(api: Api, queue: str) -> None:
    job_id = start_job(api, queue, checkpoint="old")["job_id"]
    answer = api.post(f"/ack/{job_id}", {"result": {"n": 1}, "checkpoint": "new"})
    assert answer.status_code == 200
    assert answer.json() == {"status": "ok"}
    job = api.job(job_id)
    assert job["state"] == "completed"
    assert (job["result"], job["checkpoint"]) == ({"n": 1}, "new")
    assert job["lease_expires_at"] is None
    assert abs(seconds_from_now(job["completed_at"])) < 10
    assert api.events_of(job_id)[-1] == "completed"


@pytest.mark.parametrize("body", [{}, {"result": None, "checkpoint": None}])
def test_what_is_not_given_stays_as_it_was(api: Api, queue: str, body: Any) -> None:
    job_id = start_job(api, queue, checkpoint="first")["job_id"]
    api.post(f"/ack/{job_id}", {"result": "kept"})
    api.post(f"/jobs/{job_id}/retry")
    claim(api, queue)
    assert api.post(f"/ack/{job_id}", body).status_code == 200
    job = api.job(job_id)
    assert (job["result"], job["checkpoint"]) == ("kept", "first")


def test_an_unknown_job_cannot_be_acked(api: Api) -> None:
    assert_refused(api.post("/ack/job_of_nobody"), 404, "NOT_FOUND")


@pytest.mark.parametrize("state", ["pending", "scheduled", "retrying", "held", "completed", "dead", "cancelled"])
def test_a_job_that_is_not_active_cannot_be_acked(api: Api, queue: str, state: str) -> None:
    job_id = job_in_state(api, queue, state)
    before = api.job(job_id)
    assert_refused(api.post(f"/ack/{job_id}", {"result": 1}), 400, "ACK_ERROR")
    assert api.job(job_id) == before


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("usage", 1),
        ("agent_status", 1),
        ("hold_reason", 1),
        ("step_status", 1),
        ("exit_reason", []),
        ("lease_token", 1),
    ],
)
def test_an_ack_with_a_wrong_type_cannot_be_parsed(api: Api, queue: str, field: str, value: Any) -> None:
    job_id = start_job(api, queue)["job_id"]
    assert_refused(api.post(f"/ack/{job_id}", {field: value}), 400, "PARSE_ERROR", field)
    assert api.job(job_id)["state"] == "active"


def test_unknown_keys_of_an_ack_are_ignored(api: Api, queue: str) -> None:
    job_id = start_job(api, queue)["job_id"]
    assert api.post(f"/ack/{job_id}", {"sent": True, "count": 3}).status_code == 200
    assert api.job(job_id)["result"] is None


def test_usage_may_be_reported(api: Api, queue: str) -> None:
    job_id = start_job(api, queue)["job_id"]
    usage = {"input_tokens": 10, "output_tokens": 2, "model": "m", "provider": "p", "cost_usd": 0.1}
    assert api.post(f"/ack/{job_id}", {"usage": usage}).status_code == 200


@pytest.mark.parametrize("status", ["continue", "done", "hold"])
def test_only_agent_jobs_have_an_agent_status(api: Api, queue: str, status: str) -> None:
    job_id = start_job(api, queue)["job_id"]
    assert_refused(api.post(f"/ack/{job_id}", {"agent_status": status}), 400, "ACK_ERROR", "agent")
    assert api.job(job_id)["state"] == "active"


def test_another_agent_status_is_refused(api: Api, queue: str) -> None:
    job_id = start_job(api, queue, agent={})["job_id"]
    answer = api.post(f"/ack/{job_id}", {"agent_status": "sleep"})
    assert answer.status_code == 400
    assert "agent_status" in answer.json()["error"]
    assert api.job(job_id)["state"] == "active"


@pytest.mark.parametrize("status", ["continue", "CONTINUE", "Continue"])
def test_an_agent_that_continues_goes_back_to_the_pool(api: Api, queue: str, status: str) -> None:
    job_id = start_job(api, queue, agent={})["job_id"]
    assert api.post(f"/ack/{job_id}", {"agent_status": status, "checkpoint": [1]}).json() == {"status": "ok"}
    job = api.job(job_id)
    assert (job["state"], job["attempt"], job["agent"]["iteration"]) == ("pending", 0, 2)
    assert job["completed_at"] is None
    assert api.events_of(job_id)[-1] == "continued"
    again = claim(api, queue)
    assert (again["attempt"], again["checkpoint"], again["agent"]["iteration"]) == (1, [1], 2)


@pytest.mark.parametrize("body", [{"agent_status": "done"}, {"agent_status": "DONE"}, {}])
def test_an_agent_that_is_done_is_completed(api: Api, queue: str, body: Any) -> None:
    job_id = start_job(api, queue, agent={})["job_id"]
    assert api.post(f"/ack/{job_id}", body).status_code == 200
    assert api.job(job_id)["state"] == "completed"


def test_an_agent_that_holds_waits_for_a_person(api: Api, queue: str) -> None:
    job_id = start_job(api, queue, agent={})["job_id"]
    api.post(f"/ack/{job_id}", {"agent_status": "hold", "hold_reason": "sure?"})
    job = api.job(job_id)
    assert (job["state"], job["hold_reason"], job["agent"]["iteration"]) == ("held", "sure?", 1)
    assert job["lease_expires_at"] is None
    assert api.events_of(job_id)[-1] == "held"
    assert is_empty(api, queue)


def test_an_agent_is_held_after_its_last_iteration(api: Api, queue: str) -> None:
    job_id = start_job(api, queue, agent={"max_iterations": 1})["job_id"]
    api.post(f"/ack/{job_id}", {"agent_status": "continue"})
    job = api.job(job_id)
    assert (job["state"], job["hold_reason"]) == ("held", "max_iterations exceeded (1)")
    assert job["agent"]["iteration"] == 2


def test_an_agent_is_held_when_it_has_cost_too_much(api: Api, queue: str) -> None:
    job_id = start_job(api, queue, agent={"max_cost_usd": 1})["job_id"]
    api.post(f"/ack/{job_id}", {"agent_status": "continue", "usage": {"cost_usd": 0.75}})
    assert api.job(job_id)["state"] == "pending"
    claim(api, queue)
    api.post(f"/ack/{job_id}", {"agent_status": "continue", "usage": {"cost_usd": 0.5}})
    job = api.job(job_id)
    assert (job["state"], job["hold_reason"]) == ("held", "max_cost_usd exceeded (1.2500 > 1.0000)")
    assert job["agent"]["total_cost_usd"] == 1.25


def test_many_jobs_are_completed_at_once(api: Api, queue: str) -> None:
    ids = [start_job(api, queue)["job_id"] for _ in range(3)]
    answer = api.post(
        "/ack/batch", {"acks": [{"job_id": job_id, "result": number} for number, job_id in enumerate(ids)]}
    )
    assert answer.status_code == 200
    assert answer.json()["acked"] == 3
    jobs = [api.job(job_id) for job_id in ids]
    assert [(job["state"], job["result"]) for job in jobs] == [("completed", number) for number in range(3)]


def test_what_cannot_be_acked_in_a_batch_is_skipped(api: Api, queue: str) -> None:
    active, pending = start_job(api, queue)["job_id"], api.enqueue(queue)
    acks = [{"job_id": job_id} for job_id in ("job_of_nobody", pending, active, active)]
    assert api.post("/ack/batch", {"acks": acks}).json()["acked"] == 1
    assert api.job(pending)["state"] == "pending"
    assert api.post("/ack/batch", {"acks": acks}).json()["acked"] == 0


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"acks": []},
        {"acks": None},
        {"acks": [{}]},
        {"acks": [{"job_id": ""}]},
        {"acks": [{"job_id": "  "}]},
        {"acks": [{"job_id": "job_x"}] * 513},
    ],
    ids=["missing", "empty", "null", "no-id", "empty-id", "blank-id", "513"],
)
def test_a_batch_of_acks_that_cannot_be_is_refused(api: Api, body: Any) -> None:
    assert_refused(api.post("/ack/batch", body), 400, "VALIDATION_ERROR")


def test_one_bad_ack_leaves_the_others_undone(api: Api, queue: str) -> None:
    job_id = start_job(api, queue)["job_id"]
    assert_refused(api.post("/ack/batch", {"acks": [{"job_id": job_id}, {"job_id": " "}]}), 400, "VALIDATION_ERROR")
    assert api.job(job_id)["state"] == "active"


def test_512_jobs_may_be_acked_at_once(api: Api, queue: str) -> None:
    api.post("/enqueue/batch", {"jobs": [{"queue": queue}] * 512})
    jobs = api.post("/fetch/batch", {"queues": [queue], "count": 512}).json()["jobs"]
    acks = [{"job_id": job["job_id"], "lease_token": job["lease_token"]} for job in jobs]
    assert api.post("/ack/batch", {"acks": acks}).json()["acked"] == 512
    assert api.get(f"/queues/{queue}").json()["completed"] == 512


@pytest.mark.parametrize(("field", "value"), [("job_id", 1), ("usage", "x")])
def test_a_batch_of_acks_with_a_wrong_type_cannot_be_parsed(api: Api, field: str, value: Any) -> None:
    answer = api.post("/ack/batch", {"acks": [{"job_id": "job_x", field: value}]})
    assert_refused(answer, 400, "PARSE_ERROR", field)
