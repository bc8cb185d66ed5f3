"""What a stream may not do: too many frames, too many streams, too large, too wrong, too slow."""

import json
import struct
import time
from collections.abc import Callable
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus
from websockets.frames import OP_CLOSE, OP_PING, OP_TEXT, Frame

from tests.api.scrapes import Scrape
from tests.api.wires import Wire, lease_of, raw_stream
from tests.conftest import Api, ServerProcess, wait_for

StartServer = Callable[..., ServerProcess]
OVERLOADED = "OVERLOADED"


def metric(api: Api, name: str) -> float:
    """A series of the streams."""
    value = Scrape(api.get("/metrics")).value(f"rookery_lifecycle_{name}")
    assert value is not None
    return value


def test_ten_frames_in_a_row_that_cannot_be_taken_close_the_stream(api: Api) -> None:
    with Wire(api) as wire:
        for _ in range(9):
            assert wire.ask(id=1, want={})["code"] == "VALIDATION_ERROR"
        assert wire.ask(id=2) == {"id": 2}
        for number in range(10):
            wire.websocket.send("{" if number % 2 else '{"id":1,"ack":5}')
        heard = [wire.hear()["code"] for _ in range(10)]
        assert heard == ["PARSE_ERROR"] * 10
        code, reason = wire.ended()
        assert code == 1008
        assert reason.startswith("10 frames in a row could not be taken: ")


def test_items_that_go_wrong_are_no_reason_to_close(api: Api) -> None:
    with Wire(api) as wire:
        for _ in range(12):
            wire.ask(ack=[{"job_id": "job_nowhere"}, {"job_id": 5}], enqueue=[{}])
        assert wire.ask(id=1) == {"id": 1}


def test_only_so_many_frames_may_be_in_progress(start_server: StartServer) -> None:
    api = Api(start_server("--rate-limit-enabled=false", "--stream-max-inflight=2"))
    with Wire(api) as wire:
        for _ in range(4):
            wire.say_at_once(*[{"id": id, "enqueue": [{"queue": "q"}]} for id in (1, 2, 3, 4, 5)])
            for id in (1, 2):
                assert wire.answer(id)["enqueued"][0]["status"] == "pending"
            for id in (3, 4, 5):
                refused = wire.answer(id)
                assert (refused["code"], 1 <= refused["retry_after_ms"] <= 12) == (OVERLOADED, True)
        assert wire.ask(id=6) == {"id": 6}, "that is no reason to close it"
    assert api.get("/queues/q").json()["pending"] == 8
    assert metric(api, "overload_total") == 12
    assert metric(api, "frames_max_inflight") == 2
    assert metric(api, "frames_inflight") == 0
    assert metric(api, "frames_total") == 21


def test_only_so_many_streams_may_be_open(start_server: StartServer) -> None:
    api = Api(start_server("--rate-limit-enabled=false", "--stream-max-open=2"))
    with Wire(api), Wire(api):
        with pytest.raises(InvalidStatus) as refused:
            Wire(api)
        response = refused.value.response
        assert (response.status_code, response.headers["retry-after"]) == (429, "1")
        assert json.loads(response.body or b"")["code"] == OVERLOADED
        assert metric(api, "streams_open") == 2
        assert api.get("/queues").status_code == 200
    wait_for(lambda: metric(api, "streams_open") == 0)
    with Wire(api) as wire:
        assert wire.ask(id=1) == {"id": 1}
    assert (metric(api, "streams_total"), metric(api, "streams_max")) == (3, 2)


def test_frames_that_come_too_fast_are_delayed_and_not_refused(start_server: StartServer) -> None:
    api = Api(start_server("--rate-limit-enabled=false", "--stream-max-fps=20"))
    with Wire(api) as wire:
        began = time.monotonic()
        ids = [wire.say(enqueue=[{"queue": "q"}]) for _ in range(45)]
        assert [wire.answer(id)["enqueued"][0]["status"] for id in ids] == ["pending"] * 45
        assert time.monotonic() - began > 1.0
        for _ in range(30):
            wire.say(enqueue=[{"queue": "q"}])
    wait_for(lambda: api.get("/queues/q").json()["pending"] == 75)


