"""`rookery logs`: what a job has logged, and what it goes on to log."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.api.expectations import start_job
from tests.cli.conftest import Do, Run, assert_failed, clean_environment, said
from tests.cli.terminals import Terminal
from tests.conftest import Api, ServerProcess

AT = "2026-02-10T12:00:00.000Z"


def add(api: Api, job_id: str, *lines: str | dict[str, Any]) -> None:
    body = [{"at": AT, "message": line} if isinstance(line, str) else {"at": AT, **line} for line in lines]
    assert api.post(f"/jobs/{job_id}/logs", {"lines": body}).status_code == 200


@pytest.fixture
def job(api: Api, queue: str) -> str:
    return str(start_job(api, queue)["job_id"])


def test_a_line_has_time_level_attempt_and_message(api: Api, do: Do, job: str) -> None:
    add(api, job, "begun", {"level": "Warning", "message": "slow", "attempt": 3}, {"message": "two\nlines"})
    assert said(do("logs", job)) == (
        f"{AT} INFO [attempt 1] begun\n{AT} WARNING [attempt 3] slow\n{AT} INFO [attempt 1] two\nlines\n"
    )


def test_a_job_without_lines_prints_nothing(do: Do, job: str) -> None:
    assert said(do("logs", job)) == ""
    assert json.loads(said(do("logs", job, "-o", "json"))) == []


def test_all_pages_are_shown(api: Api, do: Do, job: str) -> None:
    for start in range(0, 2500, 500):
        add(api, job, *(f"line {number}" for number in range(start + 1, start + 501)))
    shown = said(do("logs", job)).splitlines()
    assert [line.rpartition(" ")[2] for line in shown] == [str(number) for number in range(1, 2501)]
    assert len(said(do("logs", job, "--limit", 1500)).splitlines()) == 1500
    assert [line["n"] for line in json.loads(said(do("logs", job, "--after", 2498, "-o", "json")))] == [2499, 2500]


def test_json_is_one_array_of_lines(api: Api, do: Do, job: str) -> None:
    add(api, job, "ü")
    assert json.loads(said(do("logs", job, "-o", "json"))) == [
        {"n": 1, "at": AT, "level": "info", "message": "ü", "attempt": 1}
    ]


@pytest.mark.parametrize(
    ("level", "shown"),
    [
        ("debug", "debug info warning error critical"),
        ("info", "info warning error critical"),
        ("WARN", "warning error critical"),
        ("error", "error critical"),
        ("audit", "audit"),
    ],
)
def test_a_level_and_what_is_more_severe_is_shown(api: Api, do: Do, job: str, level: str, shown: str) -> None:
    add(
        api,
        job,
        *({"level": name, "message": name} for name in ["debug", "info", "warning", "error", "critical", "audit"]),
    )
    assert [line.split()[-1] for line in said(do("logs", job, "--level", level)).splitlines()] == shown.split()


def test_a_limit_counts_the_lines_that_are_shown(api: Api, do: Do, job: str) -> None:
    add(api, job, "a", {"level": "error", "message": "b"}, "c", {"level": "error", "message": "d"})
    assert said(do("logs", job, "--level", "error", "--limit", 1)).splitlines() == [f"{AT} ERROR [attempt 1] b"]


def test_it_is_said_when_the_oldest_lines_are_gone(api: Api, do: Do, job: str) -> None:
    for _ in range(10):
        add(api, job, *["x"] * 1000)
    add(api, job, *["y"] * 30)
    for flags in ([], ["--follow", "--limit", "10000"]):
        run = do("logs", job, *flags)
        assert len(said(run).splitlines()) == 10_000
        assert "30 older lines are gone" in run.stderr
    assert "gone" not in do("logs", job, "--after", 30).stderr
    assert "20 older lines are gone" in do("logs", job, "--after", 10, "--limit", 1).stderr


def test_an_unknown_job_is_an_error(do: Do) -> None:
    assert_failed(do("logs", "job_nope"), "job job_nope not found")
    assert_failed(do("logs", "job_nope", "--follow"), "job job_nope not found")


@pytest.mark.parametrize("flags", [["--limit", "0"], ["--after", "-1"], ["--limit", "x"]])
def test_numbers_must_make_sense(do: Do, flags: list[str]) -> None:
    assert_failed(do("logs", "j", *flags), flags[0], code=2)


def test_escape_sequences_are_not_sent_to_a_terminal(api: Api, job: str) -> None:
    add(api, job, {"level": "error", "message": "\x1b[2J\x1b[31mgone\x1b[0m\x07"})
    with Terminal("logs", job, "--server", api.server.url) as terminal:
        assert terminal.end() == 0
        assert terminal.output.replace("\r\n", "\n") == (f"{AT} \x1b[31mERROR\x1b[0m [attempt 1] \\x1b[2Jgone\\x07\n")


# --- following


class Following:
    """`rookery logs --follow` as a process."""

    def __init__(self, *arguments: object) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "rookery", "logs", *map(str, arguments), "--follow"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            bufsize=1,
            env=clean_environment(),
        )

    def next(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def end(self) -> tuple[int, str, str]:
        stdout, stderr = self.process.communicate(timeout=30)
        return self.process.returncode, stdout, stderr


@pytest.fixture
def follow() -> Iterator[Callable[..., Following]]:
    started: list[Following] = []

    def start(*arguments: object) -> Following:
        started.append(Following(*arguments))
        return started[-1]

    yield start
    for following in started:
        if following.process.poll() is None:
            following.process.kill()
        following.process.communicate(timeout=10)


def test_following_ends_with_the_job(api: Api, job: str, follow: Callable[..., Following]) -> None:
    add(api, job, "one")
    following = follow(job, "--server", api.server.url)
    assert following.next() == f"{AT} INFO [attempt 1] one"
    add(api, job, "two")
    assert following.next() == f"{AT} INFO [attempt 1] two"
    add(api, job, "three")
    assert api.post(f"/ack/{job}").status_code == 200
    assert following.end() == (0, f"{AT} INFO [attempt 1] three\n", "Job completed\n")


def test_following_a_job_that_has_ended_shows_all_and_ends(api: Api, do: Do, job: str) -> None:
    add(api, job, "one", "two")
    assert api.post(f"/fail/{job}", {"error": "boom", "end": "dead"}).status_code == 200
    run = do("logs", job, "-f", "--after", 1)
    assert (run.exit_code, run.stdout, run.stderr) == (0, f"{AT} INFO [attempt 1] two\n", "Job dead\n")


def test_following_as_json_gives_a_line_for_each_line(api: Api, do: Do, job: str) -> None:
    add(api, job, "one", "two")
    assert api.post(f"/ack/{job}").status_code == 200
    shown = [json.loads(line) for line in said(do("logs", job, "-f", "-o", "json")).splitlines()]
    assert [(line["n"], line["message"]) for line in shown] == [(1, "one"), (2, "two")]


def test_ctrl_c_ends_following_with_130(api: Api, job: str, follow: Callable[..., Following]) -> None:
    add(api, job, "one")
    following = follow(job, "--server", api.server.url)
    assert following.next()
    following.process.send_signal(signal.SIGINT)
    code, stdout, stderr = following.end()
    assert (code, stdout) == (130, "")
    assert "Traceback" not in stderr


def test_following_goes_on_where_it_was_after_the_server_was_away(
    start_server: Callable[..., ServerProcess], unused_port: int, follow: Callable[..., Following]
) -> None:
    server = start_server("--bind", f"127.0.0.1:{unused_port}")
    api = Api(server)
    job = start_job(api, "q", lease_duration=600)["job_id"]
    add(api, job, "one", "two")
    following = follow(job, "--server", server.url)
    assert [following.next()[-3:], following.next()[-3:]] == ["one", "two"]

    server.kill()
    server.start()
    add(api, job, "three")
    assert api.post(f"/ack/{job}").status_code == 200

    code, stdout, stderr = following.end()
    assert (code, stdout) == (0, f"{AT} INFO [attempt 1] three\n")
    assert stderr.endswith("Job completed\n")
    assert stderr.count("trying again") <= 1


def test_a_server_that_was_never_there_is_not_waited_for(rookery: Run, unused_port: int) -> None:
    run = rookery("logs", "j", "--follow", "--server", f"http://127.0.0.1:{unused_port}")
    assert_failed(run, "cannot talk to")


def test_deleting_the_job_ends_following(api: Api, job: str, follow: Callable[..., Following]) -> None:
    add(api, job, "one")
    following = follow(job, "--server", api.server.url)
    assert following.next()
    assert api.delete(f"/jobs/{job}").status_code == 200
    assert following.end() == (0, "", "Job deleted\n")


def test_help_tells_of_the_forms(do: Do) -> None:
    text = re.sub(r"\s+", " ", said(do("logs", "--help")))
    assert "array of lines" in text
    assert "one JSON object a line" in text
