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
    """Send many jobs at once, each through the layers; one that a layer does not pass on is left out.

    The layers are asked one job after the other, ahead of the one request: what they get back has no id yet.
    """
    if not layers:
        return await send(jobs)
    passed: list[NewJob] = []

    async def core(job: NewJob) -> Enqueued:
        passed.append(job)
        return Enqueued(job_id="", status="pending")

    call = onion(layers, core)
    for job in jobs:
        before = len(passed)
        await call(job)
        if len(passed) > before + 1:
            raise RuntimeError("call_next may be called once for each job of enqueue_many")
    return await send(passed) if passed else EnqueuedMany(job_ids=[])
