"""Submitting results, one or many, and reading them or waiting for them."""

import threading
from typing import Any

import pytest

from tests.codeq.conftest import Codeq, assert_error
from tests.codeq.steps import claim, complete, create, take, task
from tests.conftest import Api


@pytest.fixture
def codeq(open_codeq: Codeq) -> Codeq:
    return open_codeq


@pytest.fixture
def worker(codeq: Codeq) -> Codeq:
    return codeq.like("w1")


def start(codeq: Codeq, queue: str, **fields: Any) -> str:
    """A task that w1 works on; its id."""
    task_id: str = create(codeq, queue, **fields)["id"]
    assert take(codeq.like("w1"), queue)["id"] == task_id
    return task_id


def result_of(codeq: Codeq, task_id: str) -> dict[str, Any]:
    answer = codeq.get(f"/tasks/{task_id}/result")
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    assert body.keys() == {"task", "result"}
    return body


# --- submitting


def test_a_completed_task_has_its_result(codeq: Codeq, worker: Codeq, queue: str) -> None:
    task_id = start(codeq, queue)

    submitted = complete(worker, task_id, {"n": 12345678901234567890, "deep": {"a": [1]}}, workerId="somebody else")

    assert submitted.keys() == {"taskId", "status", "result", "completedAt"}
    assert (submitted["taskId"], submitted["status"]) == (task_id, "COMPLETED")
    assert submitted["result"] == {"n": 12345678901234567890, "deep": {"a": [1]}}
    done = task(codeq, task_id)
    assert (done["status"], done["attempts"], done["lastKnownLocation"]) == ("COMPLETED", 1, "NONE")
    assert done["resultKey"]
    assert not {"workerId", "leaseUntil", "error"} & done.keys()
    assert result_of(codeq, task_id) == {"task": done, "result": submitted}
    assert codeq.stats(queue) == {"command": queue, "ready": 0, "delayed": 0, "inProgress": 0, "dlq": 0}


def test_numbers_of_a_result_stay_as_they_are(codeq: Codeq, worker: Codeq, queue: str) -> None:
    task_id = start(codeq, queue)

    body = '{"status":"COMPLETED","result":{ "n": 1.10, "big": 123456789012345678901234567890 }}'
    answer = worker.call("POST", f"/tasks/{task_id}/result", content=body)

    assert '"result":{"n":1.10,"big":123456789012345678901234567890}' in answer.text
    assert '"result":{"n":1.10,"big":123456789012345678901234567890}' in codeq.get(f"/tasks/{task_id}/result").text


def test_an_empty_object_is_a_result(codeq: Codeq, worker: Codeq, queue: str) -> None:
    assert complete(worker, start(codeq, queue), {})["result"] == {}


def test_an_error_beside_a_completed_result_is_kept_with_it(codeq: Codeq, worker: Codeq, queue: str) -> None:
    task_id = start(codeq, queue)

    assert complete(worker, task_id, {}, error="half of it")["error"] == "half of it"
    assert result_of(codeq, task_id)["result"]["error"] == "half of it"
    assert "error" not in task(codeq, task_id)


def test_a_failed_result_is_the_end_and_no_dead_letter(codeq: Codeq, worker: Codeq, queue: str) -> None:
    task_id = start(codeq, queue, maxAttempts=5)

    answer = worker.post(f"/tasks/{task_id}/result", {"status": "FAILED", "error": "no such user"})

    assert answer.status_code == 200
    submitted = answer.json()
    assert submitted.keys() == {"taskId", "status", "error", "completedAt"}
    failed = task(codeq, task_id)
    assert (failed["status"], failed["error"], failed["lastKnownLocation"]) == ("FAILED", "no such user", "NONE")
    assert failed["resultKey"]
    assert result_of(codeq, task_id) == {"task": failed, "result": submitted}
    assert codeq.stats(queue) == {"command": queue, "ready": 0, "delayed": 0, "inProgress": 0, "dlq": 0}
    assert claim(worker, queue) is None


def test_a_failed_result_may_have_an_object_too(codeq: Codeq, worker: Codeq, queue: str) -> None:
    task_id = start(codeq, queue)

    worker.post(f"/tasks/{task_id}/result", {"status": "FAILED", "error": "no", "result": {"code": 7}})

    assert result_of(codeq, task_id)["result"]["result"] == {"code": 7}


