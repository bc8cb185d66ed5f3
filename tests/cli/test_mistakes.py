"""Mistakes of people, and servers that are none: a message and a code, never a traceback, and nothing done by half."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from rookery.cli import logs, remote, top
from rookery.cli.flags import DURATION
from rookery.client.worker.loading import NoSuchApp, load_app
from tests.api.expectations import finish_job, start_job
from tests.cli.conftest import Do, assert_failed, said
from tests.conftest import Api

Answer = tuple[int, dict[str, str], bytes]
Strange = Callable[[Answer], str]

UNEXPECTED = "the server's answer is not what it should be"


@pytest.fixture
def strange() -> Iterator[Strange]:
    """Starts a server that gives everybody the same answer; its URL."""
    answers: list[Answer] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            status, headers, body = answers[-1]
            self.send_response(status)
            for name, value in {**headers, "content-length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()

        def start(answer: Answer) -> str:
            answers.append(answer)
            return f"http://127.0.0.1:{server.server_port}"

        yield start
        remote._connections.cache_clear()
        server.shutdown()
        thread.join()


# --- servers that are none


@pytest.mark.parametrize("body", [b"<html>Log in</html>", b"null", b"{}", b"[1]", b"\xff", b"[" * 100_000])
def test_an_answer_of_another_kind_is_told_in_a_line(do: Do, strange: Strange, body: bytes) -> None:
    url = strange((200, {}, body))
    for arguments in (["top", "--once"], ["seed", "demo"], ["bench"], ["logs", "j"], ["logs", "j", "-f"], ["why", "j"]):
        assert_failed(do(*arguments, "--server", url), UNEXPECTED)


def test_events_of_another_kind_are_told_in_a_line(do: Do, strange: Strange) -> None:
    for event in (b"x", b"{}", b"null", b'{"n": 1}'):
        url = strange((200, {"content-type": "text/event-stream"}, b"data: " + event + b"\n\n"))
        assert_failed(do("logs", "j", "-f", "--server", url), UNEXPECTED)


def test_a_redirection_is_named(do: Do, strange: Strange) -> None:
    url = strange((302, {"location": "https://login.example/"}, b""))
    for arguments in (["queues"], ["top", "--once"], ["seed", "demo"], ["logs", "j", "-f"]):
        assert_failed(do(*arguments, "--server", url), "Error: the server redirects to https://login.example/\n")


def test_seed_waits_for_a_busy_server(do: Do, monkeypatch: pytest.MonkeyPatch) -> None:
    call, refused, slept = remote.Remote.call, [], []

    def busy(self: remote.Remote, method: str, path: str, *arguments: object, **options: object) -> object:
        if path not in refused:
            refused.append(path)
            raise remote.Refused("too busy", 429, 0.25)
        return call(self, method, path, *arguments, **options)

    monkeypatch.setattr(remote.Remote, "call", busy)
    monkeypatch.setattr("rookery.cli.seed.time.sleep", slept.append)
    assert '"jobs": 9' in said(do("-o", "json", "seed", "demo", "--count", 9))
    assert slept == [0.25] * len(refused)
    assert "/enqueue" in refused


def test_a_busy_server_says_how_long_to_wait(strange: Strange) -> None:
    url = strange((429, {"retry-after": "7"}, b'{"error": "slow down"}'))
    with pytest.raises(remote.Refused, match="slow down") as refused:
        remote.Remote(url, None, None).call("GET", "/queues")
    assert (refused.value.status, refused.value.retry_after) == (429, 7.0)


# --- flags in all places


def test_seed_takes_the_common_flags_in_every_place(do: Do, strange: Strange) -> None:
    url = strange((403, {}, b'{"error": "not you"}'))
    for arguments in (["--server", url, "seed", "demo"], ["seed", "--server", url, "demo"]):
        assert_failed(do(*arguments), "Error: not you\n")
    assert '"jobs": 1' in said(do("seed", "-o", "json", "demo", "--count", 1))


@pytest.mark.parametrize("command", [["version"], ["completion", "bash"], ["seed", "--help"]], ids=" ".join)
def test_the_log_level_may_stand_behind_every_command(do: Do, command: list[str]) -> None:
    assert said(do(*command, "--log-level", "warn")) == said(do("--log-level", "warn", *command))
    assert_failed(do(*command[:1], "--log-level", "loud"), "--log-level", code=2)


def test_help_is_a_command_too(do: Do) -> None:
    assert said(do("help")) == said(do("--help"))
    assert said(do("help", "schedules", "create")) == said(do("schedules", "create", "--help"))
    assert_failed(do("help", "nonsense"), "No such command", code=2)


# --- values


@pytest.mark.parametrize("text", ["0", " 0 ", "0s"])
def test_nothing_is_a_duration(text: str) -> None:
    assert DURATION.convert(text, None, None) == 0


def test_a_number_without_a_unit_is_none(do: Do) -> None:
    assert_failed(do("drain", "q", "--timeout", "5"), "invalid duration '5'", code=2)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["queues", "--server"], "requires an argument"),
        (["worker", "--server"], "requires an argument"),
        (["server", "--bind"], "requires an argument"),
        (["bulk", "retry", "--wait=maybe"], "--wait"),
        (["enqueue", "q", "-5"], "Put -- in front of arguments that begin with -, like -- -5"),
        (["concurrency", "q", "-1"], "Put -- in front of arguments that begin with -, like -- -1"),
        (["bulk", "retry", "--", "x", "--server", "http://x"], "put --server in front of it"),
        (["bulk", "move", "x", "--to", "y", "--", "j"], "both were given"),
        (["bulk", "move", "", "--", "j"], "ARGUMENT"),
        (["bulk", "change_priority", "bogus", "--", "j"], "ARGUMENT"),
        (["search", "--priority", "bogus"], "'bogus' is not critical, high, normal, 0, 1 or 2"),
        (["search", "--priority", "3"], "'3' is not critical"),
        (["enqueue", "q", "1", "--depends-on", ""], "--depends-on"),
        (["enqueue", "q", "1", "--unique-key", " "], "--unique-key"),
        (["schedules", "create", "n", "q", "@daily", "--unique-key", ""], "--unique-key"),
        (["logs", ""], "JOB_ID"),
        (["why", " "], "JOB_ID"),
        (["bench", "--queue", ""], "--queue"),
        (["bench", "--queue", "a\nb"], "control character"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_value_is_named_with_the_usage(do: Do, arguments: list[str], words: str) -> None:
    run = do(*arguments)

    assert_failed(run, words, code=2)
    assert run.stderr.startswith("Usage: ")


def test_an_option_that_is_no_number_gets_no_hint(do: Do) -> None:
    assert "Put --" not in do("queues", "-x").stderr


@pytest.mark.parametrize("priority", ["critical", "high", "normal", "0", "1", "2"])
def test_a_search_takes_every_priority_there_is(do: Do, queue: str, priority: str) -> None:
    assert said(do("search", "--queue", queue, "--priority", priority, "-o", "json")) == "[]\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["enqueue", "q", ""], "payload is not valid JSON: it is empty"),
        (["enqueue", "q", "-"], "payload is not valid JSON: it is empty"),
        (["enqueue", "q", "1", "--tags", " "], "--tags is not valid JSON: it is empty"),
        (["bulk", "retry", "--filter", ""], "--filter is not valid JSON: it is empty"),
        (["enqueue", "q", "@"], "payload: the name of a file is missing behind @"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_missing_is_said(do: Do, arguments: list[str], words: str) -> None:
    assert do(*arguments).stderr == f"Error: {words}\n"


@pytest.mark.parametrize("url", ["http://user:pw@h", "user:pw@h", "ftp://user:pw@h", "http://user:p/w@h"])
def test_a_password_in_a_url_is_not_repeated(do: Do, url: str) -> None:
    for command in (["queues"], ["bench"]):
        run = do(*command, "--server", url)
        assert_failed(run, "***@h")
        assert "user" not in run.stderr.replace("user name", "")
        assert "w@h" not in run.stderr


def test_a_paused_queue_is_not_measured(do: Do, api: Api, queue: str) -> None:
    assert api.post(f"/queues/{queue}/pause").status_code == 200
    assert_failed(do("bench", "--queue", queue, "--jobs", 1), f"queue {queue} is paused")


# --- output


def test_a_full_disk_is_told() -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "rookery", "version"]
        run = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert (run.returncode, run.stderr) == (1, "Error: cannot write: No space left on device\n")


def test_the_names_of_groups_cannot_steer_a_terminal(do: Do, strange: Strange) -> None:
    body = (
        b'{"period": "24h", "from": "a", "to": "b", "totals": {}, "groups": [{"key": "\\u001b[2Jx\\ny"}, {"key": ""}]}'
    )
    lines = said(do("usage", "--group-by", "model", "--server", strange((200, {}, body)))).splitlines()
    assert [line.partition(" rows=")[0] for line in lines[-2:]] == ["- \\x1b[2Jx y", "- (none)"]


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_logs_have_no_colours_for_those_who_want_none(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    line = {"n": 1, "at": "now", "level": "error", "message": "\x07", "attempt": 1}
    monkeypatch.setattr(logs, "is_terminal", lambda _: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert logs.shown(line) == "now \x1b[31mERROR\x1b[0m [attempt 1] \\x07"
    monkeypatch.setenv(name, value)
    assert logs.shown(line) == "now ERROR [attempt 1] \\x07"


def test_a_dumb_terminal_gets_one_plain_frame(do: Do, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(top, "is_terminal", lambda _: True)
    monkeypatch.setenv("TERM", "dumb")
    assert "THROUGHPUT" in said(do("top"))


def test_it_is_said_when_no_line_has_the_level(do: Do, api: Api, queue: str) -> None:
    job = start_job(api, queue)["job_id"]
    api.post(f"/jobs/{job}/logs", {"lines": [{"level": "info", "message": "x"}]})
    assert api.post(f"/ack/{job}").status_code == 200
    for flags, shown in (([], ""), (["-o", "json"], "[]\n"), (["-f"], "")):
        run = do("logs", job, "--level", "bogus", *flags)
        assert said(run) == shown
        assert "No line has level 'bogus'" in run.stderr
    assert do("logs", job, "--level", "info").stderr == ""
    assert do("logs", finish_job(api, queue)).stderr == ""


def test_ctrl_c_while_all_is_being_loaded_ends_it_quietly(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"}
    run = subprocess.run([sys.executable, "-m", "rookery", "version"], capture_output=True, timeout=60, env=env)
    assert (run.returncode, run.stdout, run.stderr) == (128 + signal.SIGINT, b"", b"")


# --- apps that cannot be loaded


@pytest.mark.parametrize(
    ("source", "words"),
    [("x = (\n", "SyntaxError: '(' was never closed"), ("def f():\n    1 / 0\n\nf()\n", "ZeroDivisionError")],
)
def test_only_the_own_part_of_what_went_wrong_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, words: str
) -> None:
    name = f"broken_{words[0].lower()}"
    (tmp_path / f"{name}.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(NoSuchApp) as error:
        load_app(name)
    text = str(error.value)
    assert text.startswith(f"cannot load {name}: {words}")
    assert "importlib" not in text
    assert "loading.py" not in text
