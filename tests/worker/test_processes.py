"""Jobs in processes of their own, without a server."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from rookery import App
from rookery.client.functions.claimed import ClaimedJob
from rookery.client.functions.current import CurrentJob, LogLine
from rookery.client.functions.functions import JobFunction
from rookery.client.functions.outcomes import Done, Outcome
from rookery.client.worker.child import Server
from rookery.client.worker.processes import Processes, _Process
from rookery.client.worker.threads import Threads
from rookery.client.worker.worker import CannotStart, Worker
from tests.conftest import wait_for
from tests.worker import sample


class Heard:
    """Keeps what jobs report."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []

    def report(self, job: CurrentJob, progress: msgspec.Raw | None, checkpoint: msgspec.Raw | None) -> None:
        self.lines.append((job.id, bytes(progress or checkpoint or b"").decode()))

    def log(self, job: CurrentJob, line: LogLine) -> None:
        self.lines.append((job.id, line.message))


class Bench:
    """Runs jobs in the processes of a worker that is not there."""

    def __init__(self) -> None:
        self.threads = Threads()
        self.processes = Processes(self.threads, Server(None, None, None))
        self.heard = Heard()

    async def run(self, function: JobFunction[..., Any], job_id: str = "job_1", payload: bytes = b"{}") -> Any:
        claim = ClaimedJob(job_id, function.queue, msgspec.Raw(payload), lease_token=f"lease of {job_id}")
        outcome: Outcome = await self.processes.run(function, CurrentJob(claim, self.heard), self.heard)
        assert isinstance(outcome, Done), outcome
        return msgspec.json.decode(outcome.result) if outcome.result else None


@asynccontextmanager
async def benched() -> AsyncIterator[Bench]:
    bench = Bench()
    try:
        yield bench
    finally:
        bench.processes.close()
        bench.threads.close()


@pytest.mark.parametrize("notices", [True, False])
def test_a_process_that_died_while_it_was_idle_burns_no_attempt(notices: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> tuple[int, int]:
        async with benched() as bench:
            first = (await bench.run(sample.where_process))["pid"]
            [process] = bench.processes._idle
            os.kill(first, signal.SIGKILL)
            wait_for(lambda: not process.is_alive)
            if not notices:
                monkeypatch.setattr(_Process, "is_alive", True)
            return first, (await bench.run(sample.where_process))["pid"]

    first, second = asyncio.run(main())
    assert first != second


def test_what_a_job_says_after_its_end_is_not_taken_for_the_next_ones() -> None:
    async def main() -> list[tuple[str, str]]:
        async with benched() as bench:
            await bench.run(sample.leaves_a_thread, "job_1")
            await bench.run(sample.joins_a_thread, "job_2")
            return bench.heard.lines

    assert asyncio.run(main()) == [("job_1", "in time"), ("job_2", "own")]


def plain() -> None: ...


def test_a_function_that_a_process_would_not_find_is_refused_when_the_worker_starts() -> None:
    app = App("http://localhost:1")
    app.job(queue="other", process=True)(plain)

    with pytest.raises(CannotStart, match=r"queue 'other' to be found as tests\.worker\.test_processes\.plain"):
        Worker(app).check()
    sample.where_process.check()
