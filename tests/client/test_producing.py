"""Adding jobs through both clients."""

import dataclasses
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from rookery import Agent, Batch, Conflict, IdempotencyMismatch, InvalidRequest, NewJob, PayloadTooLarge, Step
from tests.conftest import Api


@dataclasses.dataclass
class Person:
    name: str


class Point(msgspec.Struct):
    x: int


class Model:
    """As pydantic's look from outside."""

    def model_dump(self, *, mode: str) -> dict[str, Any]:
        assert mode == "json"
        return {"validated": True}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"to": "a@example.com"}, {"to": "a@example.com"}),
        ([1, 2.5, "drei", None, True], [1, 2.5, "drei", None, True]),
        ("text", "text"),
        (None, None),
        (0, 0),
        (datetime(2026, 2, 10, 12, tzinfo=UTC), "2026-02-10T12:00:00Z"),
        ({"id": uuid.UUID(int=7)}, {"id": "00000000-0000-0000-0000-000000000007"}),
        (Person("Ada"), {"name": "Ada"}),
        ([Point(1)], [{"x": 1}]),
        ({"model": Model()}, {"model": {"validated": True}}),
    ],
)
def test_a_payload_is_any_value_that_json_can_hold(client: Any, given: Any, kept: Any) -> None:
    assert client.get(client.enqueue("payloads", given)).payload == kept


def test_a_job_without_a_payload_has_an_empty_one(client: Any) -> None:
    assert client.get(client.enqueue("payloads")).payload == {}


def test_what_json_cannot_hold_is_refused_by_name(client: Any) -> None:
    with pytest.raises(TypeError, match="payload cannot be written as JSON: objects of type object are not supported"):
        client.enqueue("q", {"a": object()})
    with pytest.raises(TypeError, match=r"jobs\[1\]: payload cannot be written as JSON"):
        client.enqueue_many([NewJob("q", 1), NewJob("q", object())])
    endless: list[Any] = []
    endless.append(endless)
    for impossible in (endless, "\ud800"):
        with pytest.raises(ValueError, match="payload cannot be written as JSON"):
            client.enqueue("q", impossible)


def test_every_option_reaches_the_job(client: Any, api: Api, queue: str) -> None:
    first = client.enqueue(queue)
    at = datetime(2030, 5, 6, 7, 8, 9, tzinfo=UTC)
    enqueued = client.enqueue(
        queue,
        {"n": 1},
        priority="high",
        scheduled_at=at,
        max_retries=7,
        retry_backoff="linear",
        retry_base_delay=timedelta(seconds=90),
        retry_max_delay=7200,
        max_lost_leases=2,
        expire_after="36500d",
        unique_key="k",
        unique_period=timedelta(minutes=5),
        unique_on_conflict="replace",
        tags={"team": "blue", "n": 3},
        checkpoint={"page": 4},
        depends_on=[first],
        parent_id=first,
        job_id=f"{queue}-own",
        agent=Agent(max_iterations=3, max_cost_usd=1.5, iteration_timeout=90),
    )
    job = client.get(enqueued)

    assert enqueued.job_id == job.id == f"{queue}-own"
    assert (enqueued.status, enqueued.unique_existing) == ("scheduled", False)
    assert (job.queue, job.state, job.payload, job.priority_name) == (queue, "scheduled", {"n": 1}, "high")
    assert (job.scheduled_at, job.max_retries, job.retry_backoff) == (at, 7, "linear")
    assert (job.retry_base_delay, job.retry_max_delay, job.max_lost_leases) == ("1m30s", "2h", 2)
    assert (job.expire_after, job.unique_key, job.unique_period) == ("36500d", "k", 300)
    assert (job.tags, job.checkpoint) == ({"team": "blue", "n": 3}, {"page": 4})
    assert (job.depends_on, job.parent_id) == ([first.job_id], first.job_id)
    assert job.agent is not None
    assert (job.agent["max_iterations"], job.agent["iteration_timeout"]) == (3, "1m30s")
    assert job.created_at.tzinfo is not None
    again = client.enqueue(queue, {"n": 2}, unique_key="k", unique_on_conflict="replace")
    assert (again.job_id, again.status, again.unique_existing) == (job.id, "replaced", True)


