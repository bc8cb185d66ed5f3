"""What is sent again and what is not, and that nothing is done twice."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest

from rookery import (
    ApiError,
    Beat,
    Forbidden,
    InvalidRequest,
    LeaseLost,
    NewJob,
    Overloaded,
    ServerError,
    ServerUnreachable,
    StorageUnavailable,
    Unauthorized,
    Usage,
)
from rookery.client.errors import AnswerTimeout
from rookery.client.transport import retries
from rookery.client.transport.requests import Request, Retry, no_answer
from tests.client.bad_server import BadServer, answer, forward, hang_up, say
from tests.client.conftest import Connect
from tests.conftest import ServerProcess

StartBad = Callable[..., BadServer]

ENQUEUED = {"job_id": "job_1", "status": "pending", "unique_existing": False}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has to wait long in these tests."""
    monkeypatch.setattr(retries, "FIRST_PAUSE", 0.001)
    monkeypatch.setattr(retries, "SHORTEST_PAUSE", 0.001)


def marks(server: BadServer) -> set[bytes]:
    """The idempotency keys that came."""
    lines = [line for request in server.requests for line in request.split(b"\r\n")]
    return {line for line in lines if line.startswith(b"idempotency-key: ")}


@pytest.mark.parametrize(
    "trouble",
    [
        hang_up,
        say(b"HTTP/1.1 201 Created\r\ncontent-length: 50\r\n\r\n{", then_close=True),
        say(b"nonsense\r\n\r\n", then_close=True),
        answer(503, {"error": "full", "code": "UNHEALTHY"}),
        answer(502),
        answer(429, {"error": "busy", "code": "OVERLOADED", "retry_after_ms": 1}),
        answer(429, retry_after="0"),
    ],
    ids=["hang up", "half", "garbage", "503", "502", "429 in ms", "429 by header"],
)
def test_an_enqueue_is_sent_again_with_the_same_mark(connect: Connect, bad_server: StartBad, trouble: Any) -> None:
    server = bad_server(trouble, trouble, answer(201, ENQUEUED))
    assert connect(server.url).enqueue("q", {"n": 1}).job_id == "job_1"
    assert len(server.requests) == 3
    assert len({request.rpartition(b"\r\n\r\n")[2] for request in server.requests}) == 1
    assert len(marks(server)) == 1


def test_another_enqueue_has_another_mark(connect: Connect, bad_server: StartBad) -> None:
    server = bad_server(answer(201, ENQUEUED))
    client = connect(server.url)
    client.enqueue("q")
    client.enqueue("q")
    assert len(marks(server)) == 2


@pytest.mark.parametrize("calls", [0, 2], ids=["never", "twice"])
def test_retries_have_an_end(connect: Connect, bad_server: StartBad, calls: int) -> None:
    server = bad_server(answer(503, {"error": "the store cannot be written: full", "code": "UNHEALTHY"}))
    with pytest.raises(StorageUnavailable, match="the store cannot be written: full"):
        connect(server.url, retries=calls).enqueue("q")
    assert len(server.requests) == calls + 1


@pytest.mark.parametrize(
    "call",
    [
        lambda client: client.clear("q"),
        lambda client: client.delete_queue("q"),
        lambda client: client.delete("job_1"),
        lambda client: client.retry("job_1"),
        lambda client: client.cancel("job_1"),
        lambda client: client.move("job_1", "q"),
        lambda client: client.bulk("delete", jobs=["job_1"]),
        lambda client: client.fetch("q"),
        lambda client: client.fetch_many("q", 5),
        lambda client: client.ack("job_1"),
        lambda client: client.fail("job_1", "no"),
        lambda client: client.release("job_1"),
        lambda client: client.release("job_1", lease_token="l"),
        lambda client: client.heartbeat({"job_1": Beat(lease_token="l", usage=Usage(cost_usd=1.0))}),
        lambda client: client.progress("job_1", 1, lease_token="l", usage=Usage(cost_usd=1.0)),
        lambda client: client.add_logs("job_1", "line"),
        lambda client: client.create_schedule("n", "q", "@daily"),
        lambda client: client.run_schedule("sched_1"),
        lambda client: client.create_webhook("http://x"),
        lambda client: client.restore(b"{}"),
    ],
    ids=lambda call: "-".join(name for name in call.__code__.co_names),
)
def test_what_must_not_be_done_twice_is_not_sent_twice(connect: Connect, bad_server: StartBad, call: Any) -> None:
    for trouble, error in ((hang_up, ServerUnreachable), (answer(503), StorageUnavailable), (answer(500), ServerError)):
        server = bad_server(trouble)
        with pytest.raises(error):
            call(connect(server.url))
        assert len(server.requests) == 1


def test_what_the_server_was_too_busy_for_is_sent_again(connect: Connect, bad_server: StartBad) -> None:
    busy = answer(429, {"error": "rate limit exceeded", "code": "RATE_LIMITED", "retry_after_ms": 2})
    server = bad_server(busy, busy, answer(200, {"status": "cleared", "deleted": 3}))
    assert connect(server.url).clear("q") == 3
    assert len(server.requests) == 3


