"""A shell completes names of queues and states, if the server says them at once."""

import socket

import pytest
from click.shell_completion import ShellComplete

from rookery.cli import arguments, main
from tests.conftest import Api, ServerProcess


def completed(words: str) -> list[str]:
    """What a shell offers for the last of these words."""
    *before, last = words.split(" ")
    items = ShellComplete(main, {}, "rookery", "_ROOKERY_COMPLETE").get_completions(before, last)
    return [item.value for item in items]


def test_names_are_completed(server: ServerProcess, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arguments, "COMPLETION_PATIENCE", 30.0)
    monkeypatch.setenv("ROOKERY_URL", server.url)
    for name in ("emails", "emails.bulk", "reports"):
        api.enqueue(name)

    assert completed("pause em") == ["emails", "emails.bulk"]
    assert completed("search --queue rep") == ["reports"]
    assert completed("bulk retry --to rep") == ["reports"]
    assert completed("search --state dead,ca") == ["dead,cancelled"]
    monkeypatch.setenv("ROOKERY_URL", "http://127.0.0.1:9")
    assert completed("pause em") == []
    assert completed(f"pause --server {server.url} rep") == ["reports"]
    assert completed(f"--server {server.url} pause rep") == ["reports"]


def test_a_silent_server_does_not_hold_up_the_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("ROOKERY_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")
        assert completed("pause em") == []
