"""Webhooks out: the server calls those who want to hear of events."""

import hashlib
import hmac
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rookery.model.job import STATES
from tests.api.expectations import assert_refused, job_in_state, moment, start_job
from tests.api.test_namespaces import Tenant
from tests.conftest import Api, ServerProcess, wait_for
from tests.receiver import CERTIFICATE, Receiver, receiving
from tests.test_docs import python_blocks


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture
def make_hook(api: Api, receiver: Receiver, queue: str) -> Iterator[Callable[..., str]]:
    """Makes webhooks for the events of the test's queue; all are gone when it ends."""
    made: list[str] = []

    def make(path: str, **fields: Any) -> str:
        answer = api.post("/webhooks", {"url": receiver.url(path), "queues": [queue], **fields})
        assert answer.status_code == 200, answer.text
        made.append(answer.json()["id"])
        return made[-1]

    yield make
    for hook in made:
        assert api.delete(f"/webhooks/{hook}").status_code == 200


def path_of(queue: str) -> str:
    return f"/{queue}"


def hook_of(api: Api, hook: str) -> dict[str, Any]:
    answer = api.get(f"/webhooks/{hook}")
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def is_done(api: Api, hook: str) -> bool:
    """Whether everything that has happened is delivered."""
    shown = hook_of(api, hook)
    return (shown["behind"], shown["waiting"]) == (0, 0)


def deliveries_of(api: Api, hook: str) -> list[dict[str, Any]]:
    answer = api.get(f"/webhooks/{hook}/deliveries")
    assert answer.status_code == 200, answer.text
    return list(answer.json())


# --- making them


def test_a_webhook_is_made_and_shown_without_its_secret(api: Api, receiver: Receiver) -> None:
    url = receiver.url("/shown")
    answer = api.post("/webhooks", {"url": url, "secret": "hush", "events": ["rejected"]})
    assert answer.status_code == 200
    hook = answer.json()["id"]
    assert answer.json() == {"status": "ok", "id": hook}
    assert hook.startswith("wh_")

    shown = next(shown for shown in api.get("/webhooks").json() if shown["id"] == hook)
    assert shown == hook_of(api, hook)
    moment(shown.pop("created_at"))
    assert shown == {
        "id": hook,
        "url": url,
        "events": ["rejected"],
        "queues": [],
        "enabled": True,
        "disabled_reason": None,
        "retry_limit": 3,
        "secret_set": True,
        "namespace": "default",
        "waiting": 0,
        "dropped": 0,
        "behind": 0,
        "failures": 0,
        "failing_since": None,
        "last_status_code": None,
        "last_error": None,
        "last_delivery_at": None,
    }
    assert "hush" not in api.get("/webhooks").text
    api.delete(f"/webhooks/{hook}")


def test_defaults_are_all_events_and_three_attempts(api: Api, receiver: Receiver) -> None:
    request = {"id": "", "url": receiver.url("/d"), "enabled": False, "events": [], "retry_limit": 0}
    hook = api.post("/webhooks", request).json()["id"]
    shown = hook_of(api, hook)
    assert (shown["events"], shown["retry_limit"], shown["secret_set"]) == (["*"], 3, False)
    api.delete(f"/webhooks/{hook}")


def test_webhooks_are_listed_by_age(api: Api, make_hook: Callable[..., str]) -> None:
    hooks = [make_hook("/age", id=name) for name in ("zebra", "ant", "mole")]
    make_hook("/age", id="zebra", retry_limit=5)
    assert [hook["id"] for hook in api.get("/webhooks").json() if hook["id"] in hooks] == hooks


def test_a_known_id_changes_that_webhook_and_keeps_the_rest_of_it(api: Api, make_hook: Callable[..., str]) -> None:
    hook = make_hook("/old", events=["dead"], secret="s", retry_limit=9)
    before = hook_of(api, hook)
    assert api.post("/webhooks", {"id": hook, "enabled": False}).json() == {"status": "ok", "id": hook}
    assert hook_of(api, hook) == {**before, "enabled": False}
    api.post("/webhooks", {"id": hook, "secret": ""})
    assert not hook_of(api, hook)["secret_set"]


