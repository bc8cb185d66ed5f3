"""`queuectl list`, `show`, `logs` and `status`: what people and programs see of jobs and workers."""

import os
import pty
import subprocess
from pathlib import Path

import pytest

from rookery.engine.ops import RegisterWorker, SeeWorker
from rookery.queuectl.processes import own_mark
from tests.conftest import wait_for
from tests.queuectl.desk import PROGRAM, Desk


def ids(desk: Desk, *flags: str) -> list[str]:
    return [job["id"] for job in desk.json("list", *flags)]


def fill(desk: Desk) -> None:
    """A job in every state, and two queues."""
    desk.add(id="done", priority=9)
    desk.succeed(desk.claim())
    desk.bury("dead")
    desk.add(id="failed", priority=8)
    desk.fail(desk.claim(), wait=3_600_000)
    desk.add(id="again", priority=7)
    desk.fail(desk.claim())
    desk.add(id="lost", priority=6, queue="other")
    desk.lose(desk.claim("other"))
    desk.add(id="running", priority=20)
    desk.claim()
    desk.add(id="waiting")
    desk.add(id="later", run_at="2090-01-01", queue="other")


def test_jobs_are_listed_by_age_and_picked_by_state_and_queue(desk: Desk) -> None:
    fill(desk)

    assert ids(desk) == ["done", "dead", "failed", "again", "lost", "running", "waiting", "later"]
    assert ids(desk, "--limit", "2") == ["done", "dead"]
    assert ids(desk, "--limit", "0") == []
    assert len(ids(desk, "--limit", "9" * 20)) == 8
    assert ids(desk, "--queue", "other") == ["lost", "later"]
    assert ids(desk, "--queue", "none") == []
    by_state = {
        "pending": ["waiting", "later"],
        "processing": ["running"],
        "completed": ["done"],
        "failed": ["failed", "again", "lost"],
        "dead": ["dead"],
    }
    for state, expected in by_state.items():
        assert ids(desk, "--state", state) == expected
        assert {job["state"] for job in desk.json("list", "--state", state)} == {state}
    assert ids(desk, "--state", "failed", "--queue", "other", "--limit", "1") == ["lost"]
    assert desk.json("status")["jobs"] == {state: len(jobs) for state, jobs in by_state.items()}


def test_a_list_is_a_table_for_people(desk: Desk) -> None:
    desk.add("printf '\\033[31m'; echo \x1b[2J", id="x", priority=4)
    head, line = desk.ok("list").splitlines()

    assert head.split() == [
        *("id", "state", "attempts", "max_retries", "priority", "next_run_at", "updated_at", "command"),
    ]
    assert line.split()[:5] == ["x", "pending", "0", "3", "4"]
    assert "\x1b" not in line


def test_an_empty_home_lists_nothing(desk: Desk) -> None:
    assert [desk.run(*words).stdout for words in (("list",), ("dlq", "list"))] == ["", ""]
    assert [desk.run(*words).stderr for words in (("list",), ("dlq", "list"))] == ["No jobs.\n", "No dead jobs.\n"]
    assert desk.json("list") == []
    assert desk.json("status") == {
        "jobs": {"pending": 0, "processing": 0, "completed": 0, "failed": 0, "dead": 0},
        "workers": [],
        "shutdown": False,
    }


def test_only_jobs_that_run_again_are_listed_with_a_next_run(desk: Desk) -> None:
    desk.bury("dead")
    desk.add("true", id="done")
    desk.succeed(desk.claim())
    desk.add("true", id="waiting")
    head, *lines = desk.ok("list").splitlines()

    column = slice(head.index("next_run_at"), head.index("updated_at"))
    assert [bool(line[column].strip()) for line in lines] == [False, False, True]
    assert all(job["next_run_at"] for job in desk.json("list"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("list", "--server", "http://x"), "--server goes before the command: queuectl --server URL list"),
        (("worker", "start", "--api-key=k"), "--api-key goes before the command: queuectl --api-key KEY worker start"),
        (("--json", "list"), "--json goes behind the command: queuectl list --json"),
    ],
)
def test_who_puts_a_flag_in_the_wrong_place_is_told_the_right_one(
    desk: Desk, arguments: tuple[str, ...], said: str
) -> None:
    assert said in desk.refused(*arguments, code=2)


@pytest.mark.parametrize("flags", [("--state", "scheduled"), ("--limit", "-1"), ("--limit", "x"), ("extra",)])
def test_what_cannot_be_listed_is_bad_usage(desk: Desk, flags: tuple[str, ...]) -> None:
    desk.refused("list", *flags, code=2)


