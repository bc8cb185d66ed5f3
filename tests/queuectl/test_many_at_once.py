"""Any number of processes on one home: nobody hears of a lock, nothing is lost, nobody starves."""

import multiprocessing
import os
import sqlite3
import sys
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import pytest

from rookery.engine.ops import Ack, Claim, Claimed, Completion, SaveSetting, Tick
from rookery.queuectl.commands import main
from rookery.queuectl.home import Home
from tests.conftest import wait_for
from tests.queuectl.desk import Desk

FORK = multiprocessing.get_context("fork")


def run_together(count: int, target: Any, *arguments: Any, timeout: float = 300) -> None:
    """Run so many processes that begin at the same moment; all must end well."""
    barrier = FORK.Barrier(count)
    processes = [FORK.Process(target=target, args=(n, barrier, *arguments)) for n in range(count)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(timeout)
    assert {process.exitcode for process in processes} == {0}


def enqueue_one(n: int, barrier: Barrier, home: Path, output: Path) -> None:
    """What `queuectl enqueue` does, without the time that it takes to load."""
    os.environ["QUEUECTL_HOME"] = str(home)
    barrier.wait()
    with (output / str(n)).open("w") as file:
        sys.stdout = sys.stderr = file
        main(["enqueue", "--id", f"job-{n}", "--command", "true"], standalone_mode=False)


def check(home: Path, output: Path, count: int) -> None:
    assert sorted(path.read_text() for path in output.iterdir()) == sorted(f"Enqueued job-{n}\n" for n in range(count))
    db = sqlite3.connect(home / "queue.db")
    assert db.execute("SELECT count(*), count(DISTINCT id) FROM jobs").fetchone() == (count, count)
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()
    assert not list(home.glob("*.new*"))


def test_two_hundred_processes_enqueue_into_a_home_that_is_not_there_yet(tmp_path: Path) -> None:
    home, output = tmp_path / "home", tmp_path / "output"
    output.mkdir()

    run_together(200, enqueue_one, home, output)

    check(home, output, 200)


def work(n: int, barrier: Barrier, home_path: Path, total: int) -> None:
    """Take and finish jobs until all are done."""
    barrier.wait()
    with Home(home_path) as home:
        done = 0
        while done < total:
            _, claimed = home.apply(Tick(), Claim(queues=("shell.default",), count=3, worker_id=f"w-{n}"))
            assert isinstance(claimed, Claimed)
            if claimed.jobs:
                home.apply(Ack(items=[Completion(job.job_id, job.lease) for job in claimed.jobs]))
            done = home.reader().execute("SELECT count(*) FROM jobs WHERE state = 'completed'").get


def enqueue_some(n: int, barrier: Barrier, home_path: Path, each: int) -> None:
    from rookery.queuectl.home import now_ms
    from rookery.queuectl.jobs import JobRequest, enqueue_operation

    barrier.wait()
    with Home(home_path) as home:
        for i in range(each):
            home.apply(enqueue_operation(JobRequest(id=f"{n}-{i}", command="true", max_retries=1), 2, now_ms()))


def both(n: int, barrier: Barrier, home_path: Path, each: int, producers: int) -> None:
    if n < producers:
        enqueue_some(n, barrier, home_path, each)
    else:
        work(n, barrier, home_path, each * producers)


def test_jobs_are_added_while_workers_take_them_and_none_is_lost(tmp_path: Path) -> None:
    run_together(16, both, tmp_path / "home", 40, 8)

    with Home(tmp_path / "home") as home:
        found = home.reader().execute("SELECT state, attempts, count(*) FROM jobs GROUP BY 1, 2").fetchall()
        starts = home.reader().execute("SELECT count(*) FROM event WHERE type = 'started'").get
    assert (found, starts) == ([("completed", 0, 320)], 320)


def change_settings(n: int, barrier: Barrier, home_path: Path) -> None:
    barrier.wait()
    with Home(home_path) as home:
        for _ in range(20):
            home.apply(SaveSetting(key="max_retries", value=str(n)), SaveSetting(key="kill_grace", value=str(n)))
            settings = home.settings()
            assert settings.max_retries == settings.kill_grace


def test_what_is_written_together_is_seen_together(tmp_path: Path) -> None:
    run_together(8, change_settings, tmp_path / "home")


def test_a_home_that_somebody_locks_for_a_while_is_waited_for(desk: Desk) -> None:
    desk.add()
    db = sqlite3.connect(desk.home.database, isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    waiting = [desk.start("enqueue", "--id", f"x{n}", "--command", "true") for n in range(3)]
    assert len(desk.json("list")) == 1, "reading waits for nobody"
    assert all(process.poll() is None for process in waiting)
    db.execute("COMMIT")
    db.close()

    for process in waiting:
        printed, complaint = process.communicate(timeout=60)
        assert (process.returncode, complaint) == (0, "")
        assert printed.startswith("Enqueued")


def test_commands_enqueue_while_real_workers_run_and_every_job_runs_once(desk: Desk, tmp_path: Path) -> None:
    workers = desk.start("worker", "start", "--count", "3", "--poll-interval", "0.05")
    witness = tmp_path / "witness"
    commands = [desk.start("enqueue", "--id", f"x{n}", "--command", f"echo {n} >> {witness}") for n in range(30)]
    for n, process in enumerate(commands):
        assert process.communicate(timeout=120) == (f"Enqueued x{n}\n", "")
    wait_for(lambda: desk.json("status")["jobs"]["completed"] == 30, timeout=60)
    desk.ok("stop")
    workers.communicate(timeout=60)

    assert workers.returncode == 0
    assert sorted(map(int, witness.read_text().split())) == list(range(30))


@pytest.mark.skipif("not config.getoption('--long')", reason="takes minutes")
def test_a_thousand_commands_enqueue_into_a_home_that_is_not_there_yet(desk: Desk) -> None:
    processes = [desk.start("enqueue", "--id", f"job-{n}", "--command", "true") for n in range(1000)]
    for n, process in enumerate(processes):
        assert process.communicate(timeout=900) == (f"Enqueued job-{n}\n", "")
        assert process.returncode == 0

    assert desk.json("status")["jobs"]["pending"] == 1000