def test_deleting_is_idempotent(api: Api, make_hook: Callable[..., str]) -> None:
    hook = make_hook("/gone")
    for _ in range(2):
        answer = api.delete(f"/webhooks/{hook}")
        assert (answer.status_code, answer.json()) == (200, {"status": "deleted", "id": hook})
    assert_refused(api.get(f"/webhooks/{hook}"), 404, "NOT_FOUND", hook)
    assert_refused(api.get(f"/webhooks/{hook}/deliveries"), 404, "NOT_FOUND", hook)
    assert_refused(api.post(f"/webhooks/{hook}/test"), 404, "NOT_FOUND", hook)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "url is required"),
        ({"url": ""}, "url is required"),
        ({"url": "example.com/hook"}, "example.com/hook"),
        ({"url": "ftp://example.com/x"}, "ftp://example.com/x"),
        ({"url": "http:///x"}, "http:///x"),
        ({"url": "http://me:secret@example.com/"}, "password"),
        ({"url": "http://169.254.169.254/latest"}, "169.254.169.254"),
        ({"url": "http://[fd00:ec2::254]/"}, "fd00:ec2::254"),
        ({"url": "http://example.com:70000/"}, "example.com:70000"),
        ({"url": "http://example.com/", "events": ["dead", " "]}, "events"),
        ({"url": "http://example.com/", "events": ["complete"]}, "events: 'complete' is not one of *, enqueued"),
        ({"url": "http://example.com/", "events": [f"e{n}" for n in range(101)]}, "events"),
        ({"url": "http://example.com/", "queues": [""]}, "queues"),
        ({"url": "http://example.com/", "queues": [f"q{n}" for n in range(101)]}, "queues"),
        ({"url": "http://example.com/", "retry_limit": -1}, "retry_limit"),
        ({"url": "http://example.com/", "retry_limit": 101}, "retry_limit"),
        ({"url": "http://example.com/", "secret": "x" * 1025}, "secret"),
        ({"url": "http://example.com/", "id": "a/b"}, "id"),
    ],
)
def test_a_wrong_field_is_named_and_nothing_is_made(api: Api, fields: dict[str, Any], words: str) -> None:
    before = api.get("/webhooks").json()
    assert_refused(api.post("/webhooks", fields), 400, "WEBHOOK_ERROR", words)
    assert api.get("/webhooks").json() == before


def test_a_namespace_has_room_for_64_webhooks(server: ServerProcess, api: Api) -> None:
    crowd, other = Tenant(server, "crowd"), Tenant(server, "other")
    request = {"url": "http://example.com/", "enabled": False}
    hooks = [crowd.post("/webhooks", request).json()["id"] for _ in range(64)]
    assert_refused(crowd.post("/webhooks", request), 400, "WEBHOOK_ERROR", "64 webhooks", "limit")
    hooks.append(other.post("/webhooks", request).json()["id"])
    for hook in hooks:
        assert api.delete(f"/webhooks/{hook}").status_code == 200


def test_a_wrong_type_is_a_parse_error(api: Api) -> None:
    assert_refused(api.post("/webhooks", {"url": 7}), 400, "PARSE_ERROR", "url")
    assert_refused(api.post("/webhooks", {"url": "http://e.com", "events": "dead"}), 400, "PARSE_ERROR", "events")


# --- deliveries


