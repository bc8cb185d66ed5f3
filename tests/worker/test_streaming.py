"""That a worker on the stream asks for jobs whenever it has room, whatever becomes of its frames."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from rookery import App, Cancel, InvalidRequest, Snooze, Worker, current_job
from rookery.client.async_client import AsyncClient
from rookery.client.errors import ServerUnreachable
from rookery.client.worker import streaming
from rookery.client.worker.outbox import FailMessage, Outbox
from tests.worker.fake_wire import FakeWire, claim, fine, until, working

Play = Callable[[Worker, FakeWire], Awaitable[None]]
REFUSED = InvalidRequest(400, "INVALID_REQUEST", "no")


def play(app: App, monkeypatch: pytest.MonkeyPatch, part: Play, **options: int) -> None:
    """Have a worker, and do this to it."""

    async def main() -> None:
        async with working(app, monkeypatch, **options) as (worker, wire):
            await part(worker, wire)

    asyncio.run(main())


def unwanted() -> App:
    """An app whose job is cancelled under way: the server is not told of its end."""
    app = App()

    @app.job(queue="q")
    async def cancelled() -> None:
        current_job().tell_cancelled("cancelled")

    return app


def test_what_could_not_be_wanted_while_too_much_was_unanswered_is_wanted_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streaming, "MOST_UNANSWERED", 1)

    async def part(worker: Worker, wire: FakeWire) -> None:
        wire.is_silent = True
        worker.credit.is_off = True
        worker.flush()
        before = len(wire.wants)
        wire.bring([claim("q")])
        await until(lambda: not worker.in_hand and worker.credit.is_off)
        await asyncio.sleep(0)
        assert len(wire.wants) == before
        wire.unanswered.pop().set_result(fine({}))
        await until(lambda: len(wire.wants) > before)

    play(unwanted(), monkeypatch, part, concurrency=1)


def test_after_outcomes_went_one_by_one_more_jobs_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    app = App()

    @app.job(queue="q")
    async def quick() -> None: ...

    async def deliver(client: AsyncClient, outbox: Outbox) -> None:
        outbox.take()

    monkeypatch.setattr(streaming, "deliver", deliver)

    async def part(worker: Worker, wire: FakeWire) -> None:
        before = len(wire.wants)
        wire.is_silent = True
        wire.bring([claim("q")])
        await until(lambda: wire.told("ack"))
        wire.is_silent = False
        for answer in wire.unanswered:
            answer.set_exception(REFUSED) if answer is wire.unanswered[-1] else answer.set_result(fine({}))
        await until(lambda: len(wire.wants) > before)

    play(app, monkeypatch, part, concurrency=1)


def test_for_a_job_that_came_too_late_to_begin_another_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    async def part(worker: Worker, wire: FakeWire) -> None:
        before = len(wire.wants)
        wire.bring([claim("q", lease_duration=-1)])
        await until(lambda: len(wire.wants) > before)
        assert worker.in_hand == 0

    play(unwanted(), monkeypatch, part, concurrency=1)


def test_a_stream_on_which_no_jobs_are_handed_out_is_left_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    async def part(worker: Worker, wire: FakeWire) -> None:
        wire.is_silent = True
        worker.credit.is_off = True
        worker.flush()
        wire.unanswered.pop().set_exception(REFUSED)
        wire.is_silent = False
        await until(lambda: wire.connections == 2 and worker.is_ready)

    play(unwanted(), monkeypatch, part)


def test_room_for_more_than_may_be_wanted_at_once_is_asked_for_when_the_first_have_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = App()
    go_on = asyncio.Event()

    @app.job(queue="q")
    async def waits() -> None:
        await go_on.wait()

    async def part(worker: Worker, wire: FakeWire) -> None:
        for _ in range(20):
            await asyncio.sleep(0)
        assert wire.wants == [512]
        wire.bring([claim("q", number) for number in range(512)])
        await until(lambda: wire.wants == [512, 488])
        go_on.set()
        await until(lambda: not worker.in_hand)

    play(app, monkeypatch, part, concurrency=1000)


def test_text_that_utf8_cannot_say_is_told_with_question_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    app = App()

    @app.job(queue="fails")
    async def fails() -> None:
        raise ValueError("bad \udcff")

    @app.job(queue="cancels")
    async def cancels() -> Cancel:
        return Cancel("\ud800")

    @app.job(queue="snoozes")
    async def snoozes() -> Snooze:
        return Snooze("1s", "\ud800")

    @app.job(queue="quick")
    async def quick() -> None: ...

    async def part(worker: Worker, wire: FakeWire) -> None:
        wire.bring([claim(queue, number) for number, queue in enumerate(app.functions)])
        await until(lambda: wire.told("ack") and wire.told("release") and len(wire.told("fail")) == 2)
        assert [message.error for message in wire.told("fail")] == ["ValueError: bad ?", "?"]
        assert "bad ?" in wire.told("fail")[0].backtrace
        assert wire.told("release")[0].reason == "?"

    play(app, monkeypatch, part)


def test_an_outcome_that_cannot_be_written_does_not_take_others_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    app = App()

    @app.job(queue="q")
    async def quick() -> None: ...

    delivered: list[str] = []

    async def deliver(client: AsyncClient, outbox: Outbox) -> None:
        delivered.extend(message.job_id for message in outbox.take().messages())

    monkeypatch.setattr(streaming, "deliver", deliver)

    async def part(worker: Worker, wire: FakeWire) -> None:
        worker.outbox.add(FailMessage("job_0", "lease_0", "\udcff"))
        wire.bring([claim("q")])
        worker.credit.is_off = True
        before = len(wire.wants)
        await until(lambda: "job_0" in delivered and "job_1" in [*delivered, *(m.job_id for m in wire.told("ack"))])
        await until(lambda: len(wire.wants) > before)

    play(app, monkeypatch, part)


def test_when_a_stream_breaks_jobs_in_hand_that_it_did_not_bring_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    app = App()
    go_on = asyncio.Event()

    @app.job(queue="q")
    async def waits() -> None:
        await go_on.wait()

    async def part(worker: Worker, wire: FakeWire) -> None:
        wire.bring([claim("q", 1), claim("q", 2)])
        worker.waiting.appendleft((claim("q", 3), 0.0))
        wire.lost.set_result(ServerUnreachable("cut"))
        await until(lambda: not worker.is_ready)
        in_hand = [claim.job_id for claim, _ in worker.waiting]
        go_on.set()
        assert in_hand == ["job_3"]

    play(app, monkeypatch, part, concurrency=1)
