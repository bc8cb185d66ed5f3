"""`queuectl --server`: the same commands, with the jobs at a real server, and workers that run its commands here."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from rookery.queuectl.jobs import COLUMNS
from tests.cli.conftest import clean_environment
from tests.conftest import Api, ServerProcess, wait_for
from tests.queuectl.crew import is_alive, pid_in

NOBODY = "http://127.0.0.1:1"


class Counter:
    """Commands that talk to one server, from one home."""

    def __init__(self, url: str, directory: Path) -> None:
        self.url = url
        self.directory = directory
        self.environment = clean_environment(QUEUECTL_HOME=str(directory / "home"))
        self.processes: list[subprocess.Popen[bytes]] = []

    def run(self, *arguments: str, server: bool = True, **variables: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "rookery.queuectl", *(("--server", self.url) if server else ()), *arguments]
        return subprocess.run(
            command, env={**self.environment, **variables}, capture_output=True, text=True, timeout=60
        )

    def ok(self, *arguments: str, server: bool = True) -> str:
        done = self.run(*arguments, server=server)
        assert done.returncode == 0, done
        return done.stdout

    def refused(self, *arguments: str, code: int) -> str:
        """What a command complains of that prints nothing else."""
        done = self.run(*arguments)
        assert (done.returncode, done.stdout) == (code, ""), done
        assert "Traceback" not in done.stderr
        return done.stderr

    def json(self, *arguments: str) -> Any:
        return json.loads(self.ok(*arguments, "--json"))

    def job(self, job_id: str) -> dict[str, Any]:
        shown: dict[str, Any] = self.json("show", job_id)
        return shown

    def add(self, queue: str, command: str = "true", **fields: Any) -> str:
        return self.ok("enqueue", json.dumps({"command": command, "queue": queue, **fields})).split()[-1]

    def start(self, *flags: str) -> subprocess.Popen[bytes]:
        """Start workers."""
        command = [sys.executable, "-m", "rookery.queuectl", "--server", self.url, "worker", "start", *flags]
        with (self.directory / "output").open("ab") as output:
            process = subprocess.Popen(
                [*command, "--poll-interval", "0.1"], env=self.environment, stdout=output, stderr=output
            )
        self.processes.append(process)
        return process

    def drain(self, queue: str) -> None:
        """Let a worker do all that there is."""
        assert self.start("--queue", queue, "--drain").wait(60) == 0, self.output

    @property
    def output(self) -> str:
        return (self.directory / "output").read_text()

    def close(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                # Killed itself, it would leave its workers to finish what they are at.
                for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGTERM):
                    process.send_signal(number)
            process.wait(45)


@pytest.fixture
def counter(server: ServerProcess, tmp_path: Path) -> Iterator[Counter]:
    counter = Counter(server.url, tmp_path)
    yield counter
    counter.close()


# --- enqueue


def test_a_job_is_an_ordinary_job_of_the_server(counter: Counter, api: Api, queue: str) -> None:
    job_id = counter.add(queue, "echo hi", timeout=5, max_retries=7)

    job = api.job(job_id)
    assert (job["queue"], job["payload"]) == (f"shell.{queue}", {"command": "echo hi", "timeout": 5.0})
    assert (job["max_retries"], job["retry_backoff"], job["retry_base_delay"]) == (7, "exponential", "2s")


@pytest.mark.parametrize(("priority", "kept"), [(-3, 2), (0, 2), (1, 1), (2, 0), (1000, 0)])
def test_priorities_become_the_nearest_of_three(
    counter: Counter, api: Api, queue: str, priority: int, kept: int
) -> None:
    job_id = counter.add(queue, priority=priority)

    assert api.job(job_id)["priority"] == kept
    assert counter.job(job_id)["priority"] == 2 - kept


def test_an_id_that_is_taken_is_refused_and_its_job_left_alone(counter: Counter, queue: str) -> None:
    counter.add(queue, "first", id=queue[-60:])

    assert "already exists" in counter.refused("enqueue", "--id", queue[-60:], "--command", "second", code=1)
    assert counter.job(queue[-60:])["command"] == "first"


@pytest.mark.parametrize("job_id", ["a b", "../x", "ä", "batch"])
def test_an_id_that_a_server_does_not_take_is_bad_input(counter: Counter, job_id: str) -> None:
    assert "id: at a server" in counter.refused("enqueue", "--id", job_id, "--command", "true", code=2)


def test_bad_input_is_refused_before_the_server_hears_of_it(counter: Counter) -> None:
    counter.url = NOBODY

    assert "command: is required" in counter.refused("enqueue", '{"id": "x"}', code=2)


def test_what_the_server_finds_wrong_is_bad_input(counter: Counter) -> None:
    complaint = counter.refused("enqueue", "--command", "true", "--max-retries", str(2**40), code=2)

    assert "max_retries" in complaint


def test_a_known_key_adds_nothing_whatever_its_job_came_to(counter: Counter, queue: str) -> None:
    first = counter.add(queue, "exit 3", idempotency_key=queue, max_retries=1)
    again = counter.ok("enqueue", "--command", "true", "--queue", queue, "--idempotency-key", queue)
    counter.drain(queue)
    after = counter.ok("enqueue", "--command", "true", "--queue", f"{queue}2", "--idempotency-key", queue)

    assert again.split()[-1] == after.split()[-1] == first
    assert counter.job(first)["idempotency_key"] == queue
    assert len(counter.json("list", "--queue", queue)) == 1


def test_a_job_for_later_waits_and_tells_when(counter: Counter, api: Api, queue: str) -> None:
    job_id = counter.add(queue, run_at="2999-01-01T00:00:00Z")

    assert api.job(job_id)["state"] == "scheduled"
    job = counter.job(job_id)
    assert (job["state"], job["next_run_at"], job["run_at"]) == ("pending", *["2999-01-01T00:00:00.000Z"] * 2)


def test_the_settings_of_the_home_count_for_new_jobs(counter: Counter, api: Api, queue: str) -> None:
    counter.ok("config", "set", "max_retries", "9", server=False)
    counter.ok("config", "set", "backoff_base", "1", server=False)
    counter.ok("config", "set", "job_timeout", "12", server=False)

    job = api.job(counter.add(queue))

    assert (job["max_retries"], job["retry_backoff"], job["payload"]["timeout"]) == (9, "fixed", 12.0)
    assert counter.ok("config", "get", "max_retries") == "9\n"


def test_settings_cannot_be_set_at_a_server(counter: Counter) -> None:
    assert "a server has no settings" in counter.refused("config", "set", "max_retries", "4", code=1)


def test_a_home_is_not_made_to_read_the_defaults(counter: Counter, queue: str) -> None:
    assert counter.ok("config", "get", "max_retries") == "3\n"
    counter.add(queue)

    assert not (counter.directory / "home").exists()


def test_the_page_of_a_home_is_not_served_for_a_server(counter: Counter) -> None:
    assert "rookery top" in counter.refused("dashboard", code=1)


# --- list, show, status, metrics


def test_jobs_have_the_same_columns_as_in_a_home(counter: Counter, queue: str) -> None:
    counter.add(queue, "echo 1", id=f"{queue[-60:]}-1")
    counter.add(queue, "echo 2", id=f"{queue[-60:]}-2")

    jobs = counter.json("list", "--queue", queue)

    assert [job["command"] for job in jobs] == ["echo 1", "echo 2"]
    assert tuple(jobs[0]) == COLUMNS
    assert counter.job(jobs[0]["id"]) == jobs[0]
    assert [job["command"] for job in counter.json("list", "--queue", queue, "--limit", "1")] == ["echo 1"]
    assert counter.json("list", "--queue", queue, "--state", "dead") == []
    assert counter.ok("list", "--queue", queue).splitlines()[0].split() == [
        *("id", "state", "attempts", "max_retries", "priority", "next_run_at", "updated_at", "command")
    ]


def test_jobs_of_all_queues_are_listed_by_age(counter: Counter, queue: str) -> None:
    ids = [counter.add(f"{queue}-{name}") for name in ("z", "a", "m")]

    listed = [job["id"] for job in counter.json("list")]

    assert [job_id for job_id in listed if job_id in ids] == ids


def test_jobs_that_are_no_shell_commands_are_not_seen(counter: Counter, api: Api, queue: str) -> None:
    job_id = api.enqueue(queue)

    assert "not found" in counter.refused("show", job_id, code=1)
    assert "not found" in counter.refused("dlq", "retry", job_id, code=1)
    assert job_id not in [job["id"] for job in counter.json("list")]


@pytest.mark.parametrize("arguments", [("show", "nobody"), ("logs", "nobody"), ("dlq", "retry", "nobody")])
def test_a_job_that_is_not_there_is_said_so(counter: Counter, arguments: tuple[str, ...]) -> None:
    assert "job nobody not found" in counter.refused(*arguments, code=1)


def test_status_and_metrics_count_what_the_list_shows(
    start_server: Callable[..., ServerProcess], tmp_path: Path
) -> None:
    server = start_server("--rate-limit-enabled=false")
    counter = Counter(server.url, tmp_path)
    empty = counter.json("status")
    counter.add("a", "exit 3", max_retries=1)
    counter.drain("a")
    counter.add("b")
    counter.add("b", run_at="2999-01-01T00:00:00Z")
    lost = Api(server).enqueue("shell.b", {"command": "true"}, priority="critical")
    api = Api(server)
    assert api.fetch("shell.b", lease_duration=1) is not None
    wait_for(lambda: api.job(lost)["state"] == "pending")

    status = counter.json("status")

    assert empty["jobs"] == dict.fromkeys(("pending", "processing", "completed", "failed", "dead"), 0)
    assert status["jobs"] == {"pending": 2, "processing": 0, "completed": 0, "failed": 1, "dead": 1}
    assert counter.job(lost)["state"] == "failed"
    assert [job["id"] for job in counter.json("list", "--state", "failed")] == [lost]
    assert len(counter.json("list", "--state", "pending")) == 2
    text = counter.ok("metrics")
    assert 'queuectl_jobs{state="dead",queue="a"} 1' in text
    assert 'queuectl_jobs{state="failed",queue="b"} 1' in text
    assert counter.json("metrics")["queuectl_jobs"]["b"]["pending"] == 2


# --- workers


def test_a_worker_runs_commands_and_tells_how_they_went(counter: Counter, api: Api, queue: str) -> None:
    good = counter.add(queue, 'echo "$QUEUECTL_JOB_ID $QUEUECTL_ATTEMPT"; echo oops >&2')
    slow = counter.add(queue, "sleep 60", timeout=0.2, max_retries=1)
    missing = counter.add(queue, "no-such-program-anywhere", max_retries=1)
    counter.drain(queue)

    job = counter.job(good)
    assert (job["state"], job["attempts"], job["exit_code"], job["last_error"]) == ("completed", 0, 0, None)
    result = api.job(good)["result"]
    assert (result["exit_code"], result["stdout_tail"], result["stderr_tail"]) == (0, f"{good} 1\n", "oops\n")
    assert result["duration_ms"] >= 0
    job = counter.job(slow)
    assert (job["state"], job["attempts"], job["exit_code"]) == ("dead", 1, 124)
    assert "timed out" in job["last_error"]
    assert counter.job(missing)["exit_code"] == 127
    lines = counter.ok("logs", good).splitlines()
    assert lines[0].startswith("--- ")
    assert " attempt 1: echo" in lines[0]
    assert (sorted(lines[1:3]), lines[3].split(",")[0]) == (sorted([f"{good} 1", "oops"]), "--- exit code 0")
    assert counter.ok("logs", good, "--tail", "1") == f"{lines[3]}\n"
    assert counter.json("logs", good)["log"] == "\n".join([*lines, ""])


def test_a_failed_command_waits_by_the_base_of_this_home(counter: Counter, api: Api, queue: str) -> None:
    counter.ok("config", "set", "backoff_base", "5000", server=False)
    job_id = counter.add(queue, "echo first; echo boo >&2; exit 3", max_retries=3)
    counter.start("--queue", queue)
    wait_for(lambda: api.job(job_id)["state"] == "retrying")

    job = counter.job(job_id)
    assert (job["state"], job["attempts"], job["last_error"], job["exit_code"]) == ("failed", 1, "boo", 3)
    assert f"{job_id}: exit code 3, " in counter.output
    assert ", attempt 1 of 3, again in 1h23m20s: boo\n" in counter.output
    assert "queuectl: job" not in counter.output
    due, error = api.job(job_id)["scheduled_at"], api.job(job_id)["errors"][0]["created_at"]
    assert due[:14] > error[:14]  # some hour later, not some seconds


def test_dead_jobs_are_listed_and_run_again(counter: Counter, queue: str, tmp_path: Path) -> None:
    job_id = counter.add(queue, f"test -e {tmp_path}/there", max_retries=1)
    other = counter.add(queue, f"test -e {tmp_path}/there", max_retries=1)
    counter.drain(queue)
    assert [job["id"] for job in counter.json("dlq", "list", "--queue", queue)] == [job_id, other]

    assert job_id in counter.ok("dlq", "retry", job_id)
    job = counter.job(job_id)
    assert (job["state"], job["attempts"], job["last_error"]) == ("pending", 0, None)
    assert "is not dead but pending" in counter.refused("dlq", "retry", job_id, code=1)
    assert other in counter.ok("dlq", "retry", "--all", "--queue", queue)
    (tmp_path / "there").touch()
    counter.drain(queue)

    assert [job["state"] for job in counter.json("list", "--queue", queue)] == ["completed"] * 2


def test_a_job_without_a_command_is_dead_and_told_like_all_others(counter: Counter, api: Api, queue: str) -> None:
    job_id = api.enqueue(f"shell.{queue}", {"command": " "})
    counter.drain(queue)

    assert api.job(job_id)["errors"][0]["error"] == "`command` must be text that is not blank"
    assert f"{job_id}: not run, attempt 1 of 3, dead: `command` must be text that is not blank\n" in counter.output


def test_a_worker_makes_a_home_for_its_owner_alone(counter: Counter, queue: str) -> None:
    counter.environment["QUEUECTL_HOME"] = str(counter.directory / "deep" / "home")
    counter.drain(queue)

    assert (counter.directory / "deep" / "home").stat().st_mode & 0o777 == 0o700


def test_stopping_when_nobody_works_is_fine(counter: Counter) -> None:
    told = counter.ok("worker", "stop", "--wait")

    assert told.startswith(f"No worker that was started from {counter.directory}/home for {counter.url} is running.")


def test_workers_of_all_queues_find_those_that_come_later(counter: Counter, api: Api, queue: str) -> None:
    counter.start()
    wait_for(lambda: "started" in counter.output)

    job_id = counter.add(f"{queue}-new", "true")

    wait_for(lambda: api.job(job_id)["state"] == "completed")


def test_a_worker_is_shown_and_stopped_with_its_job_finished(
    counter: Counter, api: Api, queue: str, tmp_path: Path
) -> None:
    job_id = counter.add(queue, f"touch {tmp_path}/began; while [ ! -e {tmp_path}/go ]; do sleep 0.05; done")
    process = counter.start("--queue", queue)
    wait_for((tmp_path / "began").exists)

    workers = [worker for worker in counter.json("status")["workers"] if worker["job_id"] == job_id]
    assert len(workers) == 1
    assert workers[0]["worker_id"].startswith("w-")
    assert is_alive(workers[0]["pid"])
    for _ in range(2):  # said twice, it kills nothing either
        assert "Told to stop: 1 worker of" in counter.ok("worker", "stop")
    impatient = counter.run("worker", "stop", "--wait", "--timeout", "0.1")
    assert impatient.returncode == 1
    assert workers[0]["worker_id"] in impatient.stderr
    (tmp_path / "go").touch()
    counter.ok("worker", "stop", "--wait", "--timeout", "30")

    assert process.wait(45) == 0
    assert api.job(job_id)["state"] == "completed"
    assert workers[0]["worker_id"] not in [worker["worker_id"] for worker in counter.json("status")["workers"]]


def test_a_second_signal_kills_the_command_and_gives_the_job_back(
    counter: Counter, api: Api, queue: str, tmp_path: Path
) -> None:
    job_id = counter.add(queue, f"echo $$ > {tmp_path}/pid; sleep 600 & wait")
    process = counter.start("--queue", queue)
    pid = wait_for(pid_in(tmp_path / "pid"))
    process.send_signal(signal.SIGTERM)
    wait_for(lambda: "once more to kill" in counter.output)
    assert is_alive(pid)
    process.send_signal(signal.SIGTERM)

    assert process.wait(45) == 0, counter.output
    job = api.job(job_id)
    assert (job["state"], job["attempt"], job["errors"]) == ("pending", 0, [])
    assert not is_alive(pid)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1])
def test_a_signal_that_comes_with_a_workers_last_word_is_no_death(counter: Counter, queue: str, number: int) -> None:
    program = f"""
