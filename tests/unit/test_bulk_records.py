"""Records of actions that are worked off chunk by chunk: how they go on, end, and are forgotten."""

from typing import Any

import pytest

from rookery.engine.bulk import ACTIONS, KEPT, MOST_FAILURES, MOST_LISTED
from rookery.engine.ops import (
    CHUNK,
    AddBulkTargets,
    BulkDone,
    BulkStarted,
    Delete,
    Done,
    Enqueue,
    NewJob,
    Purged,
    Refusal,
    RunBulk,
    StartBulk,
    StopBulk,
    Sweep,
)
from rookery.store.bulks import BulkRecord, Targets, next_targets, read_bulk, read_open_bulks
from rookery.store.filters import JobFilter
from tests.unit.workbench import Workbench, kind_of


def begin(bench: Workbench, action: str = "cancel", total: int = 0, **fields: Any) -> str:
    started = bench.do(StartBulk(action=action, total=total, **fields))
    assert isinstance(started, BulkStarted), started
    return started.bulk_id


def begin_listed(bench: Workbench, ids: list[str], action: str = "cancel") -> str:
    bulk_id = begin(bench, action, len(ids))
    for begun in range(0, len(ids), MOST_LISTED):
        assert bench.do(AddBulkTargets(bulk_id=bulk_id, job_ids=ids[begun : begun + MOST_LISTED])) == Done("queued")
    return bulk_id


def record(bench: Workbench, bulk_id: str) -> BulkRecord:
    found = read_bulk(bench.machine._db, bulk_id)
    assert found is not None
    return found


def failures(bench: Workbench, bulk_id: str) -> dict[str, str]:
    """The jobs that could not be changed, and why."""
    return {failure.job_id: failure.error for failure in record(bench, bulk_id).view().failures}


def targets(bench: Workbench, bulk_id: str, limit: int = CHUNK) -> Targets:
    return next_targets(bench.machine._db, record(bench, bulk_id), limit)


def run(bench: Workbench, bulk_id: str, limit: int = CHUNK, **fields: Any) -> BulkDone | Refusal:
    """One chunk, as a running server does it."""
    found = targets(bench, bulk_id, limit)
    op = RunBulk(
        bulk_id=bulk_id,
        position=record(bench, bulk_id).position,
        next_position=found.position,
        job_ids=found.job_ids,
        is_last=found.is_last,
    )
    done: BulkDone | Refusal = bench.do(op)
    return done


def add_many(bench: Workbench, count: int) -> list[str]:
    return [job.job_id for job in bench.do(Enqueue(jobs=[NewJob(queue="q") for _ in range(count)])).jobs]


def open_ids(bench: Workbench) -> list[str]:
    return [bulk.id for bulk in read_open_bulks(bench.machine._db)]


def test_a_new_record_waits_with_nothing_done(bench: Workbench) -> None:
    bulk_id = begin(bench, total=7, wanted=JobFilter(queue="q"))

    new = record(bench, bulk_id)
    assert bulk_id.startswith("bulk_")
    assert len(bulk_id) == 31
    assert (new.status, new.total, new.processed, new.affected, new.errors) == ("queued", 7, 0, 0, 0)
    assert (new.error, new.finished_at) == (None, None)


def test_a_list_is_worked_off_chunk_by_chunk(bench: Workbench) -> None:
    ids = add_many(bench, 2 * CHUNK + 1)
    bulk_id = begin_listed(bench, ids)

    assert run(bench, bulk_id) == BulkDone(CHUNK, 0)
    halfway = record(bench, bulk_id)
    assert (halfway.status, halfway.processed, halfway.affected) == ("running", CHUNK, CHUNK)
    bench.advance(1000)
    assert run(bench, bulk_id) == BulkDone(CHUNK, 0)
    assert run(bench, bulk_id) == BulkDone(1, 0)
    ended = record(bench, bulk_id)
    assert (ended.status, ended.processed, ended.affected) == ("completed", len(ids), len(ids))
    assert (ended.finished_at, ended.updated_at, ended.created_at) == (bench.now, bench.now, bench.now - 1000)
    assert bench.queue().cancelled == len(ids)
    assert bench.rows("SELECT count(*) FROM bulk_target") == [(0,)]
    assert open_ids(bench) == []


