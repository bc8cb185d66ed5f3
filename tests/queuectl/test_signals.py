"""Signals to the parent, to a worker, and to all of a terminal."""

import os
import signal
import subprocess
import sys

import pytest

from tests.conftest import wait_for
from tests.queuectl.crew import Crew, crew, is_alive, pid_in

__all__ = ["crew"]


def start_long_job(crew: Crew, *flags: str) -> tuple[subprocess.Popen[bytes], int]:
    """Workers with a job that ends when the file `go` is there; the parent, and the command's pid."""
    script = f"echo $$ > {crew.directory}/pid; until [ -e {crew.directory}/go ]; do sleep 0.05; done"
    crew.enqueue(script, id="long")
    process = crew.start(*flags)
    return process, wait_for(pid_in(crew.directory / "pid"), alive=process)


def told_to_wait(crew: Crew) -> bool:
    return "waiting for running jobs" in crew.output


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_signal_lets_jobs_finish(crew: Crew, number: int) -> None:
    process, command = start_long_job(crew, "--count", "2")
    waiting = crew.enqueue("sleep 0; true", priority=-1, queue="later", run_at=None)
    crew.wait(waiting, "completed")
    process.send_signal(number)
    wait_for(lambda: told_to_wait(crew))
    wait_for(lambda: len(crew.worker_pids()) == 1)
    untouched = crew.enqueue("true")
    assert is_alive(command)

    (crew.directory / "go").touch()
    assert process.wait(45) == 0
    assert crew.job("long")["state"] == "completed"
    assert crew.job(untouched)["state"] == "pending"
    assert crew.worker_pids() == []
    assert dict(crew.home.reader().execute("SELECT key, value FROM config"))["shutdown"] == "false"


def test_ctrl_c_in_a_terminal_reaches_workers_as_well_and_still_lets_jobs_finish(crew: Crew) -> None:
    process, command = start_long_job(crew, "--count", "2")
    os.killpg(process.pid, signal.SIGINT)
    wait_for(lambda: told_to_wait(crew))
    assert is_alive(command)

    (crew.directory / "go").touch()
    assert process.wait(45) == 0
    assert crew.job("long")["state"] == "completed"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_comes_when_all_workers_have_ended_changes_nothing(number: int) -> None:
    program = f"""
import os, sys
from rookery.queuectl.pool import Pool
code = Pool(lambda parent: None, 2).run()
os.kill(os.getpid(), {int(number)})
sys.exit(code)
"""
    assert subprocess.run([sys.executable, "-c", program], timeout=60).returncode == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_second_signal_kills_jobs_and_they_go_back(crew: Crew, number: int) -> None:
    process, command = start_long_job(crew, "--count", "2")
    process.send_signal(number)
    wait_for(lambda: told_to_wait(crew))
    process.send_signal(number)

    assert process.wait(45) == 0
    assert not is_alive(command)
    job = crew.job("long")
    assert (job["state"], job["attempts"], job["worker_id"]) == ("failed", 0, None)
    assert job["next_run_at"] <= job["updated_at"]
    assert crew.worker_pids() == []
    assert "--- stopped, " in crew.log("long")
    assert crew.tally("runs") == {}
    (crew.directory / "go").touch()
    crew.drain()
    assert crew.job("long")["state"] == "completed"


def test_a_job_that_does_not_listen_is_killed_by_the_third_signal(crew: Crew) -> None:
    crew.set(kill_grace=600)
    crew.enqueue(f"trap '' TERM; echo $$ > {crew.directory}/pid; while :; do sleep 0.1; done", id="deaf")
    process = crew.start()
    command = wait_for(pid_in(crew.directory / "pid"))
    process.send_signal(signal.SIGINT)
    wait_for(lambda: told_to_wait(crew))
    process.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.5)
    process.send_signal(signal.SIGINT)

    assert process.wait(45) == 0
    assert not is_alive(command)


def test_sigterm_to_one_worker_ends_only_that_one_after_its_job(crew: Crew) -> None:
    process, _ = start_long_job(crew)
    [worker] = crew.worker_pids()
    os.kill(worker, signal.SIGTERM)
    os.kill(worker, signal.SIGTERM)
    (crew.directory / "go").touch()

    assert process.wait(45) == 0
    assert crew.job("long")["state"] == "completed"


def test_a_worker_that_is_killed_is_replaced(crew: Crew) -> None:
    process = crew.start()
    [worker] = wait_for(crew.worker_pids)
    os.kill(worker, signal.SIGKILL)
    wait_for(lambda: crew.worker_pids() not in ([], [worker]))

    assert f"pid {worker} was killed by signal 9; starting another" in crew.output
    process.send_signal(signal.SIGINT)
    assert process.wait(45) == 0


def test_workers_that_keep_dying_are_given_up(crew: Crew) -> None:
    process = crew.start()
    killed: set[int] = set()

    def kill_the_next() -> bool:
        for pid in crew.worker_pids():
            if pid not in killed and is_alive(pid):
                os.kill(pid, signal.SIGKILL)
                killed.add(pid)
        return process.poll() is not None

    wait_for(kill_the_next, timeout=60)
    assert process.returncode == 1
    assert len(killed) == 20


def test_a_job_that_kills_its_workers_dies_before_they_are_given_up(crew: Crew) -> None:
    killer = crew.enqueue("kill -9 $PPID; sleep 30", max_retries=1, priority=1)
    other = crew.enqueue("true")
    crew.drain()

    assert (crew.job(killer)["state"], crew.job(killer)["attempts"]) == ("dead", 1)
    assert crew.job(other)["state"] == "completed"


def test_a_worker_whose_parent_is_gone_finishes_its_job_and_ends(crew: Crew) -> None:
    process, command = start_long_job(crew)
    [worker] = crew.worker_pids()
    process.kill()
    process.wait()
    waiting = crew.enqueue("true")
    assert is_alive(command)

    (crew.directory / "go").touch()
    wait_for(lambda: not is_alive(worker))
    assert crew.job("long")["state"] == "completed"
    assert crew.job(waiting)["state"] == "pending"
    assert crew.worker_pids() == []


def test_an_idle_worker_whose_parent_is_gone_ends(crew: Crew) -> None:
    process = crew.start("--poll-interval", "600")
    [worker] = wait_for(crew.worker_pids)
    process.kill()
    process.wait()

    wait_for(lambda: not is_alive(worker))
    assert crew.worker_pids() == []


def test_an_idle_worker_does_not_sleep_through_a_signal(crew: Crew) -> None:
    process = crew.start("--poll-interval", "600")
    wait_for(crew.worker_pids)
    process.send_signal(signal.SIGTERM)

    assert process.wait(45) == 0
