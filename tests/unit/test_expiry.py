"""Jobs whose time is over before they ran."""

import pytest

from rookery.engine.ops import CHUNK, Approve, Enqueue, FailedJob, Hold, NewJob, Sweep
from rookery.model.instants import format_instant
from tests.unit.workbench import Workbench


@pytest.mark.parametrize("state", ["pending", "scheduled", "retrying", "held"])
def test_a_waiting_job_dies_when_its_time_is_over(bench: Workbench, state: str) -> None:
    job_id = bench.add(expire_after="10s", scheduled_at=bench.now + 60_000 if state == "scheduled" else None)
    if state == "retrying":
        bench.fail(bench.take(), "boom")
        bench.do(Hold(job_id=job_id), Approve(job_id=job_id))
        bench.fail(bench.take(), "boom")
    elif state == "held":
        bench.do(Hold(job_id=job_id))
    attempt = bench.job(job_id).attempt
    ticked = bench.tick(10_000)

    assert ticked.expired == 1
    job = bench.job(job_id)
    assert (job.state, job.failed_at, job.scheduled_at) == ("dead", format_instant(bench.now), None)
    assert (job.errors[-1].error, job.errors[-1].attempt) == ("expired", attempt)
    assert bench.events_of(job_id)[-2:] == ["expired", "dead"]
    assert getattr(bench.queue(), state) == 0


def test_a_job_lives_until_the_very_millisecond(bench: Workbench) -> None:
    job_id = bench.add(expire_after="10s")

    assert bench.machine.next_due == bench.now + 10_000
    assert bench.tick(9999).expired == 0
    assert bench.state(job_id) == "pending"
    assert bench.tick(1).expired == 1


def test_an_expired_job_is_never_handed_out_even_before_the_tick(bench: Workbench) -> None:
    bench.add(expire_after="10s")
    fresh = bench.add()
    bench.advance(10_000)

    assert bench.claimed_ids() == [fresh]


def test_an_expired_job_does_not_come_through_promotion(bench: Workbench) -> None:
    job_id = bench.add(expire_after="10s", scheduled_at=bench.now + 10_000)
    bench.tick(10_000)

    assert bench.state(job_id) == "dead"
    assert "promoted" not in bench.events_of(job_id)


def test_a_running_job_goes_on_past_its_time_and_may_complete(bench: Workbench) -> None:
    job_id = bench.add(expire_after="10s")
    job = bench.take()

    assert bench.tick(20_000).expired == 0
    assert bench.state(job_id) == "active"
    assert bench.beat(job) == "ok"
    assert bench.ack(job) is None
    assert bench.state(job_id) == "completed"


def test_a_running_job_that_fails_past_its_time_is_dead(bench: Workbench) -> None:
    job_id = bench.add(expire_after="10s")
    job = bench.take()
    bench.advance(10_000)

    assert bench.fail(job, "boom") == FailedJob("dead", None, 0, 1)
    assert bench.state(job_id) == "dead"


def test_a_running_job_that_loses_its_lease_past_its_time_is_dead(bench: Workbench) -> None:
    job_id = bench.add(expire_after="10s")
    bench.take(lease=20_000)
    bench.tick(20_001)

    job = bench.job(job_id)
    assert (job.state, job.lease_expires_at) == ("dead", None)
    assert job.errors[-1].error == "expired"
    assert bench.claim() == []


def test_a_held_job_that_is_approved_past_its_time_is_never_handed_out(bench: Workbench) -> None:
    job_id = bench.add(expire_after="10s")
    bench.do(Hold(job_id=job_id))
    bench.advance(10_000)
    bench.do(Approve(job_id=job_id))

    assert bench.claim() == []
    bench.tick()
    assert bench.state(job_id) == "dead"


def test_finished_jobs_do_not_expire(bench: Workbench) -> None:
    job_id = bench.add(expire_after="10s")
    bench.run()
    bench.tick(10**6)

    assert bench.state(job_id) == "completed"


def test_expiry_goes_in_chunks(bench: Workbench) -> None:
    bench.do(Enqueue(jobs=[NewJob(queue="q", expire_after="1s") for _ in range(CHUNK + 1)]))

    first, second = bench.tick(1000), bench.tick()

    assert (first.expired, first.more) == (CHUNK, True)
    assert (second.expired, second.more) == (1, False)
    assert bench.queue().dead == CHUNK + 1


def test_an_expired_job_keeps_its_unique_key(bench: Workbench) -> None:
    job_id = bench.add(expire_after="1s", unique_key="k")
    bench.tick(1000)
    bench.do(Sweep())

    assert bench.add(unique_key="k") == job_id
