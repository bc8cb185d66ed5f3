"""Job batches: every member counts once, and one callback follows the last of them."""

from typing import Any

import pytest

from rookery.engine.ops import (
    Ack,
    Cancel,
    Completion,
    Delete,
    DeleteQueue,
    Enqueued,
    Hold,
    NewJob,
    NewJobBatch,
    Reject,
    Retry,
)
from tests.unit.workbench import Workbench


def open_batch(bench: Workbench, size: int, payload: str | None = None, **fields: Any) -> tuple[str, list[str]]:
    """A batch with a callback; its id and its members."""
    jobs = [NewJob(queue="q", **fields) for _ in range(size)]
    enqueued = bench.enqueue(*jobs, batch=NewJobBatch("done", payload))
    assert isinstance(enqueued, Enqueued)
    assert enqueued.batch_id is not None
    return enqueued.batch_id, [job.job_id for job in enqueued.jobs]


def counts(bench: Workbench, batch_id: str) -> tuple[int, int, int, int]:
    batch = bench.batch(batch_id)
    return batch.total, batch.pending, batch.succeeded, batch.failed


def test_a_batch_has_an_id_and_its_members_know_it(bench: Workbench) -> None:
    batch_id, members = open_batch(bench, 3)

    assert batch_id.startswith("batch_")
    assert len(batch_id) == 32
    assert {bench.job(job_id).batch_id for job_id in members} == {batch_id}
    assert counts(bench, batch_id) == (3, 3, 0, 0)


def test_the_callback_comes_when_the_last_member_has_ended(bench: Workbench) -> None:
    batch_id, _ = open_batch(bench, 3)

    bench.run()
    bench.run()
    assert bench.claim("done") == []
    assert counts(bench, batch_id) == (3, 1, 2, 0)

    bench.run()
    (callback,) = bench.jobs_of("done")
    assert counts(bench, batch_id) == (3, 0, 3, 0)
    assert bench.payload(callback) == {"batch": {"id": batch_id, "total": 3, "succeeded": 3, "failed": 0}}


def test_the_callback_is_an_ordinary_job(bench: Workbench) -> None:
    open_batch(bench, 1, rank=0, max_retries=9)
    bench.run()

    (callback,) = bench.jobs_of("done")
    job = bench.job(callback)
    assert (job.state, job.priority, job.max_retries, job.batch_id) == ("pending", 2, 3, None)
    assert bench.events_of(callback) == ["enqueued"]


def test_members_that_end_in_one_request_fire_one_callback(bench: Workbench) -> None:
    _, members = open_batch(bench, 50)
    bench.claim()

    bench.do(Ack(items=[Completion(job_id) for job_id in members]))

    assert len(bench.jobs_of("done")) == 1


@pytest.mark.parametrize("ending", ["dead", "cancelled", "deleted", "rejected", "expired", "poisoned"])
def test_a_member_that_does_not_complete_counts_as_failed(bench: Workbench, ending: str) -> None:
    fields = {"max_retries": 1, "max_lost_leases": 1, "expire_after": "1s" if ending == "expired" else None}
    batch_id, (job_id,) = open_batch(bench, 1, **fields)
    if ending == "dead":
        bench.bury()
    elif ending == "cancelled":
        bench.do(Cancel(job_id=job_id))
    elif ending == "deleted":
        bench.do(Delete(job_id=job_id))
    elif ending == "rejected":
        bench.do(Hold(job_id=job_id), Reject(job_id=job_id))
    elif ending == "expired":
        bench.tick(1000)
    else:
        bench.take(lease=1000)
        bench.tick(1001)

    assert counts(bench, batch_id) == (1, 0, 0, 1)
    (callback,) = bench.jobs_of("done")
    assert bench.payload(callback)["batch"]["failed"] == 1


def test_a_member_that_waits_for_another_attempt_has_not_ended(bench: Workbench) -> None:
    batch_id, _ = open_batch(bench, 1)
    bench.fail(bench.take())
    assert counts(bench, batch_id) == (1, 1, 0, 0)

    bench.tick(5000)
    bench.run()
    assert counts(bench, batch_id) == (1, 0, 1, 0)


