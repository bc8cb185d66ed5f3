"""Long polls: callers who wait for a job, woken first come, first served, and never more than there are jobs."""

import asyncio
from collections.abc import Callable
from typing import Any

from rookery.engine import Machine
from rookery.engine.ops import Claim, Claimed, ClaimedJob, Refusal, Release, Return
from rookery.node.batcher import Batcher
from rookery.node.clock import Clock


class Waiter:
    """One parked poll. It keeps its place in line until it has a job, its time is up, or its caller is gone."""

    __slots__ = ("future", "is_trying", "op", "timer")

    def __init__(self, op: Claim, future: asyncio.Future[list[ClaimedJob]]) -> None:
        self.op = op
        self.future = future
        self.is_trying = False
        self.timer: asyncio.TimerHandle | None = None


class Waiters:
    """All parked polls, in a line for each queue."""

    def __init__(self, machine: Machine, batcher: Batcher, clock: Clock) -> None:
        self._machine = machine
        self._batcher = batcher
        self._clock = clock
        self._lines: dict[str, dict[Waiter, None]] = {}
        self._alarms: dict[str, asyncio.TimerHandle] = {}

    def __len__(self) -> int:
        return len({waiter for line in self._lines.values() for waiter in line})

    async def wait(self, op: Claim, timeout: float, gone: asyncio.Future[Any]) -> list[ClaimedJob]:
        """Jobs, as soon as there are any; none when the time is up or the caller has gone."""
        loop = asyncio.get_running_loop()
        waiter = Waiter(op, loop.create_future())
        for queue in op.queues:
            self._lines.setdefault(queue, {})[waiter] = None
        waiter.timer = loop.call_later(timeout, self._give_up, waiter)
        gone.add_done_callback(lambda _: waiter.future.done() or waiter.future.set_result([]))
        for queue in op.queues:
            self.wake(queue)
        try:
            return await waiter.future
        finally:
            self._leave(waiter)

    def wake(self, queue: str) -> None:
        """Let as many waiters of a queue try as there may be jobs for; if its rate holds it back, look again then."""
        line = self._lines.get(queue)
        if not line:
            return
        now = self._clock.now()
        jobs = self._machine.claimable(queue, now)
        if jobs == 0:
            self._look_again(queue, self._machine.opens_at(queue, now), now)
            return
        for waiter in line:
            if jobs <= 0:
                break
            jobs -= waiter.op.count
            if not waiter.is_trying:
                waiter.is_trying = True
                self._batcher.put(waiter.op, self._take(waiter))

    def release_all(self) -> None:
        """End every poll with nothing."""
        for line in list(self._lines.values()):
            for waiter in list(line):
                self._give_up(waiter)

    def put_back(self, op: Claim, jobs: list[ClaimedJob]) -> None:
        """Undo claims whose caller has gone before hearing of them."""
        if jobs:
            items = [Return(job.job_id, job.lease, reason="the caller had gone") for job in jobs]
            self._batcher.put(Release(items=items, namespace=op.namespace), _ignore)

    def _take(self, waiter: Waiter) -> Callable[[Any], None]:
        def deliver(result: Claimed | Refusal | BaseException) -> None:
            waiter.is_trying = False
            jobs = result.jobs if isinstance(result, Claimed) else []
            if waiter.future.done():
                self.put_back(waiter.op, jobs)
            elif isinstance(result, BaseException):
                waiter.future.set_exception(result)
            elif jobs or waiter.timer is None:
                waiter.future.set_result(jobs)

        return deliver

    def _give_up(self, waiter: Waiter) -> None:
        """The time is up: answer with nothing, unless a claim is under way that may still bring something."""
        if waiter.timer is not None:
            waiter.timer.cancel()
            waiter.timer = None
        if not waiter.is_trying and not waiter.future.done():
            waiter.future.set_result([])

    def _leave(self, waiter: Waiter) -> None:
        if waiter.timer is not None:
            waiter.timer.cancel()
            waiter.timer = None
        for queue in waiter.op.queues:
            line = self._lines.get(queue)
            if line is not None:
                line.pop(waiter, None)
                if not line:
                    del self._lines[queue]

    def _look_again(self, queue: str, at: int | None, now: int) -> None:
        if at is None or queue in self._alarms:
            return

        def look() -> None:
            del self._alarms[queue]
            self.wake(queue)

        self._alarms[queue] = asyncio.get_running_loop().call_later(max(0, at - now) / 1000 + 0.001, look)


def _ignore(_: object) -> None:
    """Nobody waits for this result."""
