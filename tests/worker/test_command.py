"""`rookery worker` as a command: finding the app, checking it, several processes, reloading."""

import os
import signal
import textwrap
from pathlib import Path

import pytest

from tests.conftest import Api, wait_for
from tests.worker.conftest import HERE, StartWorker, WorkerProcess
from tests.worker.test_connection import free_port, probe

CODE = """
from rookery import App
app = other = App()
number = 5

@app.job
async def greet(name: str) -> str:
    return "hello " + name
"""


def run(cwd: Path, *arguments: str, url: str = "http://127.0.0.1:1", code: str | None = None) -> tuple[int, str]:
    """Run the command to its end; its exit code and what it said."""
    if code is not None:
        (cwd / "jobs.py").write_text(textwrap.dedent(code))
    worker = WorkerProcess(url, *arguments, cwd=cwd, log=cwd / "out.log")
    return worker.process.wait(30), worker.output


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nowhere:app", "there is no module 'nowhere'"),
        ("jobs.nowhere:app", "there is no module 'jobs.nowhere'"),
        ("jobs:missing", "module jobs has no 'missing' (it has: jobs:app, jobs:other)"),
        ("jobs:number", "jobs:number is not an App, it is an int"),
        ("jobs.py", "'jobs.py' is a file: name the module, like jobs:app"),
        ("jobs.py:app", "name the module, like jobs:app"),
    ],
)
def test_an_app_that_is_not_there_is_explained(tmp_path: Path, name: str, said: str) -> None:
    code, output = run(tmp_path, name, "--check", code=CODE)

    assert code == 1
    assert said in output
    assert "Traceback" not in output


def test_a_module_that_fails_while_it_is_loaded_shows_where(tmp_path: Path) -> None:
    code, output = run(tmp_path, "jobs:app", "--check", code="import nothing_like_this")

    assert code == 1
    assert "jobs needs a module that is not there: No module named 'nothing_like_this'" in output


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("from rookery import App\napp = App()", "the app has no jobs"),
        (
            "from rookery import App\napp = App()\n@app.job\ndef f(*args): ...",
            "f: *args has no name a payload could use",
        ),
        (
            "from rookery import App\napp = App()\n@app.job\ndef f(a: 'Missing'): ...",
            "f: name 'Missing' is not defined",
        ),
    ],
)
def test_an_app_that_cannot_be_run_is_explained(tmp_path: Path, code: str, said: str) -> None:
    status, output = run(tmp_path, "jobs", code=code)

    assert status == 1
    assert said in output


@pytest.mark.parametrize(
    ("flag", "value", "said"),
    [
        ("--server", "ftp://x", "'ftp://x' is not the URL of a server"),
        ("--lease", "0s", "lease_duration must be from 1 s to 86400 s"),
    ],
)
def test_a_flag_that_cannot_work_is_explained(tmp_path: Path, flag: str, value: str, said: str) -> None:
    code, output = run(tmp_path, "jobs:app", flag, value, code=CODE)

    assert code == 1
    assert f"Error: {said}" in output
    assert "Traceback" not in output


def test_wrong_usage_is_exit_code_two(tmp_path: Path) -> None:
    assert run(tmp_path, "jobs:app", "--concurrency", "0", code=CODE)[0] == 2
    assert run(tmp_path, "jobs:app", "--nonsense", code=CODE)[0] == 2
    status, output = run(tmp_path, "jobs:app", "--queues", "greet,else", code=CODE)
    assert (status, "the app has no job for queue else (it has: greet)" in output) == (1, True)


def test_a_check_lists_the_jobs_and_starts_nothing(api: Api) -> None:
    worker = WorkerProcess(api.server.url, "sample", "--check", cwd=HERE, log=api.server.data_dir.parent / "check.log")

    assert worker.process.wait(30) == 0, worker.output
    assert "typed  sample.typed" in worker.output
    assert "payload  letter: Letter, at: datetime.datetime | None (optional)" in worker.output
    assert "injected  unit: Depends(get_unit), pool: Depends(get_pool)" in worker.output
    assert "runs in=process" in worker.output
    assert "retry_on=ConnectionError" in worker.output
    assert " ready: " not in worker.output


