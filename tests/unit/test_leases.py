"""Leases: who may end an attempt, and what becomes of a job whose worker went silent."""

import pytest

from rookery.engine.ops import Ack, Cancel, Completion, Fail, FailedJob, Failure, Hold, Refusal, Retry
from tests.unit.workbench import Workbench, kind_of

POISON = "lease lost {} times: the worker died or stopped heartbeating"


def test_every_claim_has_a_token_of_its_own(bench: Workbench) -> None:
    bench.add(backoff="none")
    for _ in range(10):
        bench.add()
    tokens = [job.lease for job in bench.claim()]
    bench.tick(60_001)
    tokens += [job.lease for job in bench.claim()]

    assert len(set(tokens)) == 22


def test_a_zombie_cannot_finish_another_workers_job(bench: Workbench) -> None:
    bench.add()
    zombie = bench.take(lease=1000)
    bench.tick(1001)
    holder = bench.take()

    assert kind_of(bench.ack(zombie)) == Refusal.LEASE_LOST
    assert kind_of(bench.fail(zombie)) == Refusal.LEASE_LOST
    assert kind_of(bench.release(zombie)) == Refusal.LEASE_LOST
    assert bench.beat(zombie, progress="1") == "lost"

    job = bench.job(holder.job_id)
    assert (job.state, job.attempt, job.errors, job.progress) == ("active", 2, [], None)
    assert bench.ack(holder) is None


def test_a_zombie_whose_job_waits_in_the_pool_is_refused_too(bench: Workbench) -> None:
    bench.add()
    zombie = bench.take(lease=1000)
    bench.tick(1001)

    assert kind_of(bench.ack(zombie)) == Refusal.LEASE_LOST
    assert kind_of(bench.fail(zombie)) == Refusal.LEASE_LOST
    assert bench.state(zombie.job_id) == "pending"


def test_without_a_token_the_id_alone_is_enough(bench: Workbench) -> None:
    first, second = bench.add(), bench.add()
    bench.claim()

    assert bench.complete(first) is None
    assert isinstance(bench.do(Fail(items=[Failure(second)])).outcomes[0], FailedJob)


def test_a_result_that_comes_late_but_before_the_reclaim_counts(bench: Workbench) -> None:
    bench.add()
    late = bench.take(lease=1000)
    bench.advance(5000)

    assert bench.ack(late) is None


def test_a_lease_ends_after_its_last_millisecond(bench: Workbench) -> None:
    job_id = bench.add()
    bench.take(lease=1000)

    assert bench.tick(1000).reclaimed == 0
    assert bench.machine.next_due == bench.now + 1
    assert bench.tick(1).reclaimed == 1
    assert bench.state(job_id) == "pending"


def test_a_reclaimed_job_goes_back_to_the_pool_as_it_was(bench: Workbench) -> None:
    job_id = bench.add(checkpoint='"kept"')
    bench.take(lease=1000, worker_id="w1", hostname="host")
    bench.tick(1001)

    job = bench.job(job_id)
    assert (job.state, job.attempt, job.errors) == ("pending", 1, [])
    assert (job.worker_id, job.hostname, job.lease_expires_at) == (None, None, None)
    assert bytes(job.checkpoint or b"") == b'"kept"'
    assert bench.events_of(job_id) == ["enqueued", "started", "reclaimed"]
    assert bench.queue().failed == 0


def test_a_fail_after_reclaims_beyond_the_attempts_is_dead(bench: Workbench) -> None:
    job_id = bench.add(max_retries=2, max_lost_leases=0)
    for _ in range(3):
        bench.take(lease=1000)
        bench.tick(1001)
    assert bench.state(job_id) == "pending"

    assert bench.fail(bench.take()) == FailedJob("dead", None, 0, 4)


def test_a_job_that_loses_its_lease_too_often_in_a_row_is_buried(bench: Workbench) -> None:
    job_id = bench.add(max_lost_leases=3)
    for _ in range(2):
        bench.take(lease=1000)
        bench.tick(1001)
    assert bench.state(job_id) == "pending"
    bench.take(lease=1000)
    bench.tick(1001)

    job = bench.job(job_id)
    assert job.state == "dead"
    assert [(error.attempt, error.error) for error in job.errors] == [(3, POISON.format(3))]
    assert job.failed_at is not None
    assert bench.events_of(job_id)[-2:] == ["reclaimed", "dead"]


