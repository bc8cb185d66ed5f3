"""Progress: a line on stderr for those who look, nothing for anybody else."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from rookery.cli.progress import Progress
from tests.cli.conftest import Run
from tests.cli.terminals import Terminal
from tests.conftest import Api, ServerProcess

BAR = re.compile(r"━+")
COLOUR = re.compile(r"\x1b\[(?:\d+;)*[39]\d[;m]")


@pytest.fixture
def full(start_server: Callable[..., ServerProcess]) -> ServerProcess:
    """A server with some megabytes of jobs."""
    server = start_server("--rate-limit-enabled=false")
    for _ in range(4):
        jobs = [{"queue": "q", "payload": "x" * 100_000}] * 50
        assert Api(server).post("/enqueue/batch", {"jobs": jobs}).status_code == 201
    return server


@pytest.mark.parametrize("source", ["server", "data-dir"])
def test_backup_and_restore_show_how_far_they_are(full: ServerProcess, tmp_path: Path, source: str) -> None:
    place = full.url if source == "server" else full.data_dir
    with Terminal("backup", tmp_path / "copy", f"--{source}", place, size=(80, 24)) as terminal:
        assert terminal.end() == 0
        backup = terminal.output
    with Terminal("restore", tmp_path / "copy", "--data-dir", tmp_path / "new", size=(80, 24)) as terminal:
        assert terminal.end() == 0
        restore = terminal.output
    for output, verb in ((backup, "receiving" if source == "server" else "copying"), (restore, "checking")):
        assert BAR.search(output)
        assert verb in output
        assert "MiB of " in output
        assert COLOUR.search(output)
        assert output.count("\x1b[?25l") == output.count("\x1b[?25h")
    assert "Backed up 200 jobs" in backup
    assert "Restored 200 jobs" in restore


def test_no_colour_is_shown_to_those_who_want_none(full: ServerProcess, tmp_path: Path) -> None:
    with Terminal("backup", tmp_path / "copy", "--server", full.url, env={"NO_COLOR": "1"}) as terminal:
        assert terminal.end() == 0
        assert BAR.search(terminal.output)
        assert not COLOUR.search(terminal.output)


def test_a_terminal_that_cannot_redraw_gets_the_result_only(full: ServerProcess, tmp_path: Path) -> None:
    with Terminal("backup", tmp_path / "copy", "--server", full.url, env={"TERM": "dumb"}) as terminal:
        assert terminal.end() == 0
        assert terminal.output.startswith("Backed up 200 jobs")


def test_nothing_is_shown_where_nobody_looks(
    full: ServerProcess, rookery: Run, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert rookery("backup", tmp_path / "copy", "--server", full.url).stderr == ""
    with Progress("counting", 10, unit="jobs") as bar:
        bar.advance(5)
        bar.rename("still counting")
        bar.update(10, 10)
    assert capfd.readouterr() == ("", "")
