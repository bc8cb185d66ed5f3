"""`queuectl worker start` and `stop`: processes, order, queues, waiting, draining, stopping."""

import os
import re
import subprocess
import time
from pathlib import Path

import apsw
import pytest

from rookery.engine.ops import AnyOperation, Result, SaveSetting
from rookery.model.instants import parse_instant
from rookery.queuectl import working
from rookery.queuectl.home import Home, HomeError, now_ms
from tests.conftest import wait_for
from tests.queuectl.crew import Crew, crew, is_alive

__all__ = ["crew"]


def lines(crew: Crew, name: str = "ran") -> list[str]:
    path: Path = crew.directory / name
    return path.read_text().split() if path.exists() else []


@pytest.mark.parametrize(
    "flags",
    [
        ["--count", "0"],
        ["--count", "many"],
        ["--poll-interval", "0"],
        ["--poll-interval", "nan"],
        ["--poll-interval", "-1"],
        ["--queue", "no/slash"],
        ["--queue", "a,,b"],
        ["--queue", ""],
    ],
)
def test_bad_flags_are_refused(crew: Crew, flags: list[str]) -> None:
    run = crew.run("worker", "start", *flags)

    assert run.returncode == 2
    assert flags[0] in run.stderr


def test_each_worker_is_a_process_with_a_row_while_it_runs(crew: Crew) -> None:
    process = crew.start("--count", "3")
    pids = wait_for(lambda: len(crew.worker_pids()) == 3 and crew.worker_pids())

    assert len(set(pids)) == 3
    assert process.pid not in pids
    assert all(is_alive(pid) for pid in pids)
    ids = [row[0] for row in crew.home.reader().execute("SELECT id FROM workers")]
    assert all(re.fullmatch(r"w-[0-9a-f]{8}", worker_id) for worker_id in ids)

    assert crew.run("worker", "stop", "--wait").returncode == 0
    assert process.wait(45) == 0
    assert crew.worker_pids() == []


def test_jobs_run_by_priority_then_due_time_then_age(crew: Crew) -> None:
    note = f"echo {{}} >> {crew.directory}/ran"
    now = now_ms()
    crew.enqueue(note.format("third"))
    crew.enqueue(note.format("last"), priority=-5)
    crew.enqueue(note.format("first"), priority=10, queue="other")
    crew.enqueue(note.format("second"), run_at=now - 60_000, priority=1)
    crew.enqueue(note.format("fourth"))
    crew.drain()

    assert lines(crew) == ["first", "second", "third", "fourth", "last"]


def test_a_worker_of_named_queues_leaves_the_others_alone(crew: Crew) -> None:
    crew.enqueue("true", id="a", queue="a")
    crew.enqueue("true", id="b", queue="b")
    crew.enqueue("true", id="c", queue="c")
    crew.drain("--queue", "a,b", "--queue", "nobody-has-used-this")

    assert [crew.job(name)["state"] for name in "abc"] == ["completed", "completed", "pending"]


def test_a_worker_of_all_queues_serves_those_that_come_later(crew: Crew) -> None:
    crew.start()
    wait_for(crew.worker_pids)
    job_id = crew.enqueue("true", queue="brand.new")

    crew.wait(job_id, "completed")


def test_a_job_is_shown_with_its_worker_while_it_runs(crew: Crew) -> None:
    job_id = crew.enqueue("sleep 60")
    crew.start()
    job = crew.wait(job_id, "processing")

    ids = [row[0] for row in crew.home.reader().execute("SELECT id FROM workers")]
    assert [job["worker_id"]] == ids
    assert job["attempts"] == 0


