"""What tests of the worker share: a real `rookery worker` process beside a real server."""

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Api, ServerProcess, wait_for

HERE = Path(__file__).parent
READY = " ready: "


class WorkerProcess:
    """A real `rookery worker`; what it says is in `log`."""

    def __init__(
        self, url: str, app: str, *flags: str, cwd: Path, log: Path, env: dict[str, str] | None = None
    ) -> None:
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("ROOKERY_", "CORVO_"))}
        clean |= {"ROOKERY_URL": url, "PYTHONUNBUFFERED": "1", **(env or {})}
        self.log = log
        command = [sys.executable, "-m", "rookery", "worker", app, *flags]
        with log.open("ab") as file:
            self.process = subprocess.Popen(command, stdout=file, stderr=file, cwd=cwd, env=clean)

    @property
    def output(self) -> str:
        return self.log.read_text()

    def wait_ready(self) -> "WorkerProcess":
        wait_for(lambda: READY in self.output, alive=self.process)
        return self

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def stop(self) -> int:
        """Ask it to stop; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(45)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(45)


StartWorker = Callable[..., WorkerProcess]


@pytest.fixture
def start_worker(tmp_path: Path) -> Iterator[StartWorker]:
    """Starts workers of code that the test gives, or of `tests/worker/sample.py`; all are gone when it ends."""
    workers: list[WorkerProcess] = []

    def start(url: str, *flags: str, code: str | None = None, ready: bool = True, **options: Any) -> WorkerProcess:
        cwd, app = HERE, "sample:app"
        if code is not None:
            cwd, app = tmp_path, "jobs:app"
            (tmp_path / "jobs.py").write_text(textwrap.dedent(code))
        worker = WorkerProcess(url, app, *flags, cwd=cwd, log=tmp_path / f"worker{len(workers)}.log", **options)
        workers.append(worker)
        return worker.wait_ready() if ready else worker

    yield start
    for worker in workers:
        if worker.process.poll() is None:
            worker.kill()


@pytest.fixture(scope="module", params=["stream", "http"])
def sample_worker(
    request: pytest.FixtureRequest, server: ServerProcess, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WorkerProcess]:
    """One worker of the sample app for all tests of a file, over the stream and then over HTTP."""
    log = tmp_path_factory.mktemp("worker") / "worker.log"
    worker = WorkerProcess(server.url, "sample:app", "--transport", request.param, cwd=HERE, log=log)
    yield worker.wait_ready()
    assert worker.stop() == 0, worker.output
    assert "Traceback" not in worker.output


def ended(api: Api, job_id: str, *states: str) -> dict[str, Any]:
    """A job, once it has ended, or is in one of these states."""
    wanted = states or ("completed", "dead", "cancelled")
    job: dict[str, Any] = wait_for(lambda: (job := api.job(job_id))["state"] in wanted and job)
    return job


class Jobs:
    """Enqueue and wait, short to write."""

    def __init__(self, api: Api) -> None:
        self.api = api

    def run(self, queue: str, payload: Any = None, **fields: Any) -> dict[str, Any]:
        """Enqueue a job, and wait until it has ended."""
        return ended(self.api, self.api.enqueue(queue, payload or {}, **fields))

    def logs(self, job_id: str) -> list[dict[str, Any]]:
        lines: list[dict[str, Any]] = self.api.get(f"/jobs/{job_id}/logs").json()["lines"]
        return lines


@pytest.fixture
def jobs(api: Api) -> Jobs:
    return Jobs(api)