def test_a_job_is_shown_through_its_life(desk: Desk) -> None:
    desk.add("true", id="x")
    created = desk.job("x")
    first = desk.claim()
    running = desk.job("x")
    desk.fail(first, "first line\nsecond \x1b[31mline")
    failed = desk.job("x")
    desk.lose(desk.claim())
    lost = desk.job("x")
    desk.succeed(desk.claim())
    done = desk.job("x")

    assert (running["state"], running["worker_id"], running["attempts"]) == ("processing", "w-0badcafe", 0)
    assert running["next_run_at"] == created["next_run_at"]
    assert running["updated_at"] == running["started_at"] >= created["updated_at"]
    assert (running["exit_code"], running["finished_at"]) == (None, None)
    assert (failed["state"], failed["attempts"], failed["worker_id"]) == ("failed", 1, None)
    assert (failed["exit_code"], failed["last_error"]) == (3, "first line\nsecond \x1b[31mline")
    assert failed["finished_at"] == failed["updated_at"] == failed["next_run_at"]
    assert (lost["state"], lost["attempts"], lost["last_error"]) == ("failed", 1, failed["last_error"])
    assert (lost["worker_id"], lost["exit_code"], lost["finished_at"]) == (None, None, None)
    assert lost["updated_at"] == lost["next_run_at"] >= failed["updated_at"]
    assert (done["state"], done["attempts"], done["exit_code"], done["worker_id"]) == ("completed", 1, 0, None)
    assert done["last_error"] == failed["last_error"]
    assert done["next_run_at"] == lost["next_run_at"]
    assert done["updated_at"] == done["finished_at"] >= done["started_at"]

    printed = desk.ok("show", "x")
    assert "\x1b" not in printed
    assert "last_error       first line\n                 second line\n" in printed


def test_a_job_that_is_not_there_is_refused(desk: Desk) -> None:
    for command in ("show", "logs"):
        assert "nope not found" in desk.refused(command, "nope", code=1)
        desk.refused(command, code=2)


def test_logs_are_printed_as_they_are(desk: Desk) -> None:
    desk.add(id="../x")
    assert desk.run("logs", "../x").stdout == ""
    lines = [b"line %d \xff\x1b[31m\n" % n for n in range(20_000)]
    path = desk.home.log_path("../x")
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"".join(lines) + b"no end")

    def printed(*flags: str) -> bytes:
        return subprocess.run(
            [*PROGRAM, "logs", "../x", *flags], env=desk.environment, capture_output=True, check=True, timeout=60
        ).stdout

    assert printed() == b"".join(lines) + b"no end"
    assert printed("--tail", "1") == b"no end"
    assert printed("--tail", "3") == b"".join(lines[-2:]) + b"no end"
    assert printed("--tail", "12000") == b"".join(lines[-11_999:]) + b"no end"
    assert printed("--tail", "99999") == printed()
    assert printed("--tail", "0") == b""
    assert desk.json("logs", "../x", "--tail", "2")["log"] == lines[-1].decode(errors="replace") + "no end"
    desk.refused("logs", "../x", "--tail", "-1", code=2)
    path.write_bytes(b"a\nb\n\n")
    assert printed("--tail", "2") == b"b\n\n"


def test_logs_do_not_steer_a_terminal(desk: Desk) -> None:
    desk.add(id="x")
    desk.home.log_path("x").write_bytes(b"safe \x1b[2J\x1b]0;title\x07 and sound\n")
    ours, theirs = pty.openpty()
    process = subprocess.Popen([*PROGRAM, "logs", "x"], env=desk.environment, stdin=theirs, stdout=theirs)
    os.close(theirs)
    seen = bytearray()

    def has_ended() -> bool:
        try:
            seen.extend(os.read(ours, 4096))
        except OSError:
            return True
        return False

    wait_for(has_ended)
    os.close(ours)
    assert process.wait(45) == 0
    assert b"and sound" in seen
    assert b"\x1b" not in seen
    assert b"\x07" not in seen


def test_workers_are_active_while_their_processes_are_there(desk: Desk) -> None:
    mark = own_mark()
    desk.home.apply(
        RegisterWorker(worker_id="w-0badcafe", pid=os.getpid(), pid_started=mark),
        RegisterWorker(worker_id="w-00000001", pid=os.getpid(), pid_started="another process of this pid"),
        RegisterWorker(worker_id="w-00000002", pid=(1 << 22) + 1, pid_started=mark),
        SeeWorker(worker_id="not ours", queues=("a",)),
    )
    desk.add(id="x")
    desk.claim()

    (worker,) = desk.json("status")["workers"]
    assert worker.pop("started_at").endswith("Z")
    assert worker == {"worker_id": "w-0badcafe", "pid": os.getpid(), "job_id": "x"}
    printed = desk.ok("status")
    assert "w-0badcafe" in printed
    assert "w-00000001" not in printed
    assert "\x1b" not in printed


def test_status_says_that_workers_are_to_stop(desk: Desk) -> None:
    desk.ok("config", "set", "shutdown", "true")

    assert desk.json("status")["shutdown"] is True
    assert "told to stop" in desk.ok("status")


def test_help_tells_of_every_command_with_examples(desk: Desk) -> None:
    printed = desk.ok("--help")
    for word in ("Jobs:", "Workers:", "Watch:", "enqueue", "dashboard", "queuectl worker start"):
        assert word in printed
    assert "Did you mean 'enqueue'" in desk.refused("enqeue", code=2)
    assert desk.ok("--version").startswith("queuectl ")


def test_other_names_lead_to_the_same_commands(desk: Desk, tmp_path: Path) -> None:
    desk.bury("x")
    desk.bury("y")
    assert desk.ok("config-set", "max-retries", "4") == "set max_retries=4\n"
    assert desk.ok("config-get", "max_retries") == "4\n"
    assert desk.ok("dlq-list") == desk.ok("dlq", "list")
    assert "x" in desk.ok("retry", "x")
    assert "y" in desk.ok("dlq-retry", "y")
    assert ids(desk, "--state", "pending") == ["x", "y"]
