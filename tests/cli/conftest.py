"""What tests of commands share: the real command, run as a user would, in a shell, or quickly in this process."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from rookery.cli import main
from tests.conftest import ServerProcess

Run = Callable[..., subprocess.CompletedProcess[str]]
Do = Callable[..., Result]


def clean_environment(**variables: str) -> dict[str, str]:
    """The environment without what would steer the command, and with these variables."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("ROOKERY_", "CORVO_"))}
    return {**own, **variables}


@pytest.fixture
def rookery() -> Run:
    """Runs `rookery` with these arguments; `env` adds to the environment, `input` comes in by stdin."""

    def run(
        *arguments: object, env: dict[str, str] | None = None, input: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "rookery", *map(str, arguments)]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=60, env=clean_environment(**(env or {})), input=input
        )

    return run


@pytest.fixture
def ask(server: ServerProcess, rookery: Run) -> Run:
    """Runs `rookery` as a process that talks to the file's server."""

    def run(*arguments: object, env: dict[str, str] | None = None, **options: Any) -> subprocess.CompletedProcess[str]:
        return rookery(*arguments, env={"ROOKERY_URL": server.url, **(env or {})}, **options)

    return run


@pytest.fixture
def do(server: ServerProcess, monkeypatch: pytest.MonkeyPatch) -> Do:
    """Runs a command in this process, which is quick: for the many small ways to call one."""
    for name in list(os.environ):
        if name.startswith(("ROOKERY_", "CORVO_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("ROOKERY_URL", server.url)

    def run(*arguments: object, input: str | bytes | None = None) -> Result:
        return CliRunner().invoke(main, list(map(str, arguments)), input=input, prog_name="rookery")

    return run


@pytest.fixture
def shell(server: ServerProcess, tmp_path: Path) -> Run:
    """Runs a line in a real shell that finds `rookery`."""
    command = tmp_path / "bin/rookery"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m rookery "$@"\n')
    command.chmod(0o755)
    env = clean_environment(ROOKERY_URL=server.url, PATH=f"{command.parent}:{os.environ['PATH']}")

    def run(line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-o", "pipefail", "-c", line], capture_output=True, text=True, timeout=120, env=env
        )

    return run


@pytest.fixture
def unused_port() -> int:
    """A port of loopback that nobody listens on, for a server that is to come back to the same place."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def said(run: Any) -> str:
    """What a command that went well has printed."""
    code = run.exit_code if isinstance(run, Result) else run.returncode
    assert code == 0, run.stderr
    return str(run.stdout)


def assert_failed(run: Any, *words: str, code: int = 1) -> None:
    """The command says on stderr what is wrong, and nothing on stdout."""
    found = run.exit_code if isinstance(run, Result) else run.returncode
    assert (found, run.stdout) == (code, ""), run.stderr
    assert "Error: " in run.stderr
    assert "Traceback" not in run.stderr
    for word in words:
        assert word in run.stderr
