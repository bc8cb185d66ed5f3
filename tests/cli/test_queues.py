"""Commands about queues."""

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.api.expectations import bury_job, finish_job, start_job
from tests.cli.conftest import Do, Run, assert_failed, said
from tests.conftest import Api, ServerProcess


def listed(api: Api, queue: str) -> dict[str, Any] | None:
    return next((each for each in api.get("/queues").json() if each["name"] == queue), None)


def test_queues_are_listed_with_their_jobs(start_server: object, rookery: Run) -> None:
    server = start_server()  # type: ignore[operator]
    api, env = Api(server), {"ROOKERY_URL": server.url}
    header = "QUEUE  PENDING  ACTIVE  HELD  COMPLETED  DEAD  PAUSED\n"
    assert said(rookery("queues", env=env)) == header
    assert said(rookery("queues", "-o", "json", env=env)) == "[]\n"
    for _ in range(11):
        finish_job(api, "long name")
    bury_job(api, "long name")
    start_job(api, "long name")
    api.enqueue("q")
    held = api.enqueue("q")
    api.post(f"/jobs/{held}/hold")
    api.post("/queues/邮件/pause")

    assert said(rookery("queues", env=env)).splitlines() == [
        "QUEUE      PENDING  ACTIVE  HELD  COMPLETED  DEAD  PAUSED",
        "long name  0        1       0     11         1",
        "q          1        0       1     0          0",
        "邮件       0        0       0     0          0     yes",
    ]
    assert json.loads(said(rookery("queues", "-o", "json", env=env))) == api.get("/queues").json()


@pytest.mark.parametrize("name", ["plain", "a/b c", "ü?&#%", "..", "x" * 255])
def test_a_queue_is_paused_and_resumed_whatever_its_name(do: Do, api: Api, name: str) -> None:
    assert said(do("pause", name)) == f"Queue {name} paused\n"
    assert (listed(api, name) or {})["paused"] is True
    assert said(do("resume", name)) == f"Queue {name} resumed\n"
    assert (listed(api, name) or {})["paused"] is False


def test_each_command_as_a_process_and_in_json(ask: Run, do: Do, api: Api, queue: str) -> None:
    api.enqueue(queue)
    for command, text, answer in [
        (["pause", queue], "paused", {"status": "paused"}),
        (["resume", queue], "resumed", {"status": "resumed"}),
        (["drain", queue, "--no-wait"], "draining", {"status": "draining"}),
        (["concurrency", queue, 3], "concurrency: 3", {"status": "ok"}),
        (["throttle", queue, 5, "1m"], "throttled: 5/1m", {"status": "ok"}),
        (["throttle", queue, "--remove"], "throttle removed", {"status": "ok"}),
        (["clear", queue], "cleared", {"status": "cleared", "deleted": 0}),
        (["destroy", queue, "--confirm"], "destroyed", {"status": "deleted"}),
    ]:
        run = ask(*command)
        assert (said(run), run.stderr) == (f"Queue {queue} {text}\n", "")
        shown = said(do(*command, "--output", "json"))
        assert json.loads(shown) == answer
        assert shown == json.dumps(answer, indent=2) + "\n"


def test_a_queue_is_cleared_of_what_waits(do: Do, api: Api, queue: str) -> None:
    active = start_job(api, queue)["job_id"]
    waiting = api.enqueue(queue)

    assert json.loads(said(do("clear", queue, "-o", "json"))) == {"status": "cleared", "deleted": 1}
    assert api.job(active)["state"] == "active"
    assert api.get(f"/jobs/{waiting}").status_code == 404


def test_limits_are_set_and_lifted(do: Do, api: Api, queue: str) -> None:
    said(do("concurrency", queue, "3"))
    said(do("throttle", queue, "10", "1m30s"))
    limited = listed(api, queue) or {}
    assert (limited["max_concurrency"], limited["rate_limit"], limited["rate_window_ms"]) == (3, 10, 90_000)

    for lifted in (["0"], ["unlimited"], ["--", "-1"]):
        said(do("concurrency", queue, "1"))
        assert said(do("concurrency", queue, *lifted)) == f"Queue {queue} concurrency: unlimited\n"
        assert (listed(api, queue) or {})["max_concurrency"] is None
    said(do("throttle", "--remove", queue))
    assert (listed(api, queue) or {})["rate_limit"] is None


@pytest.mark.parametrize(
    ("arguments", "words", "code"),
    [
        (["concurrency", "q"], ["MAX"], 2),
        (["concurrency", "q", "few"], ["few"], 2),
        (["concurrency", "q", str(2**40)], ["max"], 1),
        (["throttle", "q"], ["rate", "period"], 2),
        (["throttle", "q", "5"], ["rate", "period"], 2),
        (["throttle", "q", "five", "1m"], ["five"], 2),
        (["throttle", "q", "5", "1m", "--remove"], ["--remove"], 2),
        (["throttle", "q", "0", "1m"], ["rate"], 1),
        (["throttle", "q", "5", "soon"], ["period"], 1),
        (["throttle", "q", "5", "0s"], ["period"], 1),
        (["drain", "q", "--timeout", "soon"], ["soon"], 2),
        (["pause", "x" * 256], ["queue"], 1),
        (["pause", "tab\there"], ["queue"], 1),
        (["pause", " "], ["blank"], 2),
    ],
)
def test_bad_input_is_refused(do: Do, arguments: list[str], words: list[str], code: int) -> None:
    assert_failed(do(*arguments), *words, code=code)


def test_a_queue_is_destroyed_only_if_that_is_meant(rookery: Run, do: Do, api: Api, queue: str) -> None:
    api.enqueue(queue)
    for flags in ([], ["--confirm=false"], ["--confirm", "--confirm=false"]):
        assert_failed(rookery("destroy", queue, *flags, "--server", "http://127.0.0.1:9"), "--confirm")

    assert said(do("destroy", "--confirm=true", queue)) == f"Queue {queue} destroyed\n"
    assert listed(api, queue) is None


# --- draining


def test_draining_waits_until_nothing_runs(api: Api, server: ServerProcess, queue: str) -> None:
    job = start_job(api, queue)
    command = [sys.executable, "-m", "rookery", "drain", queue, "--server", server.url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as drain:
        assert drain.stdout is not None
        assert drain.stdout.readline() == f"Queue {queue} draining\n"
        assert (listed(api, queue) or {})["paused"] is True
        api.post(f"/ack/{job['job_id']}")
        rest, errors = drain.communicate(timeout=30)
    assert (drain.returncode, rest, errors) == (0, f"Queue {queue} drained\n", "")


def test_draining_an_idle_queue_ends_at_once(ask: Run, do: Do, queue: str) -> None:
    assert said(ask("drain", queue)) == f"Queue {queue} draining\nQueue {queue} drained\n"
    assert json.loads(said(do("drain", queue, "-o", "json"))) == {"status": "draining"}


def test_draining_gives_up_when_the_time_is_over(do: Do, api: Api, queue: str) -> None:
    start_job(api, queue)

    run = do("drain", queue, "--timeout", "10ms")

    assert (run.exit_code, run.stdout) == (1, f"Queue {queue} draining\n")
    assert run.stderr == f"Error: queue {queue} still has 1 active job after 10ms\n"
    assert_failed(do("drain", queue, "--timeout", "0s", "-o", "json"), "1 active job")
    assert said(do("drain", queue, "--no-wait")) == f"Queue {queue} draining\n"
