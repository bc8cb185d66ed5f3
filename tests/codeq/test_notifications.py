"""Notifications: subscribers hear that a command has tasks again, at once, once, and not too often."""

import hmac
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any
from uuid import uuid4

import pytest

from rookery.node.ready_hooks import MOST_AT_A_TIME, MOST_OF_ONE
from tests.codeq.conftest import Codeq, StartCodeq
from tests.conftest import wait_for
from tests.receiver import Received, Receiver, receiving

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture
def command(queue: str) -> str:
    """A command that no other test uses, in a spelling of its own."""
    return queue.title()


def subscribe(codeq: Codeq, url: str, *commands: str, **fields: Any) -> str:
    body = {"callbackUrl": url, "eventTypes": commands, "minIntervalSeconds": 1, **fields}
    answer = codeq.post("/workers/subscriptions", body)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["subscriptionId"])


def create(codeq: Codeq, command: str, **fields: Any) -> str:
    options = {"headers": fields.pop("headers")} if "headers" in fields else {}
    answer = codeq.post("/tasks", {"command": command, "payload": {}, **fields}, **options)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


def claim(codeq: Codeq, *commands: str, **fields: Any) -> dict[str, Any]:
    answer = codeq.post("/tasks/claim", {"commands": commands, **fields})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def empty(codeq: Codeq, *commands: str) -> None:
    """Take what is ready."""
    while codeq.post("/tasks/claim", {"commands": commands}).status_code == 200:
        pass


def heard(receiver: Receiver, path: str, count: int) -> list[Received]:
    """The first so many that have come to a path."""
    return list(wait_for(lambda: len(receiver.at(path)) >= count and receiver.at(path)))


def nothing_more(codeq: Codeq, receiver: Receiver, path: str, count: int) -> None:
    """No more than so many have come to a path, and no more is under way: what is sent after it has arrived."""
    last = uuid4().hex
    subscribe(codeq, receiver.url(f"/{last}"), last)
    create(codeq, last)
    heard(receiver, f"/{last}", 1)
    assert len(receiver.at(path)) == count


def test_the_first_task_of_an_empty_command_is_told(open_codeq: Codeq, receiver: Receiver, command: str) -> None:
    subscribe(open_codeq, receiver.url("/ready"), command)
    before = time.time()
    create(open_codeq, command)

    (told,) = heard(receiver, "/ready", 1)
    message = told.message
    assert list(message) == ["eventType", "available", "queueDepth", "claimUrl", "sentAt", "notificationId"]
    assert (message["eventType"], message["available"], message["queueDepth"]) == (command, True, 1)
    assert message["claimUrl"] == "/v1/codeq/tasks/claim"
    assert message["notificationId"].startswith("ntf-")
    sent_at = datetime.fromisoformat(message["sentAt"])
    assert sent_at.tzinfo == UTC
    assert before - 1 < sent_at.timestamp() < time.time() + 1
    assert told.headers["Content-Type"] == "application/json"
    assert not {"X-CodeQ-Signature", "X-CodeQ-Timestamp", "traceparent"} & set(told.headers)


def test_every_notification_has_an_id_of_its_own(open_codeq: Codeq, receiver: Receiver, command: str) -> None:
    for path in ("/a", "/b", "/c"):
        subscribe(open_codeq, receiver.url(path), command)
    create(open_codeq, command)

    ids = {heard(receiver, path, 1)[0].message["notificationId"] for path in ("/a", "/b", "/c")}
    assert len(ids) == 3


def test_more_tasks_and_future_ones_are_not_told(open_codeq: Codeq, receiver: Receiver, command: str) -> None:
    create(open_codeq, command)
    subscribe(open_codeq, receiver.url("/full"), command)
    subscribe(open_codeq, receiver.url("/future"), f"{command}-future")
    create(open_codeq, command)
    create(open_codeq, f"{command}-future", delaySeconds=3600)

    nothing_more(open_codeq, receiver, "/full", 0)
    assert receiver.at("/future") == []


def test_a_delayed_task_is_told_when_its_time_has_come(open_codeq: Codeq, receiver: Receiver, command: str) -> None:
    subscribe(open_codeq, receiver.url("/ready"), command)
    create(open_codeq, command, delaySeconds=1)

    (told,) = heard(receiver, "/ready", 1)
    assert told.message["queueDepth"] == 1


def test_a_task_that_comes_back_is_told(open_codeq: Codeq, receiver: Receiver, command: str) -> None:
    task = create(open_codeq, command)
    claim(open_codeq, command)
    subscribe(open_codeq, receiver.url("/ready"), command)
    assert open_codeq.post(f"/tasks/{task}/abandon").status_code == 200

    heard(receiver, "/ready", 1)


