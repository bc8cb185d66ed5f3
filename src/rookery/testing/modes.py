"""The three modes: a real engine with a clock that is moved, jobs that only wait, jobs that run at once."""

from collections import deque
from contextlib import AsyncExitStack
from functools import partial
from typing import ClassVar

from rookery.client.functions.app import App
from rookery.client.values import Day, Duration, milliseconds_of
from rookery.model.instants import format_instant
from rookery.model.job import SCHEDULED
from rookery.model.names import namespace_of, shown_name
from rookery.testing.api import Added
from rookery.testing.drained import Drained, Tally
from rookery.testing.kit import Kit, moment_of
from rookery.testing.node import drive
from rookery.testing.running import Hands, LoopHands


class Engine(Kit):
    """The real engine. Jobs wait until `drain`, and live by the real rules: retries, backoff, leases, limits, cron."""

    raises_errors: ClassVar[bool] = False

    def advance(self, by: Duration) -> None:
        """Move the clock on: `"2h"`, a timedelta, or seconds. What comes due on the way happens at its own time.

        No job is run by that; `drain` runs those that are ready then, `run_for` runs each when it is due.
        """
        self._pass_until(self._after(by))

    def travel_to(self, when: Day) -> None:
        """Move the clock on to a point in time, or to the first moment of a day in UTC."""
        end = moment_of(when, "when")
        if end < self._node.now:
            raise ValueError(f"the clock only goes forward: it is {format_instant(self._node.now)} already")
        self._pass_until(end)

    def run_for(self, by: Duration, *, raise_errors: bool | None = None) -> Drained:
        """Move the clock on as `advance` does, with a worker at hand that runs each job when it is due."""
        raises = self.raises_errors if raise_errors is None else raise_errors
        return self._start(partial(self._run_until, self._after(by), raises))

    def _after(self, by: Duration) -> int:
        if str(by).strip().startswith("-"):
            raise ValueError(f"by: the clock only goes forward, not by {by}")
        return self._node.now + milliseconds_of(by, "by")

    def _pass_until(self, end: int) -> None:
        with self._api.turn:
            while self._node.step(end):
                pass

    async def _run_until(self, end: int, raises: bool, hands: Hands, tally: Tally) -> None:
        is_under_way = True
        while is_under_way:
            await self._drain(raises, hands, tally)
            with self._api.turn:
                is_under_way = self._node.step(end, and_rates=True)
        await self._drain(raises, hands, tally)


class Fake(Kit):
    """Jobs only wait, whatever their time is, until `drain` runs them all."""

    raises_errors: ClassVar[bool] = True

    async def _drain(self, raises: bool, hands: Hands, tally: Tally) -> None:
        """Run what is ready, then what waits for its time, each of those once."""
        hurried: set[str] = set()
        await super()._drain(raises, hands, tally)
        while self._hurry(hurried):
            await super()._drain(raises, hands, tally)

    def _hurry(self, hurried: set[str]) -> bool:
        """Make the next of the jobs ready that wait for their time; False if all of them have been."""
        with self._api.turn:
            for job_id, queue in self._node.timed_jobs():
                namespace = namespace_of(queue)
                function = self._crew.function_of(namespace, shown_name(namespace, queue))
                if function is not None and job_id not in hurried:
                    hurried.add(job_id)
                    self._node.make_ready(job_id)
                    return True
        return False


class Inline(Kit):
    """Jobs run as soon as they are enqueued, where they are enqueued, whatever their time is."""

    raises_errors: ClassVar[bool] = True

    def __init__(self, *apps: App, now: Day | None = None) -> None:
        super().__init__(*apps, now=now)
        self._ran = Tally()

    def _react_plainly(self, added: list[Added]) -> None:
        drive(self._run_added(self._hands, added))

    async def _react_on_loop(self, added: list[Added]) -> None:
        async with AsyncExitStack() as lives:
            await self._run_added(LoopHands(self._alive, lives), added)

    async def _run_added(self, hands: Hands, added: list[Added]) -> None:
        """Run these jobs and those that follow from their endings, then raise the first error."""
        waiting, errors = deque(added), []
        while waiting:
            namespace, job = waiting.popleft()
            if job.state == SCHEDULED:
                with self._api.turn:
                    self._node.make_ready(job.id)
            task = self._crew.task_for(namespace, job.queue, job.id)
            if task is not None:
                attempt = await self._crew.do(task, hands, self._ran)
                waiting.extend(attempt.followers)
                if attempt.error is not None:
                    errors.append(attempt.error)
        if errors:
            raise errors[0]
