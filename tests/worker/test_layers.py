"""Layers around the enqueueing of many jobs, without a server."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from rookery import EnqueuedMany, NewJob
from rookery.client.functions.middleware import through_layers

CallNext = Callable[[NewJob], Awaitable[Any]]


async def send(jobs: list[NewJob]) -> EnqueuedMany:
    return EnqueuedMany(job_ids=[job.queue for job in jobs])


def test_a_layer_may_hold_a_lock_while_it_passes_a_job_on() -> None:
    async def main() -> list[str]:
        lock = asyncio.Lock()

        async def one_at_a_time(job: NewJob, call_next: CallNext) -> Any:
            async with lock:
                enqueued = await call_next(job)
                assert enqueued.job_id == ""
                return enqueued

        jobs = [NewJob("a", {}), NewJob("b", {})]
        return (await asyncio.wait_for(through_layers([one_at_a_time], jobs, send), 20)).job_ids

    assert asyncio.run(main()) == ["a", "b"]


def test_a_layer_may_keep_jobs_back_but_not_pass_one_on_twice() -> None:
    async def times(job: NewJob, call_next: CallNext) -> Any:
        for _ in range(job.payload["times"]):
            await call_next(job)

    async def go(*often: int) -> list[str]:
        return (await through_layers([times], [NewJob("q", {"times": n}) for n in often], send)).job_ids

    assert asyncio.run(go(1, 0, 1)) == ["q", "q"]
    assert asyncio.run(go(0)) == []
    with pytest.raises(RuntimeError, match="once for each job"):
        asyncio.run(go(1, 2))