def test_a_result_of_an_earlier_life_is_not_that_of_a_later_one(codeq: Codeq, worker: Codeq, queue: str) -> None:
    task_id = start(codeq, queue)
    complete(worker, task_id, {"old": 1}, error="old", artifacts=[{"name": "old", "url": "http://old/"}])
    assert Api(codeq.server).post(f"/jobs/{task_id}/retry").status_code == 200
    assert_error(codeq.get(f"/tasks/{task_id}/result"), 404, "result not found")
    take(worker, queue)

    worker.post(f"/tasks/{task_id}/result", {"status": "FAILED", "error": "new"})

    later = result_of(codeq, task_id)["result"]
    assert (later["error"], later.keys()) == ("new", {"taskId", "status", "error", "completedAt"})


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("", "invalid request body"),
        ("{", "invalid request body"),
        ("[]", "invalid request body"),
        ("{}", "invalid request body"),
        ('{"status":""}', "invalid request body"),
        ('{"status":7}', "invalid request body"),
        ('{"status":"DONE"}', "invalid status"),
        ('{"status":"completed","result":{}}', "invalid status"),
        ('{"status":"COMPLETED"}', "result required when status=COMPLETED"),
        ('{"status":"COMPLETED","result":null}', "result required when status=COMPLETED"),
        ('{"status":"COMPLETED","result":[1]}', "invalid request body"),
        ('{"status":"COMPLETED","result":"text"}', "invalid request body"),
        ('{"status":"FAILED"}', "error required when status=FAILED"),
        ('{"status":"FAILED","error":" "}', "error required when status=FAILED"),
        ('{"status":"FAILED","error":"x","result":7}', "invalid request body"),
    ],
)
def test_a_bad_result_says_what_is_wrong_and_changes_nothing(
    codeq: Codeq, worker: Codeq, queue: str, body: str, text: str
) -> None:
    task_id = start(codeq, queue)
    before = task(codeq, task_id)

    assert_error(worker.call("POST", f"/tasks/{task_id}/result", content=body), 400, text)

    assert task(codeq, task_id) == before
    complete(worker, task_id)


def test_a_result_is_taken_once(codeq: Codeq, worker: Codeq, queue: str) -> None:
    task_id = start(codeq, queue)
    first = complete(worker, task_id, {"n": 1})

    for body in ({"status": "COMPLETED", "result": {"n": 2}}, {"status": "FAILED", "error": "no"}):
        assert_error(worker.post(f"/tasks/{task_id}/result", body), 409, "not-in-progress")

    assert result_of(codeq, task_id)["result"] == first


def test_only_the_worker_who_has_a_task_may_submit_its_result(codeq: Codeq, worker: Codeq, queue: str) -> None:
    body = {"status": "COMPLETED", "result": {}}
    task_id = create(codeq, queue)["id"]

    assert_error(worker.post("/tasks/nowhere/result", body), 404, "task not found")
    assert_error(worker.post(f"/tasks/{task_id}/result", body), 409, "not-in-progress")
    take(worker, queue)
    assert_error(codeq.like("w2").post(f"/tasks/{task_id}/result", body), 403, "not-owner")
    assert task(codeq, task_id)["workerId"] == "w1"
    complete(worker, task_id)
    assert_error(codeq.like("w2").post(f"/tasks/{task_id}/result", body), 409, "not-in-progress")