def test_five_lost_leases_are_the_default(bench: Workbench) -> None:
    job_id = bench.add()
    for _ in range(4):
        bench.take(lease=1000)
        bench.tick(1001)
    assert bench.state(job_id) == "pending"
    bench.take(lease=1000)
    bench.tick(1001)
    assert bench.state(job_id) == "dead"


def test_a_cap_of_nothing_never_buries(bench: Workbench) -> None:
    job_id = bench.add(max_lost_leases=0)
    for _ in range(20):
        bench.take(lease=1000)
        bench.tick(1001)

    assert bench.state(job_id) == "pending"


@pytest.mark.parametrize("ending", ["fail", "release", "ack"])
def test_a_worker_that_speaks_resets_the_count_of_lost_leases(bench: Workbench, ending: str) -> None:
    job_id = bench.add(max_lost_leases=2, max_retries=10, backoff="none")
    bench.take(lease=1000)
    bench.tick(1001)
    if ending == "fail":
        bench.fail(bench.take())
    elif ending == "release":
        bench.release(bench.take())
    else:
        bench.ack(bench.take())
        bench.do(Retry(job_id=job_id))
    bench.tick(1)
    bench.take(lease=1000)
    bench.tick(1001)

    assert bench.state(job_id) == "pending"


def test_a_heartbeat_does_not_reset_the_count_of_lost_leases(bench: Workbench) -> None:
    job_id = bench.add(max_lost_leases=2)
    for _ in range(2):
        bench.beat(bench.take(lease=1000))
        bench.tick(60_001)

    assert bench.state(job_id) == "dead"


def test_retry_now_waits_as_retrying_and_counts_no_attempt(bench: Workbench) -> None:
    job_id = bench.add(on_lost_lease="retry_now", max_retries=1)
    bench.take(lease=1000)
    bench.tick_all(1001)

    assert bench.job(job_id).attempt == 0
    assert bench.job(job_id).errors == []
    assert bench.take().attempt == 1


def test_retry_now_fails_the_attempt_when_leases_are_lost_too_often(bench: Workbench) -> None:
    job_id = bench.add(on_lost_lease="retry_now", max_lost_leases=2, max_retries=2, backoff="fixed", base_delay=3000)
    for _ in range(2):
        bench.take(lease=1000)
        bench.tick_all(1001)

    job = bench.job(job_id)
    assert (job.state, [error.error for error in job.errors]) == ("retrying", [POISON.format(2)])
    bench.tick(3000)
    assert bench.fail(bench.take()) == FailedJob("dead", None, 0, 2)


def test_back_off_takes_a_lost_lease_as_a_failed_attempt(bench: Workbench) -> None:
    job_id = bench.add(on_lost_lease="back_off", max_retries=2, backoff="fixed", base_delay=3000)
    zombie = bench.take(lease=1000)
    bench.tick(1001)

    job = bench.job(job_id)
    assert (job.state, [error.error for error in job.errors]) == ("retrying", ["LEASE_EXPIRED"])
    assert kind_of(bench.ack(zombie)) == Refusal.LEASE_LOST

    bench.tick(3000)
    bench.take(lease=1000)
    bench.tick(1001)
    assert bench.state(job_id) == "dead"
    assert bench.queue().failed == 2


def test_a_repeated_ack_with_the_token_of_its_attempt_is_answered_again(bench: Workbench) -> None:
    job_id = bench.add()
    job = bench.take()
    bench.ack(job, result="1")
    bench.advance(5000)

    assert bench.ack(job, result="2") is None
    assert bytes(bench.job(job_id).result or b"") == b"1"
    assert bench.events_of(job_id).count("completed") == 1
    assert bench.queue().completed == 1


def test_a_repeated_fail_with_the_token_of_its_attempt_gets_the_same_answer(bench: Workbench) -> None:
    job_id = bench.add(max_retries=2)
    job = bench.take()
    first = bench.fail(job)
    bench.advance(1000)
    assert bench.fail(job) == first
    bench.tick(4000)
    assert bench.fail(job) == first
    assert len(bench.job(job_id).errors) == 1

    again = bench.take()
    last = bench.fail(again)
    assert bench.fail(again) == last == FailedJob("dead", None, 0, 2)
    assert kind_of(bench.fail(job)) == Refusal.LEASE_LOST