def test_who_is_told_to_wait_long_is_not_made_to(connect: Connect, bad_server: StartBad) -> None:
    server = bad_server(answer(429, {"error": "rate limit exceeded", "code": "RATE_LIMITED"}, retry_after="120"))
    with pytest.raises(Overloaded, match="rate limit exceeded") as caught:
        connect(server.url).enqueue("q")
    assert (caught.value.retry_after, caught.value.code, len(server.requests)) == (120.0, "RATE_LIMITED", 1)


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, "VALIDATION_ERROR", InvalidRequest),
        (401, "UNAUTHORIZED", Unauthorized),
        (403, "FORBIDDEN", Forbidden),
        (409, "LEASE_LOST", LeaseLost),
        (418, "TEAPOT", ApiError),
        (500, "INTERNAL_ERROR", ServerError),
        (501, "UNSUPPORTED", ServerError),
        (503, "SEARCH_TIMEOUT", StorageUnavailable),
    ],
)
def test_a_refusal_is_final(connect: Connect, bad_server: StartBad, status: int, code: str, kind: Any) -> None:
    server = bad_server(answer(status, {"error": "because", "code": code, "hint": 7}))
    with pytest.raises(kind, match="because") as caught:
        connect(server.url).count(queue="q")
    assert type(caught.value) is kind
    assert (caught.value.status, caught.value.code, caught.value.fields["hint"]) == (status, code, 7)
    assert len(server.requests) == 1


def test_an_error_without_words_still_says_something(connect: Connect, bad_server: StartBad) -> None:
    for behaviour in (answer(404), say(b"HTTP/1.1 404 No\r\ncontent-length: 2\r\n\r\n[]")):
        with pytest.raises(ApiError, match="the server answered 404"):
            connect(bad_server(behaviour).url).info()


# --- a real server, whose answers get lost


@pytest.fixture
def lossy(server: ServerProcess, bad_server: StartBad) -> BadServer:
    """A way to the server on which the first two answers are lost."""
    port = urlsplit(server.url).port
    assert port is not None
    lost = forward(port, cut=True)
    return bad_server(lost, lost, forward(port))


def test_an_enqueue_whose_answer_was_lost_adds_one_job(
    connect: Connect, lossy: BadServer, client: Any, queue: str
) -> None:
    enqueued = connect(lossy.url).enqueue(queue, {"n": 1})
    assert len(lossy.requests) == 3
    assert [job.id for job in client.search(queue=queue)] == [enqueued.job_id]


def test_many_jobs_whose_answer_was_lost_are_added_once(
    connect: Connect, lossy: BadServer, client: Any, queue: str
) -> None:
    added = connect(lossy.url).enqueue_many([NewJob(queue, n) for n in range(10)])
    assert len(lossy.requests) == 3
    assert [job.id for job in client.search(queue=queue, order="asc")] == added.job_ids


def test_a_chain_whose_answer_was_lost_begins_once(connect: Connect, lossy: BadServer, client: Any, queue: str) -> None:
    connect(lossy.url).chain([queue, f"{queue}.2"])
    assert (len(lossy.requests), client.count(queue=queue)) == (3, 1)


@pytest.mark.parametrize("how", ["ack", "fail", "ack_many"])
def test_an_outcome_whose_answer_was_lost_counts_once(
    connect: Connect, lossy: BadServer, client: Any, queue: str, how: str
) -> None:
    client.enqueue(queue)
    job = client.fetch(queue)
    worker = connect(lossy.url)
    if how == "ack":
        worker.ack(job, {"ok": True})
    elif how == "fail":
        assert worker.fail(job, "boom").attempt == 1
    else:
        assert worker.ack_many([job]).acked == 1
    assert len(lossy.requests) == 3
    assert [event.type for event in client.history(job)][2:] == ["failed" if how == "fail" else "completed"]


# --- the rule itself


def test_a_busy_server_is_given_the_time_it_asks_for() -> None:
    request = Request("GET", "/", no_answer)
    for told in (0.5, 2, 30):
        error = Overloaded(429, "OVERLOADED", "x", {"retry_after": told})
        assert told <= (retries.pause_before_retry(request, error, 0) or 0) <= 1.5 * told


def test_pauses_grow_and_differ() -> None:
    request = Request("GET", "/", no_answer)
    pauses = [retries.pause_before_retry(request, ServerUnreachable("x"), n) or 0.0 for n in range(20)]
    whole = [min(5.0, retries.FIRST_PAUSE * 2.0 ** min(n, 10)) for n in range(20)]
    assert all(most / 2 <= pause <= most for pause, most in zip(pauses, whole, strict=True))
    assert len({retries.jittered(10) for _ in range(50)}) > 10


@pytest.mark.parametrize(
    ("error", "safe", "unsent"),
    [
        (ServerUnreachable("x"), True, True),
        (ServerUnreachable("x", was_sent=True), True, False),
        (AnswerTimeout("x", was_sent=True), False, False),
        (Overloaded(429, "OVERLOADED", "x"), True, True),
        (Overloaded(429, "BUDGET_EXCEEDED", "x"), False, False),
        (StorageUnavailable(503, "UNHEALTHY", "x"), True, False),
        (StorageUnavailable(503, "SEARCH_TIMEOUT", "x"), False, False),
        (ServerError(500, "INTERNAL_ERROR", "x"), False, False),
        (InvalidRequest(400, "VALIDATION_ERROR", "x"), False, False),
    ],
)
def test_what_may_be_sent_again(error: Any, safe: bool, unsent: bool) -> None:
    for retry, expected in ((Retry.SAFE, safe), (Retry.UNSENT, unsent)):
        request = Request("POST", "/", no_answer, retry=retry)
        assert (retries.pause_before_retry(request, error, 0) is not None) == expected
