"""The order on a single node: the SQLite commit itself."""

import asyncio
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from rookery.engine import Batch, Machine
from rookery.engine.ops import AnyOperation, Result


class LocalLog:
    """Stamps a batch with the time and with randomness, and lets the machine commit it.

    The rules run right here; only the wait for the disk is left to a thread, so that requests go on being read.
    """

    def __init__(self, machine: Machine, now: Callable[[], int]) -> None:
        self._machine = machine
        self._now = now
        self._disk = ThreadPoolExecutor(1, "commit")

    async def append(self, ops: list[AnyOperation]) -> list[Result]:
        """Commit a batch."""
        results = self._machine.prepare(Batch(self._now(), ops, random.getrandbits(79)))
        if self._machine.has_changes:
            await asyncio.get_running_loop().run_in_executor(self._disk, self._machine.commit)
        else:
            self._machine.commit()
        return results

    def close(self) -> None:
        """Let the thread go."""
        self._disk.shutdown()
