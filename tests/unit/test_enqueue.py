"""Adding jobs: what a new job looks like, and that all of a request is added or nothing."""

import msgspec
import pytest

from rookery.engine.ops import Enqueue, Enqueued, NewJob, PauseQueue, Refusal
from rookery.model.instants import format_instant
from tests.unit.workbench import Workbench, kind_of, plain


def test_a_new_job_is_pending_with_the_documented_defaults(bench: Workbench) -> None:
    job = bench.job(bench.add("mails"))

    assert job.queue == "mails"
    assert job.state == "pending"
    assert bytes(job.payload) == b"{}"
    assert (job.priority, job.priority_name) == (2, "normal")
    assert (job.attempt, job.max_retries) == (0, 3)
    assert job.retry_backoff == "exponential"
    assert (job.retry_base_delay_ms, job.retry_max_delay_ms) == (5000, 600_000)
    assert (job.retry_base_delay, job.retry_max_delay) == ("5s", "10m")
    assert job.created_at == format_instant(bench.now)
    assert job.max_lost_leases == 5
    assert job.errors == []


def test_a_new_job_has_no_past(bench: Workbench) -> None:
    job = bench.job(bench.add())

    absent = ["unique_key", "unique_period", "batch_id", "worker_id", "hostname", "worker", "tags", "progress"]
    absent += ["checkpoint", "result", "scheduled_at", "started_at", "completed_at", "failed_at", "lease_expires_at"]
    absent += ["expire_at", "expire_after", "parent_id", "chain_id", "chain_step", "chain_config", "depends_on"]
    absent += ["agent", "hold_reason"]
    assert {name: getattr(job, name) for name in absent} == dict.fromkeys(absent)


def test_a_job_keeps_every_field_its_producer_gave_it(bench: Workbench) -> None:
    job_id = bench.add(
        payload='{"z":1,"a":[null,"ü"]}',
        rank=0,
        max_retries=7,
        backoff="linear",
        base_delay=1500,
        max_delay=0,
        tags='{"tenant":"acme"}',
        checkpoint='{"page":3}',
        parent_id="job_parent",
        expire_after="1h30m",
    )

    job = bench.job(job_id)
    assert bytes(job.payload) == b'{"z":1,"a":[null,"\xc3\xbc"]}'
    assert (job.priority, job.priority_name) == (0, "critical")
    assert (job.max_retries, job.retry_backoff) == (7, "linear")
    assert (job.retry_base_delay, job.retry_max_delay) == ("1.5s", "0s")
    assert plain(job.tags) == {"tenant": "acme"}
    assert plain(job.checkpoint) == {"page": 3}
    assert job.parent_id == "job_parent"
    assert (job.expire_after, job.expire_at) == ("1h30m", format_instant(bench.now + 5_400_000))


@pytest.mark.parametrize("payload", ["{}", "null", "0", '"text"', "[]", "false", '{"b":1,"a":2}'])
def test_a_payload_may_be_any_json_and_comes_back_equal(bench: Workbench, payload: str) -> None:
    bench.add(payload=payload)

    assert bench.take().payload == payload


def test_the_answer_names_the_job_and_its_state(bench: Workbench) -> None:
    answer = bench.enqueue(NewJob(queue="q"), NewJob(queue="q", scheduled_at=bench.now + 1000))

    assert isinstance(answer, Enqueued)
    assert [job.status for job in answer.jobs] == ["pending", "scheduled"]
    assert [job.job_id for job in answer.jobs] == bench.jobs_of("q")
    assert answer.batch_id is None


def test_ids_are_thirty_characters_and_grow_with_every_job(bench: Workbench) -> None:
    ids = [bench.add() for _ in range(50)]
    bench.advance(-10_000)
    ids += [bench.add() for _ in range(50)]

    assert all(len(job_id) == 30 and job_id.startswith("job_") for job_id in ids)
    assert sorted(set(ids)) == ids


def test_a_queue_comes_into_being_with_its_first_job(bench: Workbench) -> None:
    assert bench.rows("SELECT name FROM queue") == []

    bench.add("new")

    queue = bench.queue("new")
    assert (queue.pending, queue.enqueued, queue.created_at) == (1, 1, format_instant(bench.now))


def test_a_paused_queue_takes_jobs(bench: Workbench) -> None:
    bench.do(PauseQueue(queue="q"))

    assert bench.state(bench.add()) == "pending"


def test_a_request_with_one_bad_job_adds_none(bench: Workbench) -> None:
    answer = bench.enqueue(NewJob(queue="a"), NewJob(queue="b", depends_on=["job_nowhere"]), NewJob(queue="c"))

    assert kind_of(answer) == Refusal.INVALID
    assert bench.rows("SELECT count(*) FROM job") == [(0,)]
    assert bench.rows("SELECT count(*) FROM event") == [(0,)]
    assert bench.rows("SELECT count(*) FROM queue") == [(0,)]


def test_a_refused_request_does_not_disturb_its_neighbours(bench: Workbench) -> None:
    results = bench.do(
        Enqueue(jobs=[NewJob(queue="q", id="first")]),
        Enqueue(jobs=[NewJob(queue="q"), NewJob(queue="q", id="first")]),
        Enqueue(jobs=[NewJob(queue="q", id="last")]),
    )

    assert [kind_of(result) for result in results] == [None, Refusal.CONFLICT, None]
    assert bench.jobs_of("q") == ["first", "last"]


def test_a_batch_that_breaks_leaves_nothing_and_the_machine_goes_on(bench: Workbench) -> None:
    before = bench.add()
    broken = NewJob(queue="other")
    broken.payload = None  # type: ignore[assignment]

    with pytest.raises(Exception, match="NOT NULL"):
        bench.do(Enqueue(jobs=[NewJob(queue="q"), broken]))

    after = bench.add()
    assert bench.jobs_of("q") == [before, after]
    assert bench.rows("SELECT name FROM queue") == [("q",)]
    assert bench.queue().pending == 2
    assert bench.rows("SELECT seq FROM event ORDER BY seq") == [(1,), (2,)]


def test_an_operation_survives_the_way_through_text() -> None:
    op = Enqueue(jobs=[NewJob(queue="q", payload='"ü"', depends_on=["a"])])

    assert msgspec.json.decode(msgspec.json.encode(op), type=Enqueue) == op
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(op), type=Enqueue) == op


def test_what_a_producer_says_is_kept_in_the_column_of_that_name(bench: Workbench) -> None:
    given = {
        "id": "mine",
        "payload": "[1]",
        "rank": 1,
        "max_retries": 7,
        "backoff": "fixed",
        "base_delay": 11,
        "max_delay": 12,
        "scheduled_at": bench.now + 13,
        "expire_after": "14s",
        "unique_key": "key",
        "unique_period": 15,
        "tags": '{"a":1}',
        "checkpoint": "16",
        "agent": "{}",
        "parent_id": "parent",
        "chain_id": "chain",
        "chain_step": 17,
        "chain_config": "{}",
        "max_lost_leases": 18,
        "on_lost_lease": "retry_now",
        "order_by_due": True,
        "trace": "00-a-b-01",
    }
    bench.add(**given)

    assert dict(zip(given, bench.rows(f"SELECT {', '.join(given)} FROM job")[0], strict=True)) == given
