"""Moving a job into another queue."""

import msgspec
import pytest

from rookery.engine.ops import Cancel, Done, Hold, Move, Refusal
from tests.unit.workbench import Workbench, kind_of

STATES = ["pending", "scheduled", "retrying", "held", "completed", "dead", "cancelled"]


def bring_to(bench: Workbench, state: str) -> str:
    job_id = bench.add(
        rank=1,
        max_retries=1 if state == "dead" else 3,
        scheduled_at=bench.now + 9000 if state == "scheduled" else None,
    )
    if state == "retrying":
        bench.fail(bench.take())
    elif state == "held":
        bench.do(Hold(job_id=job_id))
    elif state == "completed":
        bench.run()
    elif state == "dead":
        bench.bury()
    elif state == "cancelled":
        bench.do(Cancel(job_id=job_id))
    assert bench.state(job_id) == state
    return job_id


@pytest.mark.parametrize("state", STATES)
def test_a_job_that_nobody_runs_can_be_moved_and_keeps_its_state(bench: Workbench, state: str) -> None:
    job_id = bring_to(bench, state)
    before = bench.job(job_id)

    assert bench.do(Move(job_id=job_id, queue="new")) == Done("moved")

    job = bench.job(job_id)
    assert job.queue == "new"
    assert (job.state, job.attempt, job.priority) == (state, before.attempt, 1)
    assert (getattr(bench.queue("q"), state), getattr(bench.queue("new"), state)) == (0, 1)


def test_a_running_job_cannot_be_moved(bench: Workbench) -> None:
    job_id = bench.add()
    bench.take()

    assert kind_of(bench.do(Move(job_id=job_id, queue="new"))) == Refusal.WRONG_STATE
    assert bench.job(job_id).queue == "q"
    assert bench.rows("SELECT name FROM queue") == [("q",)]


def test_an_unknown_job_cannot_be_moved(bench: Workbench) -> None:
    assert kind_of(bench.do(Move(job_id="job_nowhere", queue="new"))) == Refusal.NOT_FOUND
    assert bench.rows("SELECT name FROM queue") == []


def test_a_move_may_reset_attempts_and_change_the_priority(bench: Workbench) -> None:
    job_id = bring_to(bench, "retrying")

    bench.do(Move(job_id=job_id, queue="new", reset_attempt=True, rank=0))

    job = bench.job(job_id)
    assert (job.attempt, job.priority) == (0, 0)


def test_a_move_to_the_same_queue_does_nothing(bench: Workbench) -> None:
    job_id = bench.add()

    assert bench.do(Move(job_id=job_id, queue="q")) == Done("moved")
    assert bench.events_of(job_id) == ["enqueued"]
    assert bench.queue().pending == 1


def test_a_move_is_an_event_of_the_new_queue(bench: Workbench) -> None:
    job_id = bench.add()
    bench.do(Move(job_id=job_id, queue="new"))

    ((type, queue, data),) = bench.rows("SELECT type, queue, data FROM event WHERE seq = 2")
    assert (type, queue, msgspec.json.decode(data)) == ("moved", "new", {"from": "q", "to": "new"})


def test_a_blocked_job_stays_blocked_where_it_goes(bench: Workbench) -> None:
    first = bench.add("first")
    job_id = bench.add(depends_on=[first])
    bench.do(Move(job_id=job_id, queue="new"))
    assert bench.claim("q", "new") == []
    assert bench.machine.claimable("new", bench.now) == 0

    bench.run("first")

    assert bench.machine.claimable("new", bench.now) == 1
    assert bench.claimed_ids("q", "new") == [job_id]


def test_a_moved_job_is_claimed_from_its_new_queue_only(bench: Workbench) -> None:
    job_id = bench.add()
    bench.do(Move(job_id=job_id, queue="new"))

    assert bench.claim("q") == []
    assert bench.claimed_ids("new") == [job_id]


def test_a_moved_job_releases_its_unique_key_when_it_completes(bench: Workbench) -> None:
    bench.add(unique_key="k")
    bench.do(Move(job_id=bench.jobs_of("q")[0], queue="new"))
    bench.run("new")

    again = bench.add(unique_key="k")

    assert bench.jobs_of("q") == [again]
