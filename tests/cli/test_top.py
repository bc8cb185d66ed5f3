"""`rookery top`: one plain frame, one JSON object, or a screen in a real terminal that is left as it was."""

import json
import re
import signal

import pytest

from tests.api.expectations import bury_job, finish_job
from tests.cli.conftest import Run
from tests.cli.terminals import Terminal
from tests.conftest import Api

ENTER_SCREEN, LEAVE_SCREEN, SHOW_CURSOR = "\x1b[?1049h", "\x1b[?1049l", "\x1b[?25h"


def assert_plain(text: str) -> None:
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)


@pytest.mark.parametrize("flags", [[], ["--once"]], ids=["no terminal", "once"])
def test_one_plain_frame_is_printed(api: Api, rookery: Run, queue: str, flags: list[str]) -> None:
    finish_job(api, queue)
    dead = bury_job(api, f"{queue}.bad")
    assert api.post(f"/queues/{queue}/pause").status_code == 200

    run = rookery("top", *flags, "--server", api.server.url)

    assert (run.returncode, run.stderr) == (0, "")
    assert_plain(run.stdout)
    lines = [line.split() for line in run.stdout.splitlines()]
    assert [queue, "0", "0", "0", "0", "0", "1", "1", "yes"] in lines
    assert any(line[:1] == ["w1"] for line in lines)
    assert any(line[:3] == [dead, f"{queue}.bad", "dead"] and line[-1] == "boom" for line in lines)
    assert [line[0] for line in lines if len(line) > 3 and len(line[-1]) == 60] == ["enqueued", "completed", "failed"]


def test_a_frame_shows_the_slots_of_workers_and_who_drains(api: Api, rookery: Run, queue: str) -> None:
    api.enqueue(queue)
    api.fetch(queue, worker_id="slots-1", hostname="here")
    api.post("/workers/slots-1", {"slots": 10, "draining": True})
    api.fetch(queue, worker_id="slots-2", hostname="here", timeout=0.01)

    run = rookery("top", "--once", "--server", api.server.url)

    lines = {line.split()[0]: line.split() for line in run.stdout.splitlines() if line.startswith("slots-")}
    assert (lines["slots-1"][2], lines["slots-1"][-1]) == ("1/10", "draining")
    assert (lines["slots-2"][2], lines["slots-2"][-1]) == ("0", queue)


def test_a_frame_of_an_empty_server_says_so(start_server: object, rookery: Run) -> None:
    run = rookery("top", "--once", "--server", start_server().url)
    assert run.returncode == 0
    assert "No queues\n\nNo workers connected\n" in run.stdout


def test_json_is_one_object_with_what_the_server_says(api: Api, rookery: Run, queue: str) -> None:
    finish_job(api, queue)

    run = rookery("top", "--server", api.server.url, "--output", "json")

    assert (run.returncode, run.stderr) == (0, "")
    shown = json.loads(run.stdout)
    assert list(shown) == ["queues", "workers", "throughput"]
    assert queue in [shown["name"] for shown in shown["queues"]]
    assert "w1" in [worker["id"] for worker in shown["workers"]]
    assert len(shown["throughput"]) == 60


@pytest.mark.parametrize("flags", [["--once"], ["-o", "json"]])
def test_a_server_that_is_not_there_ends_it(rookery: Run, unused_port: int, flags: list[str]) -> None:
    run = rookery("top", *flags, "--server", f"http://127.0.0.1:{unused_port}")
    assert (run.returncode, run.stdout) == (1, "")
    assert f"127.0.0.1:{unused_port}" in run.stderr


@pytest.mark.parametrize("interval", ["10ms", "soon", "0s"])
def test_an_interval_must_make_sense(rookery: Run, interval: str) -> None:
    run = rookery("top", "--once", "--interval", interval)
    assert (run.returncode, run.stdout) == (2, "")
    assert "--interval" in run.stderr


def assert_left_as_it_was(terminal: Terminal) -> None:
    assert terminal.output.count(ENTER_SCREEN) == terminal.output.count(LEAVE_SCREEN) == 1
    assert terminal.output.rindex(LEAVE_SCREEN) > terminal.output.rindex("QUEUE")
    assert SHOW_CURSOR in terminal.output
    assert terminal.settings_now == terminal.settings


def test_q_leaves_a_real_terminal_as_it_was(api: Api, queue: str) -> None:
    api.enqueue(queue)
    with Terminal("top", "--server", api.server.url) as terminal:
        terminal.see(ENTER_SCREEN, queue[:10])
        assert terminal.settings_now != terminal.settings
        terminal.type("q")
        assert terminal.end() == 0
        assert_left_as_it_was(terminal)


def test_ctrl_c_leaves_with_130(api: Api, queue: str) -> None:
    api.enqueue(queue)
    with Terminal("top", "--server", api.server.url) as terminal:
        terminal.see(queue[:10])
        terminal.type("\x03")
        assert terminal.end() == 130
        assert_left_as_it_was(terminal)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["INT", "TERM"])
def test_a_signal_leaves_the_terminal_as_it_was(api: Api, queue: str, number: signal.Signals, code: int) -> None:
    api.enqueue(queue)
    with Terminal("top", "--server", api.server.url) as terminal:
        terminal.see(queue[:10])
        terminal.send(number)
        assert terminal.end() == code
        assert_left_as_it_was(terminal)


def test_only_colours_of_the_terminal_are_used(api: Api, queue: str) -> None:
    bury_job(api, queue)
    with Terminal("top", "--server", api.server.url) as terminal:
        terminal.see("boom")
        terminal.type("q")
        assert terminal.end() == 0
        assert "\x1b[31" in terminal.output or ";31" in terminal.output
        assert not re.search(r"[34]8;[25];", terminal.output)


def test_no_colour_is_shown_to_those_who_want_none(api: Api, queue: str) -> None:
    bury_job(api, queue)
    with Terminal("top", "--server", api.server.url, env={"NO_COLOR": "1"}) as terminal:
        terminal.see("boom")
        terminal.type("q")
        assert terminal.end() == 0
        assert not re.search(r"\x1b\[(?:\d+;)*(?:3[1-6]|9[1-6])[;m]", terminal.output)


def test_once_prints_a_plain_frame_also_in_a_terminal(api: Api, queue: str) -> None:
    api.enqueue(queue)
    with Terminal("top", "--once", "--server", api.server.url) as terminal:
        assert terminal.end() == 0
        assert queue in terminal.output
        assert_plain(terminal.output.replace("\r\n", "\n"))
