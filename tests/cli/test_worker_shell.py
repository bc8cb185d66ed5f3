"""`rookery worker --shell`: shell commands of the queues that are named, and of no others."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run, assert_failed
from tests.conftest import Api, ServerProcess, wait_for
from tests.queuectl.crew import is_alive, pid_in
from tests.worker.conftest import WorkerProcess, ended

WARNING = "Whoever can enqueue there can do on this machine whatever this user can."

NO_COMMAND = "`command` must be text that is not blank"


class Shells:
    """Starts such workers."""

    def __init__(self, url: str, directory: Path) -> None:
        self.url, self.directory = url, directory
        self.workers: list[WorkerProcess] = []

    def start(self, queues: str, *flags: str, **variables: str) -> WorkerProcess:
        log = self.directory / f"worker{len(self.workers)}.log"
        worker = WorkerProcess(
            self.url, "--shell", "--queues", queues, *flags, cwd=self.directory, log=log, env=variables
        )
        self.workers.append(worker)
        return worker.wait_ready()


@pytest.fixture
def shells(server: ServerProcess, tmp_path: Path) -> Iterator[Shells]:
    shells = Shells(server.url, tmp_path)
    yield shells
    for worker in shells.workers:
        for _ in range(2):
            if worker.process.poll() is None:
                worker.signal(signal.SIGTERM)
        worker.process.wait(45)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "Missing argument 'MODULE:APP'"),
        (("--shell",), "--shell needs --queues"),
        (("shop:app", "--shell", "--queues", "a"), "leave MODULE:APP out"),
        (("--shell", "--queues", "a", "--check"), "--check is about the code of an app"),
        (("--shell", "--queues", "a", "--reload"), "--reload is about the code of an app"),
    ],
)
def test_what_does_not_go_together_is_refused(rookery: Run, arguments: tuple[str, ...], said: str) -> None:
    assert_failed(rookery("worker", *arguments), said, code=2)


def test_help_warns_of_it(rookery: Run) -> None:
    text = " ".join(rookery("worker", "--help").stdout.split())

    assert "Whoever can enqueue there can then do on this machine whatever this user can." in text


@pytest.mark.parametrize("transport", ["stream", "http"])
def test_commands_are_run_and_their_outcomes_told(shells: Shells, api: Api, queue: str, transport: str) -> None:
    worker = shells.start(f"{queue}.a,{queue}.b", "--transport", transport)
    good = api.enqueue(f"{queue}.a", {"command": "pwd; echo oops >&2"})
    bad = api.enqueue(f"{queue}.b", {"command": "echo boo >&2; exit 3"}, max_retries=1)
    silent = api.enqueue(f"{queue}.b", {"command": "exit 4"}, max_retries=1)
    slow = api.enqueue(f"{queue}.b", {"command": "sleep 60", "timeout": 0.2}, max_retries=1)
    foreign = api.enqueue(f"{queue}.c", {"command": "true"})

    result = ended(api, good)["result"]
    assert (result["exit_code"], result["stdout_tail"]) == (0, f"{shells.directory}\n")
    assert (result["stderr_tail"], type(result["duration_ms"])) == ("oops\n", int)
    job = ended(api, bad)
    assert (job["state"], job["errors"][0]["error"], job["progress"]) == ("dead", "boo", {"exit_code": 3})
    assert ended(api, silent)["errors"][0]["error"] == "exit code 4"
    assert "timed out" in ended(api, slow)["errors"][0]["error"]
    assert api.job(foreign)["state"] == "pending"
    lines = [line["message"] for line in api.get(f"/jobs/{good}/logs").json()["lines"]]
    assert sorted(lines[1:3]) == sorted([str(shells.directory), "oops"])
    assert WARNING in worker.output
    assert worker.stop() == 0


@pytest.mark.parametrize(
    ("payload", "error"),
    [
        *((payload, NO_COMMAND) for payload in ({}, {"command": " "}, {"command": 5}, {"cmd": "true"})),
        *((payload, "the payload must be an object with a `command`") for payload in ([1], "true")),
        ({"command": "true", "timeout": "5"}, "`timeout` must be a number of seconds above 0, or null"),
    ],
)
def test_a_payload_without_a_usable_command_makes_the_job_dead_at_once(
    shell_queue: str, api: Api, payload: Any, error: str
) -> None:
    job = ended(api, api.enqueue(shell_queue, payload, max_retries=5))

    assert (job["state"], len(job["errors"])) == ("dead", 1)
    assert (job["errors"][0]["error"], job["errors"][0].get("backtrace")) == (error, None)


@pytest.fixture(scope="module")
def shell_queue(server: ServerProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A queue whose worker stays for several tests."""
    directory = tmp_path_factory.mktemp("worker")
    worker = WorkerProcess(server.url, "--shell", "--queues", "payloads", cwd=directory, log=directory / "log")
    yield worker.wait_ready() and "payloads"
    assert worker.stop() == 0, worker.output