def test_a_delay_is_counted_from_now(client: Any, queue: str) -> None:
    before = datetime.now(UTC)
    job = client.get(client.enqueue(queue, delay="5m"))
    assert job.state == "scheduled"
    assert timedelta(minutes=4, seconds=59) < job.scheduled_at - before < timedelta(minutes=6)
    assert client.get(client.enqueue(queue, delay=0)).state == "pending"
    with pytest.raises(ValueError, match="delay and scheduled_at exclude each other"):
        client.enqueue(queue, delay=1, scheduled_at="2030-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"priorty": "high"}, "a job has no option 'priorty' (did you mean 'priority'?)"),
        ({"delay": -1}, "delay must not be negative"),
        ({"delay": "soon"}, "delay: invalid duration 'soon'"),
        ({"scheduled_at": datetime(2026, 1, 1)}, "scheduled_at: 2026-01-01T00:00:00 has no time zone"),
        ({"depends_on": "job_1"}, "depends_on must be a list of jobs"),
        ({"idempotency_key": "k", "delay": 5}, "with an idempotency_key of your own use scheduled_at"),
        ({"idempotency_key": "a\nb"}, "idempotency-key: the value has characters that a header cannot have"),
    ],
)
def test_a_wrong_option_is_refused_before_anything_is_sent(
    client: Any, api: Api, queue: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        client.enqueue(queue, **options)
    assert message in str(caught.value)
    assert client.count(queue=queue) == 0


def test_what_the_server_refuses_says_why(client: Any) -> None:
    with pytest.raises(InvalidRequest, match="queue is required") as caught:
        client.enqueue("")
    assert (caught.value.status, caught.value.code) == (400, "VALIDATION_ERROR")
    with pytest.raises(InvalidRequest, match="retry_base_delay"):
        client.enqueue("q", retry_base_delay="soon")
    with pytest.raises(PayloadTooLarge):
        client.enqueue("q", "x" * 300_000)


def test_an_id_that_is_taken_is_a_conflict_that_names_the_holder(client: Any, queue: str) -> None:
    client.enqueue(queue, job_id=f"{queue}:1")
    with pytest.raises(Conflict) as caught:
        client.enqueue(queue, job_id=f"{queue}:1")
    assert caught.value.job_id == f"{queue}:1"


def test_an_idempotency_key_of_ones_own_adds_one_job(client: Any, queue: str) -> None:
    first = client.enqueue(queue, {"n": 1}, idempotency_key=f"{queue}-1")
    assert client.enqueue(queue, {"n": 1}, idempotency_key=f"{queue}-1") == first
    assert client.enqueue(queue, {"n": 1}) != first
    assert client.count(queue=queue) == 2
    with pytest.raises(IdempotencyMismatch):
        client.enqueue(queue, {"n": 2}, idempotency_key=f"{queue}-1")


def test_a_trace_goes_with_the_job(client: Any, queue: str) -> None:
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    client.enqueue(queue, traceparent=trace)
    assert client.fetch(queue).traceparent == trace
    client.enqueue_many([NewJob(queue)], traceparent=trace)
    assert client.fetch(queue).traceparent == trace


def test_a_job_belongs_to_the_current_trace_of_opentelemetry(client: Any, queue: str) -> None:
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider

    with TracerProvider(shutdown_on_exit=False).get_tracer("test").start_as_current_span("order") as span:
        client.enqueue(queue)
        context = span.get_span_context()
    assert (
        client.fetch(queue).traceparent
        == f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"
    )
    assert not trace.get_current_span().get_span_context().is_valid
    client.enqueue(queue)
    assert client.fetch(queue).traceparent is None


def test_many_jobs_are_added_at_once(client: Any, queue: str) -> None:
    added = client.enqueue_many(
        [NewJob(queue, {"n": 1}, priority="high"), {"queue": queue, "payload": 2, "tags": {"a": "b"}}]
    )
    assert added.batch_id is None
    one, two = client.get_many(added.job_ids)
    assert (one.payload, one.priority_name, two.payload, two.tags) == ({"n": 1}, "high", 2, {"a": "b"})
    same = [client.enqueue_many([NewJob(queue)], idempotency_key=queue) for _ in range(2)]
    assert same[0] == same[1]
    with pytest.raises(InvalidRequest, match="jobs array is required"):
        client.enqueue_many([])
    with pytest.raises(TypeError, match=r"jobs\[0\]: queue is missing"):
        client.enqueue_many([{"payload": 1}])


def test_a_batch_is_followed_and_calls_back(client: Any, queue: str) -> None:
    batch = Batch(f"{queue}.done", {"report": 7})
    added = client.enqueue_many([NewJob(queue, n) for n in range(3)], batch=batch)
    status = client.batch(added.batch_id)
    assert (status.total, status.pending, status.has_ended) == (3, 3, False)
    jobs = client.fetch_many(queue, 10)
    client.ack_many(jobs[:2])
    client.cancel(jobs[2])
    status = client.batch(added.batch_id)
    assert (status.succeeded, status.failed, status.has_ended) == (2, 1, True)
    assert client.fetch(f"{queue}.done").payload == {
        "report": 7,
        "batch": {"id": added.batch_id, "total": 3, "succeeded": 2, "failed": 1},
    }


def test_a_chain_runs_step_by_step(client: Any, queue: str) -> None:
    first = client.chain(
        [Step(f"{queue}.1", {"url": "u"}), (f"{queue}.2", {"width": 200}), f"{queue}.3"],
        on_exit=f"{queue}.end",
        priority="critical",
    )
    job = client.fetch(f"{queue}.1")
    assert (job.job_id, job.payload, job.priority) == (first.job_id, {"url": "u"}, 0)
    client.ack(job, {"bytes": 5})
    second = client.fetch(f"{queue}.2")
    assert second.payload == {"previous_job_id": job.job_id, "previous_result": {"bytes": 5}, "width": 200}
    client.ack(second, step_status="exit", exit_reason="enough")
    end = client.fetch(f"{queue}.end")
    assert end.payload["exit_reason"] == "enough"


def test_a_chain_that_fails_goes_to_its_handler(client: Any, queue: str) -> None:
    client.chain([NewJob(f"{queue}.1", {"a": 1}, max_retries=1), f"{queue}.2"], on_failure=(f"{queue}.alert", {"b": 2}))
    job = client.fetch(f"{queue}.1")
    client.fail(job, "boom")
    assert client.fetch(f"{queue}.alert").payload == {
        "failed_job_id": job.job_id,
        "failed_step": 0,
        "error": "boom",
        "b": 2,
    }


def test_only_the_first_step_of_a_chain_has_options(client: Any) -> None:
    with pytest.raises(ValueError, match=r"steps\[1\]: only the first step"):
        client.chain(["a", NewJob("b", priority="high")])
    with pytest.raises(ValueError, match="steps is empty"):
        client.chain([])
    with pytest.raises(InvalidRequest, match="at least 2 steps"):
        client.chain(["a"])