@pytest.mark.parametrize("second_ending", ["completed", "dead", "cancelled", "deleted"])
def test_a_member_counts_once_however_often_it_ends(bench: Workbench, second_ending: str) -> None:
    batch_id, (job_id, _) = open_batch(bench, 2, max_retries=1)
    bench.bury()
    bench.do(Retry(job_id=job_id))
    if second_ending == "completed":
        bench.run()
    elif second_ending == "dead":
        bench.bury()
    elif second_ending == "cancelled":
        bench.do(Cancel(job_id=job_id))
    else:
        bench.do(Delete(job_id=job_id))

    assert counts(bench, batch_id) == (2, 1, 0, 1)
    bench.run()
    assert counts(bench, batch_id) == (2, 0, 1, 1)
    assert len(bench.jobs_of("done")) == 1


def test_a_batch_calls_back_once_although_members_run_again(bench: Workbench) -> None:
    _, (job_id,) = open_batch(bench, 1)
    bench.run()
    bench.do(Retry(job_id=job_id))
    bench.run()
    bench.do(Delete(job_id=job_id))

    assert len(bench.jobs_of("done")) == 1


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ('{"a":1}', {"a": 1}),
        ('{"batch":"mine"}', {}),
        ('"text"', {"callback_payload": "text"}),
        ("[1]", {"callback_payload": [1]}),
        (None, {}),
    ],
)
def test_the_callback_carries_its_payload_and_the_counts(
    bench: Workbench, given: str | None, shown: dict[str, Any]
) -> None:
    batch_id, _ = open_batch(bench, 1, given)
    bench.run()

    (callback,) = bench.jobs_of("done")
    result = {"id": batch_id, "total": 1, "succeeded": 1, "failed": 0}
    assert bench.payload(callback) == {**shown, "batch": result}


def test_a_batch_without_a_callback_is_only_followed(bench: Workbench) -> None:
    enqueued = bench.enqueue(NewJob(queue="q"), batch=NewJobBatch())
    assert isinstance(enqueued, Enqueued)
    bench.run()

    assert enqueued.batch_id is not None
    assert counts(bench, enqueued.batch_id) == (1, 0, 1, 0)
    assert bench.rows("SELECT count(*) FROM job") == [(1,)]


def test_duplicates_are_no_members(bench: Workbench) -> None:
    holder = bench.add(unique_key="k")
    enqueued = bench.enqueue(
        NewJob(queue="q", unique_key="k"), NewJob(queue="q", unique_key="new"), batch=NewJobBatch("done")
    )

    assert isinstance(enqueued, Enqueued)
    assert enqueued.jobs[0].job_id == holder
    assert enqueued.batch_id is not None
    assert counts(bench, enqueued.batch_id) == (1, 1, 0, 0)
    bench.run()
    assert bench.jobs_of("done") == []
    bench.run()
    assert len(bench.jobs_of("done")) == 1


@pytest.mark.parametrize("conflict", ["keep", "replace", "reschedule"])
def test_a_batch_without_a_new_member_is_complete_at_once(bench: Workbench, conflict: str) -> None:
    bench.add(unique_key="k")

    enqueued = bench.enqueue(NewJob(queue="q", unique_key="k", on_conflict=conflict), batch=NewJobBatch("done"))

    assert isinstance(enqueued, Enqueued)
    assert enqueued.batch_id is not None
    assert counts(bench, enqueued.batch_id) == (0, 0, 0, 0)
    assert len(bench.jobs_of("done")) == 1
    bench.run()
    assert len(bench.jobs_of("done")) == 1


def test_deleting_the_queue_counts_its_members_as_failed(bench: Workbench) -> None:
    batch_id, _ = open_batch(bench, 4)
    bench.run()
    bench.do(DeleteQueue(queue="q"))

    assert counts(bench, batch_id) == (4, 0, 1, 3)
    assert len(bench.jobs_of("done")) == 1


def test_a_callback_into_a_queue_that_is_being_deleted_survives(bench: Workbench) -> None:
    enqueued = bench.enqueue(NewJob(queue="q"), batch=NewJobBatch("q"))
    bench.do(DeleteQueue(queue="q"))

    assert isinstance(enqueued, Enqueued)
    (callback,) = bench.jobs_of("q")
    assert callback != enqueued.jobs[0].job_id
    assert bench.queue().pending == 1


def test_a_callback_may_open_on_its_own_queue(bench: Workbench) -> None:
    enqueued = bench.enqueue(NewJob(queue="q"), NewJob(queue="q"), batch=NewJobBatch("q"))
    assert isinstance(enqueued, Enqueued)
    jobs = bench.claim()
    bench.do(Ack(items=[Completion(job.job_id, job.lease) for job in jobs]))

    callback = bench.take()
    assert bench.ack(callback) is None
    assert bench.claim() == []
