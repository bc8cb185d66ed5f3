"""The order on a single node: the SQLite commit itself."""

import asyncio
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import Final

from rookery.engine import Batch, Machine
from rookery.engine.ops import AnyOperation, Result

SLOW_COMMIT: Final = 0.002
"""Seconds. A commit that takes longer is worth the price of a thread."""
_LONGEST_COUNTED: Final = 2 * SLOW_COMMIT
"""One commit that was held up, however long, does not make a disk slow."""
_WEIGHT: Final = 0.125


class LocalLog:
    """Stamps a batch with the time and with randomness, and lets the machine commit it.

    On a fast disk the commit is done right here. On a slow one a thread waits for the disk, so that requests go on
    being read and answered.
    """

    def __init__(self, machine: Machine, now: Callable[[], int]) -> None:
        self._machine = machine
        self._now = now
        self.last_commit: tuple[float, float] | None = None
        self._usual_commit = 0.0
        self._disk = ThreadPoolExecutor(1, "commit")

    async def append(self, ops: list[AnyOperation]) -> list[Result]:
        """Commit a batch."""
        self.last_commit = None
        results = self._machine.prepare(Batch(self._now(), ops, random.getrandbits(79)))
        if self._machine.has_changes:
            started = perf_counter()
            if self._usual_commit > SLOW_COMMIT:
                await asyncio.get_running_loop().run_in_executor(self._disk, self._machine.commit)
            else:
                self._machine.commit()
            self.last_commit = (started, perf_counter())
            took = min(self.last_commit[1] - started, _LONGEST_COUNTED)
            self._usual_commit += (took - self._usual_commit) * _WEIGHT
        else:
            self._machine.commit()
        return results

    def close(self) -> None:
        """Let the thread go."""
        self._disk.shutdown()
