"""Bringing old jobs back: as they were, with counts, due times, dependencies and locks that hold."""

from typing import Any

import pytest

from rookery.engine.ops import (
    Approve,
    NewJob,
    OldError,
    OldJob,
    Purge,
    Restored,
    RestoreJobs,
    RestoreQueue,
    Retry,
    Throttle,
)
from rookery.model.job import STATES, TERMINAL
from rookery.store.search import JobFilter, Order, search
from tests.conftest import START
from tests.unit.workbench import Workbench, plain

MINUTE = 60_000
LONG_AGO = START - 1000 * MINUTE


def old(job_id: str | None = "old", state: str = "pending", **fields: Any) -> OldJob:
    """A job that was made long ago."""
    new = {name: fields.pop(name) for name in list(fields) if name in NewJob.__struct_fields__}
    created_at = fields.setdefault("created_at", LONG_AGO)
    past = {"namespace": "default", "order_key": created_at, **fields}
    return OldJob(new=NewJob(**{"queue": "q", "id": job_id, **new}), state=state, **past)


def restore(bench: Workbench, *jobs: OldJob, namespace: str = "default") -> Restored:
    restored: Restored = bench.do(RestoreJobs(jobs=list(jobs), namespace=namespace))
    return restored


def counts(bench: Workbench) -> dict[str, int]:
    queue = bench.queue()
    return {state: count for state in STATES if (count := getattr(queue, state))}


def test_an_old_job_keeps_its_id_its_past_and_its_place(bench: Workbench) -> None:
    bench.add(id="younger")
    job = old(
        payload='{"n":1}',
        attempt=2,
        started_at=LONG_AGO + 1,
        failed_at=LONG_AGO + 2,
        progress="50",
        result='"r"',
        tags='{"a":1}',
        batch_id="batch_1",
        errors=[OldError(1, "first", None, LONG_AGO + 1), OldError(2, "second", "at line 1", LONG_AGO + 2)],
    )

    assert restore(bench, job) == Restored(1, 0)

    view = bench.job("old")
    assert (view.attempt, view.batch_id, plain(view.progress), plain(view.result)) == (2, "batch_1", 50, "r")
    assert [(error.attempt, error.error, error.backtrace) for error in view.errors] == [
        (1, "first", None),
        (2, "second", "at line 1"),
    ]
    assert bench.events_of("old") == ["restored"]
    assert bench.claimed_ids() == ["old", "younger"]


@pytest.mark.parametrize("state", STATES)
def test_a_job_of_every_state_is_counted_where_it_is(bench: Workbench, state: str) -> None:
    restore(bench, old(state=state, scheduled_at=START + MINUTE if state in ("scheduled", "retrying") else None))

    assert counts(bench) == {"pending" if state == "active" else state: 1}
    assert bench.queue().enqueued == 1
    bench.machine._ledger.forget()
    assert counts(bench) == {"pending" if state == "active" else state: 1}


def test_an_active_job_waits_for_another_worker(bench: Workbench) -> None:
    restore(bench, old(state="active", attempt=1, worker_id="w1", hostname="h"))

    view = bench.job("old")
    assert (view.state, view.worker_id, view.lease_expires_at) == ("pending", None, None)
    assert bench.take().attempt == 2


@pytest.mark.parametrize("state", sorted(TERMINAL))
def test_an_ended_job_still_says_who_ended_it(bench: Workbench, state: str) -> None:
    restore(bench, old(state=state, worker_id="w1", hostname="h"))

    assert bench.job("old").worker_id == "w1"
    assert bench.job("old").hostname == "h"


def test_a_job_that_is_there_already_is_left_alone(bench: Workbench) -> None:
    bench.add(id="old", payload='"mine"')

    assert restore(bench, old(payload='"other"'), old("new")) == Restored(1, 1)
    assert bench.payload("old") == "mine"
    assert restore(bench, old(), old("new")) == Restored(0, 2)


def test_of_two_jobs_with_one_id_the_first_comes_back(bench: Workbench) -> None:
    assert restore(bench, old(payload="1"), old(payload="2")) == Restored(1, 1)
    assert bench.payload("old") == 1


def test_a_job_without_an_id_gets_one(bench: Workbench) -> None:
    assert restore(bench, old(None), old(None)) == Restored(2, 0)
    assert len({*bench.jobs_of("q")}) == 2
    assert all(job_id.startswith("job_") for job_id in bench.jobs_of("q"))


