"""Job functions on the side of whoever enqueues: declaring, enqueueing, middleware. Against a real server."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from rookery import App, Batch, Depends, Enqueued, InvalidRequest, NewJob, current_job
from tests.conftest import Api

CallNext = Callable[[NewJob], Awaitable[Any]]


class Point(msgspec.Struct):
    x: int
    y: int = 0


def test_a_job_function_is_still_an_ordinary_function() -> None:
    app = App()

    @app.job
    def add(a: int, b: int = 1) -> int:
        """Add them."""
        return a + b

    assert add(1) == 2
    assert (add.__name__, add.__doc__, add.queue) == ("add", "Add them.", "add")


def test_two_functions_for_one_queue_are_refused_with_both_names() -> None:
    app = App()

    @app.job(queue="q")
    def one() -> None: ...

    with pytest.raises(ValueError, match=r"queue 'q' has two functions: .*\.one and .*\.two"):

        @app.job(queue="q")
        def two() -> None: ...


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"timeout": 0}, "timeout must be more than 0"),
        ({"timeout": "soon"}, "timeout"),
        ({"process": True}, "process=True needs a function at the top of its module"),
        ({"retry_on": "ValueError"}, "retry_on takes classes of exceptions"),
        ({"discard_on": (1,)}, "discard_on takes classes of exceptions"),
        ({"capture_logs": "LOUD"}, "there is no level 'LOUD'"),
        ({"max_retrys": 3}, r"job\(\) has no option 'max_retrys' \(did you mean 'max_retries'\?\)"),
        ({"que": "x"}, r"job\(\) has no option 'que' \(did you mean 'queue'\?\)"),
    ],
)
def test_an_option_that_makes_no_sense_is_refused_where_it_is_written(options: dict[str, Any], said: str) -> None:
    def function() -> None: ...

    with pytest.raises((ValueError, TypeError), match=said):
        App().job(**options)(function)


def test_circular_dependencies_are_refused() -> None:
    def one(other: int = 0) -> int:
        return other

    def two(other: int = Depends(one)) -> int:
        return other

    one.__defaults__ = (Depends(two),)
    function = App().job(lambda x=Depends(one): x)

    with pytest.raises(TypeError, match="dependencies go round in a circle"):
        _ = function.signature


def test_arguments_become_a_payload_by_name(api: Api, queue: str) -> None:
    app = App(api.server.url)

    @app.job(queue=queue, max_retries=7, priority="high", tags={"team": "a"})
    async def draw(at: Point, colour: str = "red", *, size: int = 1) -> None: ...

    enqueued = draw.enqueue_sync(Point(1), size=2)
    job = api.job(enqueued.job_id)
    app.close_sync()

    assert job["payload"] == {"at": {"x": 1, "y": 0}, "size": 2}
    assert (job["queue"], job["max_retries"], job["priority"], job["tags"]) == (queue, 7, 1, {"team": "a"})


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "draw: missing a required argument: 'at'"),
        ({"at": Point(1), "colr": "x"}, "draw: got an unexpected keyword argument 'colr'"),
        ({"at": {"x": "one"}}, "at `at.x`"),
        ({"at": Point(1), "db": 5}, "draw: db is injected when the job runs, it cannot be enqueued"),
        ({"at": object()}, "draw: the payload cannot be written as JSON"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_sent(arguments: dict[str, Any], said: str) -> None:
    app = App("http://127.0.0.1:1")

    @app.job
    def draw(at: Point, colour: str = "red", db: int = Depends(lambda: 1)) -> None: ...

    with pytest.raises(TypeError) as error:
        draw.enqueue_sync(**arguments)
    assert said in str(error.value)


def test_an_option_of_one_call_that_there_is_not_is_refused() -> None:
    app = App()

    @app.job
    def work() -> None: ...

    with pytest.raises(TypeError, match=r"options\(\) has no option 'prio' \(did you mean 'priority'\?\)"):
        work.options(prio=1)  # type: ignore[call-arg]


def test_options_of_one_call_go_before_those_of_the_function(api: Api, queue: str) -> None:
    async def main() -> list[dict[str, Any]]:
        async with App(api.server.url) as app:

            @app.job(queue=queue, priority="high")
            async def work(n: int) -> None: ...

            later = await work.options(delay="1h", priority="critical", unique_key="one").enqueue(1)
            again = await work.options(unique_key="one", idempotency_key=f"{queue}-1").enqueue(2)
            once_more = await work.options(unique_key="one", idempotency_key=f"{queue}-1").enqueue(2)
            assert again.unique_existing
            assert once_more == again
            return [api.job(later.job_id)]

    (job,) = asyncio.run(main())
    assert (job["state"], job["priority"], job["payload"]) == ("scheduled", 0, {"n": 1})


def test_new_jobs_can_be_enqueued_together_and_as_chains(api: Api, queue: str) -> None:
    async def main() -> None:
        async with App(api.server.url) as app:

            @app.job(queue=queue)
            async def work(n: int) -> None: ...

            many = await app.enqueue_many([work.new(n) for n in range(3)], batch=Batch())
            assert [api.job(job_id)["payload"] for job_id in many.job_ids] == [{"n": n} for n in range(3)]
            assert many.batch_id is not None
            first = await app.client.chain([work.new(1), work.new(2)])
            assert api.job(first.job_id)["chain_step"] == 0

    asyncio.run(main())


def test_enqueue_middleware_is_an_onion_that_may_change_the_job(api: Api, queue: str) -> None:
    order: list[str] = []

    async def outer(job: NewJob, call_next: CallNext) -> Any:
        order.append("outer in")
        job.payload["n"] += 1
        job.tags = {"by": "outer"}
        enqueued = await call_next(job)
        order.append(f"outer out {enqueued.job_id[:4]}")
        return enqueued

    async def inner(job: NewJob, call_next: CallNext) -> Any:
        order.append("inner in")
        await asyncio.sleep(0.001)
        job.priority = "high"
        return await call_next(NewJob(job.queue, {"n": job.payload["n"] * 10}, tags=job.tags, priority="high"))

    app = App(api.server.url, enqueue_middleware=[outer, inner])

    @app.job(queue=queue)
    async def work(n: int) -> None: ...

    async def everywhere() -> list[Enqueued]:
        ids = (await app.enqueue_many([work.new(3), work.new(4)])).job_ids
        found = [await work.enqueue(1), work.enqueue_sync(2), *[Enqueued(job_id=i, status="") for i in ids]]
        await app.close()
        return found

    enqueued = [*asyncio.run(everywhere()), work.enqueue_sync(0)]
    found = [api.job(job.job_id) for job in enqueued]
    app.close_sync()

    assert [job["payload"]["n"] for job in found] == [20, 30, 40, 50, 10]
    assert {(job["tags"]["by"], job["priority"]) for job in found} == {("outer", 1)}
    assert order[-3:] == ["outer in", "inner in", "outer out job_"]


def test_a_layer_may_keep_a_job_back_and_errors_pass_through_it(api: Api, queue: str) -> None:
    seen: list[str] = []

    async def no_threes(job: NewJob, call_next: CallNext) -> Any:
        if job.payload["n"] == 3:
            return Enqueued(job_id="none", status="refused")
        try:
            return await call_next(job)
        except InvalidRequest:
            seen.append("refused by the server")
            raise

    app = App(api.server.url, enqueue_middleware=[no_threes])

    @app.job(queue=queue)
    async def work(n: int) -> None: ...

    @app.job(queue="bad\x00name")
    async def bad(n: int) -> None: ...

    assert work.enqueue_sync(3).status == "refused"
    assert len(app.enqueue_many_sync([work.new(n) for n in (1, 2, 3)]).job_ids) == 2
    with pytest.raises(InvalidRequest):
        bad.enqueue_sync(1)
    assert seen == ["refused by the server"]
    app.close_sync()


def test_current_job_outside_of_a_job_says_so() -> None:
    with pytest.raises(LookupError, match="only for code that runs as part of a job"):
        current_job()


def test_a_clients_environment_is_used_by_an_app_that_names_no_server(
    api: Api, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROOKERY_URL", api.server.url)
    app = App()

    @app.job(queue=queue)
    def work() -> None: ...

    assert api.job(work.enqueue_sync().job_id)["queue"] == queue
    app.close_sync()
