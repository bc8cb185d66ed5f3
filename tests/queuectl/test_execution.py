"""How commands are run: their group, input, output, time and end, and what is told of it."""

import os
import time
from pathlib import Path
from typing import Any

import pytest

from rookery.queuectl.joblog import JobLog
from rookery.queuectl.shell import Ran, ShellRun
from tests.conftest import wait_for
from tests.queuectl.crew import Crew, crew, is_alive, pid_in

__all__ = ["crew"]


def run(command: str, **options: Any) -> tuple[Ran, str]:
    output: list[bytes] = []
    ran = ShellRun(command, **options).run(output.append, lambda: None)
    return ran, b"".join(output).decode(errors="replace")


# --- the shell


def test_a_command_that_ends_with_0_has_succeeded() -> None:
    ran, output = run("echo out; echo err >&2")

    assert (ran.exit_code, ran.error, ran.timed_out) == (0, "", False)
    assert (ran.stdout_tail, ran.stderr_tail) == ("out\n", "err\n")
    assert sorted(output.splitlines()) == ["err", "out"]


@pytest.mark.parametrize(
    ("command", "exit_code", "error"),
    [
        ("echo bad >&2; exit 3", 3, "bad"),
        ("exit 7", 7, "exit code 7"),
        ("echo ' ' >&2; exit 7", 7, "exit code 7"),
        ("kill -9 $$", 137, "exit code 137 (killed by SIGKILL)"),
        ("exit 124", 124, "exit code 124"),
    ],
)
def test_any_other_end_is_a_failure(command: str, exit_code: int, error: str) -> None:
    ran, _ = run(command)

    assert (ran.exit_code, ran.error, ran.timed_out) == (exit_code, error, False)


@pytest.mark.parametrize("command", ["no-such-program-at-all", "-x"])
def test_a_missing_program_fails_with_127(command: str) -> None:
    ran, _ = run(command)

    assert ran.exit_code == 127
    assert command in ran.error


@pytest.mark.parametrize("command", ["echo \0", "echo \ud800", "x" * 10_000_000])
def test_what_cannot_be_started_is_a_failure_too(command: str) -> None:
    ran, _ = run(command)

    assert ran.exit_code == 126
    assert ran.error.startswith("cannot start")


def test_the_error_is_the_first_512_characters_of_stderr() -> None:
    ran, _ = run("printf 'ä%.0s' $(seq 1000) >&2; exit 1")

    assert ran.error == "ä" * 512


def test_an_error_of_many_lines_is_cut_in_the_same_place() -> None:
    ran, _ = run("yes | head -n 1000 >&2; exit 1")

    assert ran.error == "y\n" * 256


@pytest.mark.parametrize("command", ["echo >&2; exit 7", "printf '%600sx' '' >&2; exit 7"])
def test_an_error_that_is_blank_is_none(command: str) -> None:
    ran, _ = run(command)

    assert ran.error == "exit code 7"


def test_output_that_is_no_text_is_told_as_well_as_can_be() -> None:
    ran, _ = run(r"printf 'a\377b\000c' >&2; exit 1")

    assert ran.error == "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}c"


def test_a_command_has_no_input() -> None:
    assert run("cat; wc -c")[1].strip() == "0"


def test_a_command_has_a_session_and_a_group_of_its_own() -> None:
    _, output = run("cut -d' ' -f5,6 /proc/$$/stat; echo $$")
    group, session, pid = output.split()

    assert group == session == pid


def test_of_a_flood_only_the_edges_are_kept() -> None:
    passed_on = 0

    def count(data: bytes) -> None:
        nonlocal passed_on
        passed_on += len(data)

    ran = ShellRun("head -c 50000000 /dev/zero; head -c 50000000 /dev/zero >&2; exit 1").run(count, lambda: None)

    assert passed_on == 100_000_000
    assert len(ran.error) == 512
    assert len(ran.stdout_tail) == len(ran.stderr_tail) == 2000


def test_life_is_shown_while_a_command_runs() -> None:
    shown: list[float] = []

    ShellRun("sleep 0.5").run(lambda data: None, lambda: shown.append(time.monotonic()), attend_every=0.05)

    assert len(shown) >= 2


