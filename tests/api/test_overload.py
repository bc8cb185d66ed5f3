"""More than the server can take: it refuses fast and writes nothing."""

import json
import socket
from collections.abc import Callable
from concurrent.futures import Future
from http.client import HTTPResponse
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.api.expectations import LONG, SOON, wait_until_parked
from tests.conftest import Api, ServerProcess

Received = tuple[int, dict[str, str], dict[str, Any]]


def storm(server: ServerProcess, path: str, body: Any, size: int = 200) -> list[Received]:
    """Let the server find many equal requests at the same moment; status, headers and body of each answer."""
    address, content = urlsplit(server.url), json.dumps(body).encode()
    head = f"POST /api/v1{path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(content)}\r\n\r\n"
    connections = [socket.create_connection((address.hostname, address.port), timeout=20) for _ in range(size)]
    try:
        with server.frozen():
            for connection in connections:
                connection.sendall(head.encode() + content)
        return [receive(connection) for connection in connections]
    finally:
        for connection in connections:
            connection.close()


def receive(connection: socket.socket) -> Received:
    with HTTPResponse(connection) as response:
        response.begin()
        content = response.read()
        return response.status, dict(response.getheaders()), json.loads(content or b"{}")


def sorted_out(answers: list[Received]) -> tuple[list[dict[str, Any]], int]:
    """The bodies of what was taken, and how many were refused, each in the right way."""
    refused = [answer for answer in answers if answer[0] == 429]
    for _, headers, body in refused:
        assert body["code"] == "OVERLOADED"
        assert body["error"]
        assert 1 <= body["retry_after_ms"] <= 12
        assert body["retry_after"] == pytest.approx(body["retry_after_ms"] / 1000)
        assert int(headers["retry-after"]) >= 1
    return [body for status, _, body in answers if status in (200, 201)], len(refused)


def test_a_full_pipeline_refuses_writes_and_writes_nothing(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server("--rate-limit-enabled=false", "--raft-max-pending=1")
    taken = 0
    for _ in range(50):  # now and then the server keeps up with a whole storm
        accepted, refused = sorted_out(storm(server, "/enqueue", {"queue": "q"}))
        assert len(accepted) + refused == 200
        taken += len(accepted)
        if refused:
            break
    assert refused > 0
    assert Api(server).get("/queues/q").json()["enqueued"] == taken


def test_too_many_claims_of_one_queue_are_refused(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server("--rate-limit-enabled=false", "--raft-max-fetch-inflight=1")
    api = Api(server)
    fetched: list[dict[str, Any]] = []
    for _ in range(50):  # as above
        api.post("/enqueue/batch", {"jobs": [{"queue": "q"}] * 200})
        got, refused = sorted_out(storm(server, "/fetch", {"queues": ["q"], "timeout": 1}))
        fetched += got
        if refused:
            break
    assert refused > 0
    assert len({job["job_id"] for job in fetched}) == len(fetched)
    assert api.get("/queues/q").json()["active"] == len(fetched)


def test_parked_fetches_are_no_claims(
    start_server: Callable[..., ServerProcess], background: Callable[..., Future[Any]]
) -> None:
    api = Api(start_server("--rate-limit-enabled=false", "--raft-max-fetch-inflight=1"))
    parked = []
    for number in range(10):
        parked.append(background(api.fetch, "q", timeout=LONG, worker_id=f"w{number}"))
        wait_until_parked(api, f"w{number}")
    assert api.fetch("q", timeout=0.1) is None
    api.post("/enqueue/batch", {"jobs": [{"queue": "q"}] * 10})
    assert len({fetch.result(SOON)["job_id"] for fetch in parked}) == 10