@pytest.mark.parametrize("state", ["scheduled", "retrying"])
def test_a_waiting_job_is_promoted_when_it_is_due(bench: Workbench, state: str) -> None:
    restore(bench, old(state=state, scheduled_at=START + MINUTE))
    assert bench.machine.next_due == START + MINUTE

    bench.tick(MINUTE - 1)
    assert bench.state("old") == state
    bench.tick(1)
    assert bench.state("old") == "pending"


def test_a_job_whose_time_is_over_expires_at_the_next_tick(bench: Workbench) -> None:
    restore(bench, old(expire_after="1m", expire_at=LONG_AGO + MINUTE), old("alive", expire_at=START + MINUTE))
    assert bench.machine.next_due is not None
    assert bench.machine.next_due <= START

    bench.tick()

    assert bench.state("old") == "dead"
    assert bench.machine.next_due == START + MINUTE
    bench.tick(MINUTE)
    assert bench.state("alive") == "dead"


def test_an_ended_job_does_not_expire(bench: Workbench) -> None:
    restore(bench, old(state="completed", expire_at=LONG_AGO + MINUTE, completed_at=LONG_AGO))

    bench.tick(MINUTE)

    assert bench.state("old") == "completed"


@pytest.mark.parametrize(
    ("state", "times"),
    [
        ("completed", {"completed_at": START - MINUTE}),
        ("dead", {"failed_at": START - MINUTE}),
        ("cancelled", {"failed_at": START - MINUTE}),
        ("cancelled", {"created_at": START - MINUTE}),
    ],
)
def test_retention_goes_on_counting_from_the_old_end(bench: Workbench, state: str, times: dict[str, int]) -> None:
    restore(bench, old(state=state, **times))

    assert bench.do(Purge(before=START - MINUTE)).jobs == 0
    assert bench.do(Purge(before=START - MINUTE + 1)).jobs == 1
    assert not bench.exists("old")


def test_a_completed_job_of_unknown_end_is_kept_from_now_on(bench: Workbench) -> None:
    restore(bench, old(state="completed"))

    assert bench.do(Purge(before=START)).jobs == 0
    assert bench.do(Purge(before=START + 1)).jobs == 1


def test_only_a_completed_job_has_a_time_of_completion(bench: Workbench) -> None:
    times = {"completed_at": START - MINUTE}
    restore(bench, old("dead", "dead", **times), old("waits", "pending", **times), old("done", "completed", **times))

    completed = {job_id: bench.job(job_id).completed_at is not None for job_id in ("dead", "waits", "done")}

    assert completed == {"dead": False, "waits": False, "done": True}


def test_a_job_that_is_due_by_order_keeps_its_place(bench: Workbench) -> None:
    restore(bench, old("second", order_key=LONG_AGO + 2, order_by_due=True), old("first", order_key=LONG_AGO + 1))

    assert bench.claimed_ids() == ["first", "second"]


def test_a_job_that_failed_by_its_result_did_so_for_good(bench: Workbench) -> None:
    restore(bench, old("dead", "dead", by_result=True, face='{"a":1}', callback="http://there/"))
    restore(bench, old("pending", "pending", by_result=True))

    assert bench.rows("SELECT dead, dead_by_result FROM queue") == [(1, 1)]
    assert bench.rows("SELECT id, by_result, face, callback FROM job ORDER BY seq") == [
        ("dead", 1, '{"a":1}', "http://there/"),
        ("pending", 0, None, None),
    ]
    bench.do(Retry(job_id="dead"))
    assert bench.rows("SELECT dead, dead_by_result FROM queue") == [(0, 0)]


def test_retries_go_on_where_they_were(bench: Workbench) -> None:
    restore(bench, old(attempt=2, failures=2, max_retries=3))

    assert bench.bury() == "old"
    assert bench.job("old").attempt == 3


def test_poison_is_counted_on(bench: Workbench) -> None:
    restore(bench, old(lost_leases=4, max_lost_leases=5))

    bench.take(lease=1000)
    bench.tick(1001)

    assert bench.state("old") == "dead"


def test_a_held_job_can_be_approved(bench: Workbench) -> None:
    restore(bench, old(state="held", hold_reason="look", held_at=LONG_AGO))
    assert bench.job("old").hold_reason == "look"

    assert bench.do(Approve(job_id="old")).status == "pending"
    assert bench.claimed_ids() == ["old"]


