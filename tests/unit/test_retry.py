"""Failed attempts: how long a job waits for the next one, and when there is none."""

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rookery.engine.ops import Enqueued, Fail, FailedJob, Failure, NewJob, NewJobBatch, Refusal, Retry
from rookery.model.backoff import LONGEST_DELAY, retry_delay
from rookery.model.instants import format_instant
from tests.unit.workbench import Workbench, kind_of


def delays(bench: Workbench, **fields: object) -> list[int]:
    """The waits, in seconds, of a job that fails until it is dead."""
    bench.add(**fields)
    waits = []
    while True:
        failed = bench.fail(bench.take())
        assert isinstance(failed, FailedJob)
        if failed.next_attempt_at is None:
            return waits
        waits.append((failed.next_attempt_at - bench.now) // 1000)
        bench.now = failed.next_attempt_at
        bench.tick()


def test_the_default_waits_double_from_five_seconds_up_to_ten_minutes(bench: Workbench) -> None:
    assert delays(bench, max_retries=11) == [5, 10, 20, 40, 80, 160, 320, 600, 600, 600]


def test_a_fixed_wait_stays_the_same(bench: Workbench) -> None:
    assert delays(bench, max_retries=5, backoff="fixed", base_delay=7000) == [7, 7, 7, 7]


def test_a_linear_wait_grows_by_its_base(bench: Workbench) -> None:
    assert delays(bench, max_retries=5, backoff="linear", base_delay=3000) == [3, 6, 9, 12]


def test_no_backoff_means_no_wait_but_still_a_tick(bench: Workbench) -> None:
    job_id = bench.add(backoff="none")
    failed = bench.fail(bench.take())

    assert isinstance(failed, FailedJob)
    assert (failed.status, failed.next_attempt_at) == ("retrying", bench.now)
    assert bench.state(job_id) == "retrying"
    bench.tick()
    assert bench.state(job_id) == "pending"


@pytest.mark.parametrize("backoff", ["fixed", "linear", "exponential"])
def test_no_wait_is_longer_than_the_cap(bench: Workbench, backoff: str) -> None:
    assert set(delays(bench, max_retries=4, backoff=backoff, base_delay=50_000, max_delay=4000)) == {4}


def test_a_cap_of_nothing_is_no_cap(bench: Workbench) -> None:
    assert delays(bench, max_retries=12, base_delay=1000, max_delay=0) == [2**n for n in range(11)]


def test_power_raises_its_base_to_the_number_of_failures_without_a_cap(bench: Workbench) -> None:
    waits = delays(bench, max_retries=14, backoff="power", base_delay=2000, max_delay=1000)

    assert waits == [2**n for n in range(1, 14)]


@pytest.mark.parametrize(("base", "expected"), [(0, [0, 0, 0]), (1000, [1, 1, 1]), (3000, [3, 9, 27])])
def test_power_of_nothing_is_at_once_and_of_one_is_a_second(bench: Workbench, base: int, expected: list[int]) -> None:
    assert delays(bench, max_retries=4, backoff="power", base_delay=base) == expected


def test_power_counts_failures_and_not_claims(bench: Workbench) -> None:
    bench.add(backoff="power", base_delay=2000, on_lost_lease="requeue")
    bench.take(lease=1000)
    bench.tick(1001)

    failed = bench.fail(bench.take())

    assert isinstance(failed, FailedJob)
    assert failed.attempt == 2
    assert failed.next_attempt_at == bench.now + 2000


def test_power_takes_a_broken_base() -> None:
    assert retry_delay("power", 1500, 0, 2, 2, 0.0) == 2250


@given(
    st.sampled_from(["exp_equal_jitter", "exp_full_jitter"]),
    st.integers(0, 100_000),
    st.integers(0, 1_000_000),
    st.integers(1, 100),
    st.floats(0, 1, exclude_max=True),
)
def test_jitter_gives_whole_seconds_inside_its_range(
    policy: str, base: int, cap: int, attempt: int, jitter: float
) -> None:
    most = min(base * 2 ** (attempt - 1), cap or LONGEST_DELAY, LONGEST_DELAY) // 1000

    delay = retry_delay(policy, base, cap, attempt, attempt, jitter)

    assert delay % 1000 == 0
    least, most = (most // 2, most // 2 * 2) if policy == "exp_equal_jitter" else (0, most)
    assert least <= delay // 1000 <= most


@pytest.mark.parametrize(("policy", "least", "most"), [("exp_equal_jitter", 20, 40), ("exp_full_jitter", 0, 40)])
def test_jitter_reaches_both_ends_of_its_range(policy: str, least: int, most: int) -> None:
    seconds = {retry_delay(policy, 10_000, 900_000, 3, 3, n / 1000) // 1000 for n in range(1000)}

    assert seconds == set(range(least, most + 1))


@pytest.mark.parametrize("policy", ["exp_equal_jitter", "exp_full_jitter"])
def test_jobs_that_fail_together_do_not_come_back_together(bench: Workbench, policy: str) -> None:
    for _ in range(50):
        bench.add(backoff=policy, base_delay=100_000, max_delay=0)
    jobs = bench.claim()

    failed = bench.do(Fail(items=[Failure(job.job_id, job.lease) for job in jobs])).outcomes

    waits = {outcome.next_attempt_at - bench.now for outcome in failed}
    assert len(waits) > 20
    assert max(waits) <= 100_000


@given(
    st.sampled_from(["none", "fixed", "linear", "exponential", "power", "exp_equal_jitter", "exp_full_jitter"]),
    st.integers(0, 10**15),
    st.integers(0, 10**15),
    st.integers(0, 10**6),
)
@example("power", 67_149_686_390, 0, 39)
def test_no_wait_is_negative_or_longer_than_a_century(policy: str, base: int, cap: int, attempt: int) -> None:
    assert 0 <= retry_delay(policy, base, cap, attempt, attempt, 0.999) <= LONGEST_DELAY


@pytest.mark.parametrize(("max_retries", "attempts"), [(0, 1), (1, 1), (2, 2), (3, 3)])
def test_max_retries_is_the_number_of_attempts(bench: Workbench, max_retries: int, attempts: int) -> None:
    job_id = bench.add(max_retries=max_retries)

    bench.bury()

    job = bench.job(job_id)
    assert (job.state, job.attempt, len(job.errors)) == ("dead", attempts, attempts)


def test_the_answer_says_what_became_of_the_job(bench: Workbench) -> None:
    bench.add(max_retries=2)

    assert bench.fail(bench.take()) == FailedJob("retrying", bench.now + 5000, 1, 1)
    bench.tick(5000)
    assert bench.fail(bench.take()) == FailedJob("dead", None, 0, 2)


def test_a_failed_attempt_is_recorded_and_the_checkpoint_kept(bench: Workbench) -> None:
    job_id = bench.add(checkpoint='"here"')
    bench.fail(bench.take(worker_id="w1"), "first", backtrace="line 1")
    bench.tick(5000)
    bench.fail(bench.take(), "second")

    job = bench.job(job_id)
    assert [(error.attempt, error.error, error.backtrace) for error in job.errors] == [
        (1, "first", "line 1"),
        (2, "second", None),
    ]
    assert job.errors[1].created_at == job.errors[1].at == format_instant(bench.now)
    assert job.failed_at == format_instant(bench.now)
    assert bytes(job.checkpoint or b"") == b'"here"'


def test_a_job_that_waits_for_its_next_attempt_belongs_to_no_worker(bench: Workbench) -> None:
    job_id = bench.add()
    bench.fail(bench.take(worker_id="w1", hostname="host"))

    job = bench.job(job_id)
    assert (job.state, job.scheduled_at) == ("retrying", format_instant(bench.now + 5000))
    assert (job.worker_id, job.hostname, job.lease_expires_at) == (None, None, None)


def test_a_dead_job_says_so_after_it_says_failed(bench: Workbench) -> None:
    job_id = bench.add(max_retries=1)
    bench.fail(bench.take(), "boom")

    rows = bench.rows("SELECT type, data FROM event WHERE job_id = ? ORDER BY seq", job_id)
    assert [type for type, _ in rows] == ["enqueued", "started", "failed", "dead"]
    assert msgspec.json.decode(rows[2][1]) == {
        "error": "boom",
        "attempt": 1,
        "status": "dead",
        "next_attempt_at": None,
    }


def test_a_dead_job_has_no_next_attempt(bench: Workbench) -> None:
    job_id = bench.add(max_retries=1)
    bench.bury()
    bench.tick(10**9)

    job = bench.job(job_id)
    assert (job.state, job.scheduled_at, job.lease_expires_at) == ("dead", None, None)
    assert bench.claim() == []


def test_failed_attempts_count_on_the_queue(bench: Workbench) -> None:
    bench.add(max_retries=3)
    bench.bury()

    assert bench.queue().failed == 3


def test_only_an_active_job_can_fail(bench: Workbench) -> None:
    job_id = bench.add()

    outcomes = bench.do(Fail(items=[Failure(job_id), Failure("job_nowhere")])).outcomes

    assert [kind_of(outcome) for outcome in outcomes] == [Refusal.WRONG_STATE, Refusal.NOT_FOUND]
    assert bench.state(job_id) == "pending"


def test_each_failure_of_a_request_stands_alone(bench: Workbench) -> None:
    first, second = bench.add(), bench.add()
    bench.claim()

    outcomes = bench.do(Fail(items=[Failure(first), Failure("job_nowhere"), Failure(second)])).outcomes

    assert [kind_of(outcome) for outcome in outcomes] == [None, Refusal.NOT_FOUND, None]
    assert bench.state(first) == bench.state(second) == "retrying"


def test_a_worker_may_say_exactly_when_the_next_attempt_is_to_come(bench: Workbench) -> None:
    job_id = bench.add(max_retries=3, max_delay=1000)

    assert bench.fail(bench.take(), retry_after=123_456) == FailedJob("retrying", bench.now + 123_456, 2, 1)
    assert bench.job(job_id).scheduled_at == format_instant(bench.now + 123_456)
    bench.tick(123_456)
    assert bench.fail(bench.take(), retry_after=0) == FailedJob("retrying", bench.now, 1, 2)


def test_asking_for_a_later_attempt_brings_none_when_none_is_left(bench: Workbench) -> None:
    bench.add(max_retries=1)

    assert bench.fail(bench.take(), retry_after=1000) == FailedJob("dead", None, 0, 1)


def test_a_worker_may_say_that_there_is_no_further_attempt(bench: Workbench) -> None:
    batch = bench.enqueue(NewJob(queue="q", unique_key="k"), batch=NewJobBatch("done"))
    assert isinstance(batch, Enqueued)
    job = bench.take()

    assert bench.fail(job, "hopeless", end="dead") == FailedJob("dead", None, 0, 1)

    assert bench.events_of(job.job_id) == ["enqueued", "started", "failed", "dead"]
    assert [error.error for error in bench.job(job.job_id).errors] == ["hopeless"]
    assert bench.queue().failed == 1
    assert bench.batch(batch.batch_id or "").failed == 1
    assert len(bench.jobs_of("done")) == 1


def test_a_worker_may_cancel_the_job_it_works_on(bench: Workbench) -> None:
    batch = bench.enqueue(NewJob(queue="q"), batch=NewJobBatch("done"))
    assert isinstance(batch, Enqueued)
    job = bench.take()

    assert bench.fail(job, "no such user", end="cancelled", backtrace="here") == FailedJob("cancelled", None, 0, 1)

    found = bench.job(job.job_id)
    assert (found.state, found.failed_at, found.lease_expires_at) == ("cancelled", format_instant(bench.now), None)
    assert [(error.error, error.backtrace) for error in found.errors] == [("no such user", "here")]
    rows = bench.rows("SELECT type, data FROM event WHERE job_id = ? ORDER BY seq", job.job_id)
    assert rows[2:] == [("cancelled", '{"reason":"no such user"}')]
    assert bench.queue().failed == 0
    assert bench.batch(batch.batch_id or "").failed == 1
    assert len(bench.jobs_of("done")) == 1


def test_a_cancelled_job_leaves_no_error_when_there_is_nothing_to_say(bench: Workbench) -> None:
    job_id = bench.add()
    bench.fail(bench.take(), "", end="cancelled")

    assert bench.job(job_id).errors == []


@pytest.mark.parametrize("end", ["dead", "cancelled"])
def test_an_ending_said_twice_gets_the_same_answer_twice(bench: Workbench, end: str) -> None:
    bench.add()
    job = bench.take()
    first = bench.fail(job, end=end)

    assert bench.fail(job, end=end) == bench.fail(job) == first
    assert bench.queue().failed == (end == "dead")


@pytest.mark.parametrize(("end", "handlers"), [("dead", 1), ("cancelled", 0)])
def test_a_chain_hears_of_a_step_that_is_dead_but_not_of_one_that_is_cancelled(
    bench: Workbench, end: str, handlers: int
) -> None:
    chain = '{"steps":[{"queue":"q"},{"queue":"next"}],"on_failure":{"queue":"rescue"},"on_exit":null}'
    bench.add(chain_config=chain, starts_chain=True)
    bench.fail(bench.take(), end=end)

    assert len(bench.jobs_of("rescue")) == handlers
    assert bench.queue().pending == 0


def test_a_job_that_its_worker_cancelled_can_be_retried(bench: Workbench) -> None:
    job_id = bench.add()
    bench.fail(bench.take(), end="cancelled")
    bench.do(Retry(job_id=job_id))

    assert bench.take().attempt == 1