import os
from rookery.queuectl.__main__ import run
from rookery.queuectl.remote import working

def report(text):
    if text.endswith(" ended"):
        os.kill(os.getpid(), {int(number)})

working.report = report
run()
"""
    command = [sys.executable, "-c", program, "--server", counter.url, "worker", "start", "--queue", queue, "--drain"]
    done = subprocess.run(command, env=counter.environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_a_cancelled_job_is_stopped_where_it_runs(counter: Counter, api: Api, queue: str, tmp_path: Path) -> None:
    job_id = counter.add(queue, f"echo $$ > {tmp_path}/pid; sleep 600")
    counter.start("--queue", queue)
    pid = wait_for(pid_in(tmp_path / "pid"))

    assert api.post(f"/jobs/{job_id}/cancel").status_code == 200

    wait_for(lambda: not is_alive(pid), 40)
    assert counter.job(job_id)["state"] == "dead"


def test_several_workers_run_each_job_once(counter: Counter, queue: str, tmp_path: Path) -> None:
    jobs = [{"command": f"echo {n} >> {tmp_path}/ran"} for n in range(60)]
    body = {"jobs": [{"queue": f"shell.{queue}", "payload": job} for job in jobs]}
    assert httpx.post(f"{counter.url}/api/v1/enqueue/batch", json=body).status_code == 201
    assert counter.start("--queue", queue, "--drain", "--count", "4").wait(60) == 0, counter.output

    assert sorted(map(int, (tmp_path / "ran").read_text().split())) == list(range(60))


def test_it_says_that_it_runs_whatever_is_there(counter: Counter, queue: str) -> None:
    counter.add(queue)
    counter.drain(queue)

    assert f"run whatever commands are in the queues shell.{queue}" in counter.output


def test_commands_do_not_see_the_key_of_the_worker(counter: Counter, queue: str) -> None:
    counter.environment["ROOKERY_API_KEY"] = "rk_something"
    job_id = counter.add(queue, 'echo "key=$ROOKERY_API_KEY home=$QUEUECTL_HOME"')
    counter.drain(queue)

    assert f"key= home={counter.directory}/home" in counter.ok("logs", job_id)


def test_a_flood_of_output_is_cut_in_the_log(counter: Counter, api: Api, queue: str) -> None:
    job_id = counter.add(queue, "yes | head -n 100000; printf end")
    counter.drain(queue)

    lines = counter.ok("logs", job_id).splitlines()
    assert lines[-2] == "--- the rest of the output is not kept"
    assert len(lines) == 2003
    assert api.job(job_id)["result"]["stdout_tail"].endswith("y\nend")


# --- the server itself


@pytest.mark.parametrize(
    "arguments",
    [
        ("enqueue", "--command", "true"),
        ("list",),
        ("status",),
        ("dlq", "list"),
        ("metrics",),
        ("show", "x"),
        ("worker", "start"),
    ],
)
def test_a_server_that_is_not_there_is_said_so(counter: Counter, arguments: tuple[str, ...]) -> None:
    counter.url = NOBODY

    assert f"cannot reach {NOBODY}" in counter.refused(*arguments, code=1)


def test_a_wrong_key_is_refused(start_server: Callable[..., ServerProcess], tmp_path: Path) -> None:
    server = start_server("--admin-password", "secret-of-tests")
    counter = Counter(server.url, tmp_path)

    for arguments in (("list",), ("enqueue", "--command", "true"), ("worker", "start")):
        assert "does not let you in" in counter.refused("--api-key", "wrong", *arguments, code=1)
    done = counter.run("enqueue", "--command", "true", ROOKERY_API_KEY="secret-of-tests")
    assert done.returncode == 0, done


def test_a_url_that_is_none_is_bad_usage(counter: Counter) -> None:
    counter.url = "ftp://example.com"

    assert "is not the URL of a server" in counter.refused("list", code=2)


def test_the_server_may_be_named_by_the_environment(counter: Counter, api: Api, queue: str) -> None:
    done = counter.run("enqueue", "--command", "true", "--queue", queue, server=False, QUEUECTL_SERVER=counter.url)
    elsewhere = counter.run("enqueue", "--command", "true", server=False, ROOKERY_URL=NOBODY)

    assert api.job(done.stdout.split()[-1])["queue"] == f"shell.{queue}"
    assert elsewhere.returncode == 0  # a server that other programs use is not meant
    assert os.path.exists(counter.directory / "home/queue.db")