def test_restored_jobs_are_the_queues_own_but_were_not_enqueued_in_this_minute(bench: Workbench) -> None:
    bench.add()
    before = bench.rows("SELECT * FROM throughput")

    restore(bench, old(), old("other", state="completed"), old("elsewhere", queue="new"))

    assert bench.rows("SELECT * FROM throughput") == before
    assert (bench.queue().enqueued, bench.queue("new").enqueued) == (3, 1)
    bench.add()
    assert bench.rows("SELECT sum(enqueued) FROM throughput") == [(2,)]


# --- dependencies


def test_a_job_waits_for_its_restored_dependency(bench: Workbench) -> None:
    restore(bench, old("first"), old("second", depends_on=["first"]))
    assert bench.queue().pending == 2

    assert bench.claimed_ids() == ["first"]
    bench.complete("first")
    assert bench.claimed_ids() == ["second"]


@pytest.mark.parametrize("fields", [{"state": "completed"}, {"state": "dead", "was_completed": True}])
def test_a_dependency_that_has_completed_once_holds_nobody_up(bench: Workbench, fields: dict[str, Any]) -> None:
    restore(bench, old("first", **fields), old("second", depends_on=["first"]))

    assert bench.claimed_ids() == ["second"]
    assert bench.job("second").depends_on == ["first"]


def test_a_dead_dependency_holds_its_dependents_up_until_it_is_retried(bench: Workbench) -> None:
    restore(bench, old("first", state="dead"), old("second", depends_on=["first"]))
    assert bench.claimed_ids() == []

    bench.do(Retry(job_id="first"))
    bench.run()
    assert bench.claimed_ids() == ["second"]


def test_a_dependency_that_nobody_knows_any_more_holds_nobody_up(bench: Workbench) -> None:
    restore(bench, old(depends_on=["purged"]))

    assert bench.claimed_ids() == ["old"]


def test_a_restored_job_is_found_by_what_it_depends_on_wherever_that_is(bench: Workbench) -> None:
    restore(bench, old("first"), old("second", depends_on=["first", "purged"]))

    for job_id in ("first", "purged"):
        wanted = JobFilter(depends_on=job_id)
        assert [id for _, id, _ in search(bench.machine._db, wanted, "default", Order(), 9).rows] == ["second"]


def test_a_job_that_waited_in_vain_goes_on_waiting(bench: Workbench) -> None:
    restore(bench, old(depends_on=["deleted"], gone_dependencies=1))

    assert bench.claimed_ids() == []
    assert counts(bench) == {"pending": 1}


def test_a_job_of_another_namespace_is_no_dependency(bench: Workbench) -> None:
    bench.add("other::q", id="theirs")

    restore(bench, old(queue="team::q", depends_on=["theirs"]), namespace="team")

    assert bench.claimed_ids("team::q") == ["old"]


# --- unique keys


def test_a_job_holds_its_unique_key_as_long_as_before(bench: Workbench) -> None:
    restore(bench, old(unique_key="k", unique_until=START + MINUTE))

    assert bench.add(unique_key="k") == "old"
    bench.advance(MINUTE)
    assert bench.add(unique_key="k") != "old"


def test_a_key_that_has_run_out_stays_free(bench: Workbench) -> None:
    restore(bench, old(unique_key="k", unique_until=START))

    assert bench.add(unique_key="k") != "old"


def test_a_key_that_somebody_else_holds_now_stays_with_them(bench: Workbench) -> None:
    holder = bench.add(unique_key="k")

    assert restore(bench, old(unique_key="k", unique_until=START + MINUTE)) == Restored(1, 0)
    assert bench.add(unique_key="k") == holder


# --- queues


def test_a_queue_is_set_as_it_was(bench: Workbench) -> None:
    op = RestoreQueue(queue="q", paused=True, max_active=3, rate=5, window=1000, created_at=LONG_AGO)

    bench.do(op)

    queue = bench.queue()
    assert (queue.paused, queue.max_concurrency, queue.rate_limit, queue.rate_window_ms) == (True, 3, 5, 1000)
    assert queue.created_at < bench.job(bench.add()).created_at


def test_a_queue_that_is_there_takes_only_what_is_given(bench: Workbench) -> None:
    bench.do(Throttle(queue="q", rate=5, window=1000))
    born = bench.queue().created_at

    bench.do(RestoreQueue(queue="q", max_active=3, created_at=LONG_AGO))
    assert (bench.queue().max_concurrency, bench.queue().rate_limit, bench.queue().created_at) == (3, 5, born)

    bench.do(RestoreQueue(queue="q", paused=False, max_active=None, rate=None))
    assert (bench.queue().max_concurrency, bench.queue().rate_limit) == (None, None)