def test_a_list_can_be_worked_off_in_smaller_steps(bench: Workbench) -> None:
    ids = add_many(bench, CHUNK + 3)
    bulk_id = begin_listed(bench, ids)
    seen: list[str] = []
    for step in (1, 200, 298, 2, 1, 5):
        seen += targets(bench, bulk_id, step).job_ids
        run(bench, bulk_id, step)

    assert seen == ids
    assert record(bench, bulk_id).status == "completed"


def test_a_chunk_is_done_once_however_often_it_is_proposed(bench: Workbench) -> None:
    ids = add_many(bench, CHUNK + 1)
    bulk_id = begin_listed(bench, ids)
    first = targets(bench, bulk_id)
    op = RunBulk(bulk_id=bulk_id, next_position=first.position, job_ids=first.job_ids)

    assert bench.do(op) == BulkDone(CHUNK, 0)
    assert kind_of(bench.do(op)) == Refusal.CONFLICT
    assert record(bench, bulk_id).processed == CHUNK


def test_errors_are_counted_beside_what_was_done(bench: Workbench) -> None:
    ids = add_many(bench, 2)
    bulk_id = begin_listed(bench, ids)

    assert bench.do(RunBulk(bulk_id=bulk_id, next_position="0:1", failed_at=ids[:1])) == BulkDone(0, 0)
    run(bench, bulk_id)

    ended = record(bench, bulk_id)
    assert (ended.status, ended.processed, ended.affected, ended.errors) == ("completed", 2, 1, 1)
    assert failures(bench, bulk_id) == {ids[0]: "the server failed at it: its log says more"}


def test_more_jobs_than_a_chunk_has_cannot_have_failed(bench: Workbench) -> None:
    bulk_id = begin(bench, total=1, wanted=JobFilter())

    assert kind_of(bench.do(RunBulk(bulk_id=bulk_id, failed_at=["x"] * (CHUNK + 1)))) == Refusal.INVALID
    assert (record(bench, bulk_id).processed, failures(bench, bulk_id)) == (0, {})


def test_jobs_that_could_not_be_changed_are_named_with_the_reason(bench: Workbench) -> None:
    theirs = bench.add("b::q")
    ids = [bench.add_in("completed"), bench.add(), "job_nowhere", theirs, "\0", "x" * 129]
    bulk_id = begin(bench, "cancel", len(ids), namespace="default")
    bench.do(AddBulkTargets(bulk_id=bulk_id, job_ids=ids))

    assert run(bench, bulk_id) == BulkDone(2, 4)
    assert failures(bench, bulk_id) == {
        ids[0]: "cannot cancel it: it is completed",
        "job_nowhere": "not found",
        "\0": "not found",
        "x" * 128 + "…": "not found",
    }


def test_jobs_of_other_namespaces_are_named_like_those_that_are_not_there(bench: Workbench) -> None:
    ids = [bench.add("b::q"), "job_nowhere"]
    bulk_id = begin(bench, "cancel", len(ids), namespace="a")
    bench.do(AddBulkTargets(bulk_id=bulk_id, job_ids=ids, namespace="a"))
    run(bench, bulk_id)

    assert failures(bench, bulk_id) == dict.fromkeys(ids, "not found")


@pytest.mark.parametrize("action", ACTIONS)
def test_the_reason_is_told_in_the_words_of_the_action(bench: Workbench, action: str) -> None:
    job_id = bench.add_in("active" if action not in ("cancel", "hold") else "dead")
    fields: dict[str, Any] = {"move": {"queue": "other"}, "change_priority": {"rank": 0}}.get(action, {})
    bulk_id = begin(bench, action, 1, **fields)
    bench.do(AddBulkTargets(bulk_id=bulk_id, job_ids=[job_id]))
    run(bench, bulk_id)

    state = "dead" if action in ("cancel", "hold") else "active"
    verb = "change the priority of" if action == "change_priority" else action
    expected = {} if action == "delete" else {job_id: f"cannot {verb} it: it is {state}"}
    assert failures(bench, bulk_id) == expected


def test_only_the_first_jobs_that_could_not_be_changed_are_named(bench: Workbench) -> None:
    ids = [f"job_{number:04}" for number in range(CHUNK + 7)]
    bulk_id = begin_listed(bench, ids)
    for step in (MOST_FAILURES - 1, 3, CHUNK, CHUNK):
        run(bench, bulk_id, step)

    ended = record(bench, bulk_id)
    assert (ended.status, ended.processed, ended.affected) == ("completed", len(ids), 0)
    assert list(failures(bench, bulk_id)) == ids[:MOST_FAILURES]


