"""Running a job again by hand, from the start."""

import pytest

from rookery.engine.ops import Cancel, Done, Hold, Refusal, Retry
from rookery.model.instants import format_instant
from tests.unit.workbench import Workbench, kind_of


def test_a_dead_job_runs_again_with_all_its_attempts(bench: Workbench) -> None:
    job_id = bench.add(max_retries=2, checkpoint='"kept"')
    bench.bury()

    assert bench.do(Retry(job_id=job_id)) == Done("retried")

    job = bench.job(job_id)
    assert (job.state, job.attempt) == ("pending", 0)
    assert (job.failed_at, job.completed_at, job.scheduled_at) == (None, None, None)
    assert (job.worker_id, job.hold_reason) == (None, None)
    assert len(job.errors) == 2
    assert bytes(job.checkpoint or b"") == b'"kept"'
    bench.bury()
    assert len(bench.job(job_id).errors) == 4


def test_a_completed_job_runs_again_and_keeps_its_result(bench: Workbench) -> None:
    job_id = bench.add()
    bench.run(result="1")
    bench.do(Retry(job_id=job_id))

    job = bench.job(job_id)
    assert (job.state, job.completed_at) == ("pending", None)
    assert bytes(job.result or b"") == b"1"
    assert bench.claimed_ids() == [job_id]


def test_a_cancelled_job_runs_again(bench: Workbench) -> None:
    job_id = bench.add()
    bench.do(Cancel(job_id=job_id))
    bench.do(Retry(job_id=job_id))

    assert bench.claimed_ids() == [job_id]


def test_a_retried_job_starts_its_backoff_anew(bench: Workbench) -> None:
    job_id = bench.add(max_retries=3, backoff="power", base_delay=2000)
    bench.bury()
    bench.do(Retry(job_id=job_id))

    failed = bench.fail(bench.take())

    assert getattr(failed, "next_attempt_at", None) == bench.now + 2000


def test_retry_restarts_the_time_to_expire(bench: Workbench) -> None:
    job_id = bench.add(expire_after="10s")
    bench.tick(10_000)
    assert bench.state(job_id) == "dead"

    bench.advance(5000)
    bench.do(Retry(job_id=job_id))

    assert bench.job(job_id).expire_at == format_instant(bench.now + 10_000)
    assert bench.machine.next_due == bench.now + 10_000
    assert bench.claimed_ids() == [job_id]


@pytest.mark.parametrize("state", ["pending", "active", "retrying", "held"])
def test_jobs_that_are_on_their_way_cannot_be_retried(bench: Workbench, state: str) -> None:
    job_id = bench.add()
    if state == "active":
        bench.take()
    elif state == "retrying":
        bench.fail(bench.take())
    elif state == "held":
        bench.do(Hold(job_id=job_id))

    assert kind_of(bench.do(Retry(job_id=job_id))) == Refusal.WRONG_STATE
    assert bench.state(job_id) == state


def test_an_unknown_job_cannot_be_retried(bench: Workbench) -> None:
    assert kind_of(bench.do(Retry(job_id="job_nowhere"))) == Refusal.NOT_FOUND


def test_a_retry_is_one_event(bench: Workbench) -> None:
    job_id = bench.add()
    bench.run()
    bench.do(Retry(job_id=job_id))

    assert bench.events_of(job_id) == ["enqueued", "started", "completed", "retried"]
