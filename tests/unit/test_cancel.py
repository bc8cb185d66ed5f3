"""Cancelling a job: waiting ones at once, running ones by telling their worker."""

import pytest

from rookery.engine.ops import Cancel, Done, Hold, Refusal
from tests.unit.workbench import Workbench, kind_of


def test_a_pending_job_is_cancelled(bench: Workbench) -> None:
    job_id = bench.add()

    assert bench.do(Cancel(job_id=job_id)) == Done("cancelled")
    assert bench.state(job_id) == "cancelled"
    assert bench.claim() == []


def test_a_scheduled_job_is_cancelled_and_never_promoted(bench: Workbench) -> None:
    job_id = bench.add(scheduled_at=bench.now + 1000)

    assert bench.do(Cancel(job_id=job_id)) == Done("cancelled")
    bench.tick(5000)
    job = bench.job(job_id)
    assert (job.state, job.scheduled_at) == ("cancelled", None)


def test_a_retrying_job_is_cancelled_and_never_promoted(bench: Workbench) -> None:
    job_id = bench.add()
    bench.fail(bench.take())

    assert bench.do(Cancel(job_id=job_id)) == Done("cancelled")
    bench.tick(10**6)
    assert bench.state(job_id) == "cancelled"


def test_a_running_job_is_cancelled_and_its_worker_hears_of_it(bench: Workbench) -> None:
    job_id = bench.add()
    job = bench.take()

    assert bench.do(Cancel(job_id=job_id)) == Done("cancelling")
    assert (bench.state(job_id), bench.job(job_id).lease_expires_at) == ("cancelled", None)
    assert bench.beat(job) == "inactive"
    bench.tick(10**6)
    assert bench.state(job_id) == "cancelled"


@pytest.mark.parametrize("state", ["held", "completed", "dead", "cancelled"])
def test_held_and_finished_jobs_cannot_be_cancelled(bench: Workbench, state: str) -> None:
    job_id = bench.add(max_retries=1)
    if state == "held":
        bench.do(Hold(job_id=job_id))
    elif state == "completed":
        bench.run()
    elif state == "dead":
        bench.bury()
    else:
        bench.do(Cancel(job_id=job_id))

    assert kind_of(bench.do(Cancel(job_id=job_id))) == Refusal.WRONG_STATE
    assert bench.state(job_id) == state


def test_an_unknown_job_cannot_be_cancelled(bench: Workbench) -> None:
    assert kind_of(bench.do(Cancel(job_id="job_nowhere"))) == Refusal.NOT_FOUND


def test_a_cancel_is_one_event_and_one_count(bench: Workbench) -> None:
    job_id = bench.add()
    bench.do(Cancel(job_id=job_id))
    bench.do(Cancel(job_id=job_id))

    assert bench.events_of(job_id) == ["enqueued", "cancelled"]
    assert (bench.queue().pending, bench.queue().cancelled) == (0, 1)
