"""Forgetting the past: finished jobs, job batches and events, one chunk at a time."""

from rookery.engine.ops import (
    CHUNK,
    Ack,
    Cancel,
    Completion,
    Enqueue,
    Enqueued,
    Hold,
    NewJob,
    NewJobBatch,
    Purge,
    Retry,
    Ticked,
)
from rookery.engine.retention import EVENTS_KEPT
from tests.unit.workbench import Workbench

WEEK = 7 * 24 * 3_600_000


def purge(bench: Workbench) -> Ticked:
    """Purge what ended more than a week ago."""
    ticked: Ticked = bench.do(Purge(before=bench.now - WEEK))
    return ticked


def finish_many(bench: Workbench, count: int) -> None:
    bench.do(Enqueue(jobs=[NewJob(queue="q") for _ in range(count)]))
    jobs = bench.claim(count=count)
    bench.do(Ack(items=[Completion(job.job_id, job.lease) for job in jobs]))


def test_a_finished_job_is_kept_for_a_week_and_then_forgotten(bench: Workbench) -> None:
    completed, dead, cancelled = bench.add("a"), bench.add("b", max_retries=1), bench.add("c")
    bench.run("a")
    bench.bury("b")
    bench.do(Cancel(job_id=cancelled))

    bench.advance(WEEK)
    assert purge(bench).jobs == 0
    bench.advance(1)
    assert purge(bench).jobs == 3
    assert not any(map(bench.exists, (completed, dead, cancelled)))
    assert bench.rows("SELECT count(*) FROM error") == [(0,)]
    assert (bench.queue("a").completed, bench.queue("b").dead, bench.queue("c").cancelled) == (0, 0, 0)


def test_a_completed_job_counts_from_its_completion(bench: Workbench) -> None:
    job_id = bench.add()
    bench.advance(WEEK)
    bench.run()
    bench.advance(WEEK)
    assert purge(bench).jobs == 0
    assert bench.exists(job_id)


def test_a_cancelled_job_counts_from_its_last_failure_or_else_its_creation(bench: Workbench) -> None:
    never_ran = bench.add("never")
    failed = bench.add("failed")
    bench.advance(1000)
    bench.fail(bench.take("failed"))
    bench.advance(WEEK - 999)
    bench.do(Cancel(job_id=never_ran), Cancel(job_id=failed))

    assert purge(bench).jobs == 1
    assert not bench.exists(never_ran)
    assert bench.exists(failed)
    bench.advance(1000)
    assert purge(bench).jobs == 1


def test_jobs_that_have_not_ended_are_never_purged(bench: Workbench) -> None:
    pending, scheduled, held = bench.add("p"), bench.add("s", scheduled_at=bench.now + 9 * WEEK), bench.add("h")
    bench.do(Hold(job_id=held))
    retrying, active = bench.add("r"), bench.add("a")
    bench.fail(bench.take("r"))
    bench.take("a")
    retried = bench.add("again")
    bench.run("again")
    bench.do(Retry(job_id=retried))

    bench.advance(8 * WEEK)
    assert purge(bench).jobs == 0
    assert all(map(bench.exists, (pending, scheduled, held, retrying, active, retried)))


def test_purging_goes_in_chunks(bench: Workbench) -> None:
    finish_many(bench, CHUNK + 1)
    bench.advance(WEEK + 1)

    first, second = purge(bench), purge(bench)

    assert (first.jobs, first.more) == (CHUNK, True)
    assert (second.jobs, second.more) == (1, False)
    assert bench.rows("SELECT count(*) FROM job") == [(0,)]


def test_a_purge_adds_no_event(bench: Workbench) -> None:
    job_id = bench.add()
    bench.run()
    bench.advance(WEEK + 1)
    purge(bench)

    assert bench.events_of(job_id) == ["enqueued", "started", "completed"]


def test_a_finished_job_batch_is_forgotten_and_an_open_one_kept(bench: Workbench) -> None:
    done = bench.enqueue(NewJob(queue="a"), batch=NewJobBatch())
    still_open = bench.enqueue(NewJob(queue="b"), batch=NewJobBatch())
    assert isinstance(done, Enqueued)
    assert isinstance(still_open, Enqueued)
    bench.run("a")
    bench.advance(WEEK + 1)
    purge(bench)

    assert bench.rows("SELECT id FROM job_batch") == [(still_open.batch_id,)]


def test_a_purged_member_was_counted_before(bench: Workbench) -> None:
    enqueued = bench.enqueue(NewJob(queue="a", max_retries=1), NewJob(queue="b"), batch=NewJobBatch("done"))
    assert isinstance(enqueued, Enqueued)
    assert enqueued.batch_id is not None
    bench.bury("a")
    bench.advance(WEEK + 1)
    purge(bench)
    bench.run("b")

    batch = bench.batch(enqueued.batch_id)
    assert (batch.pending, batch.succeeded, batch.failed) == (0, 1, 1)
    assert len(bench.jobs_of("done")) == 1


def test_old_events_go_but_the_newest_ten_thousand_stay(bench: Workbench) -> None:
    count = (EVENTS_KEPT + CHUNK + 100) // 3 + 1
    finish_many(bench, count)
    total = 3 * count
    bench.advance(WEEK + 1)
    while purge(bench).more:
        pass

    assert EVENTS_KEPT == 10_000
    assert bench.rows("SELECT count(*), min(seq), max(seq) FROM event") == [
        (EVENTS_KEPT, total - EVENTS_KEPT + 1, total)
    ]


def test_young_events_stay_however_many_they_are(bench: Workbench) -> None:
    count = EVENTS_KEPT // 3 + 200
    finish_many(bench, count)
    bench.advance(WEEK)
    purge(bench)

    assert bench.rows("SELECT count(*) FROM event") == [(3 * count,)]


def test_a_purged_dead_job_gives_its_unique_key_back(bench: Workbench) -> None:
    first = bench.add(unique_key="k", unique_period=10 * WEEK, max_retries=1)
    bench.bury()
    assert bench.add(unique_key="k") == first
    bench.advance(WEEK + 1)
    purge(bench)

    assert bench.add(unique_key="k") != first
