"""How many jobs of a queue may run at once, and how many may start in a window of time."""

import pytest

from rookery.engine.ops import Claim, Enqueue, LimitConcurrency, NewJob, PauseQueue, Sweep, Throttle
from tests.unit.workbench import Workbench


def fill(bench: Workbench, count: int = 10, queue: str = "q") -> None:
    bench.do(Enqueue(jobs=[NewJob(queue=queue) for _ in range(count)]))


def test_no_more_jobs_run_at_once_than_the_queue_allows(bench: Workbench) -> None:
    fill(bench)
    bench.do(LimitConcurrency(queue="q", max_active=3))

    jobs = bench.claim()
    assert len(jobs) == 3
    assert bench.claim() == []
    bench.ack(jobs[0])
    assert len(bench.claim()) == 1


@pytest.mark.parametrize("ending", ["ack", "fail", "release", "reclaim"])
def test_every_end_of_an_attempt_frees_its_slot(bench: Workbench, ending: str) -> None:
    fill(bench)
    bench.do(LimitConcurrency(queue="q", max_active=1))
    job = bench.take(lease=1000)
    assert bench.claim() == []
    if ending == "ack":
        bench.ack(job)
    elif ending == "fail":
        bench.fail(job)
    elif ending == "release":
        bench.release(job)
    else:
        bench.tick(1001)

    assert len(bench.claim()) == 1


def test_limits_hold_between_the_callers_of_one_batch(bench: Workbench) -> None:
    fill(bench)
    bench.do(LimitConcurrency(queue="q", max_active=3))

    results = bench.do(Claim(queues=("q",), count=2), Claim(queues=("q",), count=2), Claim(queues=("q", "other")))

    assert [len(result.jobs) for result in results] == [2, 1, 0]


def test_a_full_queue_does_not_stop_the_others(bench: Workbench) -> None:
    fill(bench, 3, "full")
    fill(bench, 3, "open")
    bench.do(LimitConcurrency(queue="full", max_active=1))

    assert [job.queue for job in bench.claim("full", "open")] == ["full", "open", "open", "open"]


def test_a_lowered_limit_stops_no_running_job(bench: Workbench) -> None:
    fill(bench)
    jobs = bench.claim(count=5)
    bench.do(LimitConcurrency(queue="q", max_active=2))

    assert bench.claim() == []
    for job in jobs[:3]:
        assert bench.ack(job) is None
    assert bench.claim() == []
    bench.ack(jobs[3])
    assert len(bench.claim()) == 1


def test_a_lifted_limit_is_no_limit(bench: Workbench) -> None:
    fill(bench)
    bench.do(LimitConcurrency(queue="q", max_active=1))
    bench.claim()
    bench.do(LimitConcurrency(queue="q"))

    assert bench.queue().max_concurrency is None
    assert len(bench.claim()) == 9


def test_no_more_claims_in_a_window_than_the_rate(bench: Workbench) -> None:
    fill(bench)
    bench.do(Throttle(queue="q", rate=3, window=1000))

    assert len(bench.claim()) == 3
    bench.advance(999)
    assert bench.claim() == []
    bench.advance(1)
    assert len(bench.claim()) == 3


def test_the_window_slides(bench: Workbench) -> None:
    fill(bench)
    bench.do(Throttle(queue="q", rate=2, window=1000))
    claims = []
    for _ in range(30):
        claims += [bench.now] * len(bench.claim(count=1))
        bench.advance(100)

    assert [at - claims[0] for at in claims] == [0, 100, 1000, 1100, 2000, 2100]


def test_a_finished_job_still_counts_in_its_window(bench: Workbench) -> None:
    fill(bench)
    bench.do(Throttle(queue="q", rate=1, window=1000))
    bench.run()

    assert bench.claim() == []


def test_the_rate_holds_inside_one_batch(bench: Workbench) -> None:
    fill(bench)
    bench.do(Throttle(queue="q", rate=3, window=1000))

    results = bench.do(Claim(queues=("q",), count=2), Claim(queues=("q",), count=2), Claim(queues=("other", "q")))

    assert [len(result.jobs) for result in results] == [2, 1, 0]


def test_the_tighter_of_both_limits_wins(bench: Workbench) -> None:
    fill(bench)
    bench.do(LimitConcurrency(queue="q", max_active=2), Throttle(queue="q", rate=3, window=1000))
    for job in bench.claim():
        bench.ack(job)

    assert len(bench.claim()) == 1


def test_a_lifted_rate_is_no_rate(bench: Workbench) -> None:
    fill(bench)
    bench.do(Throttle(queue="q", rate=1, window=100_000))
    bench.claim()
    bench.do(Throttle(queue="q"))

    queue = bench.queue()
    assert (queue.rate_limit, queue.rate_window_ms) == (None, None)
    assert len(bench.claim()) == 9


def test_lifting_the_rate_of_an_unknown_queue_makes_none(bench: Workbench) -> None:
    bench.do(Throttle(queue="nowhere"))

    assert bench.rows("SELECT count(*) FROM queue") == [(0,)]


def test_the_machine_knows_when_a_throttled_queue_opens(bench: Workbench) -> None:
    fill(bench)
    bench.do(Throttle(queue="q", rate=2, window=1000))
    bench.claim(count=1)
    assert bench.machine.opens_at("q", bench.now) is None
    bench.advance(300)
    bench.claim(count=1)

    assert bench.machine.opens_at("q", bench.now) == bench.now + 700
    assert bench.machine.claimable("q", bench.now) == 0
    assert bench.machine.claimable("q", bench.now + 700) == 1


def test_a_paused_queue_does_not_open_by_itself(bench: Workbench) -> None:
    fill(bench)
    bench.do(Throttle(queue="q", rate=1, window=1000))
    bench.claim()
    bench.do(PauseQueue(queue="q"))

    assert bench.machine.opens_at("q", bench.now) is None


def test_sweeping_forgets_old_claims_and_keeps_those_in_the_window(bench: Workbench) -> None:
    fill(bench)
    bench.do(Throttle(queue="q", rate=4, window=1000))
    bench.claim(count=2)
    bench.advance(600)
    bench.claim(count=1)
    bench.advance(600)
    bench.do(Sweep())

    assert bench.rows("SELECT count(*) FROM throttle_claim") == [(1,)]
    assert len(bench.claim()) == 3


def test_a_raised_rate_counts_the_claims_made_before(bench: Workbench) -> None:
    fill(bench)
    bench.do(Throttle(queue="q", rate=2, window=1000))
    bench.claim()
    bench.do(Throttle(queue="q", rate=5, window=1000))

    assert len(bench.claim()) == 3
