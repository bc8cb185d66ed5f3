"""The server as a process: start, stop, restart, and what comes over a raw socket."""

import json
import re
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from tests.api.expectations import (
    FAR_FUTURE,
    claim,
    finish_job,
    start_job,
    wait_for_state,
    wait_until_parked,
)
from tests.conftest import Api, ServerProcess, wait_for

Start = Callable[..., ServerProcess]


def run_server(*flags: str) -> subprocess.CompletedProcess[str]:
    """Run a server that is expected to end by itself."""
    command = [sys.executable, "-m", "rookery", "server", *flags]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def port_of(server: ServerProcess) -> int:
    port = urlsplit(server.url).port
    assert port is not None
    return port


def test_the_ready_line_names_the_address(start_server: Start) -> None:
    server = start_server()
    lines = [line for line in server.log.read_text().splitlines() if "ready" in line]
    assert len(lines) == 1
    assert re.search(r"127\.0\.0\.1:\d+", lines[0])


def test_the_data_directory_is_made(start_server: Start, tmp_path: Path) -> None:
    assert not (tmp_path / "new").exists()
    server = start_server(data="new")
    assert server.data_dir.is_dir()
    assert any(server.data_dir.iterdir())


def test_a_port_in_use_ends_the_server(start_server: Start, tmp_path: Path) -> None:
    port = port_of(start_server())
    ended = run_server("--bind", f"127.0.0.1:{port}", "--data-dir", str(tmp_path / "other"))
    assert ended.returncode == 1
    assert str(port) in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_data_directory_in_use_ends_the_server(start_server: Start) -> None:
    server = start_server()
    ended = run_server("--bind", "127.0.0.1:0", "--data-dir", str(server.data_dir))
    assert ended.returncode == 1
    assert str(server.data_dir) in ended.stderr
    assert "Traceback" not in ended.stderr
    assert server.http.get("/healthz").status_code == 200


def file_in_its_place(path: Path) -> Path:
    path.write_text("a file")
    return path


def file_above_it(path: Path) -> Path:
    path.write_text("a file")
    return path / "data"


def broken_store(path: Path) -> Path:
    path.mkdir()
    (path / "rookery.db").write_bytes(b"this is no database" * 1000)
    return path


