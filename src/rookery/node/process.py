"""What the process uses: memory, threads, pauses for collecting garbage."""

import gc
import re
import resource
import sys
import threading
from pathlib import Path
from time import perf_counter_ns
from typing import Final

import msgspec

_STATUS: Final = Path("/proc/self/status")
_KIB: Final = 1024


class Memory(msgspec.Struct, frozen=True):
    """Bytes. Where the system does not tell them apart, all of it counts as heap."""

    resident: int
    heap: int
    stack: int


def read_memory() -> Memory:
    """What the process has in memory now; elsewhere than on Linux, at the most so far."""
    try:
        sizes = dict(re.findall(r"^(\w+):\s+(\d+) kB$", _STATUS.read_text(), re.MULTILINE))
        resident, heap, stack = (int(sizes[name]) * _KIB for name in ("VmRSS", "RssAnon", "VmStk"))
    except (OSError, KeyError):
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        resident = heap = most if sys.platform == "darwin" else most * _KIB
        stack = 0
    return Memory(resident, heap, stack)


def count_threads() -> int:
    """Threads that run Python."""
    return threading.active_count()


class GarbageWatch:
    """Takes the time of Python's garbage collections."""

    def __init__(self) -> None:
        self.collections = 0
        self.last_pause = 0
        self.total_pause = 0
        self._started = 0

    def start(self) -> None:
        """Watch from now on."""
        gc.callbacks.append(self._note)

    def stop(self) -> None:
        """Watch no longer."""
        if self._note in gc.callbacks:
            gc.callbacks.remove(self._note)

    def _note(self, phase: str, _: dict[str, int]) -> None:
        if phase == "start":
            self._started = perf_counter_ns()
        else:
            self.collections += 1
            self.last_pause = perf_counter_ns() - self._started
            self.total_pause += self.last_pause
