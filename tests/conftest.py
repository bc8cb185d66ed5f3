"""What tests share: a real server process, a client for it, and a machine with a clock that tests move."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from rookery.engine import Batch, Machine
from rookery.engine.ops import AnyOperation

pytest_plugins = ["pytester"]

# Thousands of processes are started, and each would compile all of our modules.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

NO_TLS = False
"""What `verify` is for clients of plain HTTP: reading all certificates takes longer than most tests."""
START = 1_800_000_000_000
"""When the machine's clock stands at the beginning of a test."""


class ServerProcess:
    """A real `rookery server` on a free port of loopback."""

    def __init__(self, data_dir: Path, *flags: str) -> None:
        self.data_dir = data_dir
        self.flags = flags
        self.log = data_dir.parent / f"{data_dir.name}.log"
        self.url = ""
        self.start()

    def start(self) -> None:
        """Start it, or start it again on the same data, and wait until it is ready."""
        command = [sys.executable, "-m", "rookery", "server", "--bind", "127.0.0.1:0", "--data-dir", str(self.data_dir)]
        with self.log.open("ab") as log:
            offset = log.tell()
            self.process = subprocess.Popen([*command, *self.flags], stdout=log, stderr=log)
        match = wait_for(lambda: re.search(r"ready on (http://\S+)", self._output(offset)), alive=self.process)
        self.url = match[1]
        self.http = httpx.Client(base_url=self.url, timeout=70, verify=NO_TLS)

    def _output(self, offset: int) -> str:
        return self.log.read_bytes()[offset:].decode()

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.kill()
        self.process.wait(45)
        self.http.close()

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Let it do nothing for a while: what arrives meanwhile, it finds all at once."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            wait_for(lambda: Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T")
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def stop(self) -> int:
        """Ask it to stop; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(45)
        self.http.close()
        return code


def wait_for(condition: Callable[[], Any], timeout: float = 45, alive: subprocess.Popen[bytes] | None = None) -> Any:
    """Wait until a condition holds, and give back its value."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        if alive is not None and alive.poll() is not None:
            raise AssertionError(f"the process ended with {alive.returncode}")
        time.sleep(0.005)
    raise AssertionError("the condition did not come true in time")


class Api:
    """Calls of the native API, short to write."""

    def __init__(self, server: ServerProcess) -> None:
        self.server = server

    def post(self, path: str, body: Any = None, **options: Any) -> httpx.Response:
        if body is not None:
            options["json"] = body
        return self.server.http.post(f"/api/v1{path}", **options)

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.server.http.get(f"/api/v1{path}", **options)

    def put(self, path: str, body: Any, **options: Any) -> httpx.Response:
        return self.server.http.put(f"/api/v1{path}", json=body, **options)

    def delete(self, path: str, **options: Any) -> httpx.Response:
        return self.server.http.delete(f"/api/v1{path}", **options)

    def enqueue(self, queue: str, payload: Any = None, **fields: Any) -> str:
        """Add a job; its id."""
        body = {"queue": queue, **({} if payload is None else {"payload": payload}), **fields}
        answer = self.post("/enqueue", body)
        assert answer.status_code in (200, 201), answer.text
        return answer.json()["job_id"]

    def fetch(self, *queues: str, **fields: Any) -> dict[str, Any] | None:
        """Lease a job, waiting half a second for it unless told otherwise."""
        answer = self.post("/fetch", {"queues": queues, "timeout": 0.5, "worker_id": "w1", **fields})
        assert answer.status_code in (200, 204), answer.text
        return answer.json() if answer.status_code == 200 else None

    def job(self, job_id: str) -> dict[str, Any]:
        """A job, whole."""
        answer = self.get(f"/jobs/{job_id}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    def events_of(self, job_id: str) -> list[str]:
        """The types of a job's events, in order."""
        answer = self.get("/cluster/events", params={"job_ids": job_id, "limit": 1000})
        return [event["type"] for event in answer.json()["events"]]


@pytest.fixture
def start_server(tmp_path: Path) -> Iterator[Callable[..., ServerProcess]]:
    """Starts servers with the flags a test wants; all are gone when it ends."""
    servers: list[ServerProcess] = []

    def start(*flags: str, data: str = "data") -> ServerProcess:
        server = ServerProcess(tmp_path / data, *flags)
        servers.append(server)
        return server

    yield start
    for server in servers:
        if server.process.poll() is None:
            server.kill()
        server.http.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """One server for all tests of a file, without rate limits; each test uses queues of its own."""
    server = ServerProcess(tmp_path_factory.mktemp("server") / "data", "--rate-limit-enabled=false")
    yield server
    server.kill()


@pytest.fixture
def api(server: ServerProcess) -> Api:
    return Api(server)


@pytest.fixture
def queue(request: pytest.FixtureRequest) -> str:
    """The name of a queue that no other test uses."""
    return re.sub(r"[^a-z0-9_.]+", "-", request.node.nodeid.lower().rpartition("::")[2])[:100]


class Clockwork:
    """A machine in memory, and the time it is told."""

    def __init__(self, path: str = ":memory:") -> None:
        self.machine = Machine(path)
        self.now = START

    def do(self, *ops: AnyOperation) -> Any:
        """Apply operations now; the result, or the results if there are several operations."""
        results = self.machine.apply(Batch(self.now, list(ops), entropy=self.now))
        return results[0] if len(ops) == 1 else results

    def advance(self, milliseconds: int) -> None:
        """Let time pass."""
        self.now += milliseconds

    def rows(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Look into the store."""
        return self.machine._db.execute(sql, parameters).fetchall()


@pytest.fixture
def clockwork() -> Iterator[Clockwork]:
    clockwork = Clockwork()
    yield clockwork
    clockwork.machine.close()


LONGEST_FIRST = ("property", "queuectl", "browser", "cli", "codeq")
"""Directories whose files take longest. In the end, processes that run tests would wait for the last of them."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    places = {config.rootpath / "tests" / name: place for place, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: places.get(item.path.parent, len(places)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Tests wait at least as long as they compute: for other processes, for the disk, for time to pass."""
    return 2 * (os.cpu_count() or 1)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--long",
        action="store_true",
        help="Long rounds of the property and chaos tests, a million jobs for the web UI.",
    )


@pytest.fixture
def is_long(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--long")) or bool(os.environ.get("ROOKERY_LONG_TESTS"))
