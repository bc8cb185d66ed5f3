"""The logs of jobs: append, page, stream."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.api.expectations import TIME, assert_refused, claim, finish_job, job_in_state, start_job
from tests.api.streams import EventStream
from tests.conftest import Api, ServerProcess

BODY_LIMIT = 262_144


def say(api: Api, job_id: str, *messages: str, **fields: Any) -> dict[str, Any]:
    answer = api.post(f"/jobs/{job_id}/logs", {"lines": [{"message": message} for message in messages], **fields})
    assert answer.status_code == 200, answer.text
    said: dict[str, Any] = answer.json()
    return said


def page(api: Api, job_id: str, **params: Any) -> dict[str, Any]:
    answer = api.get(f"/jobs/{job_id}/logs", params=params)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def messages(api: Api, job_id: str) -> list[str]:
    return [line["message"] for line in page(api, job_id, limit=1000)["lines"]]


def following(api: Api, job_id: str, headers: dict[str, str] | None = None, **params: Any) -> EventStream:
    return EventStream(api, f"/jobs/{job_id}/logs/stream", headers, **params)


def test_lines_are_added_and_come_back(api: Api, queue: str) -> None:
    job = start_job(api, queue)
    lines = [
        {"message": "begun"},
        {"message": "odd \n\u2028 日本 \u0000", "level": "WARNING", "at": "2026-02-10T12:00:00+01:00", "attempt": 3},
        {"message": ""},
    ]
    answer = api.post(f"/jobs/{job['job_id']}/logs", {"lines": lines, "lease_token": job["lease_token"]})
    assert (answer.status_code, answer.json()) == (200, {"status": "ok", "appended": 3, "last": 3})

    found = page(api, job["job_id"])
    assert found.keys() == {"job_id", "lines", "dropped", "has_more", "next_after"}
    assert (found["job_id"], found["dropped"], found["has_more"], found["next_after"]) == (
        job["job_id"],
        0,
        False,
        None,
    )
    first, second, third = found["lines"]
    assert first.keys() == {"n", "at", "level", "message", "attempt"}
    assert (first["n"], first["level"], first["message"], first["attempt"]) == (1, "info", "begun", 1)
    assert TIME.fullmatch(first["at"])
    assert second == {
        "n": 2,
        "at": "2026-02-10T11:00:00.000Z",
        "level": "warning",
        "message": lines[1]["message"],
        "attempt": 3,
    }
    assert (third["n"], third["message"]) == (3, "")


def test_numbers_go_on_with_the_next_request(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue)
    assert say(api, job_id, "a", "b")["last"] == 2
    assert say(api, job_id, "c") == {"status": "ok", "appended": 1, "last": 3}


BAD_BODIES: list[tuple[Any, str, str]] = [
    ({}, "VALIDATION_ERROR", "lines"),
    ({"lines": None}, "VALIDATION_ERROR", "lines"),
    ({"lines": []}, "VALIDATION_ERROR", "lines"),
    ({"lines": "text"}, "PARSE_ERROR", "lines"),
    ({"lines": ["text"]}, "PARSE_ERROR", "lines"),
    ({"lines": [{"message": "a"}, {}]}, "VALIDATION_ERROR", "lines[1].message"),
    ({"lines": [{"message": None}]}, "VALIDATION_ERROR", "lines[0].message"),
    ({"lines": [{"message": 5}]}, "PARSE_ERROR", "message"),
    ({"lines": [{"message": "a", "level": "x" * 33}]}, "VALIDATION_ERROR", "lines[0].level"),
    ({"lines": [{"message": "a", "level": 3}]}, "PARSE_ERROR", "level"),
    ({"lines": [{"message": "a", "at": "yesterday"}]}, "PARSE_ERROR", "lines[0].at"),
    ({"lines": [{"message": "a", "attempt": -1}]}, "VALIDATION_ERROR", "lines[0].attempt"),
    ({"lines": [{"message": "a", "attempt": "1"}]}, "PARSE_ERROR", "attempt"),
    ({"lines": [{"message": "a"}], "lease_token": 5}, "PARSE_ERROR", "lease_token"),
    ({"lines": [{"message": "a"}] * 1001}, "VALIDATION_ERROR", "1001"),
]


@pytest.mark.parametrize(("body", "code", "word"), BAD_BODIES, ids=range(len(BAD_BODIES)))
def test_lines_that_cannot_be_are_refused_and_nothing_is_added(
    api: Api, queue: str, body: Any, code: str, word: str
) -> None:
    job_id = api.enqueue(queue)
    assert_refused(api.post(f"/jobs/{job_id}/logs", body), 400, code, word)
    assert messages(api, job_id) == []


def test_what_is_not_json_is_refused(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue)
    assert_refused(api.post(f"/jobs/{job_id}/logs", content=b"{"), 400, "PARSE_ERROR")
    assert_refused(api.post(f"/jobs/{job_id}/logs"), 400, "VALIDATION_ERROR", "lines")


def test_a_level_may_be_empty_or_as_long_as_allowed(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue)
    lines = [{"message": "a", "level": level} for level in ("", " ", None, "X" * 32, " Debug ")]
    assert api.post(f"/jobs/{job_id}/logs", {"lines": lines}).status_code == 200
    assert [line["level"] for line in page(api, job_id)["lines"]] == ["info", "info", "info", "x" * 32, "debug"]


def sized_body(size: int) -> bytes:
    frame = b'{"lines":[{"message":"%s"}]}'
    return frame % (b"x" * (size - len(frame) + 2))


def test_a_body_may_be_as_large_as_the_limit_and_no_larger(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue)
    assert api.post(f"/jobs/{job_id}/logs", content=sized_body(BODY_LIMIT)).status_code == 200
    assert_refused(api.post(f"/jobs/{job_id}/logs", content=sized_body(BODY_LIMIT + 1)), 413, "PAYLOAD_TOO_LARGE")
    assert page(api, job_id)["lines"][-1]["n"] == 1


def test_a_thousand_lines_may_come_at_once(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue)
    assert say(api, job_id, *["x"] * 1000)["last"] == 1000


def test_whoever_has_lost_the_job_cannot_speak_for_it(api: Api, queue: str) -> None:
    first = start_job(api, queue)
    job_id = first["job_id"]
    assert api.post(f"/release/{job_id}", {"lease_token": first["lease_token"]}).status_code == 200
    second = claim(api, queue)
    body = {"lines": [{"message": "zombie"}], "lease_token": first["lease_token"]}
    assert_refused(api.post(f"/jobs/{job_id}/logs", body), 409, "LEASE_LOST")
    assert messages(api, job_id) == []
    say(api, job_id, "alive", lease_token=second["lease_token"])
    say(api, job_id, "somebody")
    assert messages(api, job_id) == ["alive", "somebody"]


def test_late_lines_of_a_finished_attempt_are_taken(api: Api, queue: str) -> None:
    job = start_job(api, queue)
    assert api.post(f"/ack/{job['job_id']}", {"lease_token": job["lease_token"]}).status_code == 200
    assert say(api, job["job_id"], "bye", lease_token=job["lease_token"])["last"] == 1


@pytest.mark.parametrize(
    "state", ["pending", "scheduled", "active", "retrying", "held", "completed", "dead", "cancelled"]
)
def test_every_state_takes_lines(api: Api, queue: str, state: str) -> None:
    job_id = job_in_state(api, queue, state)
    assert say(api, job_id, "hello")["appended"] == 1


def test_a_log_is_read_page_by_page(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue)
    say(api, job_id, *[str(number) for number in range(1, 251)])
    seen, after, pages = [], 0, 0
    while after is not None:
        found = page(api, job_id, after=after)
        seen += [line["message"] for line in found["lines"]]
        assert found["has_more"] == (found["next_after"] is not None)
        after, pages = found["next_after"], pages + 1
    assert seen == [str(number) for number in range(1, 251)]
    assert pages == 3
    assert len(page(api, job_id, limit=5000)["lines"]) == 250
    assert [line["n"] for line in page(api, job_id, after=248)["lines"]] == [249, 250]


@pytest.mark.parametrize(
    "params",
    [{"limit": "0"}, {"limit": "-1"}, {"limit": "many"}, {"after": "-1"}, {"after": "x"}, {"after": "1.5"}],
    ids=str,
)
def test_a_page_that_cannot_be_is_refused(api: Api, queue: str, params: dict[str, str]) -> None:
    job_id = api.enqueue(queue)
    assert_refused(api.get(f"/jobs/{job_id}/logs", params=params), 400, "VALIDATION_ERROR", *params)


def test_of_too_many_lines_the_oldest_are_dropped_and_that_is_said(api: Api, queue: str) -> None:
    job_id = finish_job(api, queue)
    for start in range(0, 10_500, 500):
        say(api, job_id, *[str(start + number) for number in range(1, 501)])
    found = page(api, job_id, limit=1)
    assert (found["dropped"], found["lines"][0]["n"], found["lines"][0]["message"]) == (500, 501, "501")
    assert found["has_more"]
    assert page(api, job_id, after=10_499)["lines"][0]["message"] == "10500"
    with following(api, job_id, after=100) as stream:
        assert stream.frame() == ("dropped", 500, {"dropped": 400})
        assert [stream.frame()[1] for _ in range(10_000)] == list(range(501, 10_501))
        assert stream.frame() == ("end", None, {"state": "completed"})


def requests_about(api: Api, job_id: str, **options: Any) -> list[httpx.Response]:
    return [
        api.post(f"/jobs/{job_id}/logs", {"lines": [{"message": "x"}]}, **options),
        api.get(f"/jobs/{job_id}/logs", **options),
        api.get(f"/jobs/{job_id}/logs/stream", **options),
    ]


def test_an_unknown_job_has_no_log(api: Api) -> None:
    for answer in requests_about(api, "job_of_nobody"):
        assert_refused(answer, 404, "NOT_FOUND", "job_of_nobody")


def test_other_namespaces_have_no_part_in_it(api: Api, queue: str) -> None:
    mine, others = {"X-Rookery-Namespace": "mine"}, {"X-Rookery-Namespace": "others"}
    job_id = api.post("/enqueue", {"queue": queue}, headers=mine).json()["job_id"]
    for answer in requests_about(api, job_id, headers=others):
        assert_refused(answer, 404, "NOT_FOUND")
    api.post(f"/jobs/{job_id}/cancel", headers=mine)
    for answer in requests_about(api, job_id, headers=mine):
        assert answer.status_code == 200
    assert messages(api, job_id) == ["x"]


def test_the_log_goes_with_the_job(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue, job_id=f"{queue}-1")
    say(api, job_id, "old")
    api.delete(f"/jobs/{job_id}")
    assert_refused(api.get(f"/jobs/{job_id}/logs"), 404, "NOT_FOUND")
    api.enqueue(queue, job_id=job_id)
    assert messages(api, job_id) == []


# --- streams


def test_a_stream_looks_like_the_one_of_events(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue)
    with following(api, job_id) as stream:
        assert stream.status == "HTTP/1.1 200 OK"
        assert stream.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert stream.headers["cache-control"] == "no-cache"
        assert stream.headers["transfer-encoding"] == "chunked"


def test_a_stream_replays_and_goes_on_until_the_job_has_ended(api: Api, queue: str) -> None:
    job_id = start_job(api, queue)["job_id"]
    say(api, job_id, "one", "two\nlines")
    with following(api, job_id) as stream:
        event, number, line = stream.frame()
        assert (event, number) == ("log", 1)
        assert line == page(api, job_id)["lines"][0]
        assert stream.frame()[2]["message"] == "two\nlines"
        assert stream.is_silent()
        say(api, job_id, "three")
        assert stream.frame()[1] == 3
        say(api, job_id, "four", "five")
        assert [stream.frame()[2]["message"] for _ in range(2)] == ["four", "five"]
        api.post(f"/ack/{job_id}")
        assert stream.frame() == ("end", None, {"state": "completed"})
        assert stream.chunk() == ""


@pytest.mark.parametrize("way", ["query", "header", "both"])
def test_a_stream_goes_on_behind_the_line_a_reader_knows(api: Api, queue: str, way: str) -> None:
    job_id = finish_job(api, queue)
    say(api, job_id, *"abc")
    headers = {} if way == "query" else {"Last-Event-ID": "2"}
    params = {"query": {"after": 2}, "header": {}, "both": {"after": 0}}[way]
    with following(api, job_id, headers, **params) as stream:
        assert stream.frame()[2]["message"] == "c"
        assert stream.frame() == ("end", None, {"state": "completed"})


ENDINGS: dict[str, Callable[[Api, str], Any]] = {
    "completed": lambda api, job_id: api.post(f"/ack/{job_id}"),
    "dead": lambda api, job_id: api.post(f"/fail/{job_id}", {"error": "boom"}),
    "cancelled": lambda api, job_id: api.post(f"/jobs/{job_id}/cancel"),
    "deleted": lambda api, job_id: api.delete(f"/jobs/{job_id}"),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_end_of_the_job_ends_the_stream(api: Api, queue: str, ending: str) -> None:
    job_id = start_job(api, queue, max_retries=1)["job_id"]
    with following(api, job_id) as stream:
        assert stream.is_silent()
        assert ENDINGS[ending](api, job_id).status_code == 200
        assert stream.frame() == ("end", None, {"state": ending})
        assert stream.chunk() == ""


def test_a_new_job_of_the_same_id_is_another_job(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue, job_id=f"{queue}-1")
    with following(api, job_id) as stream:
        assert stream.is_silent()
        api.delete(f"/jobs/{job_id}")
        api.enqueue(queue, job_id=job_id)
        assert stream.frame() == ("end", None, {"state": "deleted"})


def test_a_retry_does_not_end_the_stream(api: Api, queue: str) -> None:
    job_id = start_job(api, queue, retry_backoff="none")["job_id"]
    with following(api, job_id) as stream:
        api.post(f"/fail/{job_id}", {"error": "boom"})
        claim(api, queue)
        say(api, job_id, "again")
        assert stream.frame()[2]["attempt"] == 2


def test_many_may_follow_one_log(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue)
    streams = [following(api, job_id) for _ in range(20)]
    other = api.enqueue(queue)
    say(api, other, "not for you")
    say(api, job_id, "for all")
    for stream in streams:
        with stream:
            assert stream.frame()[2]["message"] == "for all"
            assert stream.is_silent()


@pytest.mark.parametrize("way", ["query", "header"])
def test_a_stream_behind_a_bad_number_is_refused(api: Api, queue: str, way: str) -> None:
    job_id = api.enqueue(queue)
    options: dict[str, Any] = {"params": {"after": "x"}} if way == "query" else {"headers": {"Last-Event-ID": "x"}}
    assert_refused(api.get(f"/jobs/{job_id}/logs/stream", **options), 400, "VALIDATION_ERROR", "after")


def test_a_silent_stream_is_kept_alive(start_server: Callable[..., ServerProcess], queue: str) -> None:
    api = Api(start_server("--stream-keepalive", "1s"))
    job_id = api.enqueue(queue)
    with following(api, job_id) as stream:
        assert stream.chunk() == ":keepalive\n\n"
        say(api, job_id, "hello")
        while (told := stream.chunk()) == ":keepalive\n\n":
            pass
        assert '"message":"hello"' in told


def test_a_stopping_server_ends_streams(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server("--shutdown-timeout", "60s")
    api = Api(server)
    job_id = api.enqueue("q")
    with following(api, job_id) as stream:
        assert server.stop() == 0
        assert stream.chunk() == ""


def test_logs_survive_a_kill(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server()
    api = Api(server)
    job_id = api.enqueue("q")
    say(api, job_id, "kept")
    server.kill()
    server.start()
    assert messages(api, job_id) == ["kept"]
    assert say(api, job_id, "next")["last"] == 2
