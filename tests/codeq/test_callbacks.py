"""Result callbacks: a task's webhook hears how it ended, however that came, until it has answered."""

import hmac
import json
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

import pytest

from tests.codeq.conftest import Codeq, StartCodeq, assert_error, codeq_variables
from tests.codeq.test_notifications import claim, create
from tests.conftest import wait_for
from tests.receiver import Received, Receiver, receiving

KEYS = ["taskId", "eventType", "status", "result", "error", "artifacts", "completedAt"]
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
QUICK = {"RESULT_WEBHOOK_BASE_BACKOFF_SECONDS": "1", "RESULT_WEBHOOK_MAX_BACKOFF_SECONDS": "1"}


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture
def command(queue: str) -> str:
    return queue.title()


def begin(codeq: Codeq, command: str, url: str, **fields: Any) -> str:
    """Create a task with a webhook and claim it."""
    task = create(codeq, command, webhook=url, **fields)
    assert claim(codeq, command)["id"] == task
    return task


def submit(codeq: Codeq, task: str, **fields: Any) -> dict[str, Any]:
    body = {"status": "COMPLETED", "result": {"n": 1}, **fields}
    answer = codeq.post(f"/tasks/{task}/result", body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def called(receiver: Receiver, path: str = "/done", count: int = 1) -> list[Received]:
    found = wait_for(lambda: len(receiver.at(path)) >= count and receiver.at(path))
    assert all(list(request.message) == KEYS for request in found)
    return list(found)


def told(receiver: Receiver, path: str = "/done") -> dict[str, Any]:
    """The one callback that has come to a path."""
    (request,) = called(receiver, path)
    return request.message


def deliveries(codeq: Codeq, command: str, outcome: str) -> bool:
    """Whether one callback of a command has come to such an end."""
    line = f'codeq_webhook_deliveries_total{{command="{command}",kind="task_result",outcome="{outcome}"}} 1.0'
    return line in codeq.server.http.get("/metrics").text


def test_a_completed_task_is_told_with_its_result(open_codeq: Codeq, receiver: Receiver, command: str) -> None:
    task = begin(open_codeq, command, receiver.url("/done"))
    result = submit(open_codeq, task, result={"a": [1, 2.50, "ü"]}, artifacts=[{"name": "x", "url": "http://f/x"}])

    message = told(receiver)
    assert message == {
        "taskId": task,
        "eventType": command,
        "status": "COMPLETED",
        "result": {"a": [1, 2.5, "ü"]},
        "error": "",
        "artifacts": [{"name": "x", "url": "http://f/x"}],
        "completedAt": result["completedAt"],
    }
    assert datetime.fromisoformat(message["completedAt"]).utcoffset() == timedelta(hours=-3)
    headers = called(receiver)[0].headers
    assert headers["Content-Type"] == "application/json"
    assert not {"X-CodeQ-Signature", "X-CodeQ-Timestamp", "traceparent", "tracestate"} & set(headers)


def test_an_error_beside_a_result_is_told(open_codeq: Codeq, receiver: Receiver, command: str) -> None:
    submit(open_codeq, begin(open_codeq, command, receiver.url("/done")), result={}, error="nearly")

    message = told(receiver)
    assert (message["result"], message["error"], message["artifacts"]) == ({}, "nearly", None)


def test_a_failed_task_is_told_with_its_error(open_codeq: Codeq, receiver: Receiver, command: str) -> None:
    submit(open_codeq, begin(open_codeq, command, receiver.url("/done")), status="FAILED", error="no", result=None)

    message = told(receiver)
    assert (message["status"], message["error"], message["result"]) == ("FAILED", "no", None)
    assert message["artifacts"] is None


@pytest.mark.parametrize(("body", "error"), [({"reason": "broken"}, "broken"), ({}, "MAX_ATTEMPTS")])
def test_a_nack_to_death_is_told(
    open_codeq: Codeq, receiver: Receiver, command: str, body: dict[str, str], error: str
) -> None:
    task = begin(open_codeq, command, receiver.url("/done"), maxAttempts=1)
    assert open_codeq.post(f"/tasks/{task}/nack", body).json()["status"] == "dlq"

    message = told(receiver)
    assert (message["taskId"], message["status"], message["error"]) == (task, "FAILED", error)
    assert (message["result"], message["artifacts"]) == (None, None)


def test_a_nack_that_leaves_attempts_is_not_told(open_codeq: Codeq, receiver: Receiver, command: str) -> None:
    task = begin(open_codeq, command, receiver.url("/done"))
    assert open_codeq.post(f"/tasks/{task}/nack", {"delaySeconds": 600}).json()["status"] == "requeued"
    submit(open_codeq, begin(open_codeq, f"{command}-other", receiver.url("/other")))

    told(receiver, "/other")
    assert receiver.at("/done") == []


def test_a_lost_lease_that_was_the_last_is_told_without_anybody_asking(
    open_codeq: Codeq, receiver: Receiver, command: str
) -> None:
    task = create(open_codeq, command, webhook=receiver.url("/done"), maxAttempts=1)
    claim(open_codeq, command, leaseSeconds=1)

    message = told(receiver)
    assert (message["taskId"], message["status"], message["error"]) == (task, "FAILED", "LEASE_EXPIRED")


def test_what_native_callers_do_to_a_task_is_told(open_codeq: Codeq, receiver: Receiver, queue: str) -> None:
    native = open_codeq.server.http
    cancelled = create(open_codeq, queue.title(), webhook=receiver.url("/cancelled"))
    assert native.post(f"/api/v1/jobs/{cancelled}/cancel").status_code == 200
    finished = create(open_codeq, queue.title(), webhook=receiver.url("/finished"))
    job = native.post("/api/v1/fetch", json={"queues": [queue], "worker_id": "w"}).json()
    assert job["job_id"] == finished
    assert native.post(f"/api/v1/ack/{finished}", json={"result": {"by": "hand"}}).status_code == 200

    message = told(receiver, "/cancelled")
    assert (message["status"], message["error"]) == ("FAILED", "CANCELLED")
    message = told(receiver, "/finished")
    assert (message["status"], message["result"], message["eventType"]) == ("COMPLETED", {"by": "hand"}, queue.title())


def test_each_result_of_a_batch_is_told(open_codeq: Codeq, receiver: Receiver, command: str) -> None:
    tasks = [begin(open_codeq, command, receiver.url("/done")) for _ in range(5)]
    results = [
        {
            "taskId": task,
            "status": "COMPLETED",
            "result": {"n": n},
            "artifacts": [{"name": "a", "url": f"http://f/{n}"}],
        }
        for n, task in enumerate(tasks)
    ]
    results.append({"taskId": "nobody", "status": "FAILED", "error": "no"})
    answer = open_codeq.post("/tasks/batch/results", {"results": results})
    assert [set(item) for item in answer.json()["results"]] == [{"taskId", "result"}] * 5 + [{"taskId", "error"}]

    messages = {request.message["taskId"]: request.message for request in called(receiver, count=5)}
    assert [messages[task]["result"]["n"] for task in tasks] == [0, 1, 2, 3, 4]
    assert [messages[task]["artifacts"][0]["url"][-1] for task in tasks] == ["0", "1", "2", "3", "4"]
    assert len(receiver.at("/done")) == 5


def test_a_second_result_is_refused_and_told_to_nobody(open_codeq: Codeq, receiver: Receiver, command: str) -> None:
    task = begin(open_codeq, command, receiver.url("/done"))
    submit(open_codeq, task)
    again = open_codeq.post(f"/tasks/{task}/result", {"status": "FAILED", "error": "changed my mind"})
    assert_error(again, 409, "not-in-progress")
    submit(open_codeq, begin(open_codeq, command, receiver.url("/other")))

    told(receiver, "/other")
    assert told(receiver)["status"] == "COMPLETED"


def test_the_trace_of_a_task_goes_with_its_callback(open_codeq: Codeq, receiver: Receiver, command: str) -> None:
    headers = {"traceparent": TRACE, "tracestate": "a=1,b=2"}
    submit(open_codeq, begin(open_codeq, command, receiver.url("/done"), headers=headers))

    (request,) = called(receiver)
    assert (request.headers["traceparent"], request.headers["tracestate"]) == (TRACE, "a=1,b=2")


def test_the_state_of_a_trace_may_come_in_several_headers(open_codeq: Codeq, receiver: Receiver, command: str) -> None:
    headers = [("traceparent", TRACE), ("tracestate", "a=1"), ("tracestate", "b=2")]
    body = {"command": command, "payload": {}, "webhook": receiver.url("/done")}
    task = open_codeq.server.http.post("/v1/codeq/tasks", json=body, headers=headers).json()
    assert task["traceState"] == "a=1,b=2"
    claim(open_codeq, command)
    submit(open_codeq, task["id"])

    assert called(receiver)[0].headers["tracestate"] == "a=1,b=2"


def test_those_who_hang_hold_up_neither_workers_nor_others(open_codeq: Codeq, receiver: Receiver, command: str) -> None:
    with receiving() as hanging:
        for _ in range(20):
            submit(open_codeq, begin(open_codeq, command, hanging.url("/hang")))
        submit(open_codeq, begin(open_codeq, command, receiver.url("/done")))
        told(receiver)
        assert len(hanging.at("/hang")) == 1


def test_callbacks_are_signed_anew_with_every_attempt(start_codeq: StartCodeq, receiver: Receiver) -> None:
    codeq = start_codeq(QUICK | {"WEBHOOK_HMAC_SECRET": "pé"})
    receiver.statuses["/done"] = 500
    submit(codeq, begin(codeq, "Mail", receiver.url("/done")))

    first, second, third = called(receiver, count=3)[:3]
    assert first.body == second.body == third.body
    stamps = [int(request.headers["X-CodeQ-Timestamp"]) for request in (first, second, third)]
    assert stamps == sorted(set(stamps))
    assert abs(stamps[0] - time.time()) < 60
    for request in (first, second, third):
        message = request.headers["X-CodeQ-Timestamp"].encode() + b"." + request.body
        expected = hmac.new("pé".encode(), message, sha256).hexdigest()
        assert request.headers["X-CodeQ-Signature"] == expected


def test_a_callback_is_tried_again_until_it_is_taken(start_codeq: StartCodeq, receiver: Receiver) -> None:
    codeq = start_codeq(QUICK)
    receiver.statuses["/done"] = 503
    submit(codeq, begin(codeq, "Mail", receiver.url("/done")))
    called(receiver, count=2)
    receiver.statuses["/done"] = 204
    receiver.answers["/done"] = b""

    wait_for(lambda: deliveries(codeq, "Mail", "success"))
    assert not deliveries(codeq, "Mail", "failure")
    assert 3 <= len(receiver.at("/done")) <= 5


@pytest.mark.parametrize("status", [301, 404, 500])
def test_a_callback_is_given_up_after_as_many_attempts_as_may_be(
    start_codeq: StartCodeq, receiver: Receiver, status: int
) -> None:
    codeq = start_codeq(QUICK | {"RESULT_WEBHOOK_MAX_ATTEMPTS": "2"})
    receiver.statuses["/done"] = status
    task = begin(codeq, "Mail", receiver.url("/done"))
    submit(codeq, task)

    wait_for(lambda: deliveries(codeq, "Mail", "failure"))
    assert len(receiver.at("/done")) == 2
    (given_up,) = [line for line in codeq.server.log.read_text().splitlines() if "attempt 2 of 2" in line]
    assert "WARNING" in given_up
    assert f"callback of job {task} to {receiver.url('').rstrip('/')}, attempt 2 of 2: " in given_up
    assert given_up.endswith("; given up")
    assert receiver.at("/elsewhere") == []


def test_the_pauses_between_attempts_are_as_they_are_said_to_be(start_codeq: StartCodeq, receiver: Receiver) -> None:
    codeq = start_codeq({"WEBHOOK_HMAC_SECRET": "s"})
    receiver.statuses["/done"] = 500
    submit(codeq, begin(codeq, "Mail", receiver.url("/done")))

    first, second, third = (int(request.headers["X-CodeQ-Timestamp"]) for request in called(receiver, count=3)[:3])
    assert second - first >= 2
    assert third - second >= 4


def test_nobody_at_home_is_a_failed_attempt(start_codeq: StartCodeq) -> None:
    codeq = start_codeq(QUICK | {"RESULT_WEBHOOK_MAX_ATTEMPTS": "1"})
    submit(codeq, begin(codeq, "Mail", "http://127.0.0.1:9/nobody"))

    wait_for(lambda: deliveries(codeq, "Mail", "failure"))


def test_an_address_that_must_not_be_called_is_a_failed_attempt(start_codeq: StartCodeq, receiver: Receiver) -> None:
    codeq = start_codeq(QUICK | {"RESULT_WEBHOOK_MAX_ATTEMPTS": "1"}, "--bind", "0.0.0.0:0")
    submit(codeq, begin(codeq, "Mail", receiver.url("/done")))
    submit(codeq, begin(codeq, "Post", "http://169.254.169.254/latest"))

    wait_for(lambda: deliveries(codeq, "Mail", "failure") and deliveries(codeq, "Post", "failure"))
    assert receiver.requests == []


def test_a_server_killed_between_a_result_and_its_callback_calls_after_its_next_start(
    start_codeq: StartCodeq, receiver: Receiver
) -> None:
    variables = QUICK | {"WEBHOOK_HMAC_SECRET": "s"}
    codeq = start_codeq(variables)
    submit(codeq, begin(codeq, "Mail", receiver.url("/hang")))
    receiver.statuses["/done"] = 500
    task = begin(codeq, "Mail", receiver.url("/done"))
    submit(codeq, task)
    wait_for(lambda: len(receiver.at("/hang")) == 1)
    codeq.server.kill()
    before = len(receiver.at("/done"))
    receiver.released.set()
    receiver.statuses["/done"] = 200

    with codeq_variables(variables):
        codeq.server.start()
    line = 'codeq_webhook_deliveries_total{command="Mail",kind="task_result",outcome="success"} 2.0'
    wait_for(lambda: line in codeq.server.http.get("/metrics").text)
    assert len(receiver.at("/hang")) == 2
    assert len(receiver.at("/done")) == before + 1
    assert receiver.at("/done")[-1].message["taskId"] == task
    assert "X-CodeQ-Signature" in receiver.at("/done")[-1].headers


def test_callbacks_wait_while_the_api_is_off(start_codeq: StartCodeq, receiver: Receiver) -> None:
    codeq = start_codeq({}, data="off")
    task = begin(codeq, "Mail", receiver.url("/done"))
    codeq.server.kill()
    codeq.server.flags = ("--codeq=off",)
    codeq.server.start()
    ended = codeq.server.http.post(f"/api/v1/jobs/{task}/cancel")
    assert ended.status_code == 200
    assert codeq.get(f"/tasks/{task}").status_code == 404
    codeq.server.stop()
    assert receiver.requests == []

    codeq.server.flags = ()
    codeq.server.start()
    assert told(receiver)["error"] == "CANCELLED"


def test_a_rate_limit_delays_callbacks_and_takes_no_attempt(start_codeq: StartCodeq, receiver: Receiver) -> None:
    limit = {"RATE_LIMIT_WEBHOOK_REQUESTS_PER_MINUTE": "60", "RATE_LIMIT_WEBHOOK_BURST_SIZE": "1"}
    codeq = start_codeq(limit | {"RESULT_WEBHOOK_MAX_ATTEMPTS": "1"})
    tasks = [begin(codeq, "Mail", receiver.url("/done")) for _ in range(4)]
    other = begin(codeq, "Mail", receiver.url("/other"))
    started = time.monotonic()
    for task in [*tasks, other]:
        submit(codeq, task)
    told(receiver, "/other")

    messages = [request.message for request in called(receiver, count=4)]
    assert time.monotonic() - started > 2.5
    assert [message["taskId"] for message in messages] == tasks
    hits = 'codeq_rate_limit_hits_total{operation="task_result",scope="webhook"} 3.0'
    wait_for(lambda: hits in codeq.server.http.get("/metrics").text)
    assert not any(
        "failure" in line for line in codeq.server.http.get("/metrics").text.splitlines() if "codeq_w" in line
    )


def test_a_cleaned_up_task_is_still_told(start_codeq: StartCodeq, receiver: Receiver) -> None:
    codeq = start_codeq(QUICK)
    receiver.statuses["/done"] = 500
    task = begin(codeq, "Mail", receiver.url("/done"))
    submit(codeq, task)
    called(receiver)
    before = (datetime.now().astimezone() + timedelta(hours=25)).isoformat()
    assert codeq.post("/admin/tasks/cleanup", {"before": before}).json()["deleted"] == 1
    receiver.statuses["/done"] = 200

    wait_for(lambda: deliveries(codeq, "Mail", "success"))
    assert json.loads(receiver.at("/done")[-1].body)["taskId"] == task


@pytest.mark.parametrize("url", ["there", "ftp://there/", "http://", "//there/x", "http://a b/"])
def test_a_webhook_is_an_absolute_url(open_codeq: Codeq, command: str, url: str) -> None:
    answer = open_codeq.post("/tasks", {"command": command, "payload": {}, "webhook": url})
    assert_error(answer, 400, "invalid webhook url")


def test_where_a_webhook_leads_does_not_matter_yet(open_codeq: Codeq, command: str) -> None:
    create(open_codeq, command, webhook="http://169.254.169.254/latest", delaySeconds=3600)
