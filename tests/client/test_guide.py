"""The guide is true: its examples run, in order, against a real server."""

import re
from pathlib import Path

import pytest

from tests.conftest import ServerProcess

GUIDE = Path(__file__).parent.parent.parent / "docs/python.md"


def test_the_examples_of_the_guide_run(
    server: ServerProcess, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ROOKERY_URL", server.url)
    names: dict[str, object] = {}
    for example in re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL):
        exec(example.replace('"http://localhost:8080"', repr(server.url)), names)
    said = capsys.readouterr().out
    assert "still pending" in said
    assert "cancelled" in said
