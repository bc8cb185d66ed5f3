"""The order on a single node: the SQLite commit itself."""

import random
from collections.abc import Callable

from rookery.engine import Batch, Machine
from rookery.engine.ops import AnyOperation, Result


class LocalLog:
    """Stamps a batch with the time and with randomness, and lets the machine commit it."""

    def __init__(self, machine: Machine, now: Callable[[], int]) -> None:
        self._machine = machine
        self._now = now

    def append(self, ops: list[AnyOperation]) -> list[Result]:
        """Commit a batch."""
        return self._machine.apply(Batch(self._now(), ops, random.getrandbits(79)))
