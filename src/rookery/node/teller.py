"""Having webhooks told of events: after the commit that brought them, chunk by chunk, beside everything else."""

import asyncio
from functools import partial
from time import perf_counter
from typing import Final

from rookery.engine import Machine
from rookery.engine.ops import TellWebhooks, Told
from rookery.node.alarm import PAUSE_AFTER_FAULT
from rookery.node.batcher import Batcher

REST: Final = 1.5
"""How long to rest after a chunk while others want something done, as a multiple of what the chunk has taken."""
LEAST_REST: Final = 0.02
"""Seconds. So that a steady stream of small commits is told in few commits more, not in as many again."""


class Teller:
    """Proposes that webhooks be told, one chunk at a time, while there is something they have not been told of."""

    def __init__(self, machine: Machine, batcher: Batcher) -> None:
        self._machine = machine
        self._batcher = batcher
        self._submitted = 0
        self._is_telling = False
        self._is_stopped = False
        self._rest: asyncio.TimerHandle | None = None

    def look(self) -> None:
        """Begin if there is something to tell, unless that is under way."""
        if not self._is_telling and not self._is_stopped and self._machine.has_untold:
            self._is_telling = True
            self._batcher.put(TellWebhooks(), partial(self._told, perf_counter()))

    def stop(self) -> None:
        """Propose nothing more: what is untold is told after the next start."""
        self._is_stopped = True
        if self._rest is not None:
            self._rest.cancel()

    def _told(self, begun: float, result: Told | BaseException) -> None:
        """Go on after a rest, in any case not before everybody else has had a turn."""
        is_alone = self._batcher.submitted - self._submitted == 1
        self._submitted = self._batcher.submitted
        if isinstance(result, BaseException):
            rest = PAUSE_AFTER_FAULT
        elif is_alone:
            rest = 0.0
        else:
            rest = max(LEAST_REST, REST * (perf_counter() - begun))
        self._rest = asyncio.get_running_loop().call_later(rest, self._go_on)

    def _go_on(self) -> None:
        self._is_telling = False
        self.look()
