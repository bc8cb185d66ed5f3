"""Jobs that wait for other jobs, and join the line when all of those have completed."""

import pytest

from rookery.engine.ops import CHUNK, Cancel, Delete, Enqueue, Enqueued, Hold, NewJob, Purge, Refusal, Retry
from rookery.store.search import JobFilter, Order, search
from tests.unit.workbench import Workbench, kind_of, plain


def test_a_job_waits_until_every_dependency_has_completed(bench: Workbench) -> None:
    first, second = bench.add("first"), bench.add("second")
    job_id = bench.add(depends_on=[first, second])

    assert bench.state(job_id) == "pending"
    assert bench.claim() == []
    bench.run("second")
    assert bench.claim() == []
    bench.run("first")
    assert bench.claimed_ids() == [job_id]


def test_a_job_shows_what_it_depends_on(bench: Workbench) -> None:
    first = bench.add("first")
    job = bench.job(bench.add(depends_on=[first]))

    assert job.depends_on == [first]
    assert plain(job.chain_config) == {"depends_on": [first]}


def test_a_waiting_job_blocks_nobody_else(bench: Workbench) -> None:
    first = bench.add("first")
    bench.add(depends_on=[first], rank=0)
    free = bench.add()

    assert bench.claimed_ids() == [free]


def test_a_job_whose_dependencies_are_done_is_ready_at_once(bench: Workbench) -> None:
    first = bench.add("first")
    bench.run("first")

    job_id = bench.add(depends_on=[first])

    assert bench.claimed_ids() == [job_id]


def test_a_dependency_that_once_completed_counts_although_it_runs_again(bench: Workbench) -> None:
    first = bench.add("first")
    bench.run("first")
    bench.do(Retry(job_id=first))

    job_id = bench.add(depends_on=[first])

    assert bench.claimed_ids() == [job_id]


@pytest.mark.parametrize("ending", ["dead", "cancelled"])
def test_a_dependency_that_ended_badly_blocks_until_it_is_retried_and_completes(bench: Workbench, ending: str) -> None:
    first = bench.add("first", max_retries=1)
    job_id = bench.add(depends_on=[first])
    if ending == "dead":
        bench.bury("first")
    else:
        bench.do(Cancel(job_id=first))
    assert bench.claim() == []

    bench.do(Retry(job_id=first))
    assert bench.claim() == []
    bench.run("first")
    assert bench.claimed_ids() == [job_id]


def test_an_unknown_dependency_is_refused(bench: Workbench) -> None:
    assert kind_of(bench.enqueue(NewJob(queue="q", depends_on=["job_nowhere"]))) == Refusal.INVALID


def test_a_dependency_of_another_namespace_is_unknown(bench: Workbench) -> None:
    theirs = bench.add("theirs::q")

    answer = bench.do(Enqueue(jobs=[NewJob(queue="mine::q", depends_on=[theirs])], namespace="mine"))

    assert kind_of(answer) == Refusal.INVALID


def test_jobs_of_one_request_may_depend_on_each_others_own_ids(bench: Workbench) -> None:
    answer = bench.enqueue(NewJob(queue="q", id="a"), NewJob(queue="q", id="b", depends_on=["a"]))

    assert isinstance(answer, Enqueued)
    assert bench.claimed_ids() == ["a"]
    bench.complete("a")
    assert bench.claimed_ids() == ["b"]


def test_a_job_cannot_depend_on_one_that_comes_after_it(bench: Workbench) -> None:
    answer = bench.enqueue(NewJob(queue="q", id="a", depends_on=["b"]), NewJob(queue="q", id="b"))

    assert kind_of(answer) == Refusal.INVALID


def test_a_job_cannot_depend_on_itself(bench: Workbench) -> None:
    assert kind_of(bench.enqueue(NewJob(queue="q", id="a", depends_on=["a"]))) == Refusal.INVALID


def test_a_job_never_depends_on_a_duplicate_that_was_not_added(bench: Workbench) -> None:
    bench.add(unique_key="k")
    answer = bench.enqueue(NewJob(queue="q", id="a", unique_key="k"), NewJob(queue="other", id="b", depends_on=["a"]))

    assert kind_of(answer) == Refusal.INVALID or bench.claim("other") == []


def test_a_scheduled_job_waits_for_its_time_and_its_dependencies(bench: Workbench) -> None:
    first = bench.add("first")
    job_id = bench.add(depends_on=[first], scheduled_at=bench.now + 1000)
    assert bench.state(job_id) == "scheduled"

    bench.tick(1000)
    assert (bench.state(job_id), bench.claim()) == ("pending", [])
    bench.run("first")
    assert bench.claimed_ids() == [job_id]


def test_dependencies_that_complete_before_the_time_comes_are_remembered(bench: Workbench) -> None:
    first = bench.add("first")
    job_id = bench.add(depends_on=[first], scheduled_at=bench.now + 1000)
    bench.run("first")

    bench.tick(1000)
    assert bench.claimed_ids() == [job_id]


def test_a_blocked_job_may_be_cancelled_and_retried_and_is_still_blocked(bench: Workbench) -> None:
    first = bench.add("first")
    job_id = bench.add(depends_on=[first])
    bench.do(Cancel(job_id=job_id), Retry(job_id=job_id))
    assert bench.claim() == []

    bench.run("first")
    assert bench.claimed_ids() == [job_id]


