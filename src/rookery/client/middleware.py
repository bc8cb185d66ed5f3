"""Layers around every enqueue and every run of an app: the first of the list is the outermost."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from rookery.client.newjobs import NewJob
from rookery.client.records import Enqueued, EnqueuedMany

T = TypeVar("T")
Job = TypeVar("Job")

CallNext = Callable[[Job], Awaitable[Any]]
Middleware = Callable[[Job, CallNext[Job]], Awaitable[Any]]


def onion(layers: Sequence[Middleware[Job]], core: CallNext[Job]) -> CallNext[Job]:
    """The core with the layers around it."""
    call = core
    for layer in reversed(layers):
        call = _around(layer, call)
    return call


def _around(layer: Middleware[Job], inner: CallNext[Job]) -> CallNext[Job]:
    async def call(job: Job) -> Any:
        return await layer(job, inner)

    return call


def run_without_loop(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end from plain code, even when that was called from a running loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()


async def through_layers(
    layers: Sequence[Middleware[NewJob]], jobs: list[NewJob], send: Callable[[list[NewJob]], Awaitable[EnqueuedMany]]
) -> EnqueuedMany:
    """Send many jobs at once, each through the layers; one that a layer does not pass on is left out."""
    if not layers:
        return await send(jobs)
    loop = asyncio.get_running_loop()
    passed: dict[int, tuple[NewJob, asyncio.Future[Enqueued]]] = {}
    all_seen = asyncio.Event()
    missing = len(jobs)

    def arrive() -> None:
        nonlocal missing
        missing -= 1
        if missing <= 0:
            all_seen.set()

    async def walk(number: int, job: NewJob) -> None:
        async def core(job: NewJob) -> Enqueued:
            if number in passed:
                raise RuntimeError("call_next may be called once for each job of enqueue_many")
            passed[number] = job, loop.create_future()
            arrive()
            return await passed[number][1]

        try:
            await onion(layers, core)(job)
        finally:
            if number not in passed:
                arrive()

    try:
        async with asyncio.TaskGroup() as walks:
            for number, job in enumerate(jobs):
                walks.create_task(walk(number, job))
            if jobs:
                await all_seen.wait()
            in_order = [passed[number] for number in sorted(passed)]
            sent = await send([job for job, _ in in_order]) if in_order else EnqueuedMany(job_ids=[])
            for job_id, (_, future) in zip(sent.job_ids, in_order, strict=True):
                future.set_result(Enqueued(job_id=job_id, status="pending"))
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return sent
