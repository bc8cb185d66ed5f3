"""Jobs that wait for their time, and the tick that lets them into the line."""

from rookery.engine.ops import CHUNK, Enqueue, NewJob, Retry
from rookery.model.instants import format_instant
from tests.unit.workbench import Workbench


def test_a_job_with_a_time_is_scheduled(bench: Workbench) -> None:
    job = bench.job(bench.add(scheduled_at=bench.now + 1000))

    assert (job.state, job.scheduled_at) == ("scheduled", format_instant(bench.now + 1000))


def test_a_time_in_the_past_is_scheduled_too_and_promoted_at_the_next_tick(bench: Workbench) -> None:
    job_id = bench.add(scheduled_at=bench.now - 1000)
    assert bench.state(job_id) == "scheduled"

    assert bench.tick().promoted == 1
    assert bench.state(job_id) == "pending"


def test_a_scheduled_job_is_promoted_at_its_very_millisecond_and_not_before(bench: Workbench) -> None:
    job_id = bench.add(scheduled_at=bench.now + 1000)

    assert bench.tick(999).promoted == 0
    assert bench.claim() == []

    assert bench.tick(1).promoted == 1
    job = bench.job(job_id)
    assert (job.state, job.scheduled_at) == ("pending", None)
    assert bench.claimed_ids() == [job_id]


def test_a_retrying_job_is_promoted_when_its_wait_is_over(bench: Workbench) -> None:
    job_id = bench.add(backoff="fixed", base_delay=2000)
    bench.fail(bench.take())

    bench.tick(1999)
    assert bench.state(job_id) == "retrying"
    bench.tick(1)
    assert bench.state(job_id) == "pending"


def test_promoted_jobs_stand_in_line_by_their_creation(bench: Workbench) -> None:
    later = bench.add(scheduled_at=bench.now + 2000)
    bench.advance(1)
    sooner = bench.add(scheduled_at=bench.now + 1000)
    bench.tick(5000)

    assert bench.claimed_ids() == [later, sooner]


def test_a_job_ordered_by_its_due_time_stands_behind_those_due_before_it(bench: Workbench) -> None:
    later = bench.add(scheduled_at=bench.now + 2000, order_by_due=True)
    sooner = bench.add(scheduled_at=bench.now + 1000, order_by_due=True)
    at_once = bench.add(order_by_due=True)
    bench.tick(5000)

    assert bench.claimed_ids() == [at_once, sooner, later]


def test_promotion_goes_in_chunks_until_all_are_ready(bench: Workbench) -> None:
    bench.do(Enqueue(jobs=[NewJob(queue="q", scheduled_at=bench.now) for _ in range(CHUNK + 1)]))

    first, second = bench.tick(), bench.tick()

    assert (first.promoted, first.more) == (CHUNK, True)
    assert (second.promoted, second.more) == (1, False)
    assert (bench.queue().pending, bench.queue().scheduled) == (CHUNK + 1, 0)


def test_a_tick_emits_promoted_once_for_each_job(bench: Workbench) -> None:
    job_id = bench.add(scheduled_at=bench.now)
    bench.tick()
    bench.tick()

    assert bench.events_of(job_id) == ["enqueued", "promoted"]


def test_the_machine_knows_when_the_next_thing_is_due(bench: Workbench) -> None:
    assert bench.machine.next_due is None

    bench.add(scheduled_at=bench.now + 5000)
    assert bench.machine.next_due == bench.now + 5000
    bench.add(scheduled_at=bench.now + 3000)
    assert bench.machine.next_due == bench.now + 3000

    bench.tick(3000)
    assert bench.machine.next_due == bench.now + 2000
    bench.tick(2000)
    assert bench.machine.next_due is None


def test_retry_runs_a_scheduled_job_now(bench: Workbench) -> None:
    job_id = bench.add(scheduled_at=bench.now + 3_600_000)

    bench.do(Retry(job_id=job_id))

    assert bench.job(job_id).scheduled_at is None
    assert bench.claimed_ids() == [job_id]


def test_time_never_goes_back(bench: Workbench) -> None:
    bench.add()
    seen = bench.machine.now
    bench.advance(-60_000)

    job = bench.job(bench.add())

    assert job.created_at == format_instant(seen)
