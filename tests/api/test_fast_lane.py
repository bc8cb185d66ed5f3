"""The fast lane and the ordinary way give the same answers; connections outlive both."""

import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import Api, ServerProcess


class Wire:
    """A connection that sends bytes as they are."""

    def __init__(self, server: ServerProcess) -> None:
        host, port = server.url.removeprefix("http://").split(":")
        self.socket = socket.create_connection((host, int(port)), timeout=10)
        self.file = self.socket.makefile("rb")

    def close(self) -> None:
        self.file.close()
        self.socket.close()

    def send(self, *requests: bytes) -> None:
        self.socket.sendall(b"".join(requests))

    def answer(self) -> tuple[int, dict[str, str], Any]:
        status = int(self.file.readline().split()[1])
        headers: dict[str, str] = {}
        while line := self.file.readline().strip():
            name, _, value = line.decode().partition(": ")
            headers[name] = value
        body = self.file.read(int(headers.get("content-length", 0)))
        return status, headers, json.loads(body) if body else None


@pytest.fixture
def wire(server: ServerProcess) -> Iterator[Wire]:
    wire = Wire(server)
    yield wire
    wire.close()


def post(path: str, body: Any, *headers: str, version: str = "1.1") -> bytes:
    content = json.dumps(body).encode()
    lines = [f"POST {path} HTTP/{version}", "Host: test", f"Content-Length: {len(content)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


def test_pipelined_requests_are_answered_in_their_order(wire: Wire, queue: str) -> None:
    wire.send(*(post("/api/v1/enqueue", {"queue": queue, "job_id": f"{queue}-{n}"}) for n in range(5)))
    assert [wire.answer()[2]["job_id"] for _ in range(5)] == [f"{queue}-{n}" for n in range(5)]


def test_a_request_may_come_byte_by_byte(wire: Wire, queue: str) -> None:
    for byte in post("/api/v1/enqueue", {"queue": queue}):
        wire.send(bytes([byte]))
    assert wire.answer()[0] == 201


@pytest.mark.parametrize(
    ("path", "version"), [("/api/v1/enqueue", "1.1"), ("/api/v1/enqueue?x=1", "1.1"), ("/api/v1/enqueue", "1.0")]
)
def test_both_ways_give_the_same_answer(wire: Wire, queue: str, path: str, version: str) -> None:
    wire.send(post(path, {"queue": queue}, version=version))
    status, found, body = wire.answer()
    assert status == 201
    assert body["status"] == "pending"
    assert found["content-type"] == "application/json"
    assert found["server-timing"].startswith("proc;dur=")
    assert found["access-control-allow-origin"] == "*"


def test_a_caller_who_asks_first_is_told_to_go_on(wire: Wire, queue: str) -> None:
    wire.send(post("/api/v1/enqueue", {"queue": queue}, "Expect: 100-continue"))
    assert wire.answer()[0] == 100
    assert wire.answer()[0] == 201


def test_a_bad_request_leaves_the_connection_usable(wire: Wire, queue: str) -> None:
    wire.send(post("/api/v1/enqueue", {"queue": ""}))
    assert wire.answer()[0] == 400
    wire.send(post("/api/v1/enqueue", {"queue": queue}))
    assert wire.answer()[0] == 201


def test_connection_close_is_honoured(wire: Wire, queue: str) -> None:
    wire.send(post("/api/v1/enqueue", {"queue": queue}, "Connection: close"))
    status, headers, _ = wire.answer()
    assert status == 201
    assert headers["connection"] == "close"
    assert wire.file.read() == b""


def test_a_chunked_body_is_taken(wire: Wire, queue: str) -> None:
    content = json.dumps({"queue": queue}).encode()
    head = b"POST /api/v1/enqueue HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n"
    wire.send(head, b"%x\r\n%s\r\n" % (len(content), content), b"0\r\n\r\n")
    assert wire.answer()[0] == 201


def test_a_job_claimed_for_a_closed_connection_is_put_back(api: Api, server: ServerProcess, queue: str) -> None:
    for _ in range(20):
        wire = Wire(server)
        wire.send(post("/api/v1/fetch", {"queues": [queue], "worker_id": "gone", "timeout": 20}))
        wire.close()
    job_id = api.enqueue(queue)
    job = api.fetch(queue, timeout=5)
    assert job is not None
    assert (job["job_id"], job["attempt"]) == (job_id, 1)


def test_a_large_body_comes_through_the_fast_lane(api: Api, queue: str) -> None:
    jobs = [{"queue": queue, "payload": "x" * 10_000} for _ in range(200)]
    answer = api.post("/enqueue/batch", {"jobs": jobs})
    assert answer.status_code == 201
    assert len(answer.json()["job_ids"]) == 200
