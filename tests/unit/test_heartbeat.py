"""Heartbeats: they renew leases, keep what a worker reports, and tell it when a job is no longer its own."""

from rookery.engine.ops import Beat, Cancel, Delete, Heartbeat, Hold
from rookery.model.instants import format_instant
from tests.unit.workbench import Workbench, plain


def test_a_heartbeat_renews_the_lease_for_at_least_a_minute(bench: Workbench) -> None:
    job_id = bench.add()
    job = bench.take(lease=1000)
    bench.advance(500)

    assert bench.beat(job) == "ok"
    assert bench.job(job_id).lease_expires_at == format_instant(bench.now + 60_000)


def test_a_heartbeat_renews_a_long_lease_by_its_own_length(bench: Workbench) -> None:
    job_id = bench.add()
    job = bench.take(lease=600_000)
    bench.advance(5000)
    bench.beat(job)

    assert bench.job(job_id).lease_expires_at == format_instant(bench.now + 600_000)


def test_a_heartbeat_may_say_how_long_the_lease_is_to_last(bench: Workbench) -> None:
    job_id = bench.add()
    job = bench.take(lease=600_000)
    bench.beat(job, renew_for=5000)

    assert bench.job(job_id).lease_expires_at == format_instant(bench.now + 5000)
    assert bench.machine.next_due == bench.now + 5001


def test_a_job_with_heartbeats_is_never_reclaimed(bench: Workbench) -> None:
    bench.add()
    job = bench.take()
    for _ in range(20):
        bench.advance(50_000)
        assert bench.beat(job) == "ok"
        assert bench.tick().reclaimed == 0

    assert bench.ack(job) is None


def test_a_heartbeat_after_the_end_of_the_lease_but_before_the_reclaim_restores_it(bench: Workbench) -> None:
    bench.add()
    job = bench.take(lease=1000)
    bench.advance(5000)

    assert bench.beat(job) == "ok"
    assert bench.tick().reclaimed == 0


def test_progress_and_checkpoint_are_kept(bench: Workbench) -> None:
    job_id = bench.add()
    job = bench.take()
    bench.beat(job, progress='{"done":5}', checkpoint='["c"]')
    bench.beat(job)

    seen = bench.job(job_id)
    assert (plain(seen.progress), plain(seen.checkpoint)) == ({"done": 5}, ["c"])


def test_progress_is_an_event_with_the_progress_as_its_data(bench: Workbench) -> None:
    job_id = bench.add()
    job = bench.take()
    bench.beat(job)
    bench.beat(job, checkpoint="1")
    bench.beat(job, progress="42")

    assert bench.rows("SELECT type, data FROM event WHERE job_id = ? AND seq > 2", job_id) == [("progress", "42")]


def test_jobs_that_are_gone_or_not_active_are_told_apart(bench: Workbench) -> None:
    running, cancelled, held, deleted, pending = (bench.add() for _ in range(5))
    bench.claim(count=4)
    bench.do(Cancel(job_id=cancelled), Hold(job_id=held), Delete(job_id=deleted))

    beats = [Beat(job_id) for job_id in (running, cancelled, held, deleted, pending, "job_nowhere")]
    outcomes = bench.do(Heartbeat(items=beats)).outcomes

    assert outcomes == ["ok", "inactive", "inactive", "unknown", "inactive", "unknown"]


def test_a_heartbeat_with_an_old_token_changes_nothing(bench: Workbench) -> None:
    job_id = bench.add()
    zombie = bench.take(lease=1000)
    bench.tick(1001)
    bench.take(lease=10_000)
    before = bench.job(job_id)
    bench.advance(10)

    assert bench.beat(zombie, progress="1", checkpoint="1") == "lost"
    after = bench.job(job_id)
    assert (after.lease_expires_at, after.progress, after.checkpoint) == (before.lease_expires_at, None, None)


def test_no_heartbeats_are_fine(bench: Workbench) -> None:
    assert bench.do(Heartbeat(items=[])).outcomes == []