# --- time limits


def test_a_command_that_takes_too_long_is_asked_to_end_with_its_children(tmp_path: Path) -> None:
    ran, output = run(f"trap 'echo asked; exit 0' TERM; sleep 60 & echo $! > {tmp_path}/pid; wait", timeout=1)

    assert (ran.exit_code, ran.timed_out, ran.error) == (124, True, "timed out after 1 s")
    assert output == "asked\n"
    wait_for(lambda: not is_alive(int((tmp_path / "pid").read_text())))


def test_who_does_not_listen_is_killed_after_the_grace(tmp_path: Path) -> None:
    command = f"trap '' TERM; echo stubborn >&2; sleep 61 & echo $! > {tmp_path}/pid; sleep 61"
    ran, _ = run(command, timeout=1, kill_grace=0.3)

    assert (ran.exit_code, ran.timed_out, ran.error) == (124, True, "timed out after 1 s: stubborn")
    wait_for(lambda: not is_alive(int((tmp_path / "pid").read_text())))


def test_a_child_that_outlives_the_shell_is_killed_after_the_grace(tmp_path: Path) -> None:
    command = f"(trap '' TERM; sleep 62) & echo $! > {tmp_path}/pid; sleep 62"
    ran, _ = run(command, timeout=0.3, kill_grace=0.3)

    assert ran.timed_out
    wait_for(lambda: not is_alive(int((tmp_path / "pid").read_text())))


def test_what_runs_on_in_the_background_does_not_hold_the_job(tmp_path: Path) -> None:
    ran, output = run(f"sleep 63 & echo $! > {tmp_path}/pid; echo started", timeout=60)
    pid = int((tmp_path / "pid").read_text())

    assert (ran.exit_code, ran.error, output) == (0, "", "started\n")
    assert ran.duration < 30
    assert is_alive(pid)
    os.kill(pid, 9)


def test_who_closes_its_output_is_waited_for_all_the_same() -> None:
    assert run("exec >&- 2>&-; sleep 0.2; exit 4")[0].exit_code == 4


def test_a_run_can_be_stopped_before_it_begins() -> None:
    shell_run = ShellRun("sleep 60")
    shell_run.stop()

    assert shell_run.run(lambda data: None, lambda: None).was_stopped


def test_a_run_that_is_stopped_twice_is_killed() -> None:
    shell_run = ShellRun("trap '' TERM; echo ready; while :; do sleep 0.1; done", kill_grace=60)

    def stop_twice(_: bytes) -> None:
        shell_run.stop()
        shell_run.stop()

    ran = shell_run.run(stop_twice, lambda: None)
    assert (ran.was_stopped, ran.exit_code) == (True, 137)


# --- the log