def test_a_frame_costs_as_much_as_its_items(start_server: StartServer) -> None:
    flags = ("--rate-limit-write-rps=0.001", "--rate-limit-write-burst=10", "--rate-limit-read-burst=1000")
    api = Api(start_server(*flags))
    with Wire(api, headers={"X-Forwarded-For": "10.0.0.1"}) as wire:
        assert len(wire.ask(enqueue=[{"queue": "q"}] * 4, ack=[{"job_id": "x"}] * 2)["enqueued"]) == 4
        assert wire.ask(id=1) == {"id": 1}
        refused = wire.ask(heartbeat={"a": {}, "b": {}}, release=[{"job_id": "c"}] * 2, id=9)
        assert refused == {
            "id": 9,
            "error": "rate limit exceeded",
            "code": "RATE_LIMITED",
            "retry_after": 1,
            "retry_after_ms": 1000,
        }
        for _ in range(15):
            assert wire.ask(enqueue=[{"queue": "q"}] * 4)["code"] == "RATE_LIMITED", "it is no strike"
        assert wire.ask(fail=[{"job_id": "x"}] * 3)["failed"][0]["code"] == "NOT_FOUND"
        assert wire.ask(id=1)["code"] == "RATE_LIMITED"
    with Wire(api, headers={"X-Forwarded-For": "10.0.0.2"}) as wire:
        assert len(wire.ask(ack=[{"job_id": "x"}] * 100)["acked"]) == 100, "no more than the burst"
    with Wire(api, headers={"X-Forwarded-For": "10.0.0.3"}) as wire:
        for _ in range(2):
            answer = api.post("/enqueue/batch", {"jobs": [{"queue": "q"}] * 5}, headers={"X-Forwarded-For": "10.0.0.3"})
            assert answer.status_code == 201
        assert wire.ask(id=1)["code"] == "RATE_LIMITED", "by whatever way, it is one client"
    throttled = Scrape(api.get("/metrics")).value(
        "rookery_rate_limit_throttled_total", method="GET", route="/api/v1/stream"
    )
    assert throttled == 18


def test_opening_a_stream_is_a_read(start_server: StartServer) -> None:
    api = Api(start_server("--rate-limit-read-rps=0.001", "--rate-limit-read-burst=2"))
    with Wire(api), Wire(api), pytest.raises(InvalidStatus) as refused:
        Wire(api)
    assert refused.value.response.status_code == 429


def test_when_too_much_waits_a_frame_is_refused_whole(start_server: StartServer) -> None:
    api = Api(start_server("--rate-limit-enabled=false", "--raft-max-pending=1"))
    with Wire(api) as wire:
        frames = [
            {"id": id, "enqueue": [{"queue": "q"}], "ack": [{"job_id": "x"}], "release": [{"job_id": "x"}]}
            for id in (1, 2, 3)
        ]
        wire.say_at_once(*frames)
        assert wire.answer(1).keys() == {"id", "enqueued", "acked", "released"}
        assert [wire.answer(id)["code"] for id in (2, 3)] == [OVERLOADED] * 2
    assert api.get("/queues/q").json()["pending"] == 1


def test_a_frame_over_the_limit_is_not_even_read(api: Api) -> None:
    with raw_stream(api) as raw:
        assert raw.recv(65536).startswith(b"HTTP/1.1 101")
        raw.sendall(struct.pack("!BBQ", 0x81, 0x80 | 127, (64 << 20) + 1))
        closed = raw.recv(65536)
        assert closed[0] == 0x80 | OP_CLOSE
        assert struct.unpack("!H", closed[2:4]) == (1009,)
        assert raw.recv(65536) == b""


@pytest.mark.parametrize("data", [b"\x01\x00", b"\x83\x80abcd", b"\xf1\x80abcd", b"\x89\x00"])
def test_what_is_no_websocket_frame_ends_the_stream(api: Api, data: bytes) -> None:
    with raw_stream(api) as raw:
        raw.recv(65536)
        raw.sendall(data)
        closed = raw.recv(65536)
        assert struct.unpack("!H", closed[2:4]) == (1002,)