def test_of_a_record_that_changed_all_its_jobs_nothing_is_kept(bench: Workbench) -> None:
    bulk_id = begin_listed(bench, add_many(bench, 3))
    run(bench, bulk_id)

    assert bench.rows("SELECT not_done FROM bulk") == [(None,)]
    assert failures(bench, bulk_id) == {}


def test_a_job_that_failed_by_its_result_is_named_if_a_filter_finds_it(bench: Workbench) -> None:
    job_id, other = bench.add_in("dead"), bench.add_in("dead")
    bench.machine._db.execute("UPDATE job SET by_result = 1 WHERE id = ?", (job_id,))
    bulk_id = begin(bench, "retry", total=2, wanted=JobFilter(states=("dead",)))
    run(bench, bulk_id)

    assert failures(bench, bulk_id) == {job_id: "it failed by its result: it is run again only by its id"}
    assert bench.state(other) == "pending"


def test_a_record_without_jobs_completes_with_its_first_chunk(bench: Workbench) -> None:
    bulk_id = begin(bench)

    assert run(bench, bulk_id) == BulkDone(0, 0)
    assert record(bench, bulk_id).status == "completed"


def test_a_record_does_not_begin_before_all_its_jobs_are_listed(bench: Workbench) -> None:
    ids = add_many(bench, CHUNK + 1)
    bulk_id = begin(bench, total=len(ids))
    bench.do(AddBulkTargets(bulk_id=bulk_id, job_ids=ids[:CHUNK]))

    assert not record(bench, bulk_id).is_ready
    assert kind_of(run(bench, bulk_id)) == Refusal.INVALID
    bench.do(AddBulkTargets(bulk_id=bulk_id, job_ids=ids[CHUNK:]))
    assert record(bench, bulk_id).is_ready


@pytest.mark.parametrize(("listed", "more"), [(1, 1), (0, MOST_LISTED + 1), (CHUNK, CHUNK)])
def test_a_list_that_does_not_fit_is_refused(bench: Workbench, listed: int, more: int) -> None:
    bulk_id = begin(bench, total=CHUNK + 1)
    bench.do(AddBulkTargets(bulk_id=bulk_id, job_ids=["x"] * listed))

    assert kind_of(bench.do(AddBulkTargets(bulk_id=bulk_id, job_ids=["x"] * more))) == Refusal.INVALID
    assert record(bench, bulk_id).listed == listed


def test_a_record_with_a_filter_takes_no_list(bench: Workbench) -> None:
    bulk_id = begin(bench, total=1, wanted=JobFilter())

    assert kind_of(bench.do(AddBulkTargets(bulk_id=bulk_id, job_ids=["x"]))) == Refusal.INVALID


def test_a_filter_is_worked_off_without_the_jobs_that_came_later(bench: Workbench) -> None:
    ids = add_many(bench, 5)
    bulk_id = begin(bench, "hold", total=5, wanted=JobFilter(queue="q", states=("pending",)))
    later = bench.add()

    seen: list[str] = []
    while record(bench, bulk_id).status != "completed":
        seen += targets(bench, bulk_id, 2).job_ids
        run(bench, bulk_id, 2)

    assert seen == ids
    assert bench.state(later) == "pending"
    assert (record(bench, bulk_id).processed, record(bench, bulk_id).affected) == (5, 5)


def test_a_job_that_matches_again_is_not_touched_again(bench: Workbench) -> None:
    ids = [bench.add_in("dead") for _ in range(3)]
    bulk_id = begin(bench, "retry", total=3, wanted=JobFilter(states=("dead",)))
    run(bench, bulk_id, 1)
    bench.bury()
    while record(bench, bulk_id).status != "completed":
        run(bench, bulk_id, 1)

    assert [bench.events_of(job_id).count("retried") for job_id in ids] == [1, 1, 1]
    assert bench.state(ids[0]) == "dead"


def test_a_job_that_was_claimed_meanwhile_is_skipped(bench: Workbench) -> None:
    ids = add_many(bench, 3)
    bulk_id = begin(bench, "delete", total=3, wanted=JobFilter(states=("pending",)))
    found = targets(bench, bulk_id)
    bench.take()
    bench.do(Delete(job_id=ids[1]))

    op = RunBulk(bulk_id=bulk_id, next_position=found.position, job_ids=found.job_ids, is_last=True)
    assert bench.do(op) == BulkDone(1, 2)
    assert [bench.exists(job_id) for job_id in ids] == [True, False, False]
    assert failures(bench, bulk_id) == {
        ids[0]: "it has changed since it was found: it is active",
        ids[1]: "not found",
    }


