"""Which job a worker gets: lowest rank first, then oldest, over all the queues it asks for."""

from rookery.engine.ops import Approve, Cancel, Claim, Claimed, Enqueue, Hold, Move, NewJob, PauseQueue, Retry
from rookery.model.instants import format_instant
from tests.unit.workbench import Workbench


def test_critical_comes_before_high_and_high_before_normal(bench: Workbench) -> None:
    normal, critical, high = bench.add(rank=2), bench.add(rank=0), bench.add(rank=1)

    assert bench.claimed_ids() == [critical, high, normal]


def test_inside_a_priority_the_oldest_comes_first(bench: Workbench) -> None:
    ids = []
    for _ in range(5):
        ids.append(bench.add())
        bench.advance(1)

    assert [bench.take().job_id for _ in range(5)] == ids


def test_jobs_of_one_instant_come_in_the_order_they_were_given(bench: Workbench) -> None:
    bench.do(Enqueue(jobs=[NewJob(queue="q") for _ in range(20)]))

    assert bench.claimed_ids() == bench.jobs_of("q")


def test_a_retried_attempt_keeps_its_place_in_line(bench: Workbench) -> None:
    first = bench.add(backoff="none")
    bench.advance(10)
    second = bench.add()
    bench.fail(bench.take())
    bench.tick(1)

    assert bench.claimed_ids() == [first, second]


def test_a_reclaimed_job_keeps_its_place_in_line(bench: Workbench) -> None:
    first = bench.add()
    bench.take(lease=1000)
    bench.advance(500)
    second = bench.add()
    bench.tick(501)

    assert bench.claimed_ids() == [first, second]


def test_an_approved_job_keeps_its_place_in_line(bench: Workbench) -> None:
    first = bench.add()
    bench.do(Hold(job_id=first))
    bench.advance(10)
    second = bench.add()
    bench.do(Approve(job_id=first))

    assert bench.claimed_ids() == [first, second]


def test_a_released_job_keeps_its_place_in_line(bench: Workbench) -> None:
    first = bench.add()
    bench.advance(10)
    second = bench.add()
    bench.release(bench.take())

    assert bench.claimed_ids() == [first, second]


def test_a_job_retried_by_hand_keeps_its_place_in_line(bench: Workbench) -> None:
    first = bench.add()
    bench.do(Cancel(job_id=first))
    bench.advance(10)
    second = bench.add()
    bench.do(Retry(job_id=first))

    assert bench.claimed_ids() == [first, second]


def test_a_moved_job_takes_the_place_its_age_gives_it(bench: Workbench) -> None:
    oldest = bench.add("elsewhere")
    bench.advance(10)
    here = bench.add()
    bench.do(Move(job_id=oldest, queue="q"))

    assert bench.claimed_ids() == [oldest, here]


def test_several_queues_have_one_order_whatever_order_they_are_named_in(bench: Workbench) -> None:
    ids = []
    for number in range(9):
        ids.append(bench.add(f"q{number % 3}"))
        bench.advance(1)
    urgent = bench.add("q2", rank=0)

    assert bench.claimed_ids("q2", "q0", "q1", count=4) == [urgent, *ids[:3]]
    assert bench.claimed_ids("q1", "q2", "q0") == ids[3:]


def test_a_queue_named_twice_gives_each_job_once(bench: Workbench) -> None:
    job = bench.add()

    assert bench.claimed_ids("q", "q") == [job]


def test_a_claim_hands_over_what_a_worker_needs(bench: Workbench) -> None:
    job_id = bench.add(payload='{"n":1}', rank=1, max_retries=4, tags='{"t":"x"}', checkpoint="7")

    job = bench.take(lease=90_000)

    assert (job.job_id, job.queue, job.payload) == (job_id, "q", '{"n":1}')
    assert (job.attempt, job.max_retries, job.rank) == (1, 4, 1)
    assert (job.checkpoint, job.tags, job.agent) == ("7", '{"t":"x"}', None)
    assert job.lease_length == 90_000


def test_a_claimed_job_is_active_and_knows_its_worker(bench: Workbench) -> None:
    job_id = bench.add()
    bench.advance(5)
    bench.take(worker_id="w1", hostname="host")

    job = bench.job(job_id)
    assert (job.state, job.attempt) == ("active", 1)
    assert job.started_at == format_instant(bench.now)
    assert job.lease_expires_at == format_instant(bench.now + 60_000)
    assert (job.worker_id, job.hostname) == ("w1", "host")


def test_a_job_goes_to_exactly_one_of_those_who_ask_at_once(bench: Workbench) -> None:
    ids = [bench.add() for _ in range(10)]

    results = bench.do(*[Claim(queues=("q",), count=3) for _ in range(5)])

    assert [len(result.jobs) for result in results] == [3, 3, 3, 1, 0]
    assert [job.job_id for result in results for job in result.jobs] == ids


def test_callers_of_different_queues_in_one_batch_share_nothing(bench: Workbench) -> None:
    first, second = bench.add("a"), bench.add("b")

    results = bench.do(Claim(queues=("a", "b")), Claim(queues=("a",)), Claim(queues=("b",)))

    assert [[job.job_id for job in result.jobs] for result in results] == [[first], [], [second]]


def test_a_claim_of_queues_that_are_not_there_is_empty(bench: Workbench) -> None:
    assert bench.do(Claim(queues=("nothing", "here"))) == Claimed([])
    assert bench.rows("SELECT count(*) FROM queue") == [(0,)]


def test_a_paused_queue_does_not_stop_the_others(bench: Workbench) -> None:
    bench.add("paused", rank=0)
    open_job = bench.add("open")
    bench.do(PauseQueue(queue="paused"))

    assert bench.claimed_ids("paused", "open") == [open_job]


def test_waiting_held_and_finished_jobs_are_never_claimed(bench: Workbench) -> None:
    bench.add()
    bench.run()
    bench.add(max_retries=1)
    bench.bury()
    bench.add()
    bench.fail(bench.take())
    bench.do(Cancel(job_id=bench.add()))
    bench.do(Hold(job_id=bench.add()))
    bench.add(scheduled_at=bench.now)

    assert bench.claim() == []


def test_claimable_counts_what_a_claim_would_get(bench: Workbench) -> None:
    for _ in range(3):
        bench.add()
    blocker = bench.add("other")
    bench.add(depends_on=[blocker])

    assert bench.machine.claimable("q", bench.now) == 3
    assert bench.machine.claimable("unknown", bench.now) == 0
    assert len(bench.claim()) == 3
    assert bench.machine.claimable("q", bench.now) == 0