def test_a_repeated_fail_gets_the_same_answer_although_the_job_was_held_since(bench: Workbench) -> None:
    job_id = bench.add()
    job = bench.take()
    first = bench.fail(job)
    bench.do(Hold(job_id=job_id))

    assert bench.fail(job) == first
    assert bench.state(job_id) == "held"


def test_a_repeated_ack_is_answered_again_although_the_job_was_retried_since(bench: Workbench) -> None:
    job_id = bench.add()
    job = bench.take()
    bench.ack(job)
    bench.do(Retry(job_id=job_id))

    assert bench.ack(job) is None
    assert bench.state(job_id) == "pending"


def test_a_repeated_ack_is_refused_once_the_job_was_claimed_again(bench: Workbench) -> None:
    job_id = bench.add()
    job = bench.take()
    bench.ack(job)
    bench.do(Retry(job_id=job_id))
    bench.take()

    assert kind_of(bench.ack(job)) == Refusal.LEASE_LOST
    assert bench.state(job_id) == "active"


def test_an_ack_does_not_answer_for_a_fail_nor_a_fail_for_an_ack(bench: Workbench) -> None:
    bench.add()
    acked = bench.take()
    bench.ack(acked)
    bench.add()
    failed = bench.take()
    bench.fail(failed)

    assert kind_of(bench.fail(acked)) == Refusal.WRONG_STATE
    assert kind_of(bench.ack(failed)) == Refusal.WRONG_STATE


def test_a_second_ack_without_a_token_is_refused(bench: Workbench) -> None:
    job_id = bench.add()
    bench.take()
    bench.complete(job_id)

    assert kind_of(bench.complete(job_id)) == Refusal.WRONG_STATE


@pytest.mark.parametrize("operation", [Cancel, Hold])
def test_an_ack_after_cancel_or_hold_is_refused(bench: Workbench, operation: type[Cancel | Hold]) -> None:
    job_id = bench.add()
    job = bench.take()
    bench.do(operation(job_id=job_id))

    assert kind_of(bench.ack(job)) == Refusal.WRONG_STATE
    assert kind_of(bench.fail(job)) == Refusal.WRONG_STATE


def test_an_ack_of_an_unknown_job_is_refused(bench: Workbench) -> None:
    assert kind_of(bench.complete("job_nowhere")) == Refusal.NOT_FOUND


def test_each_ack_of_a_request_stands_alone(bench: Workbench) -> None:
    first, second, third = bench.add(), bench.add(), bench.add()
    jobs = bench.claim(count=2)
    items = [
        Completion(first, jobs[0].lease),
        Completion("job_nowhere"),
        Completion(third),
        Completion(second, jobs[1].lease + 1000),
        Completion(first),
        Completion(second, jobs[1].lease),
    ]

    outcomes = bench.do(Ack(items=items)).outcomes

    assert [kind_of(outcome) for outcome in outcomes] == [
        None,
        Refusal.NOT_FOUND,
        Refusal.WRONG_STATE,
        Refusal.LEASE_LOST,
        Refusal.WRONG_STATE,
        None,
    ]
    assert (bench.queue().completed, bench.queue().pending, bench.queue().active) == (2, 1, 0)


def test_an_ack_keeps_result_and_checkpoint(bench: Workbench) -> None:
    job_id = bench.add(checkpoint="1")
    bench.run(result='{"ok":true}', checkpoint="2")

    job = bench.job(job_id)
    assert (bytes(job.result or b""), bytes(job.checkpoint or b"")) == (b'{"ok":true}', b"2")
    assert (job.state, job.lease_expires_at) == ("completed", None)
    assert job.completed_at is not None


def test_an_ack_without_a_result_keeps_the_old_one(bench: Workbench) -> None:
    job_id = bench.add()
    bench.run(result="1")
    bench.do(Retry(job_id=job_id))
    bench.run()

    assert bytes(bench.job(job_id).result or b"") == b"1"


def test_a_completed_job_remembers_who_did_it(bench: Workbench) -> None:
    job_id = bench.add()
    bench.ack(bench.take(worker_id="w1", hostname="host"))

    worker = bench.job(job_id).worker
    assert worker is not None
    assert (worker.id, worker.hostname) == ("w1", "host")
