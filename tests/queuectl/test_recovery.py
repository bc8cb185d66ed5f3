"""Jobs of workers that are gone go back; those of workers that live stay; nothing runs twice at once."""

import os
import signal
import subprocess
import sys
from typing import Any

import pytest

from rookery.engine.ops import (
    Ack,
    ClaimedJob,
    Completion,
    RegisterWorker,
    Taken,
    TakeNext,
)
from rookery.queuectl import home as home_module
from rookery.queuectl import leftovers, recovery
from rookery.queuectl.processes import own_mark
from tests.conftest import wait_for
from tests.queuectl.crew import Crew, crew, is_alive, pid_in

__all__ = ["crew"]


def register(crew: Crew, worker_id: str, pid: int, mark: str, hostname: str | None = None) -> None:
    crew.home.apply(
        RegisterWorker(worker_id=worker_id, pid=pid, pid_started=mark, hostname=hostname or recovery.own_hostname())
    )


def take(crew: Crew, worker_id: str) -> ClaimedJob:
    taken = crew.home.apply(TakeNext(worker_id=worker_id, prefix="shell.", lease=30_000))[0]
    assert isinstance(taken, Taken)
    assert taken.job is not None
    return taken.job


@pytest.fixture
def dead_pid() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_job_of_a_worker_that_died_is_failed_due_now_and_no_attempt_is_counted(crew: Crew, dead_pid: int) -> None:
    job_id = crew.enqueue("true")
    register(crew, "w-dead", dead_pid, own_mark())
    take(crew, "w-dead")
    recovery.recover(crew.home)
    job = crew.job(job_id)

    assert (job["state"], job["attempts"], job["last_error"], job["worker_id"]) == ("failed", 0, None, None)
    assert job["next_run_at"] <= job["updated_at"]
    assert crew.worker_pids() == []
    crew.drain()
    assert crew.job(job_id)["state"] == "completed"


def test_a_job_whose_worker_nobody_knows_is_given_back(crew: Crew) -> None:
    job_id = crew.enqueue("true")
    take(crew, "w-unknown")
    crew.home.machine().connection.execute("DELETE FROM worker")
    recovery.recover(crew.home)

    assert crew.job(job_id)["state"] == "failed"


def test_a_job_of_a_worker_that_lives_is_never_taken(crew: Crew) -> None:
    job_id = crew.enqueue("true")
    register(crew, "w-alive", os.getpid(), own_mark())
    take(crew, "w-alive")
    recovery.recover(crew.home)
    crew.start("--count", "2")
    wait_for(lambda: len(crew.worker_pids()) == 3)

    crew.wait(crew.enqueue("true"), "completed")
    assert (crew.job(job_id)["state"], crew.job(job_id)["worker_id"]) == ("processing", "w-alive")


def test_a_process_that_has_the_pid_of_a_dead_worker_is_not_taken_for_it(crew: Crew) -> None:
    job_id = crew.enqueue("true")
    register(crew, "w-dead", os.getpid(), "started-long-ago")
    take(crew, "w-dead")
    recovery.recover(crew.home)

    assert crew.job(job_id)["state"] == "failed"


def test_the_pid_of_a_worker_on_another_machine_says_nothing(crew: Crew, dead_pid: int) -> None:
    job_id = crew.enqueue("true")
    register(crew, "w-far", dead_pid, "mark", hostname="elsewhere.example")
    take(crew, "w-far")
    recovery.recover(crew.home)

    assert crew.job(job_id)["state"] == "processing"


