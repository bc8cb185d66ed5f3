"""A home in a directory of its own, jobs in it, and real `queuectl worker start` processes that run them."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rookery.engine.ops import SaveSetting
from rookery.queuectl import leftovers
from rookery.queuectl.home import Home, now_ms
from rookery.queuectl.jobs import JobRequest, enqueue_operation
from tests.conftest import wait_for


class Crew:
    """A home and whoever works in it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.home = Home(directory / "home")
        self.processes: list[subprocess.Popen[bytes]] = []

    def enqueue(self, *commands: str, max_retries: int = 3, **fields: Any) -> str:
        """Add jobs, in one commit; the id of the last."""
        jobs = [JobRequest(command=command, max_retries=max_retries, **fields) for command in commands]
        results: Any = self.home.apply(*[enqueue_operation(job, 2, now_ms()) for job in jobs])
        return str(results[-1].jobs[0].job_id)

    def set(self, **settings: object) -> None:
        self.home.apply(*[SaveSetting(key=key, value=str(value)) for key, value in settings.items()])

    def job(self, job_id: str) -> dict[str, Any]:
        """A job in the words of `queuectl`."""
        columns = [row[1] for row in self.home.reader().execute("PRAGMA table_info(jobs)")]
        row = self.home.reader().execute("SELECT * FROM jobs WHERE id = ?", (job_id,)).fetchone()
        assert row is not None, f"no job {job_id}"
        return dict(zip(columns, row, strict=True))

    def states(self) -> dict[str, int]:
        return dict(self.home.reader().execute("SELECT state, count(*) FROM jobs GROUP BY state").fetchall())

    def worker_pids(self) -> list[int]:
        return [row[0] for row in self.home.reader().execute("SELECT pid FROM workers ORDER BY started_at, id")]

    def tally(self, name: str) -> dict[str, float]:
        return dict(self.home.reader().execute("SELECT label, value FROM tally WHERE name = ?", (name,)).fetchall())

    def wait(self, job_id: str, state: str, timeout: float = 20) -> dict[str, Any]:
        """Wait until a job is in a state."""
        wait_for(lambda: self.job(job_id)["state"] == state, timeout)
        return self.job(job_id)

    def log(self, job_id: str) -> str:
        return self.home.log_path(job_id).read_text()

    @property
    def output(self) -> str:
        """What all started processes have said."""
        path = self.directory / "output"
        return path.read_text() if path.exists() else ""

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "rookery.queuectl", *arguments]

    def environment(self) -> dict[str, str]:
        return {**os.environ, "QUEUECTL_HOME": str(self.home.path)}

    def run(self, *arguments: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        """Run a command of `queuectl` to its end."""
        return subprocess.run(
            self.command(*arguments), env=self.environment(), capture_output=True, text=True, timeout=timeout
        )

    def start(self, *flags: str, **options: Any) -> subprocess.Popen[bytes]:
        """Start workers; they look for jobs more often than they would."""
        if "--poll-interval" not in flags:
            flags = (*flags, "--poll-interval", "0.05")
        with (self.directory / "output").open("ab") as output:
            process = subprocess.Popen(
                self.command("worker", "start", *flags),
                env=self.environment(),
                stdout=output,
                stderr=output,
                cwd=self.directory,
                start_new_session=True,
                **options,
            )
        self.processes.append(process)
        return process

    def drain(self, *flags: str) -> None:
        """Let workers do all that there is."""
        process = self.start("--drain", *flags)
        assert process.wait(60) == 0, self.output

    def close(self) -> None:
        workers = self.worker_pids()
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait(45)
        for pid in workers:
            if pid != os.getpid() and is_alive(pid):
                os.kill(pid, signal.SIGKILL)
                wait_for(lambda pid=pid: not is_alive(pid))
        for job_id, attempt in self.home.reader().execute("SELECT id, attempt FROM job").fetchall():
            if self.job(job_id)["state"] in ("processing", "failed"):
                leftovers.end(self.home, job_id, max(1, attempt))
        self.home.close()


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that nobody has buried yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.fixture
def crew(tmp_path: Path) -> Iterator[Crew]:
    crew = Crew(tmp_path)
    yield crew
    crew.close()


def pid_in(path: Path) -> Callable[[], int | None]:
    """Reads the pid that a job has written to a file, when it is there."""

    def read() -> int | None:
        text = path.read_text() if path.exists() else ""
        return int(text) if text.endswith("\n") else None

    return read