def test_a_ping_is_answered(api: Api) -> None:
    with raw_stream(api) as raw:
        raw.recv(65536)
        raw.sendall(Frame(OP_PING, b"hello").serialize(mask=True))
        assert raw.recv(65536) == b"\x8a\x05hello"


def test_a_client_that_does_not_read_gets_no_more_jobs_and_is_dropped_in_the_end(start_server: StartServer) -> None:
    api = Api(start_server("--rate-limit-enabled=false", "--stream-stall-timeout=6s", "--durability=relaxed"))
    want = Frame(OP_TEXT, b'{"id":1,"want":{"queues":["q"],"count":512}}').serialize(mask=True)
    with raw_stream(api, receive_buffer=4096) as raw:
        assert raw.recv(4096).startswith(b"HTTP/1.1 101")
        raw.send(want)
        most = 0
        for _ in range(40):
            api.post("/enqueue/batch", {"jobs": [{"queue": "q", "payload": "x" * 200_000}] * 5})
            most = max(most, api.get("/queues/q").json()["active"])
        assert 5 <= most < 100, "what it does not read is not claimed for it either"
        wait_for(lambda: "dropped a stream whose client does not read" in api.server.log.read_text())
        wait_for(lambda: api.get("/queues/q").json()["pending"] == 200)
    with Wire(api) as wire:
        wire.want("q", count=200)
        assert {job["attempt"] for job in wire.take(200)} == {1}


def test_a_client_that_does_not_read_its_answers_is_not_listened_to(start_server: StartServer) -> None:
    api = Api(start_server("--rate-limit-enabled=false", "--stream-stall-timeout=5s", "--stream-max-fps=100000"))
    frame = Frame(OP_TEXT, json.dumps({"id": 1, "ack": [{"job_id": "x" * 100}] * 500}).encode()).serialize(mask=True)
    with raw_stream(api) as raw:
        assert raw.recv(4096).startswith(b"HTTP/1.1 101")
        raw.setblocking(False)
        sent = 0

        def is_dropped() -> bool:
            nonlocal sent
            try:
                while True:
                    sent += raw.send(frame[sent % len(frame) :])
            except BlockingIOError:
                pass
            except ConnectionError:
                return True
            return False

        wait_for(is_dropped)
    assert sent < 30 << 20
    assert "dropped a stream" in api.server.log.read_text()


def test_a_slow_client_gets_everything(start_server: StartServer) -> None:
    api = Api(start_server("--rate-limit-enabled=false", "--stream-stall-timeout=3s", "--durability=relaxed"))
    for _ in range(10):
        api.post("/enqueue/batch", {"jobs": [{"queue": "q", "payload": "x" * 200_000}] * 10})
    with Wire(api, receive_buffer=4096) as wire:
        wire.want("q", count=100)
        taken: list[dict[str, Any]] = []
        while len(taken) < 100:
            time.sleep(0.02)
            taken += wire.take(1)
        answer = wire.ask(ack=[lease_of(job) for job in taken])
    assert {outcome["status"] for outcome in answer["acked"]} == {"ok"}
    assert {job["attempt"] for job in taken} == {1}


def test_streams_are_counted(start_server: StartServer) -> None:
    api = Api(start_server("--rate-limit-enabled=false"))
    with Wire(api) as wire:
        wire.want("q", count=1)
        wire.ask(enqueue=[{"queue": "q"}])
        wire.take(1)
        assert metric(api, "idle_fetch_total") == 1
        assert metric(api, "streams_open") == 1
        scrape = Scrape(api.get("/metrics"))
        requests = scrape.value("rookery_http_requests_total", method="GET", route="/api/v1/stream")
        assert requests == 1
    assert metric(api, "frames_total") == 2


def test_flags_that_mean_nothing_here_are_said_to_be_ignored(start_server: StartServer) -> None:
    server = start_server("--fetch-poll-interval=50ms", "--idle-fetch-sleep=100ms")
    log = server.log.read_text()
    assert "--fetch-poll-interval means nothing here and is ignored" in log
    assert "--idle-fetch-sleep means nothing here and is ignored" in log
