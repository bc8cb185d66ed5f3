"""Adding many jobs at once, and following them as a batch."""

from typing import Any

import pytest

from tests.api.expectations import FAR_FUTURE, assert_refused, claim, is_empty, wait_for_state
from tests.conftest import Api


def enqueue_batch(api: Api, jobs: list[dict[str, Any]], **batch: Any) -> tuple[list[str], str]:
    answer = api.post("/enqueue/batch", {"jobs": jobs, "batch": batch})
    assert answer.status_code == 201, answer.text
    return answer.json()["job_ids"], answer.json()["batch_id"]


def counters(api: Api, batch_id: str) -> tuple[int, int, int, int]:
    batch = api.get(f"/batches/{batch_id}").json()
    return batch["total"], batch["pending"], batch["succeeded"], batch["failed"]


def test_ids_come_back_in_the_order_of_the_jobs(api: Api, queue: str) -> None:
    answer = api.post("/enqueue/batch", {"jobs": [{"queue": queue, "payload": number} for number in range(5)]})
    assert answer.status_code == 201
    assert answer.json().keys() == {"job_ids"}
    assert [api.job(job_id)["payload"] for job_id in answer.json()["job_ids"]] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("body", [{}, {"jobs": []}, {"jobs": None}, {"jobs": [], "batch": {}}])
def test_without_jobs_there_is_nothing_to_do(api: Api, body: Any) -> None:
    assert_refused(api.post("/enqueue/batch", body), 400, "VALIDATION_ERROR", "jobs array is required")


@pytest.mark.parametrize(
    ("bad", "code", "word"),
    [
        ({"queue": " "}, "VALIDATION_ERROR", "queue"),
        ({}, "VALIDATION_ERROR", "queue"),
        ({"queue": "q", "max_retries": -1}, "VALIDATION_ERROR", "max_retries"),
        ({"queue": "q", "retry_backoff": "odd"}, "VALIDATION_ERROR", "retry_backoff"),
        ({"queue": "q", "depends_on": ["job_of_nobody"]}, "VALIDATION_ERROR", "job_of_nobody"),
        ({"queue": "q", "chain": {"steps": []}}, "VALIDATION_ERROR", "chain"),
        ({"queue": "q", "scheduled_at": "soon"}, "PARSE_ERROR", "scheduled_at"),
        ({"queue": 1}, "PARSE_ERROR", "queue"),
    ],
)
def test_one_bad_job_refuses_all(api: Api, queue: str, bad: dict[str, Any], code: str, word: str) -> None:
    answer = api.post("/enqueue/batch", {"jobs": [{"queue": queue}, bad, {"queue": queue}]})
    assert_refused(answer, 400, code, word)
    assert api.get(f"/queues/{queue}").status_code == 404


@pytest.mark.parametrize("body", [{"jobs": {}}, {"jobs": ["text"]}, {"jobs": [{"queue": "q"}], "batch": []}])
def test_a_batch_of_the_wrong_shape_cannot_be_parsed(api: Api, body: Any) -> None:
    assert_refused(api.post("/enqueue/batch", body), 400, "PARSE_ERROR")


def test_jobs_of_a_batch_honour_every_field(api: Api, queue: str) -> None:
    fields = {"queue": queue, "payload": 1, "priority": "high", "unique_key": "k", "unique_period": 60}
    fields |= {"max_retries": 9, "retry_backoff": "fixed", "scheduled_at": FAR_FUTURE, "expire_after": "1h"}
    fields |= {"tags": {"a": "b"}, "checkpoint": [1], "agent": {}, "parent_id": "p"}
    first = api.enqueue(queue)
    (job_id,) = api.post("/enqueue/batch", {"jobs": [fields | {"depends_on": [first]}]}).json()["job_ids"]
    job = api.job(job_id)
    for name in fields.keys() - {"priority", "scheduled_at", "agent"}:
        assert job[name] == fields[name]
    assert job["priority"] == 1
    assert job["state"] == "scheduled"
    assert job["agent"]["iteration"] == 1
    assert job["depends_on"] == [first]
    assert job["expire_at"] is not None


def test_the_members_of_a_batch_know_it(api: Api, queue: str) -> None:
    job_ids, batch_id = enqueue_batch(api, [{"queue": queue}] * 2)
    assert [api.job(job_id)["batch_id"] for job_id in job_ids] == [batch_id] * 2
    assert counters(api, batch_id) == (2, 2, 0, 0)


def test_a_duplicate_gives_its_id_and_is_no_member(api: Api, queue: str) -> None:
    existing = api.enqueue(queue, unique_key="k")
    job_ids, batch_id = enqueue_batch(api, [{"queue": queue, "unique_key": "k"}, {"queue": queue}])
    assert job_ids[0] == existing
    assert api.job(existing)["batch_id"] is None
    assert counters(api, batch_id) == (1, 1, 0, 0)


def test_equal_keys_in_one_request_make_one_job(api: Api, queue: str) -> None:
    first, second, other = api.post(
        "/enqueue/batch", {"jobs": [{"queue": queue, "unique_key": key, "payload": key} for key in "aab"]}
    ).json()["job_ids"]
    assert first == second != other
    assert api.get(f"/queues/{queue}").json()["pending"] == 2