def test_events_of_every_kind_arrive_as_the_timeline_has_them(
    api: Api, receiver: Receiver, queue: str, make_hook: Callable[..., str]
) -> None:
    hook = make_hook(path_of(queue))
    working = start_job(api, queue)
    for state in sorted(STATES, key="pending".__eq__):
        job_in_state(api, queue, state)
    api.post("/heartbeat", {"jobs": {working["job_id"]: {"progress": {"percent": 40, "steps": [1, None]}}}})
    api.post(f"/release/{working['job_id']}", {"reason": "shutting down"})
    api.post(f"/jobs/{working['job_id']}/hold", {"reason": "why"})
    api.post(f"/jobs/{working['job_id']}/reject")
    api.post(f"/jobs/{working['job_id']}/retry")
    api.post(f"/jobs/{working['job_id']}/move", {"queue": f"{queue}-elsewhere"})
    api.post(f"/jobs/{working['job_id']}/move", {"queue": queue})
    wait_for(lambda: is_done(api, hook))
    timeline = api.get("/cluster/events", params={"queues": queue, "limit": 1000}).json()["events"]
    arrived = sorted((request.event for request in receiver.at(path_of(queue))), key=lambda event: event["seq"])
    assert arrived == timeline
    assert {"started", "progress", "failed", "held", "released", "moved"} <= {
        event["type"] for event in arrived if event.get("data")
    }


def test_an_event_is_delivered_signed_and_labelled(
    api: Api, receiver: Receiver, queue: str, make_hook: Callable[..., str]
) -> None:
    hook = make_hook(path_of(queue), secret="top secret", events=["Completed"])
    job_id = start_job(api, queue)["job_id"]
    api.post(f"/ack/{job_id}")
    (request,) = wait_for(lambda: receiver.at(path_of(queue)))

    (event,) = api.get("/cluster/events", params={"job_ids": job_id, "types": "completed"}).json()["events"]
    assert request.message == {"webhook_id": hook, "event": event, "sent_at": request.message["sent_at"]}
    moment(request.message["sent_at"])
    signature = "sha256=" + hmac.new(b"top secret", request.body, hashlib.sha256).hexdigest()
    for prefix in ("X-Rookery-", "X-Corvo-"):
        assert request.headers[f"{prefix}Webhook-ID"] == hook
        assert request.headers[f"{prefix}Webhook-Event"] == "completed"
        assert request.headers[f"{prefix}Webhook-Timestamp"] == request.message["sent_at"]
        assert request.headers[f"{prefix}Signature"] == signature
    assert request.headers["Content-Type"] == "application/json"
    assert request.headers["User-Agent"].startswith("rookery/")

    shown = wait_for(lambda: (shown := hook_of(api, hook))["last_delivery_at"] and shown)
    assert (shown["last_status_code"], shown["last_error"], shown["waiting"]) == (200, None, 0)
    (delivery,) = deliveries_of(api, hook)
    moment(delivery.pop("at"))
    assert delivery.pop("duration_ms") > 0
    assert delivery == {
        "event_seq": event["seq"],
        "event_type": "completed",
        "attempt": 1,
        "outcome": "delivered",
        "status_code": 200,
        "error": None,
        "answer": "thanks",
    }


def test_the_snippet_of_the_guide_tells_genuine_messages_from_others(
    api: Api, receiver: Receiver, queue: str, make_hook: Callable[..., str]
) -> None:
    make_hook(path_of(queue), secret="top secret")
    job_id = api.enqueue(queue)
    (request,) = wait_for(lambda: receiver.at(path_of(queue)))
    (snippet,) = python_blocks("docs/webhooks.md")
    guide: dict[str, Any] = {}
    exec(snippet, guide)

    signature = request.headers["X-Rookery-Signature"]
    assert guide["verify"]("top secret", request.body, signature)["event"]["job_id"] == job_id
    with pytest.raises(ValueError, match="signature"):
        guide["verify"]("other secret", request.body, signature)
    with pytest.raises(ValueError, match="signature"):
        guide["verify"]("top secret", request.body.replace(b"enqueued", b"finished"), signature)
    old = request.body.replace(b'"sent_at":"2', b'"sent_at":"1')
    with pytest.raises(ValueError, match="old"):
        guide["verify"]("top secret", old, "sha256=" + hmac.new(b"top secret", old, hashlib.sha256).hexdigest())


def test_without_a_secret_there_is_no_signature(
    api: Api, receiver: Receiver, queue: str, make_hook: Callable[..., str]
) -> None:
    make_hook(path_of(queue))
    api.enqueue(queue)
    (request,) = wait_for(lambda: receiver.at(path_of(queue)))
    assert "X-Rookery-Signature" not in request.headers
    assert "X-Corvo-Signature" not in request.headers


