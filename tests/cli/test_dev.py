"""`rookery dev`: a server and a worker in one terminal."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.cli.conftest import assert_failed, clean_environment
from tests.cli.terminals import Terminal
from tests.conftest import ServerProcess, wait_for

CODE = """
from rookery import App

app = App()

@app.job(queue="mail")
def send(to: str) -> str:
    print("sending to", to)
    return "sent"
"""


class Dev:
    """`rookery dev` in a directory of its own."""

    def __init__(self, directory: Path, *flags: str) -> None:
        self.directory = directory
        (directory / "shop.py").write_text(CODE)
        self._log = directory / "dev.log"
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "rookery", "dev", "shop:app", "--bind", "127.0.0.1:0", *flags],
                stdout=log,
                stderr=log,
                cwd=directory,
                env=clean_environment(ROOKERY_ADMIN_PASSWORD="of another server", ROOKERY_URL="http://127.0.0.1:1"),
            )

    @property
    def output(self) -> str:
        return self._log.read_text()

    def see(self, pattern: str, times: int = 1) -> list[str]:
        """Wait until something was said so many times; all that matches."""
        return wait_for(
            lambda: len(found := re.findall(pattern, self.output)) >= times and found, 60, alive=self.process
        )

    def enqueue(self, to: str) -> None:
        (url,) = self.see(r"ready on (http://\S+)")
        answer = httpx.post(f"{url}/api/v1/enqueue", json={"queue": "mail", "payload": {"to": to}})
        assert answer.status_code == 201, answer.text

    def children(self) -> dict[str, int]:
        """The processes it has started, by name."""
        pids = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return {Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[3].decode(): int(pid) for pid in pids}

    def end(self) -> int:
        return self.process.wait(60)


@pytest.fixture
def dev(tmp_path: Path) -> Iterator[Dev]:
    dev = Dev(tmp_path)
    yield dev
    if dev.process.poll() is None:
        dev.process.send_signal(signal.SIGTERM)
        dev.process.wait(30)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_jobs_run_and_new_code_is_taken_up_even_after_a_mistake(dev: Dev) -> None:
    dev.see(r"worker │ .* ready")
    dev.enqueue("ada")
    dev.see(r"worker │ sending to ada")
    dev.see(r"worker │ .* DEBUG job \S+ of \S+: completed in \d+ ms")
    code = dev.directory / "shop.py"

    code.write_text(CODE + "\ndef (")
    dev.see(r"worker │ SyntaxError")
    code.write_text(CODE.replace("sending to", "mailing"))
    dev.see(r"worker │ .* ready", times=2)
    dev.enqueue("bob")

    dev.see(r"worker │ mailing bob")
    assert dev.output.count("ready on http") == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=["INT", "TERM", "HUP"])
def test_one_signal_stops_the_worker_then_the_server(dev: Dev, number: signal.Signals) -> None:
    dev.see(r"worker │ .* ready")
    children = dev.children()

    dev.process.send_signal(number)

    assert dev.end() == 0
    said = [line.split() for line in dev.output.splitlines() if line.endswith(" stopped")]
    assert [words[0] for words in said] == ["worker", "server"]
    assert not any(map(is_alive, children.values()))


@pytest.mark.parametrize(("victim", "other"), [("worker", "server"), ("server", "worker")])
def test_when_one_dies_the_other_is_stopped(dev: Dev, victim: str, other: str) -> None:
    dev.see(r"worker │ .* ready")
    children = dev.children()

    os.kill(children[victim], signal.SIGKILL)

    assert dev.end() == 1
    assert f"dev │ the {victim} has ended with code -9" in dev.output
    assert re.search(rf"{other} │ .* stopped\n", dev.output)
    assert not is_alive(children[other])


def test_its_data_stays_and_git_ignores_it(dev: Dev) -> None:
    dev.see(r"worker │ .* ready")
    assert (dev.directory / ".rookery-dev/rookery.db").exists()
    assert (dev.directory / ".rookery-dev/.gitignore").read_text() == "*\n"


def test_a_second_signal_does_not_wait(tmp_path: Path) -> None:
    dev = Dev(tmp_path, "--shutdown-timeout", "600s")
    code = CODE.replace('print("sending to", to)', 'import os, time; print("began", os.getpid()); time.sleep(600)')
    (tmp_path / "shop.py").write_text(code)
    dev.see(r"worker │ .* ready")
    dev.enqueue("ada")
    (pid,) = dev.see(r"worker │ began (\d+)")

    dev.process.send_signal(signal.SIGINT)
    dev.see(r"dev │ stopping")
    dev.process.send_signal(signal.SIGINT)

    assert dev.end() == 130
    wait_for(lambda: not is_alive(int(pid)))


def test_a_server_that_runs_there_already_is_told_of(
    start_server: Callable[..., ServerProcess], tmp_path: Path
) -> None:
    url = start_server().url
    run = subprocess.run(
        [sys.executable, "-m", "rookery", "dev", "shop:app", "--bind", url.removeprefix("http://")],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
        env=clean_environment(),
    )
    assert_failed(run, f"a server runs on {url} already", f"rookery worker shop:app --reload --server {url}")
    assert not (tmp_path / ".rookery-dev").exists()


def test_names_are_coloured_in_a_terminal_only(tmp_path: Path, dev: Dev) -> None:
    dev.see(r"worker │ .* ready")
    assert "\x1b" not in dev.output
    with Terminal("dev", "shop:app", "--bind", "127.0.0.1:0", "--data-dir", tmp_path / "other") as terminal:
        terminal.see("\x1b[36mserver │\x1b[0m ", "ready on")
        terminal.type("\x03")
        assert terminal.end(60) == 0