@pytest.mark.parametrize("make", [file_in_its_place, file_above_it, broken_store])
def test_an_unusable_data_directory_ends_the_server(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    data = make(tmp_path / "bad")
    ended = run_server("--bind", "127.0.0.1:0", "--data-dir", str(data))
    assert ended.returncode == 1
    assert "bad" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("bind", ["nonsense", "127.0.0.1:99999", "127.0.0.1:x"])
def test_an_address_that_cannot_be_ends_the_server(tmp_path: Path, bind: str) -> None:
    ended = run_server("--bind", bind, "--data-dir", str(tmp_path / "data"))
    assert ended.returncode in (1, 2)
    assert bind in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("name", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_server_cleanly(start_server: Start, name: signal.Signals) -> None:
    server = start_server()
    server.process.send_signal(name)
    assert server.process.wait(45) == 0
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{server.url}/healthz")


STOPPING_ITSELF = """
import logging, os, signal
from rookery.__main__ import run

class Stop(logging.Handler):
    def emit(self, record):
        if any(word in record.getMessage() for word in WORDS):
            os.kill(os.getpid(), signal.SIGTERM)

logging.getLogger("rookery.server").addHandler(Stop())
run()
"""


@pytest.mark.parametrize(
    ("words", "code"), [(["ready on"], 0), (["ready on", "stopped"], 128 + signal.SIGTERM)], ids=["ready", "stopped"]
)
def test_signals_are_heeded_from_the_moment_it_is_ready_to_its_last_word(
    tmp_path: Path, words: list[str], code: int
) -> None:
    program = STOPPING_ITSELF.replace("WORDS", repr(words))
    flags = ["--bind", "127.0.0.1:0", "--data-dir", str(tmp_path / "data")]
    ended = subprocess.run([sys.executable, "-c", program, "server", *flags], stderr=subprocess.PIPE, timeout=60)
    assert b" ready on " in ended.stderr
    assert ended.returncode == code, ended.stderr.decode()


def test_stopping_sends_waiting_fetches_home(start_server: Start, background: Callable[..., Future[Any]]) -> None:
    server = start_server()
    api = Api(server)
    fetches = [
        background(
            httpx.post, f"{server.url}/api/v1/fetch", json={"queues": ["q"], "worker_id": f"w{number}"}, timeout=30
        )
        for number in range(5)
    ]
    body = {"queues": ["q"], "worker_id": "batch", "count": 3}
    batch = background(httpx.post, f"{server.url}/api/v1/fetch/batch", json=body, timeout=30)
    for worker_id in ["w0", "w1", "w2", "w3", "w4", "batch"]:
        wait_until_parked(api, worker_id)
    assert server.stop() == 0
    assert [fetch.result(20).status_code for fetch in fetches] == [204] * 5
    assert batch.result(20).json() == {"jobs": []}


def test_stopping_ends_streams_and_waits(start_server: Start, background: Callable[..., Future[Any]]) -> None:
    server = start_server()
    job_id = Api(server).enqueue("q")
    waiting = background(httpx.get, f"{server.url}/api/v1/jobs/{job_id}/wait", timeout=30)
    with pytest.raises(TimeoutError):
        waiting.result(0.5)
    with httpx.stream("GET", f"{server.url}/api/v1/events", timeout=30) as stream:
        server.process.send_signal(signal.SIGTERM)
        assert stream.read() == b""
    assert server.process.wait(45) == 0
    assert waiting.result(20).status_code == 202


def test_restart_keeps_everything(start_server: Start) -> None:
    server = start_server()
    api = Api(server)
    completed = finish_job(api, "a")
    pending = api.enqueue("b", {"n": 1}, tags={"t": "v"}, unique_key="k", expire_after="1h")
    scheduled = api.enqueue("c", scheduled_at=FAR_FUTURE)
    active = start_job(api, "d", checkpoint=[1])
    failed = start_job(api, "e", retry_base_delay="1h")["job_id"]
    api.post(f"/fail/{failed}", {"error": "boom"})
    held = api.enqueue("f")
    api.post(f"/jobs/{held}/hold", {"reason": "why"})
    batch_id = api.post("/enqueue/batch", {"jobs": [{"queue": "g"}] * 2, "batch": {"callback_queue": "h"}}).json()[
        "batch_id"
    ]
    api.post("/queues/b/pause")
    api.post("/queues/i/concurrency", {"max": 2})
    api.post("/queues/j/throttle", {"rate": 1, "period": "1h"})
    ids = [completed, pending, scheduled, active["job_id"], failed, held]
    paths = ["/queues", "/workers", f"/batches/{batch_id}", "/cluster/events?limit=1000"]

    def everything() -> list[Any]:
        return [api.job(job_id) for job_id in ids] + [api.get(path).json() for path in paths]

    before = everything()
    server.kill()
    server.start()
    assert everything() == before
    assert api.enqueue("b", unique_key="k") == pending
    assert api.fetch("b", timeout=0.05) is None
    assert api.post(f"/ack/{active['job_id']}", {"lease_token": active["lease_token"]}).status_code == 200
    assert api.enqueue("a") > max(ids)


def test_every_acknowledged_job_survives_a_crash(start_server: Start, background: Callable[..., Future[Any]]) -> None:
    server = start_server("--rate-limit-enabled=false")
    acknowledged: list[str] = []

    def produce() -> None:
        with httpx.Client(base_url=server.url, timeout=10) as client:
            while True:
                try:
                    answer = client.post("/api/v1/enqueue", json={"queue": "q"})
                except httpx.TransportError:
                    return
                acknowledged.append(answer.json()["job_id"])

    producers = [background(produce) for _ in range(4)]
    wait_for(lambda: len(acknowledged) > 200)
    server.kill()
    for producer in producers:
        producer.result(10)
    server.start()
    api = Api(server)
    kept = {job["job_id"] for _ in range(20) for job in fetch_all(api)}
    assert set(acknowledged) <= kept


def fetch_all(api: Api) -> list[dict[str, Any]]:
    body = {"queues": ["q"], "count": 512, "timeout": 0.01}
    jobs: list[dict[str, Any]] = api.post("/fetch/batch", body).json()["jobs"]
    return jobs


def test_a_lease_runs_out_while_the_server_is_down(start_server: Start) -> None:
    server = start_server()
    api = Api(server)
    job_id = api.enqueue("q")
    claim(api, "q", lease_duration=1)
    server.kill()
    server.start()
    wait_for_state(api, job_id, "pending")
    assert claim(api, "q")["attempt"] == 2


def connect(server: ServerProcess) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port_of(server)), timeout=10)


