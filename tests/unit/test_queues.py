"""Queues: pause, resume, clear, delete, and counts that are always right."""

import pytest

from rookery.engine.ops import (
    CHUNK,
    Cancel,
    Claim,
    Cleared,
    ClearQueue,
    DeleteQueue,
    Done,
    Enqueue,
    Hold,
    LimitConcurrency,
    NewJob,
    PauseQueue,
    ResumeQueue,
    Throttle,
)
from rookery.model.job import STATES
from rookery.store.views import read_queue, read_queues
from tests.unit.workbench import Workbench


def fill(bench: Workbench, queue: str = "q") -> dict[str, str]:
    """One job in each state."""
    jobs: dict[str, str] = {}
    for state in ("completed", "dead", "retrying", "active"):
        jobs[state] = bench.add(queue, max_retries=1 if state == "dead" else 3)
        job = bench.take(queue)
        if state == "completed":
            bench.ack(job)
        elif state in ("dead", "retrying"):
            bench.fail(job)
    jobs["cancelled"] = bench.add(queue)
    bench.do(Cancel(job_id=jobs["cancelled"]))
    jobs["held"] = bench.add(queue)
    bench.do(Hold(job_id=jobs["held"]))
    jobs["scheduled"] = bench.add(queue, scheduled_at=bench.now + 9000)
    jobs["pending"] = bench.add(queue)
    return jobs


def test_a_paused_queue_hands_out_nothing_until_it_is_resumed(bench: Workbench) -> None:
    job_id = bench.add()

    assert bench.do(PauseQueue(queue="q")) == Done("paused")
    assert bench.queue().paused
    assert bench.claim() == []
    assert bench.do(ResumeQueue(queue="q")) == Done("resumed")
    assert not bench.queue().paused
    assert bench.claimed_ids() == [job_id]


def test_running_jobs_go_on_when_their_queue_is_paused(bench: Workbench) -> None:
    bench.add()
    job = bench.take()
    bench.do(PauseQueue(queue="q"))

    assert bench.beat(job) == "ok"
    assert bench.ack(job) is None


def test_pausing_twice_is_pausing_once_and_makes_the_queue(bench: Workbench) -> None:
    bench.do(PauseQueue(queue="new"), PauseQueue(queue="new"))
    assert bench.queue("new").paused

    bench.do(ResumeQueue(queue="new"))
    assert not bench.queue("new").paused


def test_pause_inside_a_batch_stops_the_claims_behind_it(bench: Workbench) -> None:
    bench.add()
    _, claimed, _, again = bench.do(
        PauseQueue(queue="q"), Claim(queues=("q",)), ResumeQueue(queue="q"), Claim(queues=("q",))
    )

    assert (len(claimed.jobs), len(again.jobs)) == (0, 1)


def test_counts_tell_how_many_jobs_are_in_each_state(bench: Workbench) -> None:
    fill(bench)

    queue = bench.queue()
    assert {state: getattr(queue, state) for state in STATES} == dict.fromkeys(STATES, 1)
    assert (queue.enqueued, queue.failed) == (8, 2)


def test_the_oldest_pending_job_is_shown_whatever_its_rank(bench: Workbench) -> None:
    assert read_queue(bench.machine._db, "q") is None
    bench.add(rank=2)
    created = bench.queue().oldest_pending_at
    bench.advance(1000)
    bench.add(rank=0)

    assert bench.queue().oldest_pending_at == created
    bench.claim()
    assert bench.queue().oldest_pending_at is None


def test_queues_are_listed_by_name(bench: Workbench) -> None:
    for name in ("b", "c", "a"):
        bench.add(name)

    assert [queue.name for queue in read_queues(bench.machine._db)] == ["a", "b", "c"]


def test_clear_deletes_what_has_not_run_yet_and_nothing_else(bench: Workbench) -> None:
    jobs = fill(bench)
    other = bench.add("other")

    cleared = bench.do(ClearQueue(queue="q"))

    assert (cleared.deleted, cleared.done) == (2, True)
    gone = {state for state, job_id in jobs.items() if not bench.exists(job_id)}
    assert gone == {"pending", "scheduled"}
    assert bench.events_of(jobs["pending"])[-1] == "deleted"
    assert bench.exists(other)


