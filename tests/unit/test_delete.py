"""Forgetting a job, whatever its state."""

import pytest

from rookery.engine.ops import Delete, Done, Refusal
from tests.unit.workbench import Workbench, kind_of

STATES = ["pending", "active", "scheduled", "retrying", "held", "completed", "dead", "cancelled"]


@pytest.mark.parametrize("state", STATES)
def test_a_job_can_be_deleted_in_any_state(bench: Workbench, state: str) -> None:
    job_id = bench.add_in(state)

    assert bench.do(Delete(job_id=job_id)) == Done("deleted")

    assert not bench.exists(job_id)
    assert getattr(bench.queue(), state) == 0
    assert bench.rows("SELECT count(*) FROM error") == [(0,)]
    assert bench.events_of(job_id)[-1] == "deleted"
    bench.tick(10**6)


def test_the_worker_of_a_deleted_job_hears_that_it_is_unknown(bench: Workbench) -> None:
    job_id = bench.add()
    job = bench.take()
    bench.do(Delete(job_id=job_id))

    assert kind_of(bench.ack(job)) == Refusal.NOT_FOUND
    assert kind_of(bench.fail(job)) == Refusal.NOT_FOUND
    assert bench.beat(job) == "unknown"


def test_a_deleted_job_cannot_be_deleted_again(bench: Workbench) -> None:
    job_id = bench.add()
    bench.do(Delete(job_id=job_id))

    assert kind_of(bench.do(Delete(job_id=job_id))) == Refusal.NOT_FOUND


def test_deleting_one_job_leaves_the_others(bench: Workbench) -> None:
    first, second, third = bench.add(), bench.add(), bench.add()
    bench.do(Delete(job_id=second))

    assert bench.claimed_ids() == [first, third]


def test_the_queue_still_knows_how_many_jobs_it_ever_had(bench: Workbench) -> None:
    bench.do(Delete(job_id=bench.add()))

    assert (bench.queue().enqueued, bench.queue().pending) == (1, 0)
