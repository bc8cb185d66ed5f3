"""What the type checker says to users: nothing about good programs, and the right thing about mistakes."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import rookery

HERE = Path(__file__).parent
PROGRAMS = sorted(path for path in HERE.glob("*.py") if not path.name.startswith(("test_", "__")))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_the_checker_sees_every_mistake_and_no_other(program: Path) -> None:
    expected = {
        number: line.partition("# error: ")[2].strip()
        for number, line in enumerate(program.read_text().splitlines(), 1)
        if "  # error: " in line
    }
    found: dict[int, list[str]] = {}
    for line in check(program).splitlines():
        match = re.match(rf"{re.escape(program.name)}:(\d+): error: (.*)", line)
        if match is not None:
            found.setdefault(int(match[1]), []).append(match[2])
    assert found.keys() == expected.keys(), found
    for number, text in expected.items():
        assert any(text in complaint for complaint in found[number]), f"{number}: {found[number]}"


def check(program: Path) -> str:
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--hide-error-context", program.name]
    environment = {**os.environ, "MYPYPATH": str(Path(rookery.__file__).parent.parent), "MYPY_CACHE_DIR": ".mypy_cache"}
    run = subprocess.run(command, cwd=HERE, env=environment, capture_output=True, text=True, timeout=300)
    assert run.returncode in (0, 1), run.stderr
    return run.stdout
