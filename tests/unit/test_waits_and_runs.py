"""How long jobs wait until they are handed out, and how long they run: what the engine notes for whoever counts."""

from rookery.engine.ops import (
    Approve,
    Cancel,
    Claim,
    Enqueue,
    Hold,
    Move,
    NewJob,
    NewJobBatch,
    Retry,
)
from tests.conftest import START
from tests.unit.workbench import Workbench

CHAIN = '{"steps":[{"queue":"q"},{"queue":"next"}]}'
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def ready_at(bench: Workbench, job_id: str) -> int | None:
    """Since when a job has been ready, as milliseconds after the beginning."""
    at = bench.rows("SELECT ready_at FROM job WHERE id = ?", job_id)[0][0]
    return None if at is None else at - START


def wait_of_next(bench: Workbench, queue: str = "q") -> int:
    """How long the next job of a queue has waited when it is handed out."""
    bench.take(queue)
    ((named, wait),) = bench.machine.waits
    assert named == queue
    return wait


def test_a_new_job_waits_from_its_beginning(bench: Workbench) -> None:
    bench.add()
    bench.advance(250)
    assert wait_of_next(bench) == 250


def test_every_job_of_a_claim_has_its_wait(bench: Workbench) -> None:
    bench.add("a")
    bench.advance(10)
    bench.add("b")
    bench.advance(5)
    bench.claim("a", "b")
    assert sorted(bench.machine.waits) == [("a", 15), ("b", 5)]


def test_a_scheduled_job_waits_from_when_it_became_ready(bench: Workbench) -> None:
    job_id = bench.add(scheduled_at=START + 1000)
    assert ready_at(bench, job_id) is None
    bench.tick(1000)
    assert ready_at(bench, job_id) == 1000
    bench.advance(7)
    assert wait_of_next(bench) == 7


def test_a_retried_attempt_waits_from_the_end_of_its_backoff(bench: Workbench) -> None:
    bench.add(base_delay=500)
    bench.fail(bench.take())
    bench.tick(500)
    bench.advance(20)
    assert wait_of_next(bench) == 20


def test_a_dependent_waits_from_when_it_was_unblocked(bench: Workbench) -> None:
    first, second = bench.add("a"), bench.add("a")
    job_id = bench.add(depends_on=[first, second])
    bench.advance(100)
    bench.run("a")
    assert ready_at(bench, job_id) is None
    bench.run("a")
    assert ready_at(bench, job_id) == 100
    bench.advance(3)
    assert wait_of_next(bench) == 3


def test_a_scheduled_dependent_is_ready_when_both_are_over(bench: Workbench) -> None:
    first = bench.add("a")
    job_id = bench.add(depends_on=[first], scheduled_at=START + 50)
    bench.run("a")
    assert ready_at(bench, job_id) is None
    bench.tick(50)
    assert ready_at(bench, job_id) == 50


def test_a_promoted_job_that_still_waits_for_another_is_not_ready(bench: Workbench) -> None:
    first = bench.add("a")
    job_id = bench.add(depends_on=[first], scheduled_at=START + 50)
    bench.tick(60)
    assert ready_at(bench, job_id) is None
    bench.run("a")
    assert ready_at(bench, job_id) == 60


def test_a_move_does_not_begin_the_wait_anew(bench: Workbench) -> None:
    job_id = bench.add("a")
    bench.advance(100)
    bench.do(Move(job_id=job_id, queue="q"))
    bench.advance(1)
    assert wait_of_next(bench) == 101


def test_replacing_a_waiting_job_does_not_begin_its_wait_anew(bench: Workbench) -> None:
    job_id = bench.add(unique_key="k")
    bench.advance(100)
    bench.add(unique_key="k", on_conflict="replace")
    assert ready_at(bench, job_id) == 0


def test_a_released_an_approved_a_retried_and_a_reclaimed_job_wait_anew(bench: Workbench) -> None:
    job_id = bench.add()
    bench.release(bench.take())
    bench.advance(10)
    bench.do(Hold(job_id=job_id))
    bench.advance(10)
    bench.do(Approve(job_id=job_id))
    assert ready_at(bench, job_id) == 20
    bench.take(lease=1000)
    bench.tick(1001)
    assert ready_at(bench, job_id) == 1021
    bench.advance(9)
    bench.do(Cancel(job_id=job_id))
    bench.do(Retry(job_id=job_id))
    assert ready_at(bench, job_id) == 1030


def test_a_job_of_before_is_handed_out_without_a_wait(bench: Workbench) -> None:
    bench.add()
    bench.machine._db.execute("UPDATE job SET ready_at = NULL")
    bench.take()
    assert bench.machine.waits == []


def test_a_run_lasts_from_the_claim_to_the_ack(bench: Workbench) -> None:
    bench.add()
    job = bench.take()
    bench.advance(1234)
    bench.ack(job)
    assert bench.machine.runs == [("q", 1234)]


def test_failed_attempts_and_jobs_with_followers_run_too(bench: Workbench) -> None:
    bench.add(max_retries=1)
    job = bench.take()
    bench.advance(5)
    bench.fail(job)
    assert bench.machine.runs == [("q", 5)]
    bench.add(chain_config=CHAIN, starts_chain=True)
    job = bench.take()
    bench.advance(6)
    bench.ack(job)
    assert bench.machine.runs == [("q", 6)]


def test_each_iteration_of_an_agent_is_a_run(bench: Workbench) -> None:
    bench.add(agent="{}")
    job = bench.take()
    bench.advance(5)
    bench.ack(job, agent_status="continue")
    assert bench.machine.runs == [("q", 5)]


def test_a_lost_lease_is_no_run(bench: Workbench) -> None:
    bench.add()
    bench.take(lease=1000)
    bench.tick(1001)
    assert bench.machine.runs == []


def test_refused_messages_are_no_runs(bench: Workbench) -> None:
    bench.add()
    job = bench.take()
    bench.ack(job)
    bench.ack(job)
    bench.complete("nobody")
    assert bench.machine.runs == []


def test_each_batch_has_its_own(bench: Workbench) -> None:
    bench.add()
    bench.take()
    bench.do(Claim(queues=("q",)))
    assert bench.machine.waits == []


def test_a_trace_goes_to_the_worker_and_to_what_follows(bench: Workbench) -> None:
    bench.add(chain_config=CHAIN, starts_chain=True, trace=TRACE)
    job = bench.take()
    assert job.trace == TRACE
    bench.ack(job)
    assert bench.take("next").trace == TRACE


def test_a_callback_goes_on_with_the_trace_of_the_last_member(bench: Workbench) -> None:
    bench.do(Enqueue(jobs=[NewJob(queue="q"), NewJob(queue="q", trace=TRACE)], batch=NewJobBatch("done")))
    bench.run()
    bench.run()
    assert bench.take("done").trace == TRACE


def test_replacing_a_job_replaces_its_trace(bench: Workbench) -> None:
    job_id = bench.add(unique_key="k")
    assert bench.job(job_id).traceparent is None
    bench.add(unique_key="k", on_conflict="replace", trace=TRACE)
    assert bench.job(job_id).traceparent == TRACE
