"""Workers that are killed, stopped, starved and cut off: no job is lost, and none is finished by two leases."""

import random
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.conftest import Api, ServerProcess, wait_for
from tests.worker.conftest import StartWorker, start_worker
from tests.worker.test_connection import free_port

__all__ = ["start_worker"]
StartServer = Callable[..., ServerProcess]

CODE = """
import asyncio, os, random, time
from rookery import App, current_job
app = App()

def note(path: str, word: str) -> None:
    job = current_job()
    with open(path, "a") as file:
        file.write(f"{word} {job.id} {job.claim.lease_token}\\n")

@app.job
async def quick(path: str) -> str:
    note(path, "ran")
    await asyncio.sleep(random.random() / 100)
    return current_job().claim.lease_token

@app.job
def threaded(path: str) -> str:
    note(path, "ran")
    time.sleep(random.random() / 50)
    return current_job().claim.lease_token

@app.job
async def counting() -> str:
    job = current_job()
    if job.checkpoint:
        return f"went on from {job.checkpoint}"
    for count in range(1, 4):
        job.save_checkpoint(count)
        await asyncio.sleep(0.2)
    await asyncio.sleep(600)
    return "had all the time in the world"

@app.job
async def starving(path: str) -> str:
    note(path, "ran")
    time.sleep(random.random() * 3)
    return current_job().claim.lease_token
"""


def enqueue(api: Api, queue: str, count: int, path: Path) -> list[str]:
    job = {
        "queue": queue,
        "payload": {"path": str(path)},
        "max_retries": 1000,
        "max_lost_leases": 0,
        "retry_backoff": "none",
    }
    ids: list[str] = api.post("/enqueue/batch", {"jobs": [job] * count}).json()["job_ids"]
    return ids


def check(api: Api, ids: list[str], path: Path, timeout: float = 90) -> None:
    """All are completed, each once, by a lease that a handler had; no handler ran twice under one lease."""
    wait_for(lambda: _unfinished(api) == 0, timeout=timeout)
    ran = Counter(line.split()[2] for line in path.read_text().splitlines())
    assert max(ran.values()) == 1, "a handler ran twice under one lease"
    for job_id in ids:
        job = api.job(job_id)
        assert job["state"] == "completed", job
        assert job["result"] in ran
        assert api.events_of(job_id).count("completed") == 1


def _unfinished(api: Api) -> int:
    with suppress(Exception):
        states = ("pending", "active", "retrying", "scheduled")
        return sum(queue[state] for queue in api.get("/queues").json() for state in states)
    return -1


class CuttingProxy:
    """Passes bytes between a worker and its server, and cuts all connections when told."""

    def __init__(self, port: int) -> None:
        self._server_port = port
        self._sockets: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                try:
                    far = socket.create_connection(("127.0.0.1", self._server_port))
                except OSError:
                    near.close()
                    continue
                self._sockets |= {near, far}
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=self._pump, args=(one, other), daemon=True).start()

    def _pump(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(65536):
                other.sendall(data)
        for end in (one, other):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
            self._sockets.discard(end)

    def cut(self) -> None:
        for end in list(self._sockets):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listener.close()
        self.cut()


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    path = tmp_path / "notes"
    path.touch()
    return path


@pytest.fixture
def rounds(is_long: bool) -> int:
    return 60 if is_long else 5


@pytest.fixture(params=["stream", "http"])
def transport(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_workers_that_are_killed_lose_no_job(
    start_server: StartServer, start_worker: StartWorker, notes: Path, transport: str, rounds: int
) -> None:
    api = Api(start_server("--rate-limit-enabled=false"))
    flags = ("--transport", transport, "--lease", "1s", "--concurrency", "5")
    ids = enqueue(api, "quick", 300 * rounds, notes) + enqueue(api, "threaded", 20 * rounds, notes)
    for _ in range(rounds):
        worker = start_worker(api.server.url, *flags, code=CODE)
        time.sleep(random.random())
        worker.kill()
    start_worker(api.server.url, *flags, code=CODE)

    check(api, ids, notes)


def test_a_job_goes_on_where_a_killed_worker_has_left_it_as_soon_as_its_lease_says(
    start_server: StartServer, start_worker: StartWorker
) -> None:
    api = Api(start_server())
    job_id = api.enqueue("counting")
    worker = start_worker(api.server.url, "--lease", "2s", code=CODE)
    wait_for(lambda: api.job(job_id)["checkpoint"] == 3)
    worker.kill()
    start_worker(api.server.url, "--lease", "2s", code=CODE)

    job = wait_for(lambda: api.job(job_id) if api.job(job_id)["state"] == "completed" else None)
    assert job["result"] == "went on from 3"


def test_a_worker_that_is_stopped_and_goes_on_finishes_nothing_that_is_not_its_own(
    start_server: StartServer, start_worker: StartWorker, notes: Path, rounds: int
) -> None:
    api = Api(start_server("--rate-limit-enabled=false"))
    workers = [start_worker(api.server.url, "--lease", "1s", "--concurrency", "3", code=CODE) for _ in range(2)]
    ids = enqueue(api, "quick", 500 * rounds, notes) + enqueue(api, "threaded", 50 * rounds, notes)
    for number in range(max(2, rounds // 2)):
        worker = workers[number % 2]
        worker.signal(signal.SIGSTOP)
        time.sleep(1.5)
        worker.signal(signal.SIGCONT)
        time.sleep(random.random() / 2)

    check(api, ids, notes)


def test_a_starved_worker_keeps_its_leases(
    start_server: StartServer, start_worker: StartWorker, notes: Path, transport: str, rounds: int
) -> None:
    api = Api(start_server("--rate-limit-enabled=false"))
    ids = enqueue(api, "starving", rounds, notes)
    start_worker(api.server.url, "--transport", transport, "--lease", "1s", "--concurrency", "1", code=CODE)

    check(api, ids, notes)
    assert len(notes.read_text().splitlines()) == len(ids), "a job whose handler ran was given away"


def test_a_worker_that_is_cut_off_again_and_again_loses_no_job(
    start_server: StartServer, start_worker: StartWorker, notes: Path, transport: str, rounds: int
) -> None:
    api = Api(start_server("--rate-limit-enabled=false"))
    proxy = CuttingProxy(int(api.server.url.rpartition(":")[2]))
    ids = enqueue(api, "quick", 200 * rounds, notes) + enqueue(api, "threaded", 20 * rounds, notes)
    worker = start_worker(proxy.url, "--transport", transport, "--lease", "1s", code=CODE)
    for _ in range(rounds * 3):
        time.sleep(random.random() / 3)
        proxy.cut()

    check(api, ids, notes)
    assert worker.stop() == 0
    proxy.close()


def test_a_server_that_restarts_finds_its_worker_again(
    start_server: StartServer, start_worker: StartWorker, notes: Path, transport: str, rounds: int
) -> None:
    port = free_port()
    server = start_server("--bind", f"127.0.0.1:{port}", "--rate-limit-enabled=false")
    api = Api(server)
    ids = enqueue(api, "quick", 200 * rounds, notes) + enqueue(api, "threaded", 20 * rounds, notes)
    worker = start_worker(server.url, "--transport", transport, "--lease", "1s", code=CODE)
    for number in range(rounds):
        time.sleep(random.random() / 2)
        _ = server.kill() if number % 2 else server.stop()
        server.start()

    check(api, ids, notes)
    assert worker.stop() == 0
