"""Long polls: callers who wait for a job, woken first come, first served, and never more than there are jobs.

A stream waits in the same lines, for as long as it takes.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Any, Final

from rookery.engine import Machine
from rookery.engine.ops import AnyOperation, Claim, Claimed, ClaimedJob, Enqueue, Release, Return, SeeWorker
from rookery.node.batcher import Batcher, Overloaded
from rookery.node.clock import Clock
from rookery.node.measures import Measures

MOST_REMEMBERED: Final = 10_000
"""Of so many queues it is known when somebody last asked for them; the one asked for longest ago is forgotten first."""

Deliver = Callable[[list[ClaimedJob] | BaseException], None]


class Waiter:
    """One poll. It keeps its place in line until it has a job, its time is up, or its caller is gone."""

    __slots__ = ("_deliver", "is_done", "is_late", "is_new", "is_trying", "op", "timer")

    def __init__(self, op: Claim, deliver: Deliver) -> None:
        self.op = op
        self.is_new = True
        self.is_trying = False
        self.is_done = False
        self.is_late = False
        self.timer: asyncio.TimerHandle | None = None
        self._deliver = deliver

    def finish(self, result: list[ClaimedJob] | BaseException) -> None:
        """Give the caller what there is."""
        self.is_done = True
        self._deliver(result)


class Waiters:
    """All polls, in a line for each queue."""

    def __init__(self, machine: Machine, batcher: Batcher, clock: Clock, most_claims: int, measures: Measures) -> None:
        self._machine = machine
        self._batcher = batcher
        self._clock = clock
        self._most_claims = most_claims
        self._measures = measures
        self._lines: dict[str, dict[Waiter, None]] = {}
        self._alarms: dict[str, tuple[int, asyncio.TimerHandle]] = {}
        self._arrivals: list[Waiter] = []
        self._to_look_at: set[str] = set()
        self._asked: dict[str, int] = {}
        self._wanted: Counter[str] = Counter()

    def wait(self, op: Claim, timeout: float, deliver: Deliver) -> Waiter:
        """Deliver jobs as soon as there are any, none when the time is up, or Overloaded at once."""
        waiter = Waiter(op, deliver)
        waiter.timer = asyncio.get_running_loop().call_later(timeout, self._time_is_up, waiter)
        self._stand_in_line(waiter)
        if not waiter.is_trying and not waiter.is_done:
            self.see_worker(op)
        return waiter

    def stand(self, op: Claim, deliver: Deliver) -> Waiter:
        """Deliver jobs as soon as there are any, however long that takes."""
        waiter = Waiter(op, deliver)
        waiter.is_new = False
        self._stand_in_line(waiter)
        return waiter

    def _stand_in_line(self, waiter: Waiter) -> None:
        for queue in waiter.op.queues:
            self._lines.setdefault(queue, {})[waiter] = None
        if self._batcher.is_committing:
            self._arrivals.append(waiter)
        else:
            for queue in waiter.op.queues:
                self._wake(queue)
            waiter.is_new = False

    def see_worker(self, op: Claim) -> None:
        """Note that the worker is there, though nothing is claimed for it now."""
        if op.worker_id:
            seen = SeeWorker(worker_id=op.worker_id, hostname=op.hostname, queues=op.queues, namespace=op.namespace)
            self._batcher.put(seen, _ignore)

    def abandon(self, waiter: Waiter) -> None:
        """The caller is gone: nothing is claimed for it any more, and what is being claimed is put back."""
        waiter.is_done = True
        self._leave(waiter)

    def hurry(self, waiter: Waiter) -> None:
        """The caller cannot wait any longer: answer now."""
        self._time_is_up(waiter)

    def put_back(self, op: Claim, jobs: list[ClaimedJob]) -> None:
        """Undo claims whose caller has gone before hearing of them."""
        if jobs:
            items = [Return(job.job_id, job.lease, reason="the caller had gone") for job in jobs]
            self._batcher.put(Release(items=items, namespace=op.namespace), _ignore)

    def last_asked(self, queue: str) -> int | None:
        """When somebody last asked for the queue: now, if a poll is parked there or a stream wants its jobs."""
        return self._clock.now() if queue in self._lines or queue in self._wanted else self._asked.get(queue)

    def begin_wanting(self, queues: tuple[str, ...]) -> None:
        """A stream wants jobs of these queues, also while it has no room for more."""
        self._wanted.update(queues)

    def stop_wanting(self, queues: tuple[str, ...]) -> None:
        """It wants them no longer."""
        self._wanted.subtract(queues)
        for queue in queues:
            if self._wanted[queue] <= 0:
                del self._wanted[queue]
        self._note_asked(queues)

    def release_all(self) -> None:
        """End every poll with nothing."""
        for line in list(self._lines.values()):
            for waiter in list(line):
                self._time_is_up(waiter)

    def wake(self, changed: list[str]) -> None:
        """A commit has changed these queues: let their waiters try, and those who came in the meantime."""
        arrived = [queue for waiter in self._arrivals for queue in waiter.op.queues]
        for queue in dict.fromkeys((*changed, *arrived, *sorted(self._to_look_at))):
            self._wake(queue)
        for waiter in self._arrivals:
            waiter.is_new = False
        self._arrivals.clear()
        self._to_look_at.clear()

    def join(self, ops: list[AnyOperation]) -> list[tuple[AnyOperation, Callable[[Any], None]]]:
        """The claims of those who wait for jobs that are about to be added: one commit is enough for both."""
        if not self._lines:
            return []
        added = Counter(
            job.queue
            for op in ops
            if isinstance(op, Enqueue)
            for job in op.jobs
            if job.queue in self._lines and job.scheduled_at is None
        )
        now = self._clock.now()
        return [
            (waiter.op, partial(self._joined, waiter))
            for queue, count in added.items()
            for waiter in self._next_in_line(queue, min(count, self._machine.open_slots(queue, now)))
        ]

    def _wake(self, queue: str) -> None:
        """Let as many waiters of a queue try as there may be jobs for; if its rate holds it back, look again then."""
        if queue not in self._lines:
            return
        now = self._clock.now()
        jobs = self._machine.claimable(queue, now)
        if jobs == 0:
            self._look_again(queue, self._machine.opens_at(queue, now), now)
            return
        for waiter in self._next_in_line(queue, jobs):
            self._batcher.put(waiter.op, partial(self._tried, waiter))

    def _next_in_line(self, queue: str, jobs: int) -> list[Waiter]:
        """Those who are to try now because there may be so many jobs. Too many newcomers at once are sent away."""
        claims, chosen = 0, []
        for waiter in tuple(islice(self._lines.get(queue, ()), jobs)):
            if jobs <= 0:
                break
            claims += 1
            if waiter.is_new and not waiter.is_trying and claims > self._most_claims:
                self._leave(waiter)
                self._measures.fetch_overloads += 1
                waiter.finish(Overloaded(random.randint(2, 8)))
                continue
            jobs -= waiter.op.count
            if not waiter.is_trying:
                waiter.is_trying = True
                chosen.append(waiter)
        return chosen

    def _joined(self, waiter: Waiter, result: Claimed | BaseException) -> None:
        """If nothing came of the batch, there are no new jobs: the waiter waits on."""
        self._tried(waiter, result if isinstance(result, Claimed) else Claimed([]))

    def _tried(self, waiter: Waiter, result: Claimed | BaseException) -> None:
        waiter.is_trying = False
        self._to_look_at.update(waiter.op.queues)
        jobs = result.jobs if isinstance(result, Claimed) else []
        if waiter.is_done:
            self.put_back(waiter.op, jobs)
        elif jobs or waiter.is_late or isinstance(result, BaseException):
            self._leave(waiter)
            waiter.finish(result if isinstance(result, BaseException) else jobs)

    def _time_is_up(self, waiter: Waiter) -> None:
        """Answer with nothing, unless a claim is under way that may still bring something."""
        waiter.is_late = True
        if waiter.timer is not None:
            waiter.timer.cancel()
            waiter.timer = None
        if not waiter.is_trying and not waiter.is_done:
            self._leave(waiter)
            waiter.finish([])

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
        self._note_asked(waiter.op.queues)

    def _note_asked(self, queues: tuple[str, ...]) -> None:
        now, asked = self._clock.now(), self._asked
        for queue in queues:
            asked.pop(queue, None)
            asked[queue] = now
        while len(asked) > MOST_REMEMBERED:
            del asked[next(iter(asked))]

    def _look_again(self, queue: str, at: int | None, now: int) -> None:
        alarm = self._alarms.get(queue)
        if at is None or (alarm is not None and alarm[0] <= at):
            return
        if alarm is not None:
            alarm[1].cancel()

        def look() -> None:
            del self._alarms[queue]
            if self._batcher.is_committing:
                self._to_look_at.add(queue)
            else:
                self._wake(queue)

        delay = max(0, at - now) / 1000 + 0.001
        self._alarms[queue] = (at, asyncio.get_running_loop().call_later(delay, look))


def _ignore(_: Any) -> None:
    """Nobody waits for this result."""