def test_a_worker_that_was_not_heard_of_for_30_s_loses_its_job_and_cannot_end_it_any_more(
    crew: Crew, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = crew.enqueue("true")
    register(crew, "w-stopped", os.getpid(), own_mark())
    held = take(crew, "w-stopped")
    later = home_module.now_ms() + 30_002
    monkeypatch.setattr(home_module, "now_ms", lambda: later)
    monkeypatch.setattr(recovery, "now_ms", lambda: later)
    recovery.recover(crew.home)
    assert (crew.job(job_id)["state"], crew.job(job_id)["attempts"]) == ("failed", 0)

    refused: Any = crew.home.apply(Ack(items=[Completion(job_id, lease=held.lease)]))[0]
    assert refused.outcomes[0].kind == "lease_lost"
    assert crew.job(job_id)["state"] == "failed"


def test_five_recoveries_in_a_row_are_a_failure(crew: Crew, dead_pid: int) -> None:
    crew.set(backoff_base=60)
    job_id = crew.enqueue("true", max_retries=2)
    for n in range(5):
        assert crew.job(job_id)["attempts"] == 0
        register(crew, f"w-{n}", dead_pid, "mark")
        take(crew, f"w-{n}")
        recovery.recover(crew.home)
    job = crew.job(job_id)

    assert (job["state"], job["attempts"]) == ("failed", 1)
    assert "5 times" in job["last_error"]
    due, failed = crew.home.reader().execute("SELECT scheduled_at, failed_at FROM job").fetchone()
    assert due - failed == 60_000


def test_nothing_to_recover_is_nothing_to_write(crew: Crew) -> None:
    crew.enqueue("true")
    before = crew.home.machine().connection.total_changes()
    recovery.recover(crew.home)

    assert crew.home.machine().connection.total_changes() == before


# --- what a lost run leaves behind


def test_a_command_whose_worker_was_killed_is_ended_before_it_is_run_again(crew: Crew) -> None:
    pids = crew.directory / "pids"
    job_id = crew.enqueue(f"echo $$ >> {pids}; [ $(wc -l < {pids}) -gt 1 ] || sleep 600")
    process = crew.start()
    orphan = wait_for(pid_in(pids))
    [worker] = crew.worker_pids()
    process.kill()
    os.kill(worker, signal.SIGKILL)
    wait_for(lambda: not is_alive(worker))
    assert is_alive(orphan)

    crew.drain()
    assert not is_alive(orphan)
    assert (crew.job(job_id)["state"], crew.job(job_id)["attempts"]) == ("completed", 0)
    assert crew.log(job_id).count(" attempt 1: ") == 2


def test_only_what_has_the_mark_of_the_lost_run_and_stayed_in_its_session_is_killed(crew: Crew) -> None:
    crew.home.machine()

    def sleeper(job_id: str, attempt: int, script: str = "sleep 600") -> subprocess.Popen[bytes]:
        environment = {**os.environ, leftovers.MARK: leftovers.mark(crew.home, job_id, attempt)}
        return subprocess.Popen(["/bin/sh", "-c", script], env=environment, start_new_session=True)

    detached_pid = crew.directory / "detached"
    lost = sleeper("a", 2, f"setsid sh -c 'echo $$ > {detached_pid}; exec sleep 600' & sleep 600; sleep 1")
    others = [sleeper("a", 1), sleeper("b", 2)]
    unmarked = subprocess.Popen(["sleep", "600"])
    detached = wait_for(pid_in(detached_pid))
    try:
        leftovers.end(crew.home, "a", 2)
        assert lost.wait(45) == -signal.SIGKILL
        assert is_alive(detached)
        assert [process.poll() for process in (*others, unmarked)] == [None] * 3
    finally:
        os.kill(detached, signal.SIGKILL)
        for process in others:
            os.killpg(process.pid, signal.SIGKILL)
        unmarked.kill()
        for process in (*others, unmarked):
            process.wait()


def test_a_lost_run_cannot_escape_by_starting_others(crew: Crew) -> None:
    crew.home.machine()
    environment = {**os.environ, leftovers.MARK: leftovers.mark(crew.home, "a", 1)}
    breeding = "while :; do sleep 600 & sleep 0.002; done"
    lost = subprocess.Popen(["/bin/sh", "-c", breeding], env=environment, start_new_session=True)
    wait_for(lambda: len(session_of(lost.pid)) > 20)
    leftovers.end(crew.home, "a", 1)

    assert lost.wait(45) == -signal.SIGKILL
    assert session_of(lost.pid) == []


def session_of(pid: int) -> list[int]:
    """The processes in the session of that process."""
    listed = subprocess.run(["ps", "-o", "pid=,stat=", "-s", str(pid)], capture_output=True, text=True).stdout
    return [int(line.split()[0]) for line in listed.splitlines() if not line.split()[1].startswith("Z")]


def test_a_worker_that_was_stopped_and_has_lost_its_job_ends_the_command_when_it_wakes(crew: Crew) -> None:
    """The lease is made to run out in the store instead of waiting for it."""
    pids = crew.directory / "pids"
    job_id = crew.enqueue(f"echo $$ > {pids}; sleep 600")
    process = crew.start()
    command = wait_for(pid_in(pids))
    connection = crew.home.machine().connection
    connection.execute("UPDATE job SET lease = lease + 1")

    wait_for(lambda: not is_alive(command))
    wait_for(lambda: "stopping it here" in crew.output)
    assert process.poll() is None
    assert crew.job(job_id)["state"] == "processing", "another's claim was touched"
    assert crew.tally("runs") == {}


def test_a_stopped_worker_whose_job_was_run_elsewhere_changes_nothing_when_it_goes_on(crew: Crew) -> None:
    pids = crew.directory / "pids"
    job_id = crew.enqueue(f"echo $$ >> {pids}; [ $(wc -l < {pids}) -gt 1 ] || sleep 600")
    crew.start()
    first = wait_for(pid_in(pids))
    [worker] = crew.worker_pids()
    os.kill(worker, signal.SIGSTOP)
    try:
        # Instead of waiting for half a minute.
        crew.home.machine().connection.execute("UPDATE job SET lease_until = 1")
        crew.start()
        crew.wait(job_id, "completed")
        assert not is_alive(first)
    finally:
        os.kill(worker, signal.SIGCONT)

    wait_for(lambda: "how this run ended does not count" in crew.output)
    assert (crew.job(job_id)["state"], crew.job(job_id)["attempts"]) == ("completed", 0)
    assert crew.tally("runs") == {"success": 1}
    crew.wait(crew.enqueue("true"), "completed")
