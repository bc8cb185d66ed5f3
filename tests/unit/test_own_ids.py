"""Ids that callers bring along."""

from rookery.engine.ops import Delete, Enqueued, NewJob, Refusal
from tests.unit.workbench import Workbench, kind_of


def test_a_job_takes_the_id_its_caller_gives_it(bench: Workbench) -> None:
    assert bench.add(id="order-4711") == "order-4711"
    assert bench.take().job_id == "order-4711"


def test_a_taken_id_is_refused_and_its_holder_named(bench: Workbench) -> None:
    bench.add(id="mine", payload="1")

    refusal = bench.enqueue(NewJob(queue="other", id="mine", payload="2"))

    assert isinstance(refusal, Refusal)
    assert (refusal.kind, refusal.job_id) == (Refusal.CONFLICT, "mine")
    assert bench.payload("mine") == 1
    assert bench.rows("SELECT count(*) FROM job") == [(1,)]


def test_an_id_stays_taken_when_its_job_has_ended(bench: Workbench) -> None:
    bench.add(id="mine")
    bench.run()

    assert kind_of(bench.enqueue(NewJob(queue="q", id="mine"))) == Refusal.CONFLICT


def test_an_id_is_free_again_when_its_job_is_deleted(bench: Workbench) -> None:
    bench.add(id="mine")
    bench.do(Delete(job_id="mine"))

    assert bench.add(id="mine") == "mine"


def test_one_id_twice_in_a_request_adds_nothing(bench: Workbench) -> None:
    answer = bench.enqueue(NewJob(queue="q", id="a"), NewJob(queue="q", id="b"), NewJob(queue="q", id="a"))

    assert kind_of(answer) == Refusal.CONFLICT
    assert bench.rows("SELECT count(*) FROM job") == [(0,)]


def test_own_and_given_ids_live_side_by_side(bench: Workbench) -> None:
    answer = bench.enqueue(NewJob(queue="q", id="mine"), NewJob(queue="q"))

    assert isinstance(answer, Enqueued)
    assert answer.jobs[0].job_id == "mine"
    assert len(answer.jobs[1].job_id) == 30


def test_own_ids_do_not_change_the_order(bench: Workbench) -> None:
    for name in ("z", "a", "m"):
        bench.add(id=name)

    assert bench.claimed_ids() == ["z", "a", "m"]