def test_draining_waits_for_retries_and_for_what_is_due_later(crew: Crew) -> None:
    crew.set(backoff_base=0.3)
    later = crew.enqueue("true", run_at=now_ms() + 800)
    crew.enqueue(f"test -e {crew.directory}/tried || {{ touch {crew.directory}/tried; exit 1; }}", id="flaky")
    started = now_ms()
    crew.drain("--count", "2", "--poll-interval", "30")

    assert crew.states() == {"completed": 2}
    assert crew.job("flaky")["attempts"] == 1
    assert now_ms() - started < 25_000, "the poll interval was slept through although something was due"
    assert crew.job(later)["started_at"] >= crew.job(later)["run_at"]


def test_draining_an_empty_home_ends_at_once(crew: Crew) -> None:
    crew.drain("--count", "2")

    assert crew.worker_pids() == []


def test_draining_waits_for_what_others_run(crew: Crew) -> None:
    job_id = crew.enqueue(f"until [ -e {crew.directory}/go ]; do sleep 0.05; done")
    crew.start()
    crew.wait(job_id, "processing")
    draining = crew.start("--drain")
    wait_for(lambda: len(crew.worker_pids()) == 2)
    time.sleep(0.3)

    assert draining.poll() is None
    (crew.directory / "go").touch()
    assert draining.wait(45) == 0


def test_stopping_lets_jobs_finish_and_takes_no_more(crew: Crew) -> None:
    running = crew.enqueue(f"until [ -e {crew.directory}/go ]; do sleep 0.05; done")
    process = crew.start()
    crew.wait(running, "processing")
    waiting = crew.enqueue("true")
    stop = crew.run("worker", "stop")
    assert (stop.returncode, process.poll()) == (0, None)
    assert stop.stdout

    (crew.directory / "go").touch()
    assert process.wait(45) == 0
    assert crew.job(running)["state"] == "completed"
    assert crew.job(waiting)["state"] == "pending"
    assert dict(crew.home.reader().execute("SELECT key, value FROM config"))["shutdown"] == "true"


def test_stopping_when_nobody_works_is_fine_and_the_next_start_clears_it(crew: Crew) -> None:
    stopped = crew.run("worker", "stop", "--wait")
    assert (stopped.returncode, stopped.stdout) == (
        0,
        "No worker is running. None takes a job until the next `queuectl worker start`.\n",
    )
    assert dict(crew.home.reader().execute("SELECT key, value FROM config"))["shutdown"] == "true"
    crew.enqueue("true")
    crew.drain()

    assert crew.states() == {"completed": 1}


def test_a_line_tells_how_each_run_went_and_when_the_job_comes_again(crew: Crew) -> None:
    crew.set(backoff_base=0)
    crew.enqueue("true", id="good")
    crew.enqueue("printf '\\033[2Jboo\\nmore' >&2; exit 3", id="bad", max_retries=2)
    crew.enqueue("exit 4", id="silent", max_retries=0)
    crew.drain()

    assert re.findall(r"^w-\w+ (\w+: exit .*)$", re.sub(r"\d\.\d{3} s", "_ s", crew.output), re.MULTILINE) == [
        "good: exit code 0, _ s, attempt 1 of 3",
        "bad: exit code 3, _ s, attempt 1 of 2, again at once: \\x1b[2Jboo",
        "silent: exit code 4, _ s, attempt 1 of 1, dead",
        "bad: exit code 3, _ s, attempt 2 of 2, dead: \\x1b[2Jboo",
    ]


def test_waiting_for_the_end_has_a_limit(crew: Crew) -> None:
    crew.enqueue("sleep 60", id="long")
    crew.start()
    crew.wait("long", "processing")
    stop = crew.run("worker", "stop", "--wait", "--timeout", "0.2")

    assert stop.returncode == 1
    assert "still running" in stop.stderr
    assert crew.run("worker", "stop", "--timeout", "1").returncode == 2
    assert crew.run("worker", "stop", "--wait", "--timeout", "nan", timeout=20).returncode == 2


