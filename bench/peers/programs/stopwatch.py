"""What all programs share: the payload, and the marks that finished jobs leave.

It runs inside the environment of whatever is measured, so it needs nothing but the standard library. Where jobs leave
their marks, and how many there are, comes in the environment: a file with a byte a job (how often it was done),
followed by eight bytes a job (when, by the clock that all processes of the machine share).
"""

import functools
import mmap
import os
import struct
import time
from typing import Any

SERVER = os.environ["BENCH_SERVER"]
CONCURRENCY = 10

_JOBS = int(os.environ["BENCH_JOBS"])
_TIME = struct.Struct("<q")


def payload(n: int) -> dict[str, Any]:
    """What job number n carries."""
    return {"to": "someone@example.com", "template": "welcome", "n": n}


def mark(n: int) -> None:
    """Job number n is done. Threads and forked processes may all say so: each job has its own place."""
    marks = _marks()
    marks[n] += 1
    _TIME.pack_into(marks, _JOBS + _TIME.size * n, time.monotonic_ns())


def are_all_marked() -> bool:
    return 0 not in _marks()[:_JOBS]


@functools.cache
def _marks() -> mmap.mmap:
    with open(os.environ["BENCH_MARKS"], "r+b") as file:
        return mmap.mmap(file.fileno(), 0)