def test_every_event_of_many_jobs_is_delivered_once(
    api: Api, receiver: Receiver, queue: str, make_hook: Callable[..., str]
) -> None:
    hook = make_hook(path_of(queue), events=["enqueued"])
    ids = api.post("/enqueue/batch", {"jobs": [{"queue": queue}] * 300}).json()["job_ids"]
    wait_for(lambda: is_done(api, hook))
    assert sorted(request.event["job_id"] for request in receiver.at(path_of(queue))) == sorted(ids)
    log = deliveries_of(api, hook)
    assert len(log) == 100
    assert {delivery["outcome"] for delivery in log} == {"delivered"}


def test_a_failed_delivery_is_tried_again_and_then_given_up(
    api: Api, receiver: Receiver, queue: str, make_hook: Callable[..., str]
) -> None:
    receiver.statuses[path_of(queue)] = 500
    hook = make_hook(path_of(queue))
    job_id = api.enqueue(queue)
    wait_for(lambda: hook_of(api, hook)["failures"] == 1)

    requests = receiver.at(path_of(queue))
    assert [request.event["job_id"] for request in requests] == [job_id] * 3
    assert len({request.message["sent_at"] for request in requests}) == 3
    shown = hook_of(api, hook)
    assert (shown["last_status_code"], shown["last_error"], shown["waiting"]) == (500, "answered 500", 0)
    log = [(delivery["attempt"], delivery["outcome"]) for delivery in deliveries_of(api, hook)]
    assert log == [(3, "failed"), (2, "retrying"), (1, "retrying")]
    times = [moment(request.message["sent_at"]) for request in requests]
    assert (times[1] - times[0]).total_seconds() >= 0.2
    assert (times[2] - times[1]).total_seconds() >= 0.8


def test_a_delivery_that_succeeds_at_last_is_done(
    api: Api, receiver: Receiver, queue: str, make_hook: Callable[..., str]
) -> None:
    receiver.statuses[path_of(queue)] = 503
    hook = make_hook(path_of(queue), retry_limit=100)
    api.enqueue(queue)
    wait_for(lambda: len(receiver.at(path_of(queue))) == 2)
    receiver.statuses[path_of(queue)] = 200
    wait_for(lambda: is_done(api, hook))
    shown = hook_of(api, hook)
    assert (shown["last_status_code"], shown["last_error"], shown["failures"]) == (200, None, 0)


def test_a_redirect_is_not_followed(api: Api, receiver: Receiver, queue: str, make_hook: Callable[..., str]) -> None:
    receiver.statuses[path_of(queue)] = 307
    hook = make_hook(path_of(queue), retry_limit=1)
    api.enqueue(queue)
    wait_for(lambda: hook_of(api, hook)["failures"] == 1)
    assert hook_of(api, hook)["last_status_code"] == 307
    assert "redirect" in hook_of(api, hook)["last_error"]
    assert receiver.at("/elsewhere") == []


def test_no_answer_is_status_0(api: Api, queue: str, make_hook: Callable[..., str]) -> None:
    with receiving() as gone:
        url = gone.url("/")
    hook = make_hook("", url=url, retry_limit=1)
    api.enqueue(queue)
    wait_for(lambda: hook_of(api, hook)["failures"] == 1)
    shown = hook_of(api, hook)
    assert shown["last_status_code"] == 0
    assert shown["last_error"]
    assert deliveries_of(api, hook)[0]["answer"] is None


def test_a_receiver_that_hangs_holds_up_neither_others_nor_commits(
    api: Api, receiver: Receiver, queue: str, make_hook: Callable[..., str]
) -> None:
    hanging = make_hook(f"/hang/{queue}", events=["enqueued"])
    healthy = make_hook(path_of(queue), events=["enqueued"])
    ids = {api.enqueue(queue) for _ in range(50)}
    wait_for(lambda: is_done(api, healthy))

    assert {request.event["job_id"] for request in receiver.at(path_of(queue))} == ids
    assert len(receiver.at(f"/hang/{queue}")) == 1
    assert hook_of(api, hanging)["waiting"] == 50
    assert start_job(api, f"{queue}-2")


