"""A home of its own, real `queuectl` processes in it, and a worker's part played by hand."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rookery.engine.ops import Ack, Claim, ClaimedJob, Completion, Fail, Failure, LoseLeases, LostJob, Tick
from rookery.queuectl.home import Home

PROGRAM = [sys.executable, "-m", "rookery.queuectl"]


class Desk:
    """Commands on one home, and what a worker would do there."""

    def __init__(self, path: Path) -> None:
        self.home = Home(path)
        self.environment = {**os.environ, "QUEUECTL_HOME": str(path)}

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Begin a command."""
        pipe = subprocess.PIPE
        return subprocess.Popen(
            [*PROGRAM, *arguments], env=self.environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True
        )

    def run(self, *arguments: str, input: bytes = b"") -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        done = subprocess.run(
            [*PROGRAM, *arguments], env=self.environment, input=input, capture_output=True, timeout=60
        )
        texts = (stream.decode(errors="backslashreplace") for stream in (done.stdout, done.stderr))
        return subprocess.CompletedProcess(done.args, done.returncode, *texts)

    def ok(self, *arguments: str, input: bytes = b"") -> str:
        """The output of a command that succeeds and complains of nothing."""
        done = self.run(*arguments, input=input)
        assert (done.returncode, done.stderr) == (0, ""), done
        return done.stdout

    def refused(self, *arguments: str, code: int, input: bytes = b"") -> str:
        """What a command complains of that ends with this code, and prints nothing else."""
        done = self.run(*arguments, input=input)
        assert (done.returncode, done.stdout) == (code, ""), done
        assert "Traceback" not in done.stderr
        return done.stderr

    def json(self, *arguments: str) -> Any:
        """The output as JSON."""
        return json.loads(self.ok(*arguments, "--json"))

    def job(self, job_id: str) -> dict[str, Any]:
        """A job as it is shown."""
        shown: dict[str, Any] = self.json("show", job_id)
        return shown

    def add(self, command: str = "true", **fields: Any) -> str:
        """Enqueue a job; its id."""
        return self.ok("enqueue", json.dumps({"command": command, **fields})).split()[-1]

    # --- what a worker does

    def claim(self, *queues: str) -> ClaimedJob:
        names = tuple(f"shell.{queue}" for queue in queues or ("default",))
        _, claimed = self.home.apply(Tick(), Claim(queues=names, worker_id="w-0badcafe", lease=30_000))
        (job,) = claimed.jobs  # type: ignore[union-attr]
        return job

    def succeed(self, job: ClaimedJob) -> None:
        self.home.apply(Ack(items=[Completion(job.job_id, job.lease, face='{"exit_code":0}')]))

    def fail(self, job: ClaimedJob, error: str = "exit code 3", wait: int = 0) -> None:
        failure = Failure(job.job_id, job.lease, error, retry_after=wait, face='{"exit_code":3}')
        self.home.apply(Fail(items=[failure]))

    def lose(self, job: ClaimedJob) -> None:
        self.home.apply(LoseLeases(items=[LostJob(job.job_id, job.lease)]))

    def bury(self, job_id: str = "dead", error: str = "exit code 3", **fields: Any) -> str:
        """A job that is dead."""
        self.add("false", id=job_id, max_retries=1, priority=1000, **fields)
        self.fail(self.claim(fields.get("queue", "default")), error)
        return job_id


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path / "home")
    yield desk
    desk.home.close()
