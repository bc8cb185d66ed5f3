"""Workers of `queuectl` and their commands, killed at any moment: each job is completed, none is run twice at once."""

import os
import random
import signal
import time
from collections import Counter

from tests.conftest import wait_for
from tests.queuectl.crew import Crew, crew, is_alive, pid_in

__all__ = ["crew"]


def test_many_workers_run_each_job_exactly_once(crew: Crew, is_long: bool) -> None:
    count = 5000 if is_long else 400
    crew.home.machine()
    for first in range(0, count, 400):
        numbers = range(first, min(first + 400, count))
        crew.enqueue(*[f"echo {n} >> {crew.directory}/ran-$((PPID % 16))" for n in numbers], max_retries=1)
    process = crew.start("--drain", "--count", "8")

    assert process.wait(300) == 0
    ran = Counter(line for path in crew.directory.glob("ran-*") for line in path.read_text().split())
    assert ran == {str(n): 1 for n in range(count)}
    assert crew.states() == {"completed": count}
    assert crew.tally("runs") == {"success": count}
    assert "locked" not in crew.output
    assert "does not count" not in crew.output


def test_two_parents_at_the_same_instant_share_the_jobs(crew: Crew) -> None:
    crew.enqueue(*[f"echo {n} >> {crew.directory}/ran" for n in range(60)], max_retries=1)
    processes = [crew.start("--drain", "--count", "2") for _ in range(3)]

    assert [process.wait(120) for process in processes] == [0, 0, 0]
    assert Counter((crew.directory / "ran").read_text().split()) == {str(n): 1 for n in range(60)}


def test_a_home_can_be_made_by_several_workers_at_once(crew: Crew) -> None:
    processes = [crew.start("--drain") for _ in range(5)]

    assert [process.wait(120) for process in processes] == [0] * 5, crew.output


def test_a_command_that_is_killed_has_failed_and_leaves_nothing_behind(crew: Crew) -> None:
    script = f"sleep 600 & echo $! > {crew.directory}/child; echo $$ > {crew.directory}/pid; wait"
    crew.enqueue(script, id="victim", max_retries=1)
    process = crew.start("--drain")
    os.kill(wait_for(pid_in(crew.directory / "pid")), signal.SIGKILL)

    assert process.wait(60) == 0
    assert not is_alive(int((crew.directory / "child").read_text())), "a retry would have run beside it"
    assert (crew.job("victim")["state"], crew.job("victim")["exit_code"]) == ("dead", 137)


def test_workers_and_parents_that_are_killed_lose_no_job_and_none_runs_twice_at_once(crew: Crew, is_long: bool) -> None:
    """Every run leaves its pid in a file of its job while it lasts: a second run at the same time would find it."""
    count, rounds = (400, 40) if is_long else (60, 8)
    crew.set(backoff_base=0)
    for n in range(count):
        # A run that was killed could not clean up; but then its process is gone.
        script = (
            f"cd {crew.directory}; "
            f"if grep -qs '^State:.[RSD]' /proc/$(cat held-{n} 2>/dev/null)/status; then echo {n} >> twice; fi; "
            f"echo $$ > held-{n}; sleep {int(n % 3 == 0)}.{n % 5}; rm held-{n}; echo {n} >> ran"
        )
        crew.enqueue(script, id=f"job-{n}", max_retries=1, priority=-n)
    chance = random.Random(7)
    parents = [crew.start("--drain", "--count", "3") for _ in range(2)]
    for _ in range(rounds):
        time.sleep(chance.uniform(0.05, 0.4))
        alive = [process for process in parents if process.poll() is None]
        workers = [pid for pid in crew.worker_pids() if is_alive(pid)]
        if alive and chance.random() < 0.4:
            victim = chance.choice(alive)
            victim.kill()
            victim.wait()
        elif workers:
            os.kill(chance.choice(workers), signal.SIGKILL)
        while sum(process.poll() is None for process in parents) < 2:
            parents.append(crew.start("--drain", "--count", "3"))
    parents.append(crew.start("--drain", "--count", "3"))

    wait_for(lambda: crew.states().get("completed", 0) == count, timeout=240)
    assert not (crew.directory / "twice").exists()
    ran = Counter((crew.directory / "ran").read_text().split())
    assert set(ran) == {str(n) for n in range(count)}
    assert "locked" not in crew.output
