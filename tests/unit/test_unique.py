"""Unique keys: one holder of a key in a queue, and what an equal enqueue does to it."""

import pytest

from rookery.engine.ops import (
    Cancel,
    Delete,
    Enqueue,
    Enqueued,
    EnqueuedJob,
    Hold,
    NewJob,
    Reject,
    Retry,
    Sweep,
)
from rookery.model.instants import format_instant
from tests.unit.workbench import Workbench

HOUR = 3_600_000


def again(bench: Workbench, **fields: object) -> EnqueuedJob:
    """Enqueue the same key once more."""
    enqueued = bench.enqueue(NewJob(**{"queue": "q", "unique_key": "k", **fields}))  # type: ignore[arg-type]
    assert isinstance(enqueued, Enqueued)
    return enqueued.jobs[0]


def test_an_equal_key_finds_the_job_that_holds_it(bench: Workbench) -> None:
    holder = bench.add(unique_key="k", payload="1")

    assert again(bench, payload="2") == EnqueuedJob(holder, "duplicate")
    assert bench.jobs_of("q") == [holder]
    assert bench.payload(holder) == 1
    assert bench.events_of(holder) == ["enqueued"]
    assert bench.queue().enqueued == 1


def test_a_key_belongs_to_its_queue(bench: Workbench) -> None:
    bench.add(unique_key="k")

    assert again(bench, queue="other").status == "pending"
    assert again(bench, unique_key="other").status == "pending"


def test_two_equal_keys_in_one_request_are_one_job(bench: Workbench) -> None:
    enqueued = bench.enqueue(NewJob(queue="q", unique_key="k"), NewJob(queue="q", unique_key="k"), NewJob(queue="q"))

    assert isinstance(enqueued, Enqueued)
    assert [job.status for job in enqueued.jobs] == ["pending", "duplicate", "pending"]
    assert enqueued.jobs[0].job_id == enqueued.jobs[1].job_id
    assert bench.queue().pending == 2


def test_two_equal_keys_in_one_batch_of_requests_are_one_job(bench: Workbench) -> None:
    first, second = bench.do(*[Enqueue(jobs=[NewJob(queue="q", unique_key="k")]) for _ in range(2)])

    assert second.jobs == [EnqueuedJob(first.jobs[0].job_id, "duplicate")]


def test_an_active_holder_keeps_its_key(bench: Workbench) -> None:
    holder = bench.add(unique_key="k")
    bench.take()

    assert again(bench) == EnqueuedJob(holder, "duplicate")


def test_a_completed_job_gives_its_key_back(bench: Workbench) -> None:
    first = bench.add(unique_key="k")
    bench.run()

    second = again(bench)
    assert second.status == "pending"
    assert second.job_id != first


def test_a_deleted_job_gives_its_key_back(bench: Workbench) -> None:
    bench.do(Delete(job_id=bench.add(unique_key="k")))

    assert again(bench).status == "pending"


@pytest.mark.parametrize("ending", ["dead", "cancelled", "held", "rejected"])
def test_a_job_that_ended_otherwise_keeps_its_key(bench: Workbench, ending: str) -> None:
    holder = bench.add(unique_key="k", max_retries=1)
    if ending == "dead":
        bench.bury()
    elif ending == "cancelled":
        bench.do(Cancel(job_id=holder))
    else:
        bench.do(Hold(job_id=holder))
    if ending == "rejected":
        bench.do(Reject(job_id=holder))

    assert again(bench) == EnqueuedJob(holder, "duplicate")


def test_a_key_is_free_after_its_period_although_its_job_lives(bench: Workbench) -> None:
    first = bench.add(unique_key="k", unique_period=10)

    bench.advance(9999)
    assert again(bench, unique_period=10) == EnqueuedJob(first, "duplicate")
    bench.advance(1)
    second = again(bench)
    assert second.status == "pending"
    assert bench.state(first) == "pending"
    assert again(bench) == EnqueuedJob(second.job_id, "duplicate")


def test_a_duplicate_does_not_prolong_the_period(bench: Workbench) -> None:
    bench.add(unique_key="k", unique_period=10)
    bench.advance(5000)
    again(bench, unique_period=3600)
    bench.advance(5000)

    assert again(bench).status == "pending"


def test_the_period_is_an_hour_unless_told_otherwise(bench: Workbench) -> None:
    bench.add(unique_key="k")

    bench.advance(HOUR - 1)
    assert again(bench).status == "duplicate"
    bench.advance(1)
    assert again(bench).status == "pending"