def test_a_retry_follows_the_jobs_own_backoff(shells: Shells, api: Api, queue: str, tmp_path: Path) -> None:
    shells.start(queue)
    command = f"test -e {tmp_path}/tried || {{ touch {tmp_path}/tried; exit 1; }}"
    job = ended(api, api.enqueue(queue, {"command": command}, retry_backoff="none", max_retries=3))

    assert (job["state"], job["attempt"]) == ("completed", 2)


def test_the_first_signal_waits_for_the_command(shells: Shells, api: Api, queue: str, tmp_path: Path) -> None:
    worker = shells.start(queue)
    job_id = api.enqueue(queue, {"command": f"touch began; while [ ! -e {tmp_path}/go ]; do sleep 0.05; done"})
    wait_for((tmp_path / "began").exists)
    worker.signal(signal.SIGTERM)
    wait_for(lambda: "stopping: 1 job is running" in worker.output)
    (tmp_path / "go").touch()

    assert worker.process.wait(45) == 0
    assert api.job(job_id)["state"] == "completed"


def test_the_second_signal_kills_the_command_and_releases_the_job(
    shells: Shells, api: Api, queue: str, tmp_path: Path
) -> None:
    worker = shells.start(queue)
    job_id = api.enqueue(queue, {"command": f"trap '' TERM; echo $$ > {tmp_path}/pid; sleep 600 & wait; sleep 600"})
    pid = wait_for(pid_in(tmp_path / "pid"))
    worker.signal(signal.SIGTERM)
    wait_for(lambda: "stopping" in worker.output)
    worker.signal(signal.SIGTERM)

    assert worker.process.wait(45) == 128 + signal.SIGTERM
    wait_for(lambda: not is_alive(pid))
    job = wait_for(lambda: (job := api.job(job_id))["state"] == "pending" and job)
    assert (job["attempt"], job["errors"]) == (0, [])


def test_what_takes_longer_than_the_worker_may_wait_is_killed_and_released(
    shells: Shells, api: Api, queue: str, tmp_path: Path
) -> None:
    worker = shells.start(queue, "--shutdown-timeout", "200ms")
    job_id = api.enqueue(queue, {"command": f"echo $$ > {tmp_path}/pid; sleep 600"})
    pid = wait_for(pid_in(tmp_path / "pid"))
    worker.signal(signal.SIGTERM)

    assert worker.process.wait(45) == 3
    assert not is_alive(pid)
    assert (api.job(job_id)["state"], api.job(job_id)["attempt"]) == ("pending", 0)


def test_a_command_keeps_its_lease_while_it_runs(shells: Shells, api: Api, queue: str) -> None:
    shells.start(queue, "--lease", "1s")
    job = ended(api, api.enqueue(queue, {"command": "sleep 2.5"}))

    assert (job["state"], job["attempt"]) == ("completed", 1)
    assert "reclaimed" not in api.events_of(job["id"])


def test_a_cancelled_command_is_stopped(shells: Shells, api: Api, queue: str, tmp_path: Path) -> None:
    shells.start(queue, "--lease", "2s")
    job_id = api.enqueue(queue, {"command": f"echo $$ > {tmp_path}/pid; sleep 600"})
    pid = wait_for(pid_in(tmp_path / "pid"))
    api.post(f"/jobs/{job_id}/cancel")

    wait_for(lambda: not is_alive(pid))
    assert api.job(job_id)["state"] == "cancelled"


def test_several_processes_warn_once_and_keep_their_key_from_commands(shells: Shells, api: Api, queue: str) -> None:
    worker = shells.start(queue, "--processes", "2", "--concurrency", "3", "--api-key", "rk_something")
    jobs = [api.enqueue(queue, {"command": 'echo "key=$ROOKERY_API_KEY"'}) for _ in range(10)]

    assert {ended(api, job_id)["result"]["stdout_tail"] for job_id in jobs} == {"key=\n"}
    assert worker.output.count(WARNING) == 1
    assert worker.stop() == 0


def test_commands_run_beside_each_other_up_to_the_concurrency(
    shells: Shells, api: Api, queue: str, tmp_path: Path
) -> None:
    shells.start(queue, "--concurrency", "12")
    wait = f"touch {tmp_path}/$QUEUECTL_JOB_ID.here; while [ ! -e {tmp_path}/go ]; do sleep 0.05; done"
    jobs = [api.enqueue(queue, {"command": wait}) for _ in range(12)]

    wait_for(lambda: len(list(tmp_path.glob("*.here"))) == 12)
    (tmp_path / "go").touch()
    assert {ended(api, job_id)["state"] for job_id in jobs} == {"completed"}