def test_of_many_who_submit_at_the_same_time_one_is_taken(codeq: Codeq, worker: Codeq, queue: str) -> None:
    task_id = start(codeq, queue)
    statuses: list[int] = []

    def submit(n: int) -> None:
        answer = worker.post(f"/tasks/{task_id}/result", {"status": "COMPLETED", "result": {"n": n}})
        statuses.append(answer.status_code)

    threads = [threading.Thread(target=submit, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(statuses) == [200, *[409] * 7]


# --- many at once


def test_each_result_of_a_batch_stands_alone(codeq: Codeq, worker: Codeq, queue: str) -> None:
    done, failed, others, bad = (create(codeq, queue)["id"] for _ in range(4))
    for _ in range(2):
        take(worker, queue)
    take(codeq.like("w2"), queue)
    take(worker, queue)
    items: list[Any] = [
        {"taskId": done, "status": "COMPLETED", "result": {"n": 1}, "artifacts": [{"name": "a", "url": "http://a/"}]},
        {"taskId": done, "status": "COMPLETED", "result": {"n": 2}},
        {"taskId": failed, "status": "FAILED", "error": "no"},
        {"taskId": others, "status": "COMPLETED", "result": {}},
        {"taskId": "nowhere", "status": "COMPLETED", "result": {}},
        {"taskId": bad, "status": "DONE"},
        {"taskId": bad, "status": "COMPLETED"},
        {"taskId": bad, "status": "FAILED"},
        {"taskId": bad, "status": 5},
        {"taskId": bad, "status": "COMPLETED", "result": {}, "artifacts": [{"name": 1}]},
        {"status": "COMPLETED", "result": {}},
        {"taskId": 7, "status": "COMPLETED", "result": {}},
        "nonsense",
    ]

    answer = worker.post("/tasks/batch/results", {"results": items})

    assert answer.status_code == 200, answer.text
    results = answer.json()["results"]
    named = [done, done, failed, others, "nowhere", *[bad] * 5, "", "", ""]
    assert [item["taskId"] for item in results] == named
    assert [item.get("error") for item in results] == [
        None,
        "not-in-progress",
        None,
        "not-owner",
        "task not found",
        "invalid status",
        "result required when status=COMPLETED",
        "error required when status=FAILED",
        "invalid request body",
        "invalid request body",
        "task not found",
        "invalid request body",
        "invalid request body",
    ]
    assert results[0]["result"] == result_of(codeq, done)["result"]
    assert results[0]["result"]["artifacts"] == [{"name": "a", "url": "http://a/"}]
    assert result_of(codeq, done)["result"]["result"] == {"n": 1}
    assert (task(codeq, failed)["status"], task(codeq, bad)["status"]) == ("FAILED", "IN_PROGRESS")


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({}, "invalid body"),
        ({"results": []}, "invalid body"),
        ({"results": [{"taskId": "x"}] * 101}, "batch size exceeds maximum of 100"),
    ],
)
def test_a_batch_of_results_is_neither_empty_nor_too_large(codeq: Codeq, body: Any, text: str) -> None:
    assert_error(codeq.post("/tasks/batch/results", body), 400, text)


# --- reading


def test_there_is_no_result_before_the_end_and_none_of_a_task_that_is_not_there(codeq: Codeq, queue: str) -> None:
    assert_error(codeq.get("/tasks/nowhere/result"), 404, "task not found")
    assert_error(codeq.get("/tasks/nowhere/result", params={"waitSeconds": 30}), 404, "task not found")
    task_id = create(codeq, queue)["id"]
    assert_error(codeq.get(f"/tasks/{task_id}/result"), 404, "result not found")
    assert_error(codeq.get(f"/tasks/{task_id}/result", params={"waitSeconds": 1}), 404, "result not found")
    take(codeq, queue)
    assert_error(codeq.get(f"/tasks/{task_id}/result"), 404, "result not found")


@pytest.mark.parametrize("end", ["COMPLETED", "FAILED", "dead"])
def test_who_waits_for_a_result_gets_it_when_it_comes(codeq: Codeq, worker: Codeq, queue: str, end: str) -> None:
    task_id = start(codeq, queue, maxAttempts=1)
    answers: list[Any] = []

    def wait() -> None:
        answers.append(codeq.get(f"/tasks/{task_id}/result", params={"waitSeconds": "60"}))

    waiting = threading.Thread(target=wait)
    waiting.start()
    if end == "dead":
        worker.post(f"/tasks/{task_id}/nack", {})
    else:
        worker.post(f"/tasks/{task_id}/result", {"status": end, "result": {"n": 1}, "error": "x"})
    waiting.join(30)

    (answer,) = answers
    if end == "dead":
        assert_error(answer, 404, "result not found")
    else:
        assert answer.json()["result"]["status"] == end
