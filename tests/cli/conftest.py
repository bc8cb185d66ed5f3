"""What tests of commands share: the real command, run as a user would."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def rookery() -> Run:
    """Runs `rookery` with these arguments; `env` adds to the environment."""

    def run(*arguments: object, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("ROOKERY_", "CORVO_"))}
        command = [sys.executable, "-m", "rookery", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, env={**clean, **(env or {})})

    return run


@pytest.fixture
def unused_port() -> int:
    """A port of loopback that nobody listens on, for a server that is to come back to the same place."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