def test_a_stopped_record_does_no_more(bench: Workbench) -> None:
    ids = add_many(bench, CHUNK + 1)
    bulk_id = begin_listed(bench, ids)
    run(bench, bulk_id)

    assert bench.do(StopBulk(bulk_id=bulk_id, error="cancelled")) == Done("failed")

    ended = record(bench, bulk_id)
    assert (ended.status, ended.error, ended.affected, ended.finished_at) == ("failed", "cancelled", CHUNK, bench.now)
    assert kind_of(run(bench, bulk_id)) == Refusal.WRONG_STATE
    assert kind_of(bench.do(AddBulkTargets(bulk_id=bulk_id, job_ids=["x"]))) == Refusal.WRONG_STATE
    assert kind_of(bench.do(StopBulk(bulk_id=bulk_id, error="again"))) == Refusal.WRONG_STATE
    assert record(bench, bulk_id).error == "cancelled"
    assert bench.state(ids[-1]) == "pending"


def test_a_record_belongs_to_its_namespace(bench: Workbench) -> None:
    bulk_id = begin(bench, namespace="a")
    db = bench.machine._db

    assert kind_of(bench.do(StopBulk(bulk_id=bulk_id, error="cancelled", namespace="b"))) == Refusal.NOT_FOUND
    assert (read_bulk(db, bulk_id, "b"), kind_of(bench.do(StopBulk(bulk_id="bulk_x", error="")))) == (None, "not_found")
    assert read_bulk(db, bulk_id, "a") == read_bulk(db, bulk_id)
    assert bench.do(StopBulk(bulk_id=bulk_id, error="cancelled", namespace="a")) == Done("failed")


def test_a_record_touches_only_jobs_of_its_namespace(bench: Workbench) -> None:
    mine, theirs = bench.add("a::q"), bench.add("b::q")
    bulk_id = begin(bench, "delete", total=1, wanted=JobFilter(), namespace="a")
    run(bench, bulk_id)

    assert (bench.exists(mine), bench.exists(theirs)) == (False, True)
    assert record(bench, bulk_id).processed == 1


def test_open_records_come_in_the_order_of_their_creation(bench: Workbench) -> None:
    first = begin(bench)
    bench.advance(1)
    second, third = begin(bench), begin(bench)
    bench.do(StopBulk(bulk_id=second, error="cancelled"))

    assert open_ids(bench) == [first, third]


@pytest.mark.parametrize("fields", [{"action": "explode"}, {"action": "move"}, {"action": "change_priority"}])
def test_a_record_of_what_cannot_be_done_is_refused(bench: Workbench, fields: dict[str, Any]) -> None:
    assert kind_of(bench.do(StartBulk(total=1, **fields))) == Refusal.INVALID
    assert open_ids(bench) == []


def test_a_finished_record_is_forgotten_after_a_day(bench: Workbench) -> None:
    ended, still_open = begin(bench), begin(bench, total=1)
    run(bench, ended)
    bench.advance(KEPT - 1)
    bench.do(Sweep())
    assert record(bench, ended).status == "completed"

    bench.advance(1)
    bench.do(Sweep())
    assert read_bulk(bench.machine._db, ended) is None
    assert open_ids(bench) == [still_open]


def test_what_a_stopped_record_has_listed_is_forgotten_with_it_bit_by_bit(bench: Workbench) -> None:
    bulk_id = begin(bench, total=6 * MOST_LISTED)
    for _ in range(6):
        bench.do(AddBulkTargets(bulk_id=bulk_id, job_ids=["x"] * MOST_LISTED))
    bench.do(StopBulk(bulk_id=bulk_id, error="cancelled"))
    bench.advance(KEPT)

    assert bench.do(Sweep()) == Purged(0, more=True)
    assert bench.rows("SELECT count(*) FROM bulk_target") == [(70,)]
    while bench.do(Sweep()).more:
        pass
    assert bench.rows("SELECT count(*) FROM bulk_target") == [(0,)]
    assert read_bulk(bench.machine._db, bulk_id) is None
