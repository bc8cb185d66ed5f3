"""Leases: lost ones, fenced ones, and jobs that kill their workers."""

from typing import Any

import pytest

from tests.api.expectations import assert_refused, claim, is_empty, start_job, wait_for_state
from tests.conftest import Api, wait_for


def lose_lease(api: Api, queue: str, job_id: str) -> None:
    """Fetch a job and let its lease of a second run out."""
    assert claim(api, queue, lease_duration=1)["job_id"] == job_id
    wait_for(lambda: api.job(job_id)["state"] != "active")


def test_a_job_whose_lease_ran_out_goes_back_to_the_pool(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue, checkpoint="kept")
    claim(api, queue, lease_duration=1)
    assert is_empty(api, queue)
    job = wait_for_state(api, job_id, "pending")
    assert (job["worker_id"], job["worker"], job["lease_expires_at"]) == (None, None, None)
    assert (job["attempt"], job["checkpoint"], job["errors"]) == (1, "kept", [])
    assert api.events_of(job_id) == ["enqueued", "started", "reclaimed"]
    again = claim(api, queue)
    assert (again["attempt"], again["checkpoint"]) == (2, "kept")


def test_a_waiting_worker_gets_the_job_of_one_that_died(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue)
    claim(api, queue, lease_duration=1, worker_id="dies")
    job = claim(api, queue, timeout=4, worker_id="lives")
    assert (job["job_id"], job["attempt"]) == (job_id, 2)


def test_reclaimed_jobs_cannot_be_finished_without_a_new_fetch(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue)
    lose_lease(api, queue, job_id)
    assert_refused(api.post(f"/ack/{job_id}"), 400, "ACK_ERROR")
    assert_refused(api.post(f"/fail/{job_id}"), 400, "FAIL_ERROR")
    assert api.post("/heartbeat", {"jobs": {job_id: {}}}).json()["jobs"][job_id]["status"] == "cancel"


def test_a_failure_after_lost_leases_counts_all_attempts(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue, max_retries=2)
    lose_lease(api, queue, job_id)
    claim(api, queue)
    assert api.post(f"/fail/{job_id}").json()["status"] == "dead"


def two_claims(api: Api, queue: str, **fields: Any) -> tuple[str, str, str]:
    """A job that was taken from one worker and given to another: its id, the old token and the new one."""
    first = start_job(api, queue, **fields)
    api.post(f"/release/{first['job_id']}")
    second = claim(api, queue, worker_id="w2")
    return first["job_id"], first["lease_token"], second["lease_token"]


def test_every_claim_has_a_token_of_its_own(api: Api, queue: str) -> None:
    _, old, new = two_claims(api, queue)
    assert old != new


@pytest.mark.parametrize("path", ["ack", "fail", "release"])
@pytest.mark.parametrize("token", ["old", "0", "nonsense", "f" * 200])
def test_a_token_that_is_not_current_is_refused_and_changes_nothing(
    api: Api, queue: str, path: str, token: str
) -> None:
    job_id, old, _ = two_claims(api, queue)
    before = api.job(job_id)
    body = {"lease_token": old if token == "old" else token, "result": 1, "checkpoint": 1, "error": "late"}
    assert_refused(api.post(f"/{path}/{job_id}", body), 409, "LEASE_LOST")
    assert api.job(job_id) == before


@pytest.mark.parametrize("path", ["ack", "fail", "release"])
@pytest.mark.parametrize("token", ["current", "", None])
def test_the_current_token_or_none_is_accepted(api: Api, queue: str, path: str, token: str | None) -> None:
    job_id, _, current = two_claims(api, queue)
    body = {"lease_token": current if token == "current" else token}
    assert api.post(f"/{path}/{job_id}", body).status_code == 200
    assert api.job(job_id)["state"] != "active"


def test_lost_leases_of_a_batch_are_listed(api: Api, queue: str) -> None:
    lost, old, _ = two_claims(api, queue)
    kept = start_job(api, queue)
    acks = [
        {"job_id": lost, "lease_token": old},
        {"job_id": kept["job_id"], "lease_token": kept["lease_token"]},
        {"job_id": "job_of_nobody", "lease_token": "1"},
    ]
    answer = api.post("/ack/batch", {"acks": acks}).json()
    assert answer == {"acked": 1, "lost": [lost]}
    assert api.job(lost)["state"] == "active"
    assert api.job(kept["job_id"])["state"] == "completed"


def test_a_heartbeat_says_that_the_lease_is_lost(api: Api, queue: str) -> None:
    job_id, old, current = two_claims(api, queue)
    before = api.job(job_id)
    beat = {"lease_token": old, "progress": 1, "checkpoint": 1}
    answer = api.post("/heartbeat", {"jobs": {job_id: beat}}).json()
    assert answer["jobs"] == {job_id: {"status": "lost"}}
    assert answer["acked"] == []
    assert api.job(job_id) == before
    answer = api.post("/heartbeat", {"jobs": {job_id: {"lease_token": current}}}).json()
    assert answer["jobs"] == {job_id: {"status": "ok"}}