def test_a_task_that_is_retried_is_told(start_codeq: StartCodeq, receiver: Receiver) -> None:
    codeq = start_codeq({"BACKOFF_POLICY": "fixed", "BACKOFF_BASE_SECONDS": "1"})
    task = create(codeq, "Mail")
    claim(codeq, "Mail")
    subscribe(codeq, receiver.url("/ready"), "Mail")
    assert codeq.post(f"/tasks/{task}/nack", {}).json()["status"] == "requeued"

    heard(receiver, "/ready", 1)


def test_only_those_who_want_the_command_are_told(open_codeq: Codeq, receiver: Receiver, command: str) -> None:
    subscribe(open_codeq, receiver.url("/other"), f"{command}-other")
    subscribe(open_codeq, receiver.url("/all"), "*")
    subscribe(open_codeq, receiver.url("/lower"), command.lower())
    create(open_codeq, command)

    (told,) = heard(receiver, "/all", 1)
    assert told.message["eventType"] == command
    (told,) = heard(receiver, "/lower", 1)
    assert told.message["eventType"] == command.lower()
    assert receiver.at("/other") == []


def test_what_comes_too_early_is_dropped(open_codeq: Codeq, receiver: Receiver, command: str) -> None:
    subscribe(open_codeq, receiver.url("/seldom"), command, minIntervalSeconds=3600)
    subscribe(open_codeq, receiver.url("/often"), command)
    for count in (1, 2):
        create(open_codeq, command)
        heard(receiver, "/often", count)
        empty(open_codeq, command)
        time.sleep(1.0)

    assert len(receiver.at("/seldom")) == 1


def test_a_group_takes_turns(open_codeq: Codeq, receiver: Receiver, command: str) -> None:
    for path in ("/a", "/b", "/c"):
        subscribe(open_codeq, receiver.url(path), command, deliveryMode="group", groupId="g")
    subscribe(open_codeq, receiver.url("/d"), command, deliveryMode="group", groupId="h")
    told: list[str] = []
    for count in range(1, 5):
        create(open_codeq, command)
        wait_for(lambda count=count: sum(len(receiver.at(path)) for path in ("/a", "/b", "/c")) == count)
        heard(receiver, "/d", count)
        told += [request.path for request in receiver.requests[2 * (count - 1) :] if request.path != "/d"]
        empty(open_codeq, command)
        time.sleep(1.0)

    assert told == ["/a", "/b", "/c", "/a"]


def test_of_those_who_share_by_hash_one_is_told(open_codeq: Codeq, receiver: Receiver, command: str) -> None:
    paths = [f"/{n}" for n in range(5)]
    for path in paths:
        subscribe(open_codeq, receiver.url(path), command, deliveryMode="hash")
    minute = int(time.time() / 60)
    create(open_codeq, command)

    (told,) = wait_for(lambda: [request for request in receiver.requests if request.path in paths])
    nothing_more(open_codeq, receiver, "/none", 0)
    assert len([request for request in receiver.requests if request.path in paths]) == 1
    assert told.path in {f"/{minute % 5}", f"/{(minute + 1) % 5}"}


def test_a_subscription_that_has_run_out_hears_nothing(open_codeq: Codeq, receiver: Receiver, command: str) -> None:
    lapsed = subscribe(open_codeq, receiver.url("/lapsed"), command, ttlSeconds=1)
    time.sleep(1.0)
    assert open_codeq.post(f"/workers/subscriptions/{lapsed}/heartbeat").status_code == 404
    create(open_codeq, command)

    nothing_more(open_codeq, receiver, "/lapsed", 0)


def test_those_who_do_not_answer_hold_up_nobody(open_codeq: Codeq, receiver: Receiver, command: str) -> None:
    subscribe(open_codeq, receiver.url("/hang"), command)
    subscribe(open_codeq, "http://127.0.0.1:9/nobody", command)
    create(open_codeq, command)
    heard(receiver, "/hang", 1)

    assert claim(open_codeq, command)["status"] == "IN_PROGRESS"
    nothing_more(open_codeq, receiver, "/hang", 1)


def test_a_host_that_hangs_takes_no_room_from_others(start_codeq: StartCodeq, receiver: Receiver) -> None:
    codeq = start_codeq()
    with receiving() as hanging:
        for number in range(MOST_AT_A_TIME + 1):
            subscribe(codeq, hanging.url(f"/hang/{number}"), "Mail")
        subscribe(codeq, receiver.url("/ready"), "Print")
        create(codeq, "Mail")
        wait_for(lambda: len(hanging.requests) == MOST_OF_ONE)
        create(codeq, "Print")

        heard(receiver, "/ready", 1)
        assert len(hanging.requests) == MOST_OF_ONE
        metrics = codeq.server.http.get("/metrics").text
        assert 'codeq_webhook_deliveries_total{command="Mail",kind="queue_ready",outcome="failure"}' not in metrics
        hanging.released.set()
        wait_for(lambda: len(hanging.requests) == MOST_AT_A_TIME + 1)


