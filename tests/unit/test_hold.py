"""Holding a job for a person, who approves or rejects it."""

import pytest

from rookery.engine.ops import Approve, Cancel, Done, Hold, Refusal, Reject
from rookery.model.instants import format_instant
from tests.unit.workbench import Workbench, kind_of


def bring_to(bench: Workbench, state: str) -> str:
    job_id = bench.add(scheduled_at=bench.now + 9000 if state == "scheduled" else None)
    if state == "active":
        bench.take(worker_id="w1", hostname="host")
    elif state == "retrying":
        bench.fail(bench.take())
    assert bench.state(job_id) == state
    return job_id


@pytest.mark.parametrize("state", ["pending", "active", "scheduled", "retrying"])
def test_a_held_job_has_no_lease_no_worker_and_no_time(bench: Workbench, state: str) -> None:
    job_id = bring_to(bench, state)

    assert bench.do(Hold(job_id=job_id, reason="look at this")) == Done("held")

    job = bench.job(job_id)
    assert (job.state, job.hold_reason) == ("held", "look at this")
    assert (job.lease_expires_at, job.worker_id, job.hostname, job.scheduled_at) == (None, None, None, None)
    bench.tick(10**6)
    assert bench.state(job_id) == "held"
    assert bench.claim() == []


def test_an_approved_job_goes_on_with_its_attempts(bench: Workbench) -> None:
    job_id = bring_to(bench, "active")
    bench.do(Hold(job_id=job_id, reason="wait"))

    assert bench.do(Approve(job_id=job_id)) == Done("pending")

    job = bench.job(job_id)
    assert (job.state, job.hold_reason, job.attempt) == ("pending", None, 1)
    assert bench.take().attempt == 2


def test_a_rejected_job_is_dead(bench: Workbench) -> None:
    job_id = bench.add()
    bench.do(Hold(job_id=job_id, reason="no"))

    assert bench.do(Reject(job_id=job_id)) == Done("dead")

    job = bench.job(job_id)
    assert (job.state, job.hold_reason, job.failed_at) == ("dead", None, format_instant(bench.now))
    assert bench.events_of(job_id) == ["enqueued", "held", "rejected", "dead"]


def test_the_holder_of_a_held_job_cannot_finish_it_after_approval(bench: Workbench) -> None:
    job_id = bench.add()
    job = bench.take()
    bench.do(Hold(job_id=job_id), Approve(job_id=job_id))

    assert kind_of(bench.ack(job)) is not None
    assert bench.beat(job) != "ok"
    assert bench.state(job_id) == "pending"


@pytest.mark.parametrize("operation", [Approve, Reject])
def test_only_a_held_job_can_be_approved_or_rejected(bench: Workbench, operation: type[Approve | Reject]) -> None:
    job_id = bench.add()

    assert kind_of(bench.do(operation(job_id=job_id))) == Refusal.WRONG_STATE
    assert kind_of(bench.do(operation(job_id="job_nowhere"))) == Refusal.NOT_FOUND
    bench.do(Hold(job_id=job_id), operation(job_id=job_id))
    assert kind_of(bench.do(operation(job_id=job_id))) == Refusal.WRONG_STATE


@pytest.mark.parametrize("state", ["held", "completed", "dead", "cancelled"])
def test_held_and_finished_jobs_cannot_be_held(bench: Workbench, state: str) -> None:
    job_id = bench.add(max_retries=1)
    if state == "held":
        bench.do(Hold(job_id=job_id))
    elif state == "completed":
        bench.run()
    elif state == "dead":
        bench.bury()
    else:
        bench.do(Cancel(job_id=job_id))

    assert kind_of(bench.do(Hold(job_id=job_id))) == Refusal.WRONG_STATE


def test_a_running_job_that_is_held_still_expires_in_time(bench: Workbench) -> None:
    job_id = bench.add(expire_after="30s")
    bench.take()
    bench.tick(10_000)
    bench.do(Hold(job_id=job_id))

    assert bench.machine.next_due == bench.now + 20_000
    bench.tick(20_000)
    assert bench.state(job_id) == "dead"
