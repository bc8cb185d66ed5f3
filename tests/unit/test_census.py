"""What a scrape reads, and that it does not cost more for more jobs."""

from rookery.engine.ops import Enqueue, NewJob, Retry
from rookery.store.census import Census, take_census
from tests.unit.test_flat import cost, steps_of
from tests.unit.workbench import Workbench


def census(bench: Workbench, namespace: str = "default") -> Census:
    return take_census(bench.machine._db, bench.now, namespace)


def oldest(bench: Workbench, name: str = "q") -> int | None:
    """For how long the oldest ready job of a queue has waited."""
    (queue,) = [queue for queue in census(bench).queues if queue.name == name]
    return None if queue.oldest_ready_at is None else bench.now - queue.oldest_ready_at


def test_queues_and_workers_are_counted(bench: Workbench) -> None:
    bench.add("a")
    bench.add("b")
    bench.take("a", worker_id="w1")
    bench.advance(5 * 60_000)
    bench.claim("a", worker_id="w2")
    found = census(bench)
    assert [(queue.name, queue.counts["pending"], queue.counts["active"]) for queue in found.queues] == [
        ("a", 0, 1),
        ("b", 1, 0),
    ]
    assert (found.workers, found.active_workers) == (2, 1)
    assert sum(minute.enqueued for minute in found.minutes) == 2


def test_a_namespace_is_counted_alone(bench: Workbench) -> None:
    bench.add("ours::q")
    bench.add("theirs::q")
    bench.claim("ours::q", worker_id="w1", namespace="ours")
    found = census(bench, "ours")
    assert [queue.name for queue in found.queues] == ["ours::q"]
    assert (found.workers, census(bench, "theirs").workers) == (1, 0)


def test_the_oldest_is_the_one_that_waits_longest_whatever_its_rank(bench: Workbench) -> None:
    bench.add(rank=2)
    bench.advance(1000)
    bench.add(rank=0)
    bench.advance(500)
    assert oldest(bench) == 1500
    bench.take()
    assert oldest(bench) == 1500
    bench.take()
    assert oldest(bench) is None


def test_a_job_that_was_put_back_in_front_does_not_hide_who_waits_longer(bench: Workbench) -> None:
    first = bench.add()
    bench.advance(10)
    bench.add()
    bench.run()
    bench.advance(1000)
    bench.do(Retry(job_id=first))
    assert oldest(bench) == 1000


def test_jobs_that_wait_for_others_are_not_waiting_for_workers(bench: Workbench) -> None:
    first = bench.add("a")
    bench.add(depends_on=[first])
    bench.advance(10)
    assert oldest(bench) is None


def test_more_jobs_make_it_no_dearer(bench: Workbench) -> None:
    bench.do(Enqueue(jobs=[NewJob(queue="q", rank=rank) for rank in range(3) for _ in range(30)]))
    before = cost(bench, lambda: census(bench))
    for _ in range(10):
        bench.do(Enqueue(jobs=[NewJob(queue="q", rank=rank) for rank in range(3) for _ in range(300)]))
    bench.do(Enqueue(jobs=[NewJob(queue="q", scheduled_at=bench.now + 10**9) for _ in range(500)]))
    assert cost(bench, lambda: census(bench)) <= before * 1.05


def test_jobs_are_only_looked_up_by_the_index_of_those_that_are_ready(bench: Workbench) -> None:
    bench.add("a")
    bench.add("b")
    steps = [step for _, step in steps_of(bench.machine._db, lambda: census(bench)) if " job" in step]
    assert steps
    assert [step for step in steps if "INDEX job_ready" not in step] == []
