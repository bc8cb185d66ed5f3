"""Jobs that run as soon as they are enqueued."""

import asyncio
import threading
from datetime import date
from typing import Any

import msgspec
import pytest

from rookery import Batch, testing
from rookery.client.functions.app import App
from rookery.client.functions.current import current_job
from rookery.client.functions.outcomes import Cancel, Retry, Snooze
from rookery.testing import Inline


class Money(msgspec.Struct):
    cents: int


def test_arguments_make_a_round_trip_through_json_and_the_signature(inline: Inline) -> None:
    app = App()
    taken: list[Any] = []

    @app.job
    def take(day: date, money: Money, pair: tuple[int, ...], anything: Any) -> list[int]:
        taken.extend([day, money, pair, anything])
        return [1, 2]

    money = Money(5)
    job = take.enqueue_sync(date(2026, 1, 2), money, (1, 2), ("a", "b"))

    assert taken == [date(2026, 1, 2), Money(5), (1, 2), ["a", "b"]]
    assert taken[1] is not money
    assert inline.job(job).result == [1, 2]
    assert inline.client.result(job) == [1, 2]


def test_an_error_goes_to_whoever_enqueues_and_is_recorded(inline: Inline) -> None:
    app = App()

    @app.job
    def fail() -> None:
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        fail.enqueue_sync()

    job = inline.job(inline.enqueued[0].id)
    assert (job.state, job.last_error) == ("retrying", "LookupError: gone")


def test_what_handlers_say_of_their_jobs_is_recorded(inline: Inline) -> None:
    app = App()

    @app.job
    def steer(how: str) -> Any:
        return {"snooze": Snooze("1h"), "retry": Retry("5m", error="later"), "cancel": Cancel()}[how]

    jobs = [steer.enqueue_sync(how) for how in ("snooze", "retry", "cancel")]

    assert [inline.job(job).state for job in jobs] == ["scheduled", "retrying", "cancelled"]


def test_a_scheduled_job_runs_at_once_too(inline: Inline) -> None:
    app = App()

    @app.job
    def work() -> int:
        return current_job().attempt

    job = work.options(delay="1d").enqueue_sync()

    assert inline.job(job).result == 1
    inline.assert_enqueued(work, delay="1d")


def test_a_job_enqueued_by_a_job_runs_inside_it_and_only_that(inline: Inline) -> None:
    app = App()
    seen = []

    @app.job
    def work(n: int, then: int | None = None) -> None:
        seen.append(f"begin {n}")
        if then is not None:
            work.enqueue_sync(then)
        seen.append(f"end {n}")

    app.enqueue_many_sync([work.new(1, then=9), work.new(2)])

    assert seen == ["begin 1", "begin 9", "end 9", "end 1", "begin 2", "end 2"]


def test_of_many_all_are_run_and_the_first_error_is_raised(inline: Inline) -> None:
    app = App()
    seen = []

    @app.job(max_retries=1)
    def work(n: int) -> None:
        seen.append(n)
        if n != 2:
            raise ValueError(n)

    @app.job
    def finish(batch: dict[str, Any]) -> None:
        seen.append(batch["failed"])

    with pytest.raises(ValueError, match="1"):
        app.enqueue_many_sync([work.new(n) for n in (1, 2, 3)], batch=Batch("finish"))
    assert seen == [1, 2, 3, 2]


def test_chains_run_to_their_end(inline: Inline) -> None:
    app = App()

    @app.job
    async def double(n: int = 0, previous_result: int | None = None) -> int:
        return 2 * (previous_result or n)

    inline.client.chain([("double", {"n": 1}), "double", "double"])

    assert [inline.job(job).result for job in inline.enqueued] == [2, 4, 8]


def test_a_queue_that_is_paused_waits_for_a_drain(inline: Inline) -> None:
    app = App()

    @app.job
    def work() -> None: ...

    inline.client.pause("work")
    job = work.enqueue_sync()
    assert inline.job(job).state == "pending"
    inline.client.resume("work")
    assert inline.drain().completed == 1


def test_a_job_that_enqueues_itself_for_ever_is_stopped(inline: Inline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rookery.testing.crew.MOST_RUNS", 5)
    app = App()

    @app.job(max_retries=1)
    def again() -> None:
        again.enqueue_sync()

    with pytest.raises(RuntimeError, match="does a job enqueue itself"):
        again.enqueue_sync()


@pytest.mark.parametrize("how", ["await", "sync", "thread"])
def test_it_works_beside_a_running_loop(inline: Inline, how: str) -> None:
    app = App()
    seen: dict[str, Any] = {}

    @app.job
    async def on_loop() -> None:
        await asyncio.sleep(0)
        seen["loop"] = asyncio.get_running_loop()

    @app.job
    def plain() -> None:
        on_loop.enqueue_sync()
        seen["thread"] = threading.current_thread()

    async def test() -> None:
        if how == "await":
            await plain.enqueue()
            await on_loop.enqueue()
            assert seen["loop"] is asyncio.get_running_loop()
        elif how == "sync":
            plain.enqueue_sync()
            assert seen["thread"] is threading.current_thread()
        else:
            await asyncio.to_thread(plain.enqueue_sync)

    asyncio.run(test())
    assert {inline.job(job).state for job in inline.enqueued} == {"completed"}
    assert len(inline.enqueued) == (3 if how == "await" else 2)


def test_async_jobs_run_without_a_loop_and_from_many_threads(inline: Inline) -> None:
    app = App()

    @app.job
    async def work(n: int) -> int:
        await asyncio.sleep(0.001)
        return n

    threads = [threading.Thread(target=work.enqueue_sync, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(inline.job(job).result for job in inline.enqueued) == list(range(8))


def test_one_mode_may_be_used_inside_another() -> None:
    app = App()

    @app.job
    def work() -> None: ...

    with testing.fake() as outside:
        with testing.inline() as inside:
            work.enqueue_sync()
        work.enqueue_sync()

    assert (len(outside.enqueued), len(inside.enqueued)) == (1, 1)
