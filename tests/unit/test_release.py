"""Handing a job back: the claim is undone as if it had never been, now or after a delay."""

import msgspec

from rookery.engine.ops import Refusal, Release, Return
from rookery.model.instants import format_instant
from tests.unit.workbench import Workbench, kind_of


def test_a_released_job_is_pending_and_its_attempt_undone(bench: Workbench) -> None:
    job_id = bench.add()

    assert bench.release(bench.take(worker_id="w1", hostname="host")) == "pending"

    job = bench.job(job_id)
    assert (job.state, job.attempt, job.errors) == ("pending", 0, [])
    assert (job.worker_id, job.hostname, job.lease_expires_at) == (None, None, None)
    assert bench.take().attempt == 1


def test_a_snoozed_job_waits_first(bench: Workbench) -> None:
    job_id = bench.add()

    assert bench.release(bench.take(), delay=30_000) == "scheduled"
    assert bench.job(job_id).scheduled_at == format_instant(bench.now + 30_000)
    assert bench.machine.next_due == bench.now + 30_000

    assert bench.tick(29_999).promoted == 0
    assert bench.tick(1).promoted == 1
    assert bench.take().attempt == 1


def test_releases_burn_no_attempt_however_many_there_are(bench: Workbench) -> None:
    bench.add(max_retries=1)
    for _ in range(10):
        bench.release(bench.take())

    assert bench.take().attempt == 1


def test_a_release_keeps_the_checkpoint_or_takes_a_new_one(bench: Workbench) -> None:
    bench.add(checkpoint="1")
    bench.release(bench.take())
    job = bench.take()
    assert job.checkpoint == "1"

    bench.release(job, checkpoint="2")
    assert bench.take().checkpoint == "2"


def test_a_release_is_an_event_that_tells_why(bench: Workbench) -> None:
    job_id = bench.add()
    bench.release(bench.take(), reason="deploy")

    ((type, data),) = bench.rows("SELECT type, data FROM event WHERE job_id = ? ORDER BY seq DESC LIMIT 1", job_id)
    assert type == "released"
    assert msgspec.json.decode(data)["reason"] == "deploy"


def test_a_released_token_is_worth_nothing(bench: Workbench) -> None:
    bench.add()
    job = bench.take()
    bench.release(job)

    assert kind_of(bench.ack(job)) == Refusal.LEASE_LOST
    assert kind_of(bench.release(job)) == Refusal.LEASE_LOST
    assert bench.beat(job) == "lost"


def test_only_an_active_job_can_be_released(bench: Workbench) -> None:
    job_id = bench.add()

    outcomes = bench.do(Release(items=[Return(job_id), Return("job_nowhere")])).outcomes

    assert [kind_of(outcome) for outcome in outcomes] == [Refusal.WRONG_STATE, Refusal.NOT_FOUND]


def test_a_release_without_a_token_is_taken_as_the_holders(bench: Workbench) -> None:
    job_id = bench.add()
    bench.take()

    assert bench.do(Release(items=[Return(job_id)])).outcomes == ["pending"]


def test_a_job_handed_back_still_expires_in_time(bench: Workbench) -> None:
    job_id = bench.add(expire_after="30s")
    job = bench.take()
    bench.tick(10_000)
    bench.release(job)

    assert bench.machine.next_due == bench.now + 20_000
    bench.tick(20_000)
    assert bench.state(job_id) == "dead"