def test_a_dependency_that_completes_while_the_job_is_away_is_remembered(bench: Workbench) -> None:
    first = bench.add("first")
    job_id = bench.add(depends_on=[first])
    bench.do(Hold(job_id=job_id))
    bench.run("first")
    bench.do(Cancel(job_id=job_id))
    assert bench.state(job_id) == "held"

    assert bench.machine.claimable("q", bench.now) == 0
    bench.do(Delete(job_id=job_id))
    assert bench.queue().pending == 0


def test_a_deleted_dependency_still_blocks(bench: Workbench) -> None:
    first = bench.add("first")
    bench.add(depends_on=[first])
    bench.do(Delete(job_id=first))
    bench.tick(10**6)

    assert bench.claim() == []


@pytest.mark.parametrize("operation", [Cancel, Delete, Hold])
def test_a_blocked_job_that_goes_away_hides_nobody(bench: Workbench, operation: type[Cancel | Delete | Hold]) -> None:
    first = bench.add("first")
    blocked = bench.add(depends_on=[first])
    bench.do(operation(job_id=blocked))
    free = bench.add()

    assert bench.machine.claimable("q", bench.now) == 1
    assert bench.claimed_ids() == [free]


def test_deleting_a_blocked_job_leaves_no_trace(bench: Workbench) -> None:
    first = bench.add("first")
    bench.do(Delete(job_id=bench.add(depends_on=[first])))
    bench.run("first")

    assert bench.rows("SELECT count(*) FROM dependency") == [(0,)]
    assert bench.machine.claimable("q", bench.now) == 0
    assert bench.machine.next_due is None or bench.machine.next_due > bench.now


def test_a_chain_of_dependencies_runs_in_its_order(bench: Workbench) -> None:
    ids = [bench.add()]
    for _ in range(5):
        ids.append(bench.add(depends_on=[ids[-1]]))

    assert [bench.run() for _ in range(6)] == ids


def test_many_dependents_are_told_in_chunks_until_all_are_ready(bench: Workbench) -> None:
    first = bench.add("first")
    count = 2 * CHUNK + 7
    bench.do(Enqueue(jobs=[NewJob(queue="q", depends_on=[first]) for _ in range(count)]))
    assert bench.machine.claimable("q", bench.now) == 0

    bench.run("first")
    assert bench.machine.claimable("q", bench.now) == CHUNK
    assert bench.machine.next_due == bench.now
    bench.tick_all()

    assert bench.machine.claimable("q", bench.now) == count
    assert len(bench.claim(count=count + 1)) == count
    assert bench.rows("SELECT count(*) FROM dependency") == [(0,)]


def test_dependents_that_are_still_to_be_told_survive_the_end_of_their_dependency(bench: Workbench) -> None:
    first = bench.add("first")
    count = CHUNK + 1
    bench.do(Enqueue(jobs=[NewJob(queue="q", depends_on=[first]) for _ in range(count)]))
    bench.run("first")
    bench.do(Delete(job_id=first))
    bench.tick_all()

    assert len(bench.claim(count=count + 1)) == count


def test_a_job_with_many_dependencies_waits_for_the_last(bench: Workbench) -> None:
    ids = [bench.add("first") for _ in range(50)]
    job_id = bench.add(depends_on=ids)
    for _ in range(49):
        bench.run("first")
    assert bench.claim() == []

    bench.run("first")
    assert bench.claimed_ids() == [job_id]


# --- who depends on a job


def dependents(bench: Workbench, job_id: str) -> list[str]:
    """The jobs that depend on this one, oldest first."""
    order = Order(is_descending=False)
    return [id for _, id, _ in search(bench.machine._db, JobFilter(depends_on=job_id), "default", order, 10).rows]


def test_who_depends_on_a_job_is_known_from_the_start_and_when_it_has_completed(bench: Workbench) -> None:
    first = bench.add("first")
    waiting = bench.add(depends_on=[first])
    assert dependents(bench, first) == [waiting]

    bench.run("first")
    assert dependents(bench, first) == [waiting]
    ready = bench.add(depends_on=[first])
    bench.run()
    assert dependents(bench, first) == [waiting, ready]


def test_who_depends_on_a_job_is_known_when_it_is_gone(bench: Workbench) -> None:
    first = bench.add("first")
    waiting = bench.add(depends_on=[first])
    bench.do(Delete(job_id=first))

    assert dependents(bench, first) == [waiting]


def test_a_duplicate_that_was_not_added_depends_on_nothing(bench: Workbench) -> None:
    first = bench.add("first")
    holder = bench.add(unique_key="k")
    for conflict in ("keep", "replace"):
        assert bench.add(unique_key="k", on_conflict=conflict, depends_on=[first]) == holder

    assert dependents(bench, first) == []


def test_a_refused_job_depends_on_nothing(bench: Workbench) -> None:
    first = bench.add("first")
    bench.enqueue(NewJob(queue="q", depends_on=[first]), NewJob(queue="q", id=first))

    assert dependents(bench, first) == []


@pytest.mark.parametrize("gone", ["deleted", "purged"])
def test_what_a_job_depended_on_goes_with_the_job(bench: Workbench, gone: str) -> None:
    first, second = bench.add("first"), bench.add("first")
    job_ids = [bench.add(depends_on=[first, second]) for _ in range(2)]
    for queue in ("first", "first", "q"):
        bench.run(queue)
    if gone == "deleted":
        bench.do(Delete(job_id=job_ids[0]))
    else:
        bench.advance(1)
        bench.do(Purge(before=bench.now))

    assert dependents(bench, first) == dependents(bench, second) == [job_ids[1]]
    bench.do(Delete(job_id=job_ids[1]))
    assert bench.rows("SELECT count(*) FROM named_dependency") == [(0,)]