def test_a_check_fails_without_a_server(tmp_path: Path) -> None:
    status, output = run(tmp_path, "jobs", "--check", code=CODE)

    assert status == 1
    assert "cannot connect to 127.0.0.1:1" in output


def test_a_check_finds_what_waits_at_the_server_and_does_not_fit(api: Api, tmp_path: Path) -> None:
    api.enqueue("greet", {"nam": "x"})
    schedule = api.post(
        "/schedules", {"name": "greetings", "cron": "0 0 1 1 *", "queue": "greet", "payload": {"name": 5}}
    ).json()
    try:
        status, output = run(tmp_path, "jobs", "--check", url=api.server.url, code=CODE)

        assert status == 1
        assert "schedule greetings: greet: Expected `str`, got `int` - at `name`" in output
        assert "waiting in greet" in output
    finally:
        api.delete(f"/schedules/{schedule['id']}")
        api.post("/queues/greet/clear")


def test_only_the_named_queues_are_worked_on(api: Api, start_worker: StartWorker) -> None:
    worker = start_worker(api.server.url, env={"ROOKERY_QUEUES": "add, layered", "ROOKERY_CONCURRENCY": "3"})

    assert "3 jobs at a time of add, layered, by" in worker.output


def test_several_processes_are_kept_running_and_stopped_together(
    api: Api, start_worker: StartWorker, tmp_path: Path
) -> None:
    health = free_port()
    code = """
    import os
    from rookery import App
    app = App()

    @app.job
    async def who() -> int:
        return os.getpid()
    """
    flags = ("--processes", "2", "--worker-id", "twin", "--health-bind", f"127.0.0.1:{health}")
    worker = start_worker(api.server.url, *flags, code=code)
    wait_for(lambda: probe(health, "/readyz")[0] == 200)
    assert probe(health, "/healthz") == (200, {"status": "ok"})
    children = _children(worker.process.pid)
    assert len(children) == 2
    assert "worker twin-1 ready" in worker.output
    assert "worker twin-2 ready" in worker.output

    os.kill(children[0], signal.SIGKILL)
    wait_for(lambda: "ended with code 137" in worker.output)
    wait_for(lambda: len(_children(worker.process.pid)) == 2 and children[0] not in _children(worker.process.pid))
    wait_for(lambda: probe(health, "/readyz")[0] == 200)
    job_id = api.enqueue("who")
    wait_for(lambda: api.job(job_id)["state"] == "completed")
    assert api.job(job_id)["result"] in _children(worker.process.pid)

    assert worker.stop() == 0, worker.output
    assert all(not Path(f"/proc/{pid}").exists() for pid in children)


def test_workers_whose_parent_is_gone_stop(api: Api, start_worker: StartWorker) -> None:
    worker = start_worker(api.server.url, "--processes", "2")
    wait_for(lambda: worker.output.count(" ready: ") == 2)
    children = _children(worker.process.pid)
    worker.kill()

    wait_for(lambda: all(not Path(f"/proc/{pid}").exists() for pid in children))


def test_several_processes_that_cannot_start_end_with_the_same_code(tmp_path: Path) -> None:
    status, output = run(tmp_path, "nowhere:app", "--processes", "2", code=CODE)

    assert status == 1
    assert "there is no module 'nowhere'" in output


def test_a_change_of_code_starts_the_worker_again(api: Api, start_worker: StartWorker, tmp_path: Path) -> None:
    worker = start_worker(api.server.url, "--reload", code=CODE)
    first = api.enqueue("greet", {"name": "you"})
    wait_for(lambda: api.job(first)["result"] == "hello you")

    (tmp_path / "jobs.py").write_text("this is no code")
    wait_for(lambda: "the worker cannot start; waiting for a change" in worker.output)
    (tmp_path / "jobs.py").write_text(textwrap.dedent(CODE.replace("hello", "goodbye")))
    wait_for(lambda: worker.output.count(" ready: ") == 2)

    second = api.enqueue("greet", {"name": "you"})
    wait_for(lambda: api.job(second)["result"] == "goodbye you")
    assert worker.stop() == 0


def _children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return sorted(int(child) for children in tasks for child in children.read_text().split())
