"""What the three modes of the test kit share: the engine, its clients, and what a test can expect of it."""

from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack, ExitStack
from datetime import UTC, datetime, timedelta
from functools import partial
from time import time
from typing import Any, ClassVar, Final, Self, cast

import msgspec

from rookery.client.async_client import AsyncClient
from rookery.client.client import Client
from rookery.client.clock import substitute_clock
from rookery.client.functions.app import App, substitute
from rookery.client.functions.functions import JobFunction
from rookery.client.records import Job
from rookery.client.transport.addresses import from_environment
from rookery.client.values import Day, JobRef, time_text
from rookery.model.instants import LATEST, parse_bound
from rookery.testing.api import Added, MemoryApi
from rookery.testing.crew import Crew, Task, namespace_of
from rookery.testing.drained import Drained, Tally
from rookery.testing.expectations import Expectation, Options, Seen, not_enqueued, was_enqueued
from rookery.testing.node import MemoryNode, drive
from rookery.testing.running import Hands, LoopHands, PlainHands, is_in_loop
from rookery.testing.transports import AsyncMemoryTransport, MemoryTransport

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

Effort = Callable[[Hands, Tally], Coroutine[Any, Any, None]]
"""Some running of jobs, by these hands, counted there."""


class Kit:
    """An engine in memory. While it is active, all apps of the process talk to it instead of a server."""

    raises_errors: ClassVar[bool]
    """Whether `drain` raises what a job raises, unless it is told."""

    def __init__(self, *apps: App, now: Day | None = None) -> None:
        self._alive: set[App] = set()
        self._hands = PlainHands(self._alive)
        self._active = ExitStack()
        self._node = MemoryNode(_beginning() if now is None else moment_of(now, "now"))
        self._api = MemoryApi(self._node)
        self._crew = Crew(self._api, apps)
        namespace = from_environment(None, "NAMESPACE")
        self.client = Client(transport=self._transport(namespace))
        """A client of the engine."""
        self.async_client = AsyncClient(transport=self._async_transport(namespace))
        """The same for event loops."""

    def __enter__(self) -> Self:
        self._active.callback(self._close)
        self._active.enter_context(substitute(self._transports_of))
        self._active.enter_context(substitute_clock(lambda: self.now))
        return self

    def __exit__(self, *_: object) -> None:
        self._active.close()

    def _close(self) -> None:
        self._hands.close()
        self._node.close()

    def _transports_of(self, app: App) -> tuple[AsyncMemoryTransport, MemoryTransport]:
        self._crew.used.setdefault(app)
        namespace = namespace_of(app)
        return self._async_transport(namespace), self._transport(namespace)

    def _transport(self, namespace: str | None) -> MemoryTransport:
        return MemoryTransport(self._api, namespace, self._react_plainly)

    def _async_transport(self, namespace: str | None) -> AsyncMemoryTransport:
        return AsyncMemoryTransport(self._api, namespace, self._react_on_loop)

    # --- what there is

    @property
    def now(self) -> datetime:
        """The engine's time, in UTC. It stands still until it is moved."""
        return _EPOCH + timedelta(milliseconds=self._node.now)

    @property
    def enqueued(self) -> list[Job]:
        """Every job that was enqueued, by whomever, as it was then, in that order."""
        return [as_job(added) for added in self._node.added]

    def job(self, job: JobRef) -> Job:
        """A job as it is now. Raises NotFound."""
        return self.client.get(job)

    @property
    def failures(self) -> list[str]:
        """What went wrong with the jobs that were run, in words."""
        return self._crew.failures

    # --- what is expected

    def assert_enqueued(
        self, what: JobFunction[..., Any] | str | None = None, /, *, times: int | None = None, **expected: Any
    ) -> list[Job]:
        """Fail unless a job was enqueued like this, or so many `times`; the jobs that were.

        `what` is a job function or the name of a queue. Arguments are given by their names, as many as matter: a value,
        a type, or a function that says yes. So are `queue`, `priority`, `tags`, `scheduled_at`, `delay`, `unique_key`
        and `where` (a function of the job); an argument that has one of these names goes into `arguments={...}`.
        """
        __tracebackhide__ = True
        wanted = expectation(what, expected)
        seen = self._seen()
        found = [job for job in seen if wanted.fits(*job)]
        if not found if times is None else len(found) != times:
            raise AssertionError(not_enqueued(wanted, len(found), times, seen))
        return [job for job, _ in found]

    def refute_enqueued(self, what: JobFunction[..., Any] | str | None = None, /, **expected: Any) -> None:
        """Fail if a job was enqueued like this; see `assert_enqueued`."""
        __tracebackhide__ = True
        wanted = expectation(what, expected)
        found = [job for job in self._seen() if wanted.fits(*job)]
        if found:
            raise AssertionError(was_enqueued(wanted, found))

    def _seen(self) -> list[Seen]:
        crew = self._crew
        return [(as_job(added), crew.function_of(added.namespace, added.job.queue)) for added in self._node.added]

    # --- running jobs

    def drain(self, *, raise_errors: bool | None = None) -> Drained:
        """Run what is ready, and what becomes ready by that, until nothing is left. In async tests: `await` it."""
        raises = self.raises_errors if raise_errors is None else raise_errors
        return self._start(partial(self._drain, raises))

    async def _drain(self, raises: bool, hands: Hands, tally: Tally) -> None:
        while (task := self._crew.next_task()) is not None:
            await self._do(task, raises, hands, tally)

    async def _do(self, task: Task, raises: bool, hands: Hands, tally: Tally) -> None:
        attempt = await self._crew.do(task, hands, tally)
        if attempt.error is not None and raises:
            raise attempt.error

    def _start(self, effort: Effort) -> Drained:
        """Do it now, or, if an event loop is running, when it is awaited."""
        tally = Tally()
        if is_in_loop():
            return Drained(tally, self._on_loop(effort, tally))
        drive(effort(self._hands, tally))
        return Drained(tally)

    async def _on_loop(self, effort: Effort, tally: Tally) -> None:
        async with AsyncExitStack() as lives:
            await effort(LoopHands(self._alive, lives), tally)

    # --- what follows when jobs are added

    def _react_plainly(self, added: list[Added]) -> None:
        """Jobs were added by plain code."""

    async def _react_on_loop(self, added: list[Added]) -> None:
        """Jobs were added by code on an event loop."""


def expectation(what: JobFunction[..., Any] | str | None, expected: dict[str, Any]) -> Expectation:
    """What is expected, with options and arguments told apart."""
    __tracebackhide__ = True
    options = {name: expected.pop(name) for name in Options.__annotations__ if name in expected}
    arguments = {**expected.pop("arguments", {}), **expected}
    return Expectation(what, arguments, cast(Options, options))


def as_job(added: Added) -> Job:
    """A job as the SDK shows it."""
    return msgspec.json.decode(msgspec.json.encode(added.job), type=Job)


def moment_of(when: Day, field: str) -> int:
    """A point in time; a day means its first moment in UTC."""
    moment = parse_bound(time_text(when, field), round_up=True)
    if not 0 <= moment <= LATEST:
        raise ValueError(f"{field}: {when} is out of range")
    return moment


def _beginning() -> int:
    """A whole second, one to two seconds from now: what a test works out from the wall clock is past by then."""
    return (int(time()) + 2) * 1000