def test_the_callback_comes_once_when_every_member_has_ended(api: Api, queue: str) -> None:
    callback = f"{queue}-callback"
    payload = {"note": "all done", "batch": "is overwritten"}
    jobs = [{"queue": queue, "max_retries": 1}] * 5
    ids, batch_id = enqueue_batch(api, jobs, callback_queue=callback, callback_payload=payload)
    for _ in range(3):
        claim(api, queue)
    api.post(f"/ack/{ids[0]}")
    api.post(f"/fail/{ids[1]}", {"error": "boom"})
    api.post(f"/jobs/{ids[2]}/cancel")
    api.delete(f"/jobs/{ids[3]}")
    assert counters(api, batch_id) == (5, 1, 1, 3)
    assert is_empty(api, callback)
    claim(api, queue)
    api.post("/ack/batch", {"acks": [{"job_id": ids[4]}]})
    job = claim(api, callback)
    assert job["payload"] == {
        "note": "all done",
        "batch": {"id": batch_id, "total": 5, "succeeded": 2, "failed": 3},
    }
    assert (job["priority"], job["max_retries"]) == (2, 3)
    assert counters(api, batch_id) == (5, 0, 2, 3)
    assert is_empty(api, callback)


@pytest.mark.parametrize(
    ("given", "rest"),
    [
        ({"callback_payload": [1, 2]}, {"callback_payload": [1, 2]}),
        ({"callback_payload": "text"}, {"callback_payload": "text"}),
        ({"callback_payload": 0}, {"callback_payload": 0}),
        ({"callback_payload": {}}, {}),
        ({"callback_payload": None}, {}),
        ({}, {}),
    ],
    ids=["list", "text", "number", "empty-object", "null", "absent"],
)
def test_the_callback_payload_carries_the_counters(api: Api, queue: str, given: Any, rest: dict[str, Any]) -> None:
    _, batch_id = enqueue_batch(api, [{"queue": queue}], callback_queue=f"{queue}-callback", **given)
    api.post(f"/ack/{claim(api, queue)['job_id']}")
    counted = {"id": batch_id, "total": 1, "succeeded": 1, "failed": 0}
    assert claim(api, f"{queue}-callback")["payload"] == {**rest, "batch": counted}


@pytest.mark.parametrize("batch", [{}, {"callback_queue": ""}, {"callback_queue": None}])
def test_a_batch_without_callback_queue_is_only_counted(api: Api, queue: str, batch: Any) -> None:
    _, batch_id = enqueue_batch(api, [{"queue": queue}], **batch)
    api.post(f"/ack/{claim(api, queue)['job_id']}")
    assert counters(api, batch_id) == (1, 0, 1, 0)


def test_a_batch_of_duplicates_completes_at_once(api: Api, queue: str) -> None:
    api.enqueue(queue, unique_key="k")
    _, batch_id = enqueue_batch(api, [{"queue": queue, "unique_key": "k"}], callback_queue=f"{queue}-callback")
    counted = {"id": batch_id, "total": 0, "succeeded": 0, "failed": 0}
    assert claim(api, f"{queue}-callback")["payload"] == {"batch": counted}


def test_a_member_counts_once_however_often_it_ends(api: Api, queue: str) -> None:
    callback = f"{queue}-callback"
    (job_id,), batch_id = enqueue_batch(api, [{"queue": queue, "max_retries": 1}], callback_queue=callback)
    claim(api, queue)
    api.post(f"/fail/{job_id}")
    assert counters(api, batch_id) == (1, 0, 0, 1)
    claim(api, callback)
    api.post(f"/jobs/{job_id}/retry")
    claim(api, queue)
    api.post(f"/ack/{job_id}")
    assert api.delete(f"/jobs/{job_id}").status_code == 200
    assert counters(api, batch_id) == (1, 0, 0, 1)
    assert is_empty(api, callback)


@pytest.mark.parametrize("ending", ["reject", "expire", "clear", "delete-queue"])
def test_a_member_that_ends_without_running_is_a_failure(api: Api, queue: str, ending: str) -> None:
    fields: dict[str, Any] = {"expire_after": "50ms"} if ending == "expire" else {}
    (job_id,), batch_id = enqueue_batch(api, [{"queue": queue, **fields}], callback_queue=f"{queue}-callback")
    match ending:
        case "reject":
            api.post(f"/jobs/{job_id}/hold")
            api.post(f"/jobs/{job_id}/reject")
        case "expire":
            wait_for_state(api, job_id, "dead")
        case "clear":
            assert api.post(f"/queues/{queue}/clear").json()["deleted"] == 1
        case _:
            api.delete(f"/queues/{queue}?confirm=true")
    assert counters(api, batch_id) == (1, 0, 0, 1)
    assert claim(api, f"{queue}-callback")["payload"]["batch"]["failed"] == 1


def test_a_callback_queue_that_cannot_be_is_refused(api: Api, queue: str) -> None:
    answer = api.post("/enqueue/batch", {"jobs": [{"queue": queue}], "batch": {"callback_queue": "a\nb"}})
    assert_refused(answer, 400, "VALIDATION_ERROR", "callback_queue")
