"""The guide is true: its examples run as they stand, but for the server's address."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Api, wait_for
from tests.worker.conftest import WorkerProcess, ended

GUIDE = Path(__file__).parents[2] / "docs/workers.md"
FILES = ("shop.py", "enqueue.py", "orders.py", "program.py")


@pytest.fixture
def directory(api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """All examples, each in a file."""
    monkeypatch.setenv("ROOKERY_URL", api.server.url)
    examples = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    for name, example in zip(FILES, examples, strict=True):
        (tmp_path / name).write_text(example.replace('"http://localhost:8080"', repr(api.server.url)))
    return tmp_path


def test_jobs_are_enqueued_and_run_by_the_program_of_the_guide(api: Api, directory: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-W", "error", "enqueue.py"], cwd=directory, capture_output=True, text=True, timeout=30
    )
    assert (run.returncode, run.stdout) == (0, "{'sent': 'a@example.com'}\n"), run.stderr

    with subprocess.Popen([sys.executable, "program.py"], cwd=directory) as process:
        try:
            wait_for(lambda: api.get("/queues/emails.send").json()["completed"] == 4, alive=process)
            process.send_signal(signal.SIGTERM)
            assert process.wait(45) == 0
        finally:
            process.kill()


def test_what_surrounds_jobs_in_the_guide_does_so(api: Api, directory: Path) -> None:
    worker = WorkerProcess(api.server.url, "orders:app", cwd=directory, log=directory / "log", env=dict(os.environ))
    try:
        for queue in ("charge", "refund"):
            job_id = api.enqueue(queue, {"order": 7})
            job = ended(api, job_id)
            assert job["state"] == "completed", job
            lines = wait_for(lambda job_id=job_id: api.get(f"/jobs/{job_id}/logs").json()["lines"])
            assert re.fullmatch(r"took \d\.\d{3} s", lines[0]["message"])
        assert (directory / "orders.db").exists()
    finally:
        assert worker.stop() == 0