def test_a_renewed_subscription_is_told_beyond_its_first_end(
    open_codeq: Codeq, receiver: Receiver, command: str
) -> None:
    subscription = subscribe(open_codeq, receiver.url("/ready"), command, ttlSeconds=2)
    create(open_codeq, command)
    heard(receiver, "/ready", 1)
    empty(open_codeq, command)
    assert open_codeq.post(f"/workers/subscriptions/{subscription}/heartbeat").status_code == 200
    time.sleep(2.0)
    create(open_codeq, command)

    heard(receiver, "/ready", 2)


def test_a_failed_notification_is_not_sent_again(open_codeq: Codeq, receiver: Receiver, command: str) -> None:
    receiver.statuses["/broken"] = 500
    subscribe(open_codeq, receiver.url("/broken"), command)
    create(open_codeq, command)
    heard(receiver, "/broken", 1)

    nothing_more(open_codeq, receiver, "/broken", 1)


def test_jobs_of_the_native_api_are_told_too(open_codeq: Codeq, receiver: Receiver, queue: str) -> None:
    subscribe(open_codeq, receiver.url("/ready"), queue.title())
    assert open_codeq.server.http.post("/api/v1/enqueue", json={"queue": queue}).status_code == 201

    (told,) = heard(receiver, "/ready", 1)
    assert told.message["eventType"] == queue.title()


def test_the_trace_of_a_task_goes_with_its_notification(open_codeq: Codeq, receiver: Receiver, command: str) -> None:
    subscribe(open_codeq, receiver.url("/ready"), command)
    create(open_codeq, command, headers={"traceparent": TRACE, "tracestate": "vendor=1"})

    (told,) = heard(receiver, "/ready", 1)
    assert (told.headers["traceparent"], told.headers["tracestate"]) == (TRACE, "vendor=1")


def test_notifications_are_signed(start_codeq: StartCodeq, receiver: Receiver) -> None:
    codeq = start_codeq({"WEBHOOK_HMAC_SECRET": "geheim"})
    subscribe(codeq, receiver.url("/ready"), "Mail")
    create(codeq, "Mail")

    (told,) = heard(receiver, "/ready", 1)
    timestamp = told.headers["X-CodeQ-Timestamp"]
    assert abs(int(timestamp) - time.time()) < 60
    expected = hmac.new(b"geheim", f"{timestamp}.".encode() + told.body, sha256).hexdigest()
    assert told.headers["X-CodeQ-Signature"] == expected


def test_a_rate_limit_drops_notifications(start_codeq: StartCodeq, receiver: Receiver) -> None:
    limit = {"RATE_LIMIT_WEBHOOK_REQUESTS_PER_MINUTE": "1", "RATE_LIMIT_WEBHOOK_BURST_SIZE": "2"}
    codeq = start_codeq(limit)
    for command in ("a", "b", "c", "d"):
        subscribe(codeq, receiver.url("/ready"), command)
        create(codeq, command)

    heard(receiver, "/ready", 2)
    nothing_more(codeq, receiver, "/ready", 2)


def test_tenants_hear_of_their_own_tasks(start_codeq: StartCodeq, receiver: Receiver) -> None:
    codeq = start_codeq({"TENANCY_ENABLED": "true"})
    for tenant in ("ann", "bob"):
        subscribe(codeq.like(tenant), receiver.url(f"/{tenant}"), "*")
        subscribe(codeq.like(tenant), receiver.url(f"/{tenant}/mail"), "Mail")
    create(codeq.like("ann"), "Mail")

    (told,) = heard(receiver, "/ann", 1)
    assert told.message["eventType"] == "Mail"
    heard(receiver, "/ann/mail", 1)
    nothing_more(codeq.like("ann"), receiver, "/bob", 0)
    assert receiver.at("/bob/mail") == []


def test_subscribers_are_told_after_a_restart(start_codeq: StartCodeq, receiver: Receiver) -> None:
    codeq = start_codeq()
    subscribe(codeq, receiver.url("/ready"), "Mail")
    codeq.server.kill()
    codeq.server.start()
    create(codeq, "Mail")

    heard(receiver, "/ready", 1)


def test_a_server_that_listens_to_the_world_calls_nobody_on_its_own_host(
    start_codeq: StartCodeq, receiver: Receiver
) -> None:
    codeq = start_codeq({}, "--bind", "0.0.0.0:0")
    subscribe(codeq, receiver.url("/ready"), "Mail")
    create(codeq, "Mail")

    failed = 'codeq_webhook_deliveries_total{command="Mail",kind="queue_ready",outcome="failure"} 1.0'
    wait_for(lambda: failed in codeq.server.http.get("/metrics").text)
    assert receiver.requests == []