def test_a_job_that_lost_its_key_does_not_give_back_another_jobs(bench: Workbench) -> None:
    first = bench.add(unique_key="k", unique_period=10)
    bench.advance(10_000)
    second = again(bench).job_id

    bench.run()
    assert bench.state(first) == "completed"
    assert again(bench) == EnqueuedJob(second, "duplicate")


def test_a_retried_job_does_not_take_its_key_again(bench: Workbench) -> None:
    first = bench.add(unique_key="k")
    bench.run()
    bench.do(Retry(job_id=first))

    assert again(bench).status == "pending"


def test_sweeping_forgets_keys_whose_time_is_over_and_no_other(bench: Workbench) -> None:
    bench.add(unique_key="short", unique_period=10)
    bench.add(unique_key="long")
    bench.advance(10_000)
    bench.do(Sweep())

    assert bench.rows("SELECT key FROM unique_lock") == [("long",)]


@pytest.mark.parametrize("state", ["pending", "scheduled", "retrying"])
def test_replace_gives_a_waiting_holder_the_new_job(bench: Workbench, state: str) -> None:
    holder = bench.add(
        unique_key="k", payload="1", tags='{"a":1}', scheduled_at=bench.now + 9000 if state == "scheduled" else None
    )
    if state == "retrying":
        bench.fail(bench.take())
    later = bench.now + 5000

    answer = again(
        bench, on_conflict="replace", payload="2", rank=0, tags='{"b":2}', scheduled_at=later, expire_after="1h"
    )

    assert answer == EnqueuedJob(holder, "replaced")
    job = bench.job(holder)
    assert (job.state, job.scheduled_at, job.expire_at) == (
        "scheduled",
        format_instant(later),
        format_instant(bench.now + HOUR),
    )
    assert (bytes(job.payload), bytes(job.tags or b""), job.priority) == (b"2", b'{"b":2}', 0)
    assert bench.jobs_of("q") == [holder]


def test_replace_without_a_time_makes_the_holder_ready(bench: Workbench) -> None:
    holder = bench.add(unique_key="k", scheduled_at=bench.now + 9000)

    again(bench, on_conflict="replace", payload="2")

    assert bench.take().job_id == holder
    bench.tick(10_000)
    assert bench.state(holder) == "active"


def test_reschedule_moves_only_the_time(bench: Workbench) -> None:
    holder = bench.add(unique_key="k", payload="1", scheduled_at=bench.now + 1000)
    for _ in range(5):
        bench.tick(900)
        assert again(
            bench, on_conflict="reschedule", payload="2", rank=0, scheduled_at=bench.now + 1000
        ) == EnqueuedJob(holder, "rescheduled")

    assert bench.tick(999).promoted == 0
    assert bench.tick(1).promoted == 1
    assert (bench.payload(holder), bench.job(holder).priority) == (1, 2)


@pytest.mark.parametrize("conflict", ["replace", "reschedule"])
@pytest.mark.parametrize("state", ["active", "dead", "cancelled"])
def test_an_active_or_finished_holder_is_never_changed(bench: Workbench, conflict: str, state: str) -> None:
    holder = bench.add(unique_key="k", payload="1", max_retries=1)
    if state == "active":
        bench.take()
    elif state == "dead":
        bench.bury()
    else:
        bench.do(Cancel(job_id=holder))
    before = bench.job(holder)

    answer = again(bench, on_conflict=conflict, payload="2", scheduled_at=bench.now + 1000)

    assert answer == EnqueuedJob(holder, "duplicate")
    after = bench.job(holder)
    assert (after.state, bytes(after.payload), after.scheduled_at) == (state, b"1", before.scheduled_at)


def test_a_blocked_holder_that_is_rescheduled_still_waits_for_its_dependencies(bench: Workbench) -> None:
    first = bench.add("first")
    holder = bench.add(unique_key="k", depends_on=[first])
    again(bench, on_conflict="reschedule", scheduled_at=bench.now + 1000)
    bench.tick(1000)
    assert bench.claim() == []

    bench.run("first")
    assert bench.claimed_ids() == [holder]


def test_a_replaced_job_keeps_its_place_in_line(bench: Workbench) -> None:
    holder = bench.add(unique_key="k")
    bench.advance(10)
    other = bench.add()
    bench.advance(10)
    again(bench, on_conflict="replace")

    assert bench.claimed_ids() == [holder, other]