def test_workers_that_were_told_to_stop_do_so_even_if_others_start_at_once(crew: Crew) -> None:
    crew.enqueue(f"until [ -e {crew.directory}/go ]; do sleep 0.05; done", id="long")
    old = crew.start()
    crew.wait("long", "processing")
    crew.run("worker", "stop")
    new = crew.start()
    wait_for(lambda: len(crew.worker_pids()) == 2)
    (crew.directory / "go").touch()

    assert old.wait(45) == 0
    assert new.poll() is None
    crew.wait(crew.enqueue("true"), "completed")


def test_a_pipe_that_nobody_reads_stops_no_worker(crew: Crew) -> None:
    crew.enqueue(*["true"] * 400, max_retries=1)
    long_ids = [crew.enqueue("true", id=f"{n:0120}") for n in range(400)]
    process = subprocess.Popen(
        crew.command("worker", "start", "--drain", "--count", "2"),
        env=crew.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    crew.processes.append(process)
    try:
        assert process.wait(120) == 0
    finally:
        assert process.stdout is not None
        process.stdout.close()
    assert crew.job(long_ids[-1])["state"] == "completed"
    assert crew.states() == {"completed": 800}


def test_runs_are_counted_with_their_durations(crew: Crew) -> None:
    crew.set(backoff_base=0)
    crew.enqueue("true")
    crew.enqueue("sleep 0.2")
    crew.enqueue("false", max_retries=2)
    crew.drain()

    assert crew.tally("runs") == {"success": 2, "failure": 2}
    assert crew.tally("retries") == {"": 1}
    assert sum(crew.tally("duration_class").values()) == 4
    assert crew.tally("duration_seconds")[""] >= 0.2


def test_an_outcome_waits_for_a_store_that_somebody_else_has_locked(crew: Crew) -> None:
    crew.enqueue(f"until [ -e {crew.directory}/go ]; do sleep 0.05; done; touch {crew.directory}/done", id="patient")
    crew.start()
    crew.wait("patient", "processing")
    other = apsw.Connection(str(crew.home.database))
    other.execute("BEGIN IMMEDIATE")
    (crew.directory / "go").touch()
    wait_for((crew.directory / "done").exists)
    time.sleep(0.5)
    assert crew.job("patient")["state"] == "processing"
    other.execute("ROLLBACK")
    other.close()

    crew.wait("patient", "completed")
    assert crew.job("patient")["attempts"] == 0


def test_a_store_that_cannot_be_written_is_tried_again(crew: Crew, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(working, "_FIRST_PAUSE", 0.01)
    errors = [HomeError("the disk is full"), HomeError("the disk is full")]

    class Disk(Home):
        def apply(self, *operations: AnyOperation) -> list[Result]:
            if errors:
                raise errors.pop()
            return super().apply(*operations)

    with Disk(crew.home.path) as home:
        working.Worker(home, working.Wanted(), os.getppid())._commit(SaveSetting(key="max_retries", value="9"))

    assert errors == []
    assert crew.home.settings().max_retries == 9


def test_a_job_that_was_taken_while_the_end_was_told_is_finished(crew: Crew, monkeypatch: pytest.MonkeyPatch) -> None:
    job_id = crew.enqueue("true")
    crew.enqueue("true")
    answers = iter([False])
    monkeypatch.setattr(working.Worker, "_is_to_end", lambda worker: next(answers, True))
    worker = working.Worker(crew.home, working.Wanted(), os.getppid())
    worker._commit(*worker._work())

    assert (crew.job(job_id)["state"], crew.job(job_id)["worker_id"]) == ("completed", None)
    assert crew.states() == {"completed": 1, "pending": 1}


def test_draining_does_not_end_while_more_is_due_than_can_be_looked_at_at_once(crew: Crew) -> None:
    crew.enqueue(*["true"] * 501, run_at=now_ms() + 300, max_retries=1)
    wait_for(lambda: now_ms() > parse_instant(crew.home.reader().execute("SELECT max(next_run_at) FROM jobs").get))
    crew.drain("--count", "2")

    assert crew.states() == {"completed": 501}
