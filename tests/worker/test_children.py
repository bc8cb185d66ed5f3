"""Processes for jobs, without a worker around them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from rookery.client.functions.current import CurrentJob
from rookery.client.functions.functions import JobFunction
from rookery.client.functions.outcomes import Done, Dropped, Failed, Outcome
from rookery.client.worker.child import Server, Stop
from rookery.client.worker.processes import Processes
from rookery.client.worker.threads import Threads
from tests.worker import process_jobs
from tests.worker.fake_wire import claim

SERVER = Server("http://elsewhere:1", "a-key", "team")


@asynccontextmanager
async def processes() -> AsyncIterator[Processes]:
    threads = Threads()
    processes = Processes(threads, SERVER)
    try:
        yield processes
    finally:
        processes.close()
        threads.close()


def job_of(function: JobFunction[..., Any], number: int = 1, **payload: Any) -> CurrentJob:
    reports: Any = None
    return CurrentJob(claim(function.queue, number, payload=msgspec.Raw(msgspec.json.encode(payload))), reports)


async def run(processes: Processes, function: JobFunction[..., Any], job: CurrentJob) -> Outcome:
    reports: Any = None
    return await processes.run(function, job, reports)


def test_a_process_knows_the_server_that_the_worker_was_told() -> None:
    async def main() -> Outcome:
        async with processes() as crew:
            return await run(crew, process_jobs.server, job_of(process_jobs.server))

    outcome = asyncio.run(main())
    assert isinstance(outcome, Done)
    assert msgspec.json.decode(outcome.result or b"") == list(SERVER)


def test_a_lifespan_that_failed_is_entered_again_for_the_next_job() -> None:
    async def main() -> list[Outcome]:
        async with processes() as crew:
            return [await run(crew, process_jobs.state, job_of(process_jobs.state, number)) for number in (1, 2)]

    first, second = asyncio.run(main())
    assert isinstance(first, Failed)
    assert first.error == "ConnectionError: not yet"
    assert second == Done(msgspec.Raw(b'"a state"'))


def test_a_word_to_stop_one_job_that_comes_late_does_not_stop_the_next() -> None:
    async def main() -> list[Outcome]:
        async with processes() as crew:
            function = process_jobs.cancelled_within
            first = await run(crew, function, job_of(function, 1, seconds=0))
            running = asyncio.create_task(run(crew, function, job_of(function, 2, seconds=1)))
            while crew._idle:
                await asyncio.sleep(0.01)
            (process,) = crew._all
            await asyncio.sleep(0.3)
            process._send(Stop("lease_1", "cancelled"))
            return [first, await running]

    assert asyncio.run(main()) == [Done(), Done()]


def test_a_job_in_a_process_is_told_that_it_is_not_wanted() -> None:
    async def main() -> Outcome:
        async with processes() as crew:
            job = job_of(process_jobs.cancelled_within, seconds=60)
            running = asyncio.create_task(run(crew, process_jobs.cancelled_within, job))
            while not crew._all:
                await asyncio.sleep(0.01)
            job.tell_cancelled("lease lost")
            return await running

    assert asyncio.run(main()) == Dropped("lease lost")
