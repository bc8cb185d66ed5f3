"""Idempotency keys: the same request sent twice within a day gets the first answer again."""

import pytest

from rookery.engine.ops import (
    Delete,
    Enqueue,
    Enqueued,
    EnqueuedJob,
    IdempotencyKey,
    NewJob,
    NewJobBatch,
    Refusal,
    Sweep,
)
from tests.unit.workbench import Workbench, kind_of

DAY = 24 * 3_600_000


def request(key: str = "k", digest: str = "d", count: int = 1, namespace: str = "default") -> Enqueue:
    jobs = [NewJob(queue="q") for _ in range(count)]
    return Enqueue(jobs=jobs, idempotency=IdempotencyKey(key, digest), namespace=namespace)


def test_the_same_request_gets_the_first_answer_and_adds_nothing(bench: Workbench) -> None:
    first = bench.do(request(count=3))
    bench.advance(1000)
    second = bench.do(request(count=3))

    assert isinstance(first, Enqueued)
    assert second == first
    assert len(bench.jobs_of("q")) == 3


def test_the_answer_of_a_job_batch_is_remembered_whole(bench: Workbench) -> None:
    op = Enqueue(jobs=[NewJob(queue="q")], batch=NewJobBatch("done"), idempotency=IdempotencyKey("k", "d"))
    first, second = bench.do(op, op)

    assert first.batch_id is not None
    assert second == first
    assert bench.rows("SELECT count(*) FROM job_batch") == [(1,)]


def test_the_first_answer_comes_again_although_the_job_is_long_done(bench: Workbench) -> None:
    first = bench.do(request())
    bench.run()

    assert bench.do(request()) == first


def test_the_same_key_on_another_request_is_refused(bench: Workbench) -> None:
    bench.do(request())

    assert kind_of(bench.do(request(digest="other"))) == Refusal.IDEMPOTENCY_MISMATCH
    assert len(bench.jobs_of("q")) == 1


def test_a_key_is_remembered_for_a_day(bench: Workbench) -> None:
    first = bench.do(request())

    bench.advance(DAY - 1)
    assert bench.do(request()) == first
    bench.advance(1)
    assert bench.do(request(digest="other")) != first
    assert len(bench.jobs_of("q")) == 2


def test_a_refused_request_is_not_remembered(bench: Workbench) -> None:
    mark = IdempotencyKey("k", "d")
    refused = bench.do(Enqueue(jobs=[NewJob(queue="q", depends_on=["job_nowhere"])], idempotency=mark))
    assert kind_of(refused) == Refusal.INVALID

    assert isinstance(bench.do(request()), Enqueued)


def test_namespaces_do_not_share_keys(bench: Workbench) -> None:
    first = bench.do(request())
    second = bench.do(request(namespace="acme"))

    assert first != second
    assert len(bench.jobs_of("q")) == 2


def test_sweeping_forgets_keys_whose_day_is_over_and_no_other(bench: Workbench) -> None:
    bench.do(request("old"))
    bench.advance(DAY)
    bench.do(request("new"))
    bench.do(Sweep())
    assert bench.rows("SELECT key FROM idempotency_key ORDER BY key") == [("new",), ("old",)]

    bench.advance(DAY - 1)
    bench.do(Sweep())

    assert bench.rows("SELECT key FROM idempotency_key") == [("new",)]


@pytest.mark.parametrize("later", [1, DAY // 3, DAY // 2, DAY - 1])
def test_a_key_is_known_for_a_day_wherever_midnight_falls(bench: Workbench, later: int) -> None:
    first = bench.do(request())
    bench.advance(later)
    assert bench.do(request()) == first

    bench.advance(DAY - later)
    assert bench.do(request()) != first


def test_a_key_whose_job_is_gone_stands_for_its_next_job(bench: Workbench) -> None:
    """Also when that was made on another day."""

    def ask() -> Enqueued:
        mark = IdempotencyKey("order-7", "", names_job=True)
        result = bench.do(Enqueue(jobs=[NewJob(queue="q")], idempotency=mark))
        assert isinstance(result, Enqueued)
        return result

    first = ask()
    bench.advance(DAY // 2)
    bench.do(Delete(job_id=first.jobs[0].job_id))
    second = ask()
    bench.advance(DAY // 4)

    assert second.jobs[0].status == "pending"
    assert ask().jobs == [EnqueuedJob(second.jobs[0].job_id, "duplicate")]
