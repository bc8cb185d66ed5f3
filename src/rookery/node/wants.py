"""Standing credit: a stream is handed jobs as they become claimable, never more than it has room for."""

import asyncio
from collections.abc import Callable
from typing import Final

import msgspec

from rookery.engine.ops import Claim, ClaimedJob
from rookery.node.waiters import Waiter, Waiters

MOST_AT_ONCE: Final = 512
"""How many jobs one claim brings at the most."""
SEEN_EVERY: Final = 30.0
"""Seconds after which a worker that only waits is noted as there again."""
TRY_AGAIN: Final = 1.0
"""Seconds to wait after a claim went wrong."""


class Want:
    """What one stream wants, and for how many more jobs it has room."""

    def __init__(self, waiters: Waiters, deliver: Callable[[list[ClaimedJob]], None]) -> None:
        self.credit = 0
        self._waiters = waiters
        self._deliver = deliver
        self._op: Claim | None = None
        self._waiter: Waiter | None = None
        self._is_held_up = False
        self._again: asyncio.TimerHandle | None = None
        self._seen: asyncio.TimerHandle | None = None

    @property
    def is_idle(self) -> bool:
        """Whether it waits in line while there is nothing to claim."""
        return self._waiter is not None and not self._waiter.is_trying

    def set(self, op: Claim | None, count: int) -> None:
        """Want `count` jobs from now on, or none at all; of `op` only the number does not matter."""
        if op is None or op != self._op:
            self.close()
            self._op = op
        if op is None:
            return
        if self._seen is None:
            self._waiters.begin_wanting(op.queues)
            self._note_worker()
        self.credit = count
        self._ask()

    def give_back(self, count: int) -> None:
        """There is room for so many more, if more is wanted at all."""
        if self._op is not None:
            self.credit += count
            self._ask()

    def hold_up(self) -> None:
        """Claim nothing more for the time being."""
        self._is_held_up = True
        if self.is_idle:
            self._leave()

    def go_on(self) -> None:
        """Claim again."""
        self._is_held_up = False
        self._ask()

    def close(self) -> None:
        """Want nothing any more; what is being claimed is put back."""
        self._leave()
        for timer in (self._again, self._seen):
            if timer is not None:
                timer.cancel()
        self._again = self._seen = None
        if self._op is not None:
            self._waiters.stop_wanting(self._op.queues)
            self._op = None
        self.credit = 0

    def _ask(self) -> None:
        """Stand in line if there is room for jobs, and leave it if there is none."""
        if self._op is None or self._is_held_up or self.credit <= 0:
            if self.is_idle:
                self._leave()
        elif self._waiter is None:
            self._waiter = self._waiters.stand(self._claim(self._op), self._take)
        elif not self._waiter.is_trying:
            self._waiter.op = self._claim(self._op)

    def _claim(self, op: Claim) -> Claim:
        return msgspec.structs.replace(op, count=min(self.credit, MOST_AT_ONCE))

    def _take(self, jobs: list[ClaimedJob] | BaseException) -> None:
        self._waiter = None
        if isinstance(jobs, BaseException):
            self._again = asyncio.get_running_loop().call_later(TRY_AGAIN, self._ask)
            return
        room = max(0, self.credit)
        if len(jobs) > room and self._op is not None:
            self._waiters.put_back(self._op, jobs[room:])
            jobs = jobs[:room]
        self.credit -= len(jobs)
        if jobs:
            self._deliver(jobs)
            self._ask()

    def _leave(self) -> None:
        if self._waiter is not None:
            self._waiters.abandon(self._waiter)
            self._waiter = None

    def _note_worker(self) -> None:
        assert self._op is not None
        self._waiters.see_worker(self._op)
        self._seen = asyncio.get_running_loop().call_later(SEEN_EVERY, self._note_worker)