def read_answer(connection: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of an answer with a length."""
    received = b""
    while b"\r\n\r\n" not in received:
        part = connection.recv(65536)
        assert part, received
        received += part
    head, _, body = received.partition(b"\r\n\r\n")
    status_line, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    while len(body) < int(headers.get("content-length", 0)):
        body += connection.recv(65536)
    return int(status_line.split()[1]), headers, body


def send_until_answered(connection: socket.socket, data: bytes, most: int) -> int:
    """Send again and again until the server has had enough; how much was sent."""
    sent = 0
    while sent < most and not select.select([connection], [], [], 0)[0]:
        try:
            sent += connection.send(data)
        except ConnectionError:
            break
    return sent


@pytest.mark.parametrize(
    "garbage",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 50,
        b"hello there\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\x00 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon here\r\n\r\n",
        b"POST /api/v1/enqueue HTTP/1.1\r\nHost: x\r\nContent-Length: many\r\n\r\n{}",
        b"POST /api/v1/enqueue HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n{}",
        b"POST /api/v1/enqueue HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
        b"POST /api/v1/enqueue HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
    ],
    ids=["tls", "text", "version", "nul", "header", "length", "negative-length", "chunk", "smuggling"],
)
def test_bytes_that_are_not_http_get_an_error_in_json(server: ServerProcess, garbage: bytes) -> None:
    with connect(server) as connection:
        connection.sendall(garbage)
        status, headers, body = read_answer(connection)
    assert status == 400
    assert headers["content-type"].startswith("application/json")
    assert json.loads(body)["code"] == "PARSE_ERROR"
    assert json.loads(body)["error"]
    assert server.http.get("/healthz").status_code == 200


@pytest.mark.parametrize(
    ("head", "more"),
    [
        (b"GET /healthz HTTP/1.1\r\n", b"X-Padding: " + b"x" * 1000 + b"\r\n"),
        (b"GET /healthz HTTP/1.1\r\nX-Padding: ", b"x" * 1000),
        (b"GET /", b"x" * 1000),
    ],
    ids=["headers", "header", "path"],
)
def test_a_head_without_end_is_refused(server: ServerProcess, head: bytes, more: bytes) -> None:
    with connect(server) as connection:
        connection.sendall(head)
        sent = send_until_answered(connection, more, 50_000_000)
        status, _, body = read_answer(connection)
    assert sent < 10_000_000
    assert status in (400, 431)
    assert json.loads(body).keys() >= {"error", "code"}
    assert server.http.get("/healthz").status_code == 200


@pytest.mark.parametrize("path", ["/enqueue", "/enqueue/batch", "/heartbeat", "/queues/q/throttle", "/jobs/x/move"])
def test_a_body_that_announces_too_much_is_refused_before_it_is_sent(server: ServerProcess, path: str) -> None:
    with connect(server) as connection:
        head = f"POST /api/v1{path} HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000000\r\n\r\n"
        connection.sendall(head.encode() + b'{"queue": "q", "payload": "')
        status, _, body = read_answer(connection)
    assert status == 413
    assert json.loads(body)["code"] == "PAYLOAD_TOO_LARGE"


@pytest.mark.parametrize("path", ["/enqueue", "/queues/q/throttle"])
def test_chunks_without_end_are_refused(server: ServerProcess, path: str) -> None:
    with connect(server) as connection:
        head = f"POST /api/v1{path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        connection.sendall(head.encode())
        chunk = b"186A0\r\n" + b" " * 100_000 + b"\r\n"
        sent = send_until_answered(connection, chunk, 50_000_000)
        status, _, body = read_answer(connection)
    assert status == 413
    assert json.loads(body)["code"] == "PAYLOAD_TOO_LARGE"
    assert sent < 10_000_000


def test_a_body_in_chunks_is_taken(server: ServerProcess) -> None:
    def chunks() -> Any:
        yield b'{"queue": '
        yield b'"in-chunks", "payload": [1,'
        yield b" 2]}"

    answer = server.http.post("/api/v1/enqueue", content=chunks())
    assert answer.status_code == 201
    assert Api(server).job(answer.json()["job_id"])["payload"] == [1, 2]


def test_a_body_that_dribbles_in_is_taken(server: ServerProcess) -> None:
    body = b'{"queue": "dribble"}'
    with connect(server) as connection:
        connection.sendall(f"POST /api/v1/enqueue HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode())
        for byte in body:
            connection.sendall(bytes([byte]))
        assert read_answer(connection)[0] == 201


def test_requests_may_come_before_the_answers(server: ServerProcess) -> None:
    body = b'{"queue": "pipelined"}'
    request = f"POST /api/v1/enqueue HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    last = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    with connect(server) as connection:
        connection.sendall(request * 5 + last)
        received = b""
        while part := connection.recv(65536):
            received += part
    assert received.count(b"HTTP/1.1 201 ") == 5
    assert received.count(b"HTTP/1.1 200 ") == 1
    assert Api(server).get("/queues/pipelined").json()["pending"] == 5


def test_a_caller_may_ask_before_it_sends_its_body(server: ServerProcess) -> None:
    body = b'{"queue": "expected"}'
    head = f"POST /api/v1/enqueue HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: {len(body)}\r\n\r\n"
    with connect(server) as connection:
        connection.sendall(head.encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 100 ")
        connection.sendall(body)
        assert read_answer(connection)[0] == 201


def test_a_client_of_http_1_0_is_answered(server: ServerProcess) -> None:
    with connect(server) as connection:
        connection.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
        status, _, body = read_answer(connection)
    assert status == 200
    assert json.loads(body)["status"] == "ok"


def test_a_caller_who_leaves_in_the_middle_harms_nobody(server: ServerProcess) -> None:
    for _ in range(20):
        with connect(server) as connection:
            connection.sendall(
                b'POST /api/v1/enqueue HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"queue": "half'
            )
    assert server.http.get("/healthz").status_code == 200
    assert "half" not in [row["name"] for row in Api(server).get("/queues").json()]