def test_an_ack_may_be_repeated_with_the_token_it_ended(api: Api, queue: str) -> None:
    job = start_job(api, queue)
    body = {"lease_token": job["lease_token"], "result": 1}
    first, second = (api.post(f"/ack/{job['job_id']}", body) for _ in range(2))
    assert first.status_code == second.status_code == 200
    assert first.json() == second.json()
    assert api.events_of(job["job_id"]) == ["enqueued", "started", "completed"]


@pytest.mark.parametrize("max_retries", [1, 3])
def test_a_failure_may_be_repeated_with_the_token_it_ended(api: Api, queue: str, max_retries: int) -> None:
    job = start_job(api, queue, max_retries=max_retries)
    body = {"lease_token": job["lease_token"], "error": "boom"}
    first, second = (api.post(f"/fail/{job['job_id']}", body) for _ in range(2))
    assert first.status_code == second.status_code == 200
    assert first.json() == second.json()
    assert len(api.job(job["job_id"])["errors"]) == 1


def test_a_repeated_failure_is_refused_once_the_job_was_claimed_again(api: Api, queue: str) -> None:
    job = start_job(api, queue, retry_backoff="none")
    body = {"lease_token": job["lease_token"]}
    assert api.post(f"/fail/{job['job_id']}", body).status_code == 200
    claim(api, queue, timeout=3)
    assert_refused(api.post(f"/fail/{job['job_id']}", body), 409, "LEASE_LOST")
    assert api.job(job["job_id"])["state"] == "active"


def test_an_ack_does_not_pass_for_a_failure(api: Api, queue: str) -> None:
    job = start_job(api, queue)
    body = {"lease_token": job["lease_token"]}
    api.post(f"/ack/{job['job_id']}", body)
    assert api.post(f"/fail/{job['job_id']}", body).status_code in (400, 409)
    assert api.job(job["job_id"])["state"] == "completed"


def test_the_worker_of_a_lost_lease_cannot_finish_the_job(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue)
    token = claim(api, queue, lease_duration=1)["lease_token"]
    wait_for_state(api, job_id, "pending")
    assert_refused(api.post(f"/ack/{job_id}", {"lease_token": token}), 409, "LEASE_LOST")
    assert api.job(job_id)["state"] == "pending"


def test_a_job_that_loses_too_many_leases_is_dead(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue, max_lost_leases=2)
    lose_lease(api, queue, job_id)
    assert api.job(job_id)["state"] == "pending"
    lose_lease(api, queue, job_id)
    job = api.job(job_id)
    assert job["state"] == "dead"
    assert job["failed_at"] is not None
    error = "lease lost 2 times: the worker died or stopped heartbeating"
    assert [record["error"] for record in job["errors"]] == [error]
    assert api.events_of(job_id)[-1] == "dead"


def test_five_lost_leases_are_too_many_by_default(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue)
    for _ in range(4):
        lose_lease(api, queue, job_id)
        assert api.job(job_id)["state"] == "pending"
    lose_lease(api, queue, job_id)
    job = api.job(job_id)
    assert job["state"] == "dead"
    assert job["errors"][-1]["error"].startswith("lease lost 5 times")


def test_a_lost_lease_never_kills_a_job_without_a_limit(api: Api, queue: str) -> None:
    limited, unlimited = api.enqueue(queue, max_lost_leases=1), api.enqueue(queue, max_lost_leases=0)
    for job_id in (limited, unlimited):
        assert claim(api, queue, lease_duration=1)["job_id"] == job_id
    wait_for_state(api, limited, "dead")
    wait_for_state(api, unlimited, "pending")


def test_a_failure_or_a_release_forgives_lost_leases(api: Api, queue: str) -> None:
    queues = {"fail": f"{queue}-fail", "release": f"{queue}-release"}
    ids = {path: api.enqueue(name, max_lost_leases=2, retry_backoff="none") for path, name in queues.items()}
    for name in queues.values():
        claim(api, name, lease_duration=1)
    for path, name in queues.items():
        wait_for_state(api, ids[path], "pending")
        claim(api, name)
        assert api.post(f"/{path}/{ids[path]}").status_code == 200
        claim(api, name, timeout=3, lease_duration=1)
    for job_id in ids.values():
        wait_for_state(api, job_id, "pending")


def test_a_poison_job_counts_as_dead_for_its_batch_and_its_chain(api: Api, queue: str) -> None:
    chain = {"steps": [{"queue": queue}, {"queue": f"{queue}-1"}], "on_failure": {"queue": f"{queue}-failure"}}
    jobs = [{"queue": queue, "max_lost_leases": 1, "chain": chain}]
    answer = api.post("/enqueue/batch", {"jobs": jobs, "batch": {"callback_queue": f"{queue}-done"}}).json()
    (job_id,) = answer["job_ids"]
    lose_lease(api, queue, job_id)
    assert claim(api, f"{queue}-done")["payload"]["batch"]["failed"] == 1
    payload = claim(api, f"{queue}-failure")["payload"]
    assert payload["failed_job_id"] == job_id
    assert payload["error"].startswith("lease lost 1 times")
