"""What a worker does about handlers that end in odd ways, without a server."""

import asyncio
from typing import Any

import pytest

from rookery import App, Worker, current_job
from rookery.client.worker.lines import CannotStart
from tests.worker.fake_wire import claim, until, working


class OfItsOwn(BaseException):
    """Nobody's idea of an ordinary error."""


@pytest.mark.parametrize("kind", ["async", "thread"])
def test_a_handler_that_raises_a_base_exception_fails_its_job_and_frees_its_place(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    app = App()

    def raising() -> None:
        raise OfItsOwn("enough")

    async def raising_async() -> None:
        raising()

    app.job(queue="q")(raising_async if kind == "async" else raising)

    async def main() -> Any:
        async with working(app, monkeypatch, concurrency=1) as (worker, wire):
            wire.bring([claim("q", 1), claim("q", 2)])
            await until(lambda: len(wire.told("fail")) == 2)
            assert worker.in_hand == 0
            return wire.told("fail")

    assert [message.error for message in asyncio.run(main())] == ["OfItsOwn: enough"] * 2


def test_a_handler_that_raises_what_nobody_may_catch_frees_its_place_too(monkeypatch: pytest.MonkeyPatch) -> None:
    app = App()

    @app.job(queue="q")
    async def closing() -> None:
        raise GeneratorExit

    async def main() -> None:
        async with working(app, monkeypatch, concurrency=1) as (worker, wire):
            wire.bring([claim("q")])
            task = worker.running["lease_1"].task
            assert task is not None
            await asyncio.wait({task})
            assert isinstance(task.exception(), GeneratorExit)
            assert worker.in_hand == 0

    asyncio.run(main())


def test_a_job_that_comes_again_while_it_runs_is_given_up_by_its_older_run(monkeypatch: pytest.MonkeyPatch) -> None:
    app = App()
    told: list[tuple[str | None, str]] = []

    @app.job(queue="q")
    async def waits() -> None:
        job = current_job()
        if job.attempt == 1:
            told.append((job.claim.lease_token, await job.wait_cancelled()))

    async def main() -> None:
        async with working(app, monkeypatch, concurrency=2) as (worker, wire):
            wire.bring([claim("q")])
            await until(lambda: worker.running)
            wire.bring([claim("q", lease_token="lease_2", attempt=2)])
            await until(lambda: not worker.in_hand and wire.told("ack"))
            assert [ack.lease_token for ack in wire.told("ack")] == ["lease_2"]

    asyncio.run(main())
    assert told == [("lease_1", "lease lost")]


@pytest.mark.parametrize("lease", [0, "0s", 86_401, "25h"])
def test_a_lease_that_the_server_would_not_give_is_refused(lease: Any) -> None:
    app = App()
    app.job(queue="q")(lambda: None)

    with pytest.raises(CannotStart, match="lease_duration must be from 1 s to 86400 s"):
        Worker(app, lease_duration=lease)
    assert Worker(app, lease_duration="24h").lease_seconds == 86_400