def test_a_disabled_webhook_hears_nothing_of_the_meantime(
    api: Api, receiver: Receiver, queue: str, make_hook: Callable[..., str]
) -> None:
    hook = make_hook(path_of(queue), enabled=False)
    api.enqueue(queue)
    make_hook(path_of(queue), id=hook, enabled=True)
    job_id = api.enqueue(queue)
    wait_for(lambda: receiver.at(path_of(queue)))
    assert [request.event["job_id"] for request in receiver.at(path_of(queue))] == [job_id]


def test_what_waits_for_a_disabled_webhook_is_sent_when_it_is_enabled_again(
    api: Api, receiver: Receiver, queue: str, make_hook: Callable[..., str]
) -> None:
    receiver.statuses[path_of(queue)] = 500
    hook = make_hook(path_of(queue), retry_limit=100)
    job_id = api.enqueue(queue)
    wait_for(lambda: receiver.at(path_of(queue)))
    make_hook(path_of(queue), id=hook, enabled=False)
    receiver.statuses[path_of(queue)] = 200
    make_hook(path_of(queue), id=hook, enabled=True)
    wait_for(lambda: is_done(api, hook))
    assert {request.event["job_id"] for request in receiver.at(path_of(queue))} == {job_id}


def test_a_deleted_webhook_is_called_no_more(
    api: Api, receiver: Receiver, queue: str, make_hook: Callable[..., str]
) -> None:
    receiver.statuses[path_of(queue)] = 500
    hook = make_hook(path_of(queue), retry_limit=100)
    other = make_hook(f"/other/{queue}", events=["cancelled"])
    job_id = api.enqueue(queue)
    wait_for(lambda: receiver.at(path_of(queue)))
    api.delete(f"/webhooks/{hook}")
    heard = len(receiver.at(path_of(queue)))

    api.post(f"/jobs/{job_id}/cancel")
    wait_for(lambda: hook_of(api, other)["last_delivery_at"])
    assert len(receiver.at(path_of(queue))) <= heard + 1
    assert {request.event["type"] for request in receiver.at(path_of(queue))} == {"enqueued"}


# --- trials


def test_a_trial_is_sent_at_once_and_logged(
    api: Api, receiver: Receiver, queue: str, make_hook: Callable[..., str]
) -> None:
    hook = make_hook(path_of(queue), secret="s", enabled=False)
    answer = api.post(f"/webhooks/{hook}/test")
    assert answer.status_code == 200
    outcome = answer.json()
    assert outcome.pop("duration_ms") > 0
    assert outcome == {"status": "delivered", "status_code": 200, "error": None, "answer": "thanks"}
    (request,) = receiver.at(path_of(queue))
    assert (request.event["type"], request.event["seq"]) == ("test", 0)
    assert request.headers["X-Rookery-Webhook-Event"] == "test"
    assert "X-Rookery-Signature" in request.headers
    assert [(entry["event_type"], entry["outcome"]) for entry in deliveries_of(api, hook)] == [("test", "delivered")]


def test_a_trial_that_fails_says_why_and_is_not_repeated(
    api: Api, receiver: Receiver, queue: str, make_hook: Callable[..., str]
) -> None:
    receiver.statuses[path_of(queue)] = 418
    hook = make_hook(path_of(queue))
    outcome = api.post(f"/webhooks/{hook}/test").json()
    assert (outcome["status"], outcome["status_code"], outcome["error"]) == ("failed", 418, "answered 418")
    assert hook_of(api, hook)["failures"] == 0
    assert len(receiver.at(path_of(queue))) == 1


# --- namespaces


