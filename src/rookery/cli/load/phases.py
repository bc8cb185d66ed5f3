"""The phases of a run: enqueue all, then claim and end all; or everything at once."""

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from time import perf_counter
from typing import Final, cast

import msgspec

from rookery.cli.load.figures import Phase
from rookery.cli.load.http import HttpLane
from rookery.cli.load.lane import Lane, Lease, NumberedLease, Patience
from rookery.cli.load.settings import Settings
from rookery.cli.load.stream import StreamLane
from rookery.cli.progress import Progress
from rookery.cli.remote import Remote

SHOWN_EVERY: Final = 0.1

Tell = Callable[[str, str, int, Phase], None]
"""Hears of each phase: its protocol, its name, which repeat it was, and what it took."""


async def run_load(settings: Settings, remote: Remote, patience: Patience, tell: Tell) -> None:
    """Measure each protocol as often as was asked for."""
    is_first = True
    for protocol in settings.protocols:
        for repeat in range(1, settings.repeats + 1):
            if not is_first and settings.repeat_pause:
                await asyncio.sleep(settings.repeat_pause / 1000)
            is_first = False
            load = _Load(settings, protocol, remote, patience)
            for name, phase in load.phases():
                tell(protocol, name, repeat, await phase())


class _Load:
    """One repeat of one protocol."""

    def __init__(self, settings: Settings, protocol: str, remote: Remote, patience: Patience) -> None:
        self._settings = settings
        self._protocol = protocol
        self._remote = remote
        self._patience = patience
        self._batch = 1 if protocol == "http" else settings.enqueue_batch_size
        self._jobs = [_job(settings, number) for number in range(settings.jobs)]
        self._latencies: list[float] = []
        self._done = 0

    def phases(self) -> Sequence[tuple[str, Callable[[], Awaitable[Phase]]]]:
        """Their names, and how to run them."""
        if self._settings.combined:
            return [("combined", self.combined)]
        return [("enqueue", self.enqueue), ("lifecycle", self.lifecycle)]

    async def enqueue(self) -> Phase:
        """Add all jobs."""

        async def produce(lane: Lane, start: int) -> None:
            began = perf_counter()
            await lane.enqueue(self._jobs[start : start + self._batch])
            self._took(perf_counter() - began, min(self._batch, len(self._jobs) - start))

        async with self._lane() as lane:
            return await self._timed("enqueue", self._produce(lane, produce))

    async def lifecycle(self) -> Phase:
        """Claim and end all jobs."""
        is_over = asyncio.get_running_loop().create_future()

        def ended(jobs: Sequence[Lease], began: float) -> None:
            self._took(perf_counter() - began, len(jobs))
            if self._done >= len(self._jobs) and not is_over.done():
                is_over.set_result(None)

        async with self._lane() as lane:
            return await self._timed("lifecycle", self._work(lane, ended, is_over))

    async def combined(self) -> Phase:
        """Add jobs and end them at the same time: each producer goes on when all jobs of its batch have ended."""
        loop = asyncio.get_running_loop()
        began: dict[int, float] = {}
        left: dict[int, tuple[int, asyncio.Future[None]]] = {}

        async def produce(lane: Lane, start: int) -> None:
            jobs = self._jobs[start : start + self._batch]
            number = start // self._batch
            have_ended = loop.create_future()
            began[number], left[number] = perf_counter(), (len(jobs), have_ended)
            await lane.enqueue(jobs)
            await have_ended

        def ended(jobs: Sequence[Lease], _: float) -> None:
            now = perf_counter()
            for job in cast(Sequence[NumberedLease], jobs):
                number = job.payload.n // self._batch
                self._took(now - began[number], 1)
                count, have_ended = left[number]
                left[number] = (count - 1, have_ended)
                if count == 1:
                    have_ended.set_result(None)

        async with self._lane() as lane:
            produced = loop.create_task(self._produce(lane, produce))
            try:
                return await self._timed("combined", self._work(lane, ended, produced))
            finally:
                produced.cancel()

    async def _produce(self, lane: Lane, produce: Callable[[Lane, int], Awaitable[None]]) -> None:
        """As many batches at a time as was asked for."""
        starts = iter(range(0, len(self._jobs), self._batch))

        async def one_after_the_other() -> None:
            for start in starts:
                await produce(lane, start)

        async with asyncio.TaskGroup() as group:
            for _ in range(self._settings.concurrency):
                group.create_task(one_after_the_other())

    async def _work(
        self, lane: Lane, ended: Callable[[Sequence[Lease], float], None], is_over: asyncio.Future[None]
    ) -> None:
        """Let all workers work until it is over."""
        async with asyncio.TaskGroup() as group:
            workers = [group.create_task(lane.work(number, ended)) for number in range(self._settings.workers)]
            await is_over
            for worker in workers:
                worker.cancel()

    async def _timed(self, name: str, work: Awaitable[None]) -> Phase:
        self._latencies, self._done = [], 0
        label = f"{self._protocol} {name}"
        with Progress(label, len(self._jobs), unit="jobs") as bar, _no_garbage_collection():
            showing = asyncio.create_task(self._show(bar))
            began = perf_counter()
            try:
                await work
            finally:
                seconds = perf_counter() - began
                showing.cancel()
        return Phase(self._done, seconds, self._latencies)

    async def _show(self, bar: Progress) -> None:
        while True:
            await asyncio.sleep(SHOWN_EVERY)
            bar.update(self._done)

    def _took(self, seconds: float, jobs: int) -> None:
        self._latencies.append(seconds)
        self._done += jobs

    @asynccontextmanager
    async def _lane(self) -> AsyncIterator[Lane]:
        settings, remote, patience = self._settings, self._remote, self._patience
        lane: Lane
        if self._protocol == "stream":
            lane = StreamLane(settings, remote, patience)
        else:
            lane = HttpLane(settings, remote, patience, in_batches=self._protocol == "http-batch")
        try:
            await lane.open()
            yield lane
        finally:
            await lane.close()


def _job(settings: Settings, number: int) -> bytes:
    payload = {"to": "someone@example.com", "template": "welcome", "n": number}
    return msgspec.json.encode({"queue": settings.queue_of(number), "payload": payload})


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """The load makes hardly any cycles; to look for them would only be felt in the latencies."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
