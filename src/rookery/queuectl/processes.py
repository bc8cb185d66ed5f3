"""Whether the process of a worker is still there: its pid may by now be that of another one."""

import os
import subprocess
from functools import cache
from pathlib import Path


def start_mark(pid: int) -> str | None:
    """When a process started, in whatever form this system tells it; None if there is no such process."""
    if os.path.exists("/proc/self/stat"):
        return _linux_mark(pid)
    done = subprocess.run(["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    state, _, started = done.stdout.strip().partition(" ")
    return None if not started or state.startswith("Z") else started.strip()


def is_running(pid: int, mark: str | None) -> bool:
    """Whether the process that had this mark is still running."""
    return mark is not None and start_mark(pid) == mark


def _linux_mark(pid: int) -> str | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    state, started = fields[0], fields[19]
    return None if state in "ZX" else f"{_boot()}-{started}"


@cache
def _boot() -> str:
    """Ticks are counted from the start of the machine, so that has to be known as well."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()[:8]
    except OSError:
        return ""


def own_mark() -> str:
    """The mark of this very process."""
    return start_mark(os.getpid()) or ""