def test_webhooks_of_a_namespace_hear_of_its_own_queues_only(server: ServerProcess, api: Api, queue: str) -> None:
    ours, theirs = Tenant(server, "ours"), Tenant(server, "theirs")
    with receiving() as receiver:
        hook = ours.post("/webhooks", {"url": receiver.url("/ours"), "queues": [queue]}).json()["id"]
        theirs.enqueue(queue)
        api.enqueue(queue)
        job_id = ours.enqueue(queue)
        (request,) = wait_for(lambda: receiver.at("/ours"))
        assert (request.event["job_id"], request.event["queue"]) == (job_id, queue)
        wait_for(lambda: is_done(ours, hook))
        assert len(receiver.requests) == 1

        assert hook_of(ours, hook)["queues"] == [queue]
        assert hook_of(api, hook)["queues"] == [f"ours::{queue}"]
        assert theirs.get("/webhooks").json() == []
        assert_refused(theirs.get(f"/webhooks/{hook}"), 404, "NOT_FOUND")
        assert_refused(theirs.get(f"/webhooks/{hook}/deliveries"), 404, "NOT_FOUND")
        assert_refused(theirs.post(f"/webhooks/{hook}/test"), 404, "NOT_FOUND")
        assert_refused(theirs.post("/webhooks", {"id": hook, "url": "http://e.com"}), 409, "CONFLICT")
        assert_refused(ours.post("/webhooks", {"url": "http://e.com", "queues": ["a::b"]}), 400, "WEBHOOK_ERROR")
        assert theirs.delete(f"/webhooks/{hook}").status_code == 200
        assert hook_of(ours, hook)["enabled"]
        ours.delete(f"/webhooks/{hook}")


# --- where to


def test_a_server_that_listens_to_the_world_calls_loopback_only_when_allowed(
    start_server: Callable[..., ServerProcess], receiver: Receiver
) -> None:
    strict = Api(start_server("--bind", "0.0.0.0:0", data="strict"))
    for host in ("127.0.0.1", "localhost", "[::1]", "2130706433"):
        answer = strict.post("/webhooks", {"url": receiver.url("/strict", host)})
        assert_refused(answer, 400, "WEBHOOK_ERROR", host, "loopback")

    lenient = Api(start_server("--bind", "0.0.0.0:0", "--webhook-allow-private", data="lenient"))
    hook = lenient.post("/webhooks", {"url": receiver.url("/lenient")}).json()["id"]
    assert lenient.post(f"/webhooks/{hook}/test").json()["status"] == "delivered"
    assert_refused(lenient.post("/webhooks", {"url": "http://169.254.169.254/"}), 400, "WEBHOOK_ERROR")


def test_a_stored_loopback_url_is_not_called_once_the_server_listens_to_the_world(
    start_server: Callable[..., ServerProcess], receiver: Receiver
) -> None:
    server = start_server()
    hook = Api(server).post("/webhooks", {"url": receiver.url("/later"), "retry_limit": 1}).json()["id"]
    server.stop()
    opened = Api(start_server("--bind", "0.0.0.0:0"))
    opened.enqueue("q")
    wait_for(lambda: hook_of(opened, hook)["failures"] == 1)
    assert "loopback" in hook_of(opened, hook)["last_error"]
    assert receiver.at("/later") == []


def test_an_https_receiver_is_known_by_its_certificate(
    start_server: Callable[..., ServerProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    with receiving(tls=True) as receiver:
        api = Api(start_server())
        hook = api.post("/webhooks", {"url": receiver.url("/tls", "localhost")}).json()["id"]
        api.enqueue("q")
        (request,) = wait_for(lambda: receiver.at("/tls"))
        assert request.message["webhook_id"] == hook


def test_a_server_that_stops_abandons_what_is_under_way_and_sends_it_after_its_next_start(
    start_server: Callable[..., ServerProcess],
) -> None:
    with receiving() as receiver:
        server = start_server()
        api = Api(server)
        hook = api.post("/webhooks", {"url": receiver.url("/hang")}).json()["id"]
        api.enqueue("q")
        wait_for(lambda: receiver.at("/hang"))
        assert server.stop() == 0

        server.start()
        assert deliveries_of(api, hook) == []
        receiver.released.set()
        wait_for(lambda: is_done(api, hook))
        assert [delivery["attempt"] for delivery in deliveries_of(api, hook)] == [1]