def test_clear_takes_blocked_jobs_too(bench: Workbench) -> None:
    first = bench.add("first")
    bench.add(depends_on=[first])
    bench.do(ClearQueue(queue="q"))

    assert bench.queue().pending == 0
    assert bench.machine.claimable("q", bench.now) == 0
    bench.run("first")
    assert bench.machine.claimable("q", bench.now) == 0


def test_clearing_a_queue_that_is_not_there_is_fine(bench: Workbench) -> None:
    cleared = bench.do(ClearQueue(queue="nowhere"))

    assert (cleared.deleted, cleared.done) == (0, True)
    assert bench.rows("SELECT count(*) FROM queue") == [(0,)]


@pytest.mark.parametrize("operation", [ClearQueue, DeleteQueue])
def test_clearing_goes_in_chunks_and_spares_jobs_that_come_meanwhile(
    bench: Workbench, operation: type[ClearQueue | DeleteQueue]
) -> None:
    bench.do(Enqueue(jobs=[NewJob(queue="q") for _ in range(2 * CHUNK + 3)]))

    chunks: list[Cleared] = [bench.do(operation(queue="q"))]
    newcomer = bench.add()
    while not chunks[-1].done:
        chunks.append(bench.do(operation(queue="q", up_to=chunks[-1].up_to)))

    assert [chunk.deleted for chunk in chunks] == [CHUNK, CHUNK, 3]
    assert bench.jobs_of("q") == [newcomer]
    assert bench.queue().pending == 1
    assert bench.claimed_ids() == [newcomer]


def test_a_job_that_comes_while_its_queue_is_deleted_keeps_its_unique_key(bench: Workbench) -> None:
    bench.do(Enqueue(jobs=[NewJob(queue="q") for _ in range(CHUNK + 1)]))
    first = bench.do(DeleteQueue(queue="q"))
    newcomer = bench.add(unique_key="k")
    last = bench.do(DeleteQueue(queue="q", up_to=first.up_to))

    assert last.done
    assert bench.add(unique_key="k") == newcomer


def test_deleting_a_queue_takes_all_its_jobs_and_settings(bench: Workbench) -> None:
    jobs = fill(bench)
    bench.add(unique_key="k")
    bench.do(LimitConcurrency(queue="q", max_active=1), Throttle(queue="q", rate=5, window=1000), PauseQueue(queue="q"))

    cleared = bench.do(DeleteQueue(queue="q"))

    assert (cleared.deleted, cleared.done) == (9, True)
    assert not any(bench.exists(job_id) for job_id in jobs.values())
    assert read_queue(bench.machine._db, "q") is None
    for table in ("job", "error", "unique_lock", "throttle_claim", "dependency"):
        assert bench.rows(f"SELECT count(*) FROM {table}") == [(0,)]


def test_a_deleted_queue_may_come_again_as_if_it_were_new(bench: Workbench) -> None:
    bench.add(unique_key="k")
    bench.do(PauseQueue(queue="q"), LimitConcurrency(queue="q", max_active=1))
    bench.do(DeleteQueue(queue="q"))

    job_id = bench.add(unique_key="k")

    queue = bench.queue()
    assert (queue.paused, queue.max_concurrency, queue.pending, queue.enqueued) == (False, None, 1, 1)
    assert bench.claimed_ids() == [job_id]


def test_deleting_a_queue_twice_is_fine(bench: Workbench) -> None:
    bench.add()
    bench.do(DeleteQueue(queue="q"))

    again = bench.do(DeleteQueue(queue="q"))
    assert (again.deleted, again.done) == (0, True)


def test_delete_and_enqueue_in_one_batch_leave_a_new_queue(bench: Workbench) -> None:
    bench.add()
    bench.do(DeleteQueue(queue="q"), Enqueue(jobs=[NewJob(queue="q")]))

    assert (bench.queue().pending, bench.queue().enqueued) == (1, 1)


def test_the_last_batch_tells_which_queues_it_changed(bench: Workbench) -> None:
    bench.add("a")
    assert bench.machine.changed_queues == ["a"]
    bench.do(ResumeQueue(queue="b"), PauseQueue(queue="b"))
    assert bench.machine.changed_queues == ["b"]
    bench.claim("nowhere")
    assert bench.machine.changed_queues == []
