"""Ids that callers bring, and calls that may be repeated."""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import httpx
import pytest

from tests.api.expectations import assert_refused, claim
from tests.conftest import Api, ServerProcess


def enqueue(api: Api, queue: str, key: str, path: str = "/enqueue", **fields: Any) -> httpx.Response:
    body = {"queue": queue, **fields} if path == "/enqueue" else {"jobs": [{"queue": queue, **fields}] * 2}
    return api.post(path, body, headers={"Idempotency-Key": key})


def jobs_in(api: Api, queue: str) -> int:
    return int(api.get(f"/queues/{queue}").json()["enqueued"])


@pytest.mark.parametrize("suffix", ["", "-A.b_c:9"])
def test_a_job_takes_the_id_it_is_given(api: Api, queue: str, suffix: str) -> None:
    own = f"own-{len(suffix)}{suffix}"
    assert api.post("/enqueue", {"queue": queue, "job_id": own}).json()["job_id"] == own
    assert claim(api, queue)["job_id"] == own
    assert api.post(f"/ack/{own}").status_code == 200
    assert api.job(own)["state"] == "completed"


def test_an_own_id_may_have_128_characters(api: Api, queue: str) -> None:
    assert api.enqueue(queue, job_id="x" * 128) == "x" * 128


@pytest.mark.parametrize("own", ["", "x" * 129, "a b", "a/b", "é", "a\n", "a%2Fb", "a,b"])
def test_an_own_id_of_other_characters_is_refused(api: Api, queue: str, own: str) -> None:
    answer = api.post("/enqueue", {"queue": queue, "job_id": own})
    assert_refused(answer, 400, "VALIDATION_ERROR", "job_id")


def test_an_own_id_that_is_taken_is_a_conflict(api: Api, queue: str) -> None:
    api.enqueue(queue, 1, job_id="taken-once")
    answer = api.post("/enqueue", {"queue": queue, "payload": 2, "job_id": "taken-once"})
    assert_refused(answer, 409, "CONFLICT")
    assert answer.json()["job_id"] == "taken-once"
    assert api.job("taken-once")["payload"] == 1
    assert jobs_in(api, queue) == 1


def test_a_conflict_refuses_a_whole_batch(api: Api, queue: str) -> None:
    api.enqueue(queue, job_id="taken-before")
    jobs = [{"queue": queue}, {"queue": queue, "job_id": "taken-before"}]
    answer = api.post("/enqueue/batch", {"jobs": jobs})
    assert_refused(answer, 409, "CONFLICT")
    assert answer.json()["job_id"] == "taken-before"
    assert jobs_in(api, queue) == 1


def test_an_own_id_given_twice_in_one_batch_is_a_conflict(api: Api, queue: str) -> None:
    jobs = [{"queue": queue, "job_id": "given-twice"}] * 2
    assert_refused(api.post("/enqueue/batch", {"jobs": jobs}), 409, "CONFLICT")
    assert api.get("/jobs/given-twice").status_code == 404


@pytest.mark.parametrize("path", ["/enqueue", "/enqueue/batch"])
def test_a_repeated_call_gets_the_first_answer_again(api: Api, queue: str, path: str) -> None:
    first, second = (enqueue(api, queue, f"{queue}-key", path, payload={"n": 1}) for _ in range(2))
    assert first.status_code == second.status_code == 201
    assert first.json() == second.json()
    assert jobs_in(api, queue) == len(first.json().get("job_ids", [1]))


@pytest.mark.parametrize("path", ["/enqueue", "/enqueue/batch"])
def test_the_same_key_with_another_body_is_a_mismatch(api: Api, queue: str, path: str) -> None:
    enqueue(api, queue, f"{queue}-key", path, payload=1)
    before = jobs_in(api, queue)
    assert_refused(enqueue(api, queue, f"{queue}-key", path, payload=2), 422, "IDEMPOTENCY_MISMATCH")
    assert jobs_in(api, queue) == before


def test_another_key_adds_another_job(api: Api, queue: str) -> None:
    first, second = (enqueue(api, queue, f"{queue}-{number}") for number in (1, 2))
    assert first.json()["job_id"] != second.json()["job_id"]


def test_a_duplicate_is_answered_as_a_duplicate_again(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue, unique_key="k")
    first = enqueue(api, queue, f"{queue}-key", unique_key="k")
    api.delete(f"/jobs/{job_id}")
    second = enqueue(api, queue, f"{queue}-key", unique_key="k")
    assert first.json() == second.json() == {"job_id": job_id, "status": "duplicate", "unique_existing": True}
    assert (first.status_code, second.status_code) == (200, 200)


def test_a_repeated_call_adds_nothing_even_after_the_job_has_gone(api: Api, queue: str) -> None:
    job_id = enqueue(api, queue, f"{queue}-key").json()["job_id"]
    claim(api, queue)
    api.post(f"/ack/{job_id}")
    assert enqueue(api, queue, f"{queue}-key").json() == {
        "job_id": job_id,
        "status": "pending",
        "unique_existing": False,
    }
    assert jobs_in(api, queue) == 1


def test_a_refused_call_does_not_use_up_its_key(api: Api, queue: str) -> None:
    refused = enqueue(api, queue, f"{queue}-key", depends_on=["job_of_nobody"])
    assert refused.status_code == 400
    assert enqueue(api, queue, f"{queue}-key").status_code == 201


def test_of_many_equal_calls_at_the_same_moment_one_adds_the_job(
    api: Api, queue: str, background: Callable[..., Future[httpx.Response]]
) -> None:
    calls = [background(enqueue, api, queue, f"{queue}-key") for _ in range(30)]
    assert len({call.result().json()["job_id"] for call in calls}) == 1
    assert jobs_in(api, queue) == 1


def test_a_key_is_remembered_over_a_restart(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server()
    first = enqueue(Api(server), "q", "key").json()
    server.kill()
    server.start()
    assert enqueue(Api(server), "q", "key").json() == first
