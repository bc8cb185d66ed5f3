"""What surrounds a handler by its dependencies, without a server."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import msgspec
import pytest

from rookery import App, Depends
from rookery.client.functions.claimed import ClaimedJob
from rookery.client.functions.current import CurrentJob, LogLine
from rookery.client.functions.outcomes import Failed
from rookery.client.functions.running import run

seen: list[str] = []


class Nowhere:
    """Where reports go that nobody reads."""

    def report(self, job: CurrentJob, progress: msgspec.Raw | None, checkpoint: msgspec.Raw | None) -> None: ...

    def log(self, job: CurrentJob, line: LogLine) -> None: ...


class OneThread:
    def run(self, call: Callable[[], Any]) -> Awaitable[Any]:
        return asyncio.to_thread(call)


async def outer() -> AsyncIterator[None]:
    try:
        yield
    except ValueError as error:
        seen.append(f"outer: {error}")


def inner(_: None = Depends(outer)) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        seen.append(f"inner: {error}")


@pytest.mark.parametrize("threads", [None, OneThread()])
@pytest.mark.parametrize("is_async", [True, False])
def test_a_dependency_that_catches_the_error_of_a_handler_does_not_undo_it(threads: Any, is_async: bool) -> None:
    app = App()

    async def on_loop(_: None = Depends(inner)) -> None:
        raise ValueError("no")

    def in_thread(_: None = Depends(inner)) -> None:
        raise ValueError("no")

    function = app.job(queue="q")(on_loop if is_async else in_thread)
    job = CurrentJob(ClaimedJob("job_1", "q", msgspec.Raw(b"{}")), Nowhere())
    seen.clear()

    outcome = asyncio.run(run(function, job, threads))

    assert isinstance(outcome, Failed)
    assert outcome.error == "ValueError: no"
    assert seen == ["inner: no", "outer: no"]
