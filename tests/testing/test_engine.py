"""The engine in memory, with a clock that tests move."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from rookery import Batch, NotFound, WaitTimeout, testing
from rookery.client.functions.app import App
from rookery.client.functions.current import CurrentJob, current_job
from rookery.client.functions.dependencies import Depends
from rookery.client.functions.outcomes import Cancel, Retry, Snooze
from rookery.testing import Engine, NeedsServer


def test_a_job_runs_when_the_test_says_so(engine: Engine) -> None:
    app = App()

    @app.job
    async def add(a: int, b: int) -> int:
        await asyncio.sleep(0)
        return a + b

    job = add.enqueue_sync(1, b=2)
    assert engine.job(job).state == "pending"

    assert engine.drain().completed == 1

    assert engine.job(job).result == 3
    assert engine.client.result(job) == 3


def test_jobs_that_a_job_enqueues_are_run_too(engine: Engine) -> None:
    app = App()
    seen = []

    @app.job
    def count_down(n: int) -> None:
        seen.append(n)
        if n:
            count_down.enqueue_sync(n - 1)

    count_down.enqueue_sync(3)

    assert (engine.drain().ran, seen) == (4, [3, 2, 1, 0])


def test_a_job_that_enqueues_itself_for_ever_is_stopped(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rookery.testing.crew.MOST_RUNS", 10)
    app = App()

    @app.job
    def again() -> None:
        again.enqueue_sync()

    again.enqueue_sync()

    with pytest.raises(RuntimeError, match="10 jobs were run and there are still more"):
        engine.drain()


def test_a_job_that_fails_is_tried_again_after_its_backoff_and_dies_in_the_end(engine: Engine) -> None:
    app = App()
    attempts = []

    @app.job(max_retries=3, retry_backoff="exponential", retry_base_delay="10s")
    def fail() -> None:
        attempts.append(engine.now)
        raise ValueError("no")

    job = fail.enqueue_sync()
    start = engine.now
    drained = engine.drain()
    assert (drained.failed, drained.dead, repr(drained.errors)) == (1, 0, "[ValueError('no')]")
    assert engine.drain().ran == 0

    engine.advance("9999ms")
    assert engine.drain().ran == 0
    engine.advance("1ms")
    assert engine.drain().failed == 1
    drained = engine.run_for("1h")

    assert (drained.failed, drained.dead) == (1, 1)
    assert engine.job(job).state == "dead"
    assert [at - start for at in attempts] == [timedelta(seconds=s) for s in (0, 10, 30)]
    assert [error.error for error in engine.job(job).errors] == ["ValueError: no"] * 3
    assert "raise ValueError" in engine.failures[0]


def test_an_error_is_raised_if_the_test_wants_it(engine: Engine) -> None:
    app = App()

    @app.job
    def fail() -> None:
        raise ValueError("no")

    job = fail.enqueue_sync()

    with pytest.raises(ValueError, match="no"):
        engine.drain(raise_errors=True)
    assert engine.job(job).state == "retrying"


def test_handlers_steer_their_jobs(engine: Engine) -> None:
    app = App()

    @app.job
    def steer(how: str) -> Any:
        if current_job().attempt > 1 or current_job().checkpoint:
            return "done"
        current_job().save_checkpoint(True)
        return {"snooze": Snooze("1h"), "retry": Retry("5m"), "cancel": Cancel("no need")}[how]

    jobs = {how: steer.enqueue_sync(how) for how in ("snooze", "retry", "cancel")}
    drained = engine.drain()

    assert (drained.snoozed, drained.failed, drained.cancelled, drained.errors) == (1, 1, 1, [])
    assert [engine.job(job).state for job in jobs.values()] == ["scheduled", "retrying", "cancelled"]
    engine.advance("5m")
    assert engine.drain().completed == 1
    engine.advance("55m")
    assert engine.drain().completed == 1
    assert [engine.job(job).state for job in jobs.values()] == ["completed", "completed", "cancelled"]


def test_everything_on_the_way_happens_at_its_own_time(engine: Engine) -> None:
    for hours in (3, 1, 2):
        engine.client.enqueue("later", {"h": hours}, delay=f"{hours}h")
    start = engine.now

    engine.advance("1d")

    promoted = engine.client.event_page(types=["promoted"])
    assert [e.at - start for e in promoted] == [timedelta(hours=h) for h in (1, 2, 3)]
    assert engine.now - start == timedelta(days=1)


def test_a_delay_counts_from_the_engines_time(engine: Engine) -> None:
    engine.advance("30d")

    job = engine.client.enqueue("later", delay=timedelta(minutes=5))

    assert engine.job(job).scheduled_at == engine.now + timedelta(minutes=5)


def test_the_clock_moves_by_text_seconds_and_timedeltas_and_to_a_time(engine: Engine) -> None:
    start = engine.now
    engine.advance("1h30m")
    engine.advance(30)
    engine.advance(timedelta(milliseconds=5))
    assert engine.now - start == timedelta(hours=1, minutes=30, seconds=30, milliseconds=5)

    engine.travel_to(datetime(2026, 2, 1, tzinfo=UTC))
    assert engine.now == datetime(2026, 2, 1, tzinfo=UTC)
    engine.travel_to("2026-02-01T12:00:00+02:00")
    assert engine.now == datetime(2026, 2, 1, 10, tzinfo=UTC)

    engine.travel_to("2026-02-02")
    assert engine.now == datetime(2026, 2, 2, tzinfo=UTC)

    for back in ("-2h", -5, timedelta(hours=-2)):
        with pytest.raises(ValueError, match=r"the clock only goes forward, not by -"):
            engine.advance(back)
    with pytest.raises(ValueError, match=r"only goes forward: it is 2026-02-02T00:00:00.000Z"):
        engine.travel_to(start)
    with pytest.raises(ValueError, match="invalid duration 'soon'"):
        engine.advance("soon")


def test_the_clock_begins_at_a_whole_second_not_behind_the_wall_clock() -> None:
    before = datetime.now(UTC)
    with testing.engine() as rookery:
        assert rookery.now.microsecond == 0
        assert before < rookery.now <= datetime.now(UTC) + timedelta(seconds=2)
        at_once = rookery.client.enqueue("q", scheduled_at=datetime.now(UTC))
        assert rookery.job(at_once).state == "pending"


def test_a_worker_that_goes_silent_loses_its_job(engine: Engine) -> None:
    job = engine.client.enqueue("q")
    first = engine.client.fetch("q", lease_duration="60s")
    assert first is not None
    assert engine.client.fetch("q") is None

    engine.advance("60s")
    assert engine.job(job).state == "active"
    engine.advance("1ms")

    second = engine.client.fetch("q")
    assert second is not None
    assert (second.job_id, second.lease_token == first.lease_token) == (job.job_id, False)


def test_a_job_that_nobody_takes_expires(engine: Engine) -> None:
    job = engine.client.enqueue("q", expire_after="10m")
    engine.advance("9m59s")
    assert engine.job(job).state == "pending"
    engine.advance("1s")
    assert engine.job(job).state == "dead"


def test_a_schedule_fires_at_each_of_its_slots(engine: Engine) -> None:
    app = App()
    runs = []

    @app.job
    def report() -> None:
        runs.append(engine.now)

    engine.client.create_schedule("hourly", "report", "0 * * * *")
    engine.advance("3h")
    assert [job.created_at.hour for job in engine.enqueued] == [9, 10, 11]
    assert engine.drain().completed == 3

    runs.clear()
    engine.run_for("2h")
    assert [run.hour for run in runs] == [12, 13]


@pytest.mark.parametrize(
    ("begin", "hours_apart"),
    [("2026-03-27T12:00:00Z", [23, 24, 24]), ("2026-10-23T12:00:00Z", [25, 24, 24])],
    ids=["spring", "autumn"],
)
def test_a_schedule_follows_the_clocks_of_its_time_zone(begin: str, hours_apart: list[int]) -> None:
    with testing.engine(now=begin) as rookery:
        rookery.client.create_schedule("daily", "report", "30 3 * * *", timezone="Europe/Paris")
        rookery.advance("4d")
        times = [job.created_at for job in rookery.enqueued]

    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert gaps == [timedelta(hours=hours) for hours in hours_apart]


def test_a_rate_lets_jobs_through_as_time_passes(engine: Engine) -> None:
    app = App()
    runs = []

    @app.job
    def call() -> None:
        runs.append((engine.now - start).seconds)

    start = engine.now
    engine.client.throttle("call", rate=2, period="1m")
    for _ in range(5):
        call.enqueue_sync()

    assert engine.drain().completed == 2
    engine.advance("1m")
    assert engine.drain().completed == 2
    assert engine.run_for("10m").completed == 1
    assert runs == [0, 0, 60, 60, 120]


def test_unique_jobs_are_found_again(engine: Engine) -> None:
    app = App()

    @app.job(unique_key="one", unique_period="1h")
    def once() -> None: ...

    first, second = once.enqueue_sync(), once.enqueue_sync()

    assert (second.job_id, second.status) == (first.job_id, "duplicate")
    assert len(engine.enqueued) == 1
    engine.advance("1h")
    assert once.enqueue_sync().job_id != first.job_id


def test_chains_batches_and_dependencies_go_on_by_themselves(engine: Engine) -> None:
    app = App()
    seen: list[Any] = []

    @app.job
    def double(n: int = 0, previous_result: int | None = None) -> int:
        seen.append(("double", previous_result or n))
        return 2 * (previous_result or n)

    @app.job
    def finish(batch: dict[str, Any]) -> None:
        seen.append(("finish", batch["succeeded"]))

    @app.job
    def last() -> None:
        seen.append("last")

    engine.client.chain([("double", {"n": 1}), "double", "double"])
    engine.drain()
    assert seen == [("double", 1), ("double", 2), ("double", 4)]

    seen.clear()
    many = app.enqueue_many_sync([double.new(1), double.new(2)], batch=Batch("finish"))
    last.options(depends_on=many.job_ids).enqueue_sync()
    assert engine.drain().completed == 4
    assert sorted(map(str, seen[:2])) == ["('double', 1)", "('double', 2)"]
    assert sorted(map(str, seen[2:])) == ["('finish', 2)", "last"]


def test_progress_checkpoints_and_logs_are_kept(engine: Engine) -> None:
    app = App(capture_logs="info")

    @app.job
    def work() -> None:
        import logging

        current_job().progress({"done": 1})
        current_job().save_checkpoint({"page": 2})
        current_job().log("by hand")
        logging.getLogger("shop").warning("by logging")

    job = work.enqueue_sync()
    engine.drain()

    assert (engine.job(job).progress, engine.job(job).checkpoint) == ({"done": 1}, {"page": 2})
    assert [line.message for line in engine.client.logs(job)] == ["by hand", "by logging"]


def test_a_job_that_is_cancelled_while_it_runs_hears_of_it(engine: Engine) -> None:
    app = App()

    @app.job
    def work() -> None:
        engine.client.cancel(current_job().id)
        current_job().progress(1)
        current_job().raise_if_cancelled()
        raise AssertionError("never here")

    job = work.enqueue_sync()

    assert engine.drain().cancelled == 1
    assert engine.job(job).state == "cancelled"


def test_a_job_that_is_taken_away_while_it_runs_is_not_completed(engine: Engine) -> None:
    app = App()

    @app.job
    def work() -> None:
        engine.client.cancel(current_job().id)

    work.enqueue_sync()

    assert repr(engine.drain()) == "Drained(completed=0, failed=0, dead=0, snoozed=0, cancelled=1)"


def test_lifespan_middleware_and_dependencies_are_those_of_the_app() -> None:
    told = []

    @asynccontextmanager
    async def lifespan(app: App) -> AsyncIterator[str]:
        told.append("begin")
        yield "state"
        told.append("end")

    async def layer(job: CurrentJob, call_next: Any) -> Any:
        told.append(f"layer of {job.queue}")
        return await call_next(job)

    app = App(lifespan=lifespan, middleware=[layer])

    async def tool() -> str:
        return "tool"

    @app.job
    async def one(tool: str = Depends(tool)) -> None:
        told.append(f"one has {tool} and {current_job().state}")

    @app.job
    def two(tool: str = Depends(tool)) -> None:
        told.append(f"two has {tool} and {current_job().state}")

    with testing.engine() as rookery:
        one.enqueue_sync()
        rookery.drain()
        two.enqueue_sync()
        with app.replacing(tool, "toy"):
            rookery.drain()

    assert told == ["begin", "layer of one", "one has tool and state", "layer of two", "two has toy and state", "end"]


def test_an_app_in_a_namespace_has_its_jobs_there(engine: Engine) -> None:
    app, other = App(namespace="shop"), App()
    seen = []

    @app.job(queue="send")
    def of_shop(n: int) -> None:
        seen.append(("shop", n))

    @other.job(queue="send")
    def of_default(n: int) -> None:
        seen.append(("default", n))

    of_shop.enqueue_sync(1)
    of_default.enqueue_sync(2)
    engine.assert_enqueued(of_shop, n=1, times=1)
    engine.assert_enqueued(of_default, n=2, times=1)
    engine.drain()

    assert sorted(seen) == [("default", 2), ("shop", 1)]


def test_queues_without_a_function_are_left_to_other_workers(engine: Engine) -> None:
    job = engine.client.enqueue("somewhere.else")
    assert engine.drain().ran == 0
    assert engine.job(job).state == "pending"


def test_an_app_that_the_test_gives_goes_before_others() -> None:
    seen: list[str] = []
    apps = [App() for _ in range(3)]
    for number, app in enumerate(apps):

        def work(number: int = number) -> None:
            seen.append(f"app {number}")

        app.job(queue="work")(work)

    with testing.engine(apps[1]) as rookery:
        rookery.client.enqueue("work")
        rookery.drain()
    with testing.engine() as rookery:
        rookery.client.enqueue("work")
        rookery.drain()

    assert seen == ["app 1", "app 2"]


def test_many_threads_may_enqueue_at_a_time(engine: Engine) -> None:
    app = App()

    @app.job
    def work(n: int) -> None: ...

    def enqueue_some() -> None:
        for n in range(50):
            work.enqueue_sync(n)

    threads = [threading.Thread(target=enqueue_some) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert engine.drain().completed == 200


def test_plain_functions_run_without_a_loop_in_the_threads_of_plain_tests(engine: Engine) -> None:
    app = App()
    seen = []

    @app.job
    def work() -> None:
        seen.append(threading.current_thread())
        asyncio.run(asyncio.sleep(0))

    work.enqueue_sync()
    engine.drain()

    assert seen == [threading.current_thread()]


async def in_a_loop(engine: Engine) -> None:
    app = App()
    seen = []

    @app.job
    async def on_loop() -> None:
        seen.append(asyncio.get_running_loop())

    @app.job
    def in_thread() -> None:
        asyncio.run(asyncio.sleep(0))
        on_loop.enqueue_sync()

    await on_loop.enqueue()
    await in_thread.enqueue()
    drained = engine.drain()
    with pytest.raises(RuntimeError, match="has to be awaited first"):
        _ = drained.completed
    assert repr(drained) == "Drained(not awaited yet)"
    assert (await drained).completed == 3
    assert seen == [asyncio.get_running_loop()] * 2
    await on_loop.options(delay="1h").enqueue()
    assert (await engine.run_for("2h")).completed == 1
    assert (await engine.async_client.get(engine.enqueued[0].id)).state == "completed"


def test_async_tests_await_what_runs_jobs(engine: Engine) -> None:
    asyncio.run(in_a_loop(engine))


def test_a_drain_that_was_not_awaited_is_told_of(engine: Engine) -> None:
    async def forget() -> None:
        engine.drain()

    with pytest.warns(RuntimeWarning, match="was never awaited"):
        asyncio.run(forget())


def test_the_same_calls_make_the_same_jobs() -> None:
    def ids() -> list[str]:
        with testing.engine(now="2026-01-01T00:00:00Z") as rookery:
            for n in range(3):
                rookery.client.enqueue("q", n, retry_backoff="exponential")
            return [job.id for job in rookery.enqueued]

    assert ids() == ids()


def test_to_wait_for_a_job_that_nobody_runs_ends_at_once(engine: Engine) -> None:
    job = engine.client.enqueue("q")
    with pytest.raises(WaitTimeout, match="still pending"):
        engine.client.wait(job)
    with pytest.raises(NotFound):
        engine.job("job_unknown")


def test_what_needs_a_server_says_so(engine: Engine) -> None:
    with pytest.raises(NeedsServer, match=r"GET /api/v1/events needs a server"):
        next(iter(engine.client.events()))


def test_a_bulk_in_the_background_is_done_at_once(engine: Engine) -> None:
    jobs = [engine.client.enqueue("q") for _ in range(3)]
    engine.client.bulk("cancel", filter={"queue": "q"}, wait=False)
    assert {engine.job(job).state for job in jobs} == {"cancelled"}


def test_apps_talk_to_their_servers_again_afterwards() -> None:
    app = App("http://127.0.0.1:9")
    with testing.engine():
        inside = app.sync_client
    assert app.sync_client is not inside
    app.close_sync()
