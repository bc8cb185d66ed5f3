"""What the engine offers to other faces: names instead of tokens, strict order, results that fail, keys, callbacks."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from rookery.engine.callbacks import KIND
from rookery.engine.ops import (
    Ack,
    Beat,
    Bulk,
    BulkDone,
    Cancel,
    Claim,
    Completion,
    Delete,
    DeleteUnchanged,
    Enqueue,
    Enqueued,
    Fail,
    FailedJob,
    Failure,
    Heartbeat,
    IdempotencyKey,
    LoseLeases,
    LostJob,
    Move,
    NewJob,
    Purge,
    Refusal,
    Release,
    Requeue,
    Retry,
    Return,
)
from rookery.store.filters import JobFilter
from tests.unit.workbench import Workbench

DAY = 86_400_000

Say = Callable[[Workbench, str, str], Any]
"""What a worker of that name says about a job."""

SAY: dict[str, Say] = {
    "ack": lambda bench, job, name: bench.do(Ack(items=[Completion(job, holder=name)])).outcomes[0],
    "fail": lambda bench, job, name: bench.do(Fail(items=[Failure(job, holder=name)])).outcomes[0],
    "release": lambda bench, job, name: bench.do(Release(items=[Return(job, holder=name)])).outcomes[0],
}


def beat(bench: Workbench, job_id: str, name: str, **fields: Any) -> str:
    outcome: str = bench.do(Heartbeat(items=[Beat(job_id, holder=name, **fields)])).outcomes[0]
    return outcome


def counter(bench: Workbench, queue: str = "q") -> tuple[int, int]:
    """How many jobs of a queue are dead, and how many of them by their result."""
    ((dead, by_result),) = bench.rows("SELECT dead, dead_by_result FROM queue WHERE name = ?", queue)
    return dead, by_result


def fail_by_result(bench: Workbench, queue: str = "q", **fields: Any) -> str:
    """Add a job whose result says that it failed; its id."""
    bench.add(queue, **fields)
    job = bench.take(queue)
    assert bench.fail(job, "no such user", end="result", result='{"code":404}') == FailedJob("dead", None, 0, 1)
    return job.job_id


# --- names instead of tokens


@pytest.mark.parametrize("word", SAY)
def test_only_the_worker_who_holds_a_job_may_speak_of_it_by_its_name(bench: Workbench, word: str) -> None:
    job_id = bench.add()
    bench.take(worker_id="ann")

    assert SAY[word](bench, job_id, "bob").kind == Refusal.NOT_HOLDER
    assert bench.state(job_id) == "active"
    assert not isinstance(SAY[word](bench, job_id, "ann"), Refusal)


@pytest.mark.parametrize("word", SAY)
def test_nobody_can_claim_to_hold_a_job_that_has_no_worker(bench: Workbench, word: str) -> None:
    waiting = bench.add("waiting")
    nameless = bench.add("nameless")
    bench.take("nameless")

    assert SAY[word](bench, waiting, "ann").kind == Refusal.WRONG_STATE
    assert SAY[word](bench, nameless, "ann").kind == Refusal.NOT_HOLDER
    assert SAY[word](bench, "no-such-job", "ann").kind == Refusal.NOT_FOUND


def test_a_heartbeat_by_name_renews_only_ones_own_lease_and_may_shorten_it(bench: Workbench) -> None:
    job_id = bench.add()
    bench.take(worker_id="ann", lease=300_000)

    assert beat(bench, job_id, "bob", renew_for=1000) == "another's"
    assert beat(bench, job_id, "ann", renew_for=1000) == "ok"
    assert bench.rows("SELECT lease_until, renewed_at FROM job") == [(bench.now + 1000, bench.now)]
    bench.tick(1001)
    assert beat(bench, job_id, "ann") == "inactive"


def test_a_lease_that_has_run_out_is_restored_by_a_heartbeat_if_nobody_has_taken_the_job_back(bench: Workbench) -> None:
    job_id = bench.add()
    bench.take(worker_id="ann", lease=1000)
    bench.advance(5000)

    assert beat(bench, job_id, "ann", renew_for=2000) == "ok"
    bench.tick(1500)
    assert bench.state(job_id) == "active"


# --- order


def test_an_earlier_queue_goes_first_in_strict_order_whatever_the_priorities(bench: Workbench) -> None:
    urgent, old, new = bench.add("b", rank=-7), bench.add("a", rank=2), bench.add("a", rank=1)

    assert bench.claimed_ids("a", "b", count=2, in_order=True) == [new, old]
    assert bench.claimed_ids("a", "b", count=2, in_order=True) == [urgent]


def test_callers_in_strict_order_and_others_share_one_batch(bench: Workbench) -> None:
    urgent, plain = bench.add("b", rank=0), bench.add("a")

    strict, loose = bench.do(Claim(queues=("a", "b"), in_order=True), Claim(queues=("a", "b")))

    assert [strict.jobs[0].job_id, loose.jobs[0].job_id] == [plain, urgent]


def test_what_becomes_ready_goes_to_the_tail_of_its_rank_if_it_is_ordered_by_due_time(bench: Workbench) -> None:
    late = bench.add(scheduled_at=bench.now + 1000, order_by_due=True)
    handed_back = bench.add(order_by_due=True)
    bench.advance(10)
    first = bench.add(order_by_due=True)
    job = bench.take()
    bench.advance(10)
    assert (job.job_id, bench.release(job, keep_attempt=True)) == (handed_back, "pending")
    bench.tick(1000)

    assert bench.claimed_ids() == [first, handed_back, late]


def test_an_attempt_that_is_handed_back_counts_if_the_worker_says_so(bench: Workbench) -> None:
    bench.add()

    bench.release(bench.take(), keep_attempt=True)
    assert bench.take().attempt == 2


# --- results that fail


def test_a_job_that_fails_by_its_result_is_dead_and_counted_apart(bench: Workbench) -> None:
    bench.add("q", max_retries=1)
    bench.bury()

    job_id = fail_by_result(bench, max_retries=5)

    assert counter(bench) == (2, 1)
    assert bench.state(job_id) == "dead"
    assert bench.rows("SELECT by_result, result FROM job WHERE id = ?", job_id) == [(1, '{"code":404}')]


@pytest.mark.parametrize("operation", [Retry, Requeue])
def test_one_that_is_run_again_is_not_counted_any_more(bench: Workbench, operation: type[Retry]) -> None:
    job_id = fail_by_result(bench, max_retries=1)

    bench.do(operation(job_id=job_id))

    assert counter(bench) == (0, 0)
    bench.fail(bench.take(), end="dead")
    assert counter(bench) == (1, 0)


def test_it_is_counted_where_it_is_moved_to(bench: Workbench) -> None:
    job_id = fail_by_result(bench)

    bench.do(Move(job_id=job_id, queue="elsewhere"))

    assert (counter(bench), counter(bench, "elsewhere")) == ((0, 0), (1, 1))


@pytest.mark.parametrize("how", ["delete", "purge"])
def test_it_is_not_counted_once_it_is_gone(bench: Workbench, how: str) -> None:
    job_id = fail_by_result(bench)

    bench.do(Delete(job_id=job_id) if how == "delete" else Purge(before=bench.now + 1))

    assert counter(bench) == (0, 0)
    assert not bench.exists(job_id)


def test_the_count_survives_another_look_at_the_store(bench: Workbench) -> None:
    fail_by_result(bench)
    bench.machine._ledger.forget()

    bench.add()

    assert counter(bench) == (1, 1)


@pytest.mark.parametrize("action", ["retry", "requeue"])
def test_who_retries_all_dead_jobs_spares_those_dead_by_result_unless_they_are_named(
    bench: Workbench, action: str
) -> None:
    spared = fail_by_result(bench)
    bench.add(max_retries=1)
    ids = [spared, bench.bury()]

    by_filter = bench.do(Bulk(action=action, job_ids=ids, wanted=JobFilter(states=("dead",))))
    assert (by_filter, bench.state(spared)) == (BulkDone(1, 1), "dead")
    assert bench.do(Bulk(action=action, job_ids=[spared])) == BulkDone(1, 0)
    assert bench.state(spared) == "pending"


def test_what_is_done_by_filter_otherwise_does_not_spare_them(bench: Workbench) -> None:
    job_id = fail_by_result(bench)

    assert bench.do(Bulk(action="delete", job_ids=[job_id], wanted=JobFilter(states=("dead",)))) == BulkDone(1, 0)


def test_the_last_attempt_may_have_an_error_of_its_own(bench: Workbench) -> None:
    job_id = bench.add(max_retries=2, backoff="none")

    for _ in range(2):
        bench.fail(bench.take(), "", last_error="MAX_ATTEMPTS")
        bench.tick()

    assert [error.error for error in bench.job(job_id).errors] == ["", "MAX_ATTEMPTS"]


# --- leases


def test_a_lost_lease_can_be_a_failure_that_backs_off_and_in_the_end_buries(bench: Workbench) -> None:
    job_id = bench.add(max_retries=2, on_lost_lease="back_off", max_lost_leases=0, backoff="fixed", base_delay=7000)

    bench.take(lease=1000)
    bench.tick(1001)
    assert bench.rows("SELECT state, scheduled_at - ? FROM job", bench.now) == [("retrying", 7000)]
    bench.tick(7000)
    assert bench.take(lease=1000).attempt == 2
    bench.tick(1001)

    assert bench.state(job_id) == "dead"
    assert [error.error for error in bench.job(job_id).errors] == ["LEASE_EXPIRED"] * 2
    assert counter(bench) == (1, 0)


def test_a_worker_that_is_known_to_be_gone_loses_its_jobs_before_their_leases_end(bench: Workbench) -> None:
    lost, kept, done = (bench.add(max_lost_leases=5) for _ in range(3))
    jobs = {job.job_id: job for job in bench.claim(worker_id="ann")}
    bench.ack(jobs[done])

    items = [
        LostJob(lost, jobs[lost].lease),
        LostJob(kept, jobs[kept].lease + 100),
        LostJob(done, jobs[done].lease),
        LostJob("no-such-job", 1),
    ]
    assert bench.do(LoseLeases(items=items)).status == "1 lost"

    assert [bench.state(job_id) for job_id in (lost, kept, done)] == ["pending", "active", "completed"]
    assert bench.ack(jobs[lost]).kind == Refusal.LEASE_LOST  # type: ignore[union-attr]


# --- keys that stand for jobs


def named(key: str, namespace: str = "default", **fields: Any) -> Enqueue:
    mark = IdempotencyKey(key, "", DAY, names_job=True)
    return Enqueue(jobs=[NewJob(queue="q", **fields)], idempotency=mark, namespace=namespace)


def test_a_key_finds_its_job_whatever_else_is_asked_for_and_whatever_became_of_it(bench: Workbench) -> None:
    first: Enqueued = bench.do(named("k"))
    bench.run()

    again: Enqueued = bench.do(named("k", payload='{"other":1}'))

    assert (first.jobs[0].status, again.jobs[0].status) == ("pending", "duplicate")
    assert again.jobs[0].job_id == first.jobs[0].job_id
    assert bench.rows("SELECT count(*) FROM job") == [(1,)]


def test_two_requests_of_one_batch_make_one_job(bench: Workbench) -> None:
    first, second = bench.do(named("k"), named("k"))

    assert (first.jobs[0].job_id, second.jobs[0].status) == (second.jobs[0].job_id, "duplicate")


@pytest.mark.parametrize("end", ["gone", "old"])
def test_a_key_is_free_again_when_its_job_is_gone_or_its_time_is_over(bench: Workbench, end: str) -> None:
    job_id = bench.do(named("k")).jobs[0].job_id

    if end == "gone":
        bench.do(Delete(job_id=job_id))
    else:
        bench.advance(DAY)

    assert bench.do(named("k")).jobs[0].status == "pending"
    assert bench.do(named("k")).jobs[0].status == "duplicate"


def test_keys_of_namespaces_are_apart(bench: Workbench) -> None:
    statuses = [bench.do(named("k", namespace)).jobs[0].status for namespace in ("default", "acme", "acme")]

    assert statuses == ["pending", "pending", "duplicate"]


# --- callbacks


def endings(bench: Workbench) -> list[dict[str, Any]]:
    bodies = bench.rows("SELECT body FROM outbox WHERE kind = ? ORDER BY id", KIND)
    return [msgspec.json.decode(body) for (body,) in bodies]


def end_job(bench: Workbench, how: str, job_id: str) -> None:
    if how == "cancelled":
        bench.do(Cancel(job_id=job_id))
        return
    job = bench.take(lease=1000)
    if how == "completed":
        bench.ack(job, result='{"n":1}', face='{"artifacts":[{"name":"a"}]}')
    elif how == "by result":
        bench.fail(job, "bad", end="result", result='{"n":2}')
    elif how == "exhausted":
        bench.fail(job, "worse")
    else:
        bench.tick(1001)


@pytest.mark.parametrize(
    ("how", "state", "error", "result"),
    [
        ("completed", "completed", "", {"n": 1}),
        ("by result", "dead", "bad", {"n": 2}),
        ("exhausted", "dead", "worse", None),
        ("lease lost", "dead", "LEASE_EXPIRED", None),
        ("cancelled", "cancelled", "", None),
    ],
)
def test_the_commit_that_ends_a_job_writes_down_what_its_callback_is_told(
    bench: Workbench, how: str, state: str, error: str, result: Any
) -> None:
    face = '{"command":"Mail"}'
    job_id = bench.add(callback="http://there/", face=face, max_retries=1, on_lost_lease="back_off", max_lost_leases=0)
    assert endings(bench) == []

    end_job(bench, how, job_id)

    (ending,) = endings(bench)
    assert (ending["job_id"], ending["queue"], ending["state"], ending["error"]) == (job_id, "q", state, error)
    assert (ending["at"], ending["result"], ending["face"]["command"]) == (bench.now, result, "Mail")


def test_a_refused_message_calls_nobody_back(bench: Workbench) -> None:
    job_id = bench.add(callback="http://there/")
    bench.take(worker_id="ann")

    SAY["ack"](bench, job_id, "bob")

    assert endings(bench) == []


def test_what_a_face_keeps_is_added_to_and_may_be_taken_away(bench: Workbench) -> None:
    job_id = bench.add(face='{"command":"Mail","error":"old"}')

    bench.ack(bench.take(), face='{"artifacts":[1],"error":null}')

    assert bench.rows("SELECT face FROM job WHERE id = ?", job_id) == [('{"command":"Mail","artifacts":[1]}',)]


# --- deleting what nothing happens to


def unchanged(bench: Workbench, *job_ids: str, since: int | None = None, namespace: str = "default") -> list[str]:
    op = DeleteUnchanged(job_ids=list(job_ids), since=bench.now if since is None else since, namespace=namespace)
    job_ids_gone: list[str] = bench.do(op).job_ids
    return job_ids_gone


def test_jobs_in_any_state_are_deleted_if_nothing_happened_to_them_since(bench: Workbench) -> None:
    states = ("pending", "active", "scheduled", "retrying", "completed", "dead", "held", "cancelled")
    ids = [bench.add_in(state, queue=state) for state in states]
    bench.advance(1)
    late = bench.add()

    assert unchanged(bench, *ids, late, "no-such-job", "nul\0", since=bench.now - 1) == ids
    assert [bench.exists(job_id) for job_id in (*ids, late)] == [False] * len(ids) + [True]
    assert all(counts == (0, 0) for state in states for counts in [counter(bench, state)])


@pytest.mark.parametrize(
    "happening", ["claim", "heartbeat", "release", "nack", "lease loss", "promotion", "completion", "cancellation"]
)
def test_everything_that_happens_to_a_job_puts_its_deletion_off(bench: Workbench, happening: str) -> None:
    delay = {"scheduled_at": bench.now + 1000} if happening == "promotion" else {}
    job_id = bench.add(on_lost_lease="back_off", max_lost_leases=0, **delay)
    job = None if happening in ("claim", "promotion", "cancellation") else bench.take(worker_id="ann", lease=999)
    before = bench.now
    if happening in ("lease loss", "promotion"):
        bench.tick(1000)
    else:
        bench.advance(1000)
        {
            "claim": bench.take,
            "heartbeat": lambda: beat(bench, job_id, "ann"),
            "release": lambda: bench.release(job),  # type: ignore[arg-type]
            "nack": lambda: bench.fail(job),  # type: ignore[arg-type]
            "completion": lambda: bench.ack(job),  # type: ignore[arg-type]
            "cancellation": lambda: bench.do(Cancel(job_id=job_id)),
        }[happening]()

    assert unchanged(bench, job_id, since=before + 999) == []
    assert unchanged(bench, job_id, since=before + 1000) == [job_id]


def test_what_happens_in_the_same_batch_puts_it_off_too(bench: Workbench) -> None:
    job_id = bench.add()
    before = bench.now
    bench.advance(1000)

    _, deleted = bench.do(Cancel(job_id=job_id), DeleteUnchanged(job_ids=[job_id], since=before))

    assert deleted.job_ids == []


def test_nobody_deletes_jobs_of_another_namespace_or_too_many_at_once(bench: Workbench) -> None:
    job_id = bench.add("acme::q")

    assert unchanged(bench, job_id, namespace="other") == []
    assert bench.do(DeleteUnchanged(job_ids=["x"] * 501, since=0)).kind == Refusal.INVALID
    assert unchanged(bench, job_id, namespace="acme") == [job_id]
