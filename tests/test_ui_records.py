"""What the web UI believes about the API is so."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_records_of_the_web_ui_are_those_of_the_server() -> None:
    command = [sys.executable, ROOT / "tools/make_ui_records.py", "--check"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
