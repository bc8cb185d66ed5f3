"""A program as a user would write it, for the type checker: it must understand all of it, and see every mistake.

`# error: …` says what the checker has to complain about in that line.
"""

from collections.abc import AsyncGenerator, Generator
from datetime import UTC, datetime, timedelta
from typing import Any, assert_type

import rookery
from rookery import (
    Ack,
    ApiError,
    AsyncClient,
    Batch,
    BulkResult,
    Client,
    Enqueued,
    EnqueuedMany,
    Event,
    FetchedJob,
    Job,
    JobSummary,
    NewJob,
    Overloaded,
    Step,
)


class Email:
    to: str


def use(client: Client) -> None:
    assert_type(client.enqueue("q", {"a": 1}, priority="high", delay="5m"), Enqueued)
    client.enqueue("q", scheduled_at=datetime.now(UTC), expire_after=timedelta(days=1), retry_base_delay=5)
    client.enqueue("q", tags={"a": "b", "n": 1}, depends_on=[client.enqueue("q"), "job_1"], job_id=None)
    client.enqueue("q", priority="urgent")  # error: Argument "priority" to "enqueue" of "Client"
    client.enqueue("q", priorty="high")  # error: Unexpected keyword argument "priorty"
    client.enqueue(7)  # error: Argument 1 to "enqueue" of "Client" has incompatible type "int"
    client.enqueue()  # error: Missing positional argument "queue"
    client.enqueue("q", max_retries="3")  # error: Argument "max_retries" to "enqueue" of "Client"

    assert_type(client.enqueue_many([NewJob("q", 1), {"queue": "q"}], batch=Batch("done")), EnqueuedMany)
    NewJob("q", 1, priority="high", delay=timedelta(1))
    NewJob("q", 1, "high")  # error: Too many positional arguments for "NewJob"
    NewJob(payload=1)  # error: Missing positional argument "queue"
    client.chain([Step("a"), ("b", {"c": 1}), "d", NewJob("e")], on_failure="f", unique_key="k")
    client.chain([1])  # error: List item 0 has incompatible type "int"

    job = client.fetch(["a", "b"], timeout=timedelta(seconds=5))
    assert_type(job, FetchedJob | None)
    client.ack(job)  # error: Argument 1 to "ack" of "Client" has incompatible type "FetchedJob | None"
    if job is not None:
        assert_type(job.payload_as(Email), Email)
        client.ack(job, {"any": "value"})
        client.ack_many([Ack(job=job, result=1), job])
        client.fail(job, ValueError("no"), retry_after="5m", end="dead")
        client.fail(job, "no", end="later")  # error: Argument "end" to "fail" of "Client"
        assert_type(client.progress(job, 50), bool)

    assert_type(client.get("job_1"), Job)
    assert_type(client.get("job_1").completed_at, datetime | None)
    assert_type(client.result("job_1", timeout=5), Any)
    assert_type(client.search(queue="q", state=["dead"], created_after="2026-01-01"), Generator[JobSummary, None, None])
    client.search(state="asleep")  # error: Argument "state" to "search" of "Client"
    client.search(colour="red")  # error: Unexpected keyword argument "colour"
    assert_type(client.bulk("retry", filter={"state": "dead"}), BulkResult)
    client.bulk("explode", jobs=[])  # error: Argument 1 to "bulk" of "Client"
    client.bulk("retry", filter={"colour": "red"})  # error: Argument "filter" to "bulk" of "Client"
    client.create_schedule("n", "q", "@daily", missed="skip", overlap="never")  # error: Argument "overlap"
    for event in client.events(types=["dead"]):
        assert_type(event, Event)
    client.get("job_1").state = "dead"  # error: Property "state" defined in "Job" is read-only

    try:
        client.queues()
    except Overloaded as error:
        assert_type(error.retry_after, float)
    except ApiError as error:
        assert_type(error.code, str)
    rookery.Clinet  # error: Module has no attribute "Clinet"


async def use_async(client: AsyncClient) -> None:
    assert_type(await client.enqueue("q", {"a": 1}, priority="high"), Enqueued)
    client.enqueue("q").job_id  # error: "Coroutine[Any, Any, Enqueued]" has no attribute "job_id"
    assert_type(client.search(queue="q"), AsyncGenerator[JobSummary, None])
    async for job in client.search(queue="q"):
        assert_type(job, JobSummary)
    async with AsyncClient("http://localhost:8080", api_key="k", timeout=5, retries=0) as other:
        assert_type(other, AsyncClient)
    with AsyncClient() as other:  # error: "AsyncClient" has no attribute "__enter__"
        pass