def test_a_log_has_a_header_the_output_and_a_footer_for_each_run(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "x.log"
    for attempt in (1, 2):
        log = JobLog(path)
        log.begin(1_800_000_000_000, attempt, "printf a\nprintf b")
        log.write(b"no line end")
        log.end("exit code 1", 0.25)

    run_of = "--- 2027-01-15T08:00:00.000Z attempt {}: printf a\\nprintf b\nno line end\n--- exit code 1, 0.250 s\n"
    assert path.read_text() == run_of.format(1) + run_of.format(2)


def test_a_full_disk_costs_the_log_but_not_the_run(capfd: pytest.CaptureFixture[str]) -> None:
    log = JobLog(Path("/dev/full"))
    log.begin(0, 1, "true")
    log.write(b"lost")
    log.end("exit code 0", 0)

    assert capfd.readouterr().err.count("cannot write /dev/full") == 1


# --- the whole way


def test_a_job_that_succeeds_is_completed_with_what_it_said(crew: Crew) -> None:
    job_id = crew.enqueue("echo hello", id="greeting")
    crew.drain()
    job = crew.job(job_id)

    assert (job["state"], job["attempts"], job["exit_code"], job["last_error"]) == ("completed", 0, 0, None)
    assert job["worker_id"] is None
    assert job["started_at"] <= job["finished_at"]
    header, output, footer = crew.log("greeting").splitlines()
    assert header.endswith(" attempt 1: echo hello")
    assert output == "hello"
    assert footer.startswith("--- exit code 0, ")
    result = crew.home.reader().execute("SELECT result ->> 'stdout_tail' FROM job").get
    assert result == "hello\n"


def test_a_job_that_keeps_failing_is_run_max_retries_times_and_dies(crew: Crew) -> None:
    crew.set(backoff_base=0)
    job_id = crew.enqueue("echo run $QUEUECTL_ATTEMPT of $QUEUECTL_JOB_ID >&2; exit 5", id="a b/c", max_retries=3)
    crew.drain()
    job = crew.job(job_id)

    assert (job["state"], job["attempts"], job["exit_code"]) == ("dead", 3, 5)
    assert job["last_error"] == "run 3 of a b/c"
    assert [line for line in crew.log("a b/c").splitlines() if line.startswith("run")] == [
        f"run {number} of a b/c" for number in (1, 2, 3)
    ]
    assert crew.tally("runs") == {"failure": 3}
    assert crew.tally("retries") == {"": 2}


@pytest.mark.parametrize("max_retries", [0, 1])
def test_no_retries_and_one_mean_one_run(crew: Crew, max_retries: int) -> None:
    job_id = crew.enqueue("false", max_retries=max_retries)
    crew.drain()

    assert (crew.job(job_id)["state"], crew.job(job_id)["attempts"]) == ("dead", 1)
    assert crew.tally("runs") == {"failure": 1}


def test_a_timeout_is_a_failed_attempt_with_code_124(crew: Crew) -> None:
    crew.set(kill_grace=0)
    job_id = crew.enqueue("sleep 60", timeout=0.2, max_retries=1)
    crew.drain()
    job = crew.job(job_id)

    assert (job["state"], job["attempts"], job["exit_code"]) == ("dead", 1, 124)
    assert "timed out" in job["last_error"]
    assert "exit code 124 (timed out)" in crew.log(job_id)
    assert crew.tally("runs") == {"timeout": 1}


def test_a_job_without_a_limit_has_that_of_the_settings(crew: Crew) -> None:
    crew.set(job_timeout=0.2)
    job_id = crew.enqueue("sleep 60", max_retries=1)
    crew.drain()

    assert crew.job(job_id)["exit_code"] == 124


def test_commands_run_where_and_with_what_workers_were_started(crew: Crew) -> None:
    job_id = crew.enqueue("pwd; echo $QUEUECTL_HOME")
    crew.drain()

    assert crew.log(job_id).splitlines()[1:3] == [str(crew.directory), str(crew.home.path)]


EVERYDAY_SIGNALS = (1 << 31) - 1
"""Of the others, whoever runs the tests may have some ignored."""


def test_commands_heed_signals_as_ever(crew: Crew) -> None:
    """Workers shut their ears to Ctrl-C; their commands must not inherit that."""
    crew.set(backoff_base=0)
    job_id = crew.enqueue("grep -E 'Sig(Blk|Ign)' /proc/self/status")
    crew.drain()

    masks = [int(line.split()[1], 16) for line in crew.log(job_id).splitlines() if line.startswith("Sig")]
    assert [mask & EVERYDAY_SIGNALS for mask in masks] == [0, 0]


def test_an_id_cannot_lead_the_log_out_of_its_directory(crew: Crew) -> None:
    crew.enqueue("echo here", id="../../outside")
    crew.drain()

    assert "here" in crew.log("../../outside")
    assert crew.home.log_path("../../outside").resolve().parent == crew.home.logs.resolve()


def test_a_job_without_a_command_fails_like_any_other(crew: Crew) -> None:
    from rookery.engine.ops import Enqueue, NewJob

    crew.home.apply(Enqueue(jobs=[NewJob(queue="shell.x", payload="[]", id="odd", max_retries=1)]))
    crew.drain()

    assert "no command" in crew.job("odd")["last_error"]


def test_output_can_be_read_while_a_job_runs(crew: Crew) -> None:
    job_id = crew.enqueue(f"echo first; echo $$ > {crew.directory}/pid; sleep 60")
    crew.start()
    wait_for(pid_in(crew.directory / "pid"))

    wait_for(lambda: "first" in crew.log(job_id))
    assert crew.job(job_id)["state"] == "processing"
