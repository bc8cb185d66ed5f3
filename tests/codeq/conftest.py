"""What the tests of the codeQ API share: servers with the variables that a test wants, and short ways to call them."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx
import pytest

from tests.conftest import ServerProcess

BASE = "/v1/codeq"


class Codeq:
    """Calls of the codeQ API, short to write; a token of None sends no header."""

    def __init__(self, server: ServerProcess, token: str | None = None) -> None:
        self.server = server
        self.token = token

    def like(self, token: str | None) -> "Codeq":
        """The same server, called by somebody else."""
        return Codeq(self.server, token)

    def call(self, method: str, path: str, **options: Any) -> httpx.Response:
        headers = {} if self.token is None else {"Authorization": f"Bearer {self.token}".encode()}
        options["headers"] = headers | options.get("headers", {})
        return self.server.http.request(method, BASE + path, **options)

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.call("GET", path, **options)

    def post(self, path: str, body: Any = None, **options: Any) -> httpx.Response:
        if body is not None:
            options["json"] = body
        return self.call("POST", path, **options)

    def stats(self, command: str) -> dict[str, Any]:
        """What the admin is told about a command."""
        answer = self.get(f"/admin/queues/{command}")
        assert answer.status_code == 200, answer.text
        return answer.json()


def assert_error(answer: httpx.Response, status: int, text: str | None = None) -> None:
    """The answer has the status, and nothing in its body but the text of the error."""
    assert answer.status_code == status, answer.text
    assert set(answer.json()) == {"error"}
    assert text is None or answer.json()["error"] == text


@contextmanager
def codeq_variables(variables: dict[str, str]) -> Iterator[None]:
    """The environment for a server that is started now: these variables of codeQ's and no others."""
    with patch.dict(os.environ):
        for name in [name for name in os.environ if name.startswith("CODEQ_")]:
            del os.environ[name]
        os.environ.update({f"CODEQ_{name}": value for name, value in variables.items()})
        yield


StartCodeq = Callable[..., Codeq]


@pytest.fixture
def start_codeq(start_server: Callable[..., ServerProcess]) -> StartCodeq:
    """Starts servers with variables, named without their prefix, and flags."""

    def start(variables: dict[str, str] | None = None, *flags: str, data: str = "data") -> Codeq:
        with codeq_variables(variables or {}):
            return Codeq(start_server(*flags, data=data))

    return start


@pytest.fixture(scope="module")
def open_codeq(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Codeq]:
    """One server for all tests of a file, which everybody may call; each test uses commands of its own."""
    with codeq_variables({}):
        server = ServerProcess(Path(tmp_path_factory.mktemp("codeq") / "data"))
    yield Codeq(server)
    server.kill()
