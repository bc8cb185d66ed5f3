"""Finding jobs: which index answers, and what is kept for it."""

from typing import Any
from unittest import mock

import apsw
import pytest

from rookery.engine.ops import Delete, NewJob, Purge
from rookery.store.search import Found, JobFilter, Order, count_jobs, find_ids, search
from tests.unit.workbench import Workbench


def tags_of(bench: Workbench) -> list[tuple[Any, ...]]:
    return bench.rows("SELECT job, key, value FROM job_tag ORDER BY job, key")


def test_tags_are_written_with_the_job(bench: Workbench) -> None:
    bench.enqueue(
        NewJob(queue="q", tags='{"t":"x","n":1.0,"b":false,"z":null}'), NewJob(queue="q"), NewJob(queue="q", tags="{}")
    )
    assert tags_of(bench) == [(1, "b", "false"), (1, "n", "1"), (1, "t", '"x"'), (1, "z", "null")]


def test_tags_go_with_the_job(bench: Workbench) -> None:
    first, _ = bench.add(tags='{"t":"x"}'), bench.add(tags='{"t":"x"}')
    bench.do(Delete(job_id=first))
    assert tags_of(bench) == [(2, "t", '"x"')]
    bench.run()
    bench.advance(1)
    bench.do(Purge(before=bench.now))
    assert tags_of(bench) == []


@pytest.mark.parametrize(("tags", "kept"), [('{"b":2}', [(1, "b", "2")]), (None, [])])
def test_tags_are_replaced_with_the_job(bench: Workbench, tags: str | None, kept: list[Any]) -> None:
    bench.add(tags='{"a":1,"b":1}', unique_key="k")
    bench.add(tags=tags, unique_key="k", on_conflict="replace")
    assert tags_of(bench) == kept


def test_tags_of_a_refused_enqueue_are_not_written(bench: Workbench) -> None:
    bench.add(id="taken")
    bench.enqueue(NewJob(queue="q", tags='{"t":"x"}'), NewJob(queue="q", id="taken"))
    assert tags_of(bench) == []


def statements(
    db: apsw.Connection, wanted: JobFilter, order: Order | None = None, up_to: int | None = None
) -> list[tuple[str, Any]]:
    """What SQLite is told to do for a search."""
    run: list[tuple[str, Any]] = []

    def note(_: apsw.Cursor, sql: str, bindings: Any) -> bool:
        run.append((sql, bindings))
        return True

    db.exec_trace = note
    search(db, wanted, "default", order or Order(), 50, up_to=up_to)
    db.exec_trace = None
    return run


def plans(db: apsw.Connection, wanted: JobFilter, order: Order | None = None) -> list[str]:
    """How SQLite goes about a search."""
    run = statements(db, wanted, order)
    return [detail for sql, bindings in run for *_, detail in db.execute(f"EXPLAIN QUERY PLAN {sql}", bindings)]


INDEXED = {
    "everything": JobFilter(),
    "queue": JobFilter(queue="q"),
    "state": JobFilter(states=("dead", "pending")),
    "queue and state": JobFilter(queue="q", states=("pending",)),
    "queue, state, time": JobFilter(queue="q", states=("pending",), created_after=5),
    "created": JobFilter(created_after=5, created_before=10**15),
    "scheduled": JobFilter(scheduled_after=5),
    "completed": JobFilter(completed_after=5, completed_before=10**15),
    "id": JobFilter(job_id_prefix="job_"),
    "tag": JobFilter(tags='{"t":"x"}'),
    "unique key": JobFilter(unique_key="k"),
    "batch": JobFilter(batch_id="b"),
    "chain": JobFilter(chain_id="c"),
    "parent": JobFilter(parent_id="p"),
    "dependency": JobFilter(depends_on="first"),
    "dependency and queue": JobFilter(depends_on="first", queue="q"),
}


@pytest.mark.parametrize("name", INDEXED)
@pytest.mark.parametrize("few", [0, 5000])
def test_an_indexed_search_never_reads_the_jobs_from_end_to_end(bench: Workbench, name: str, few: int) -> None:
    bench.add("other", id="first")
    for state in range(3):
        bench.add(tags='{"t":"x"}', unique_key=f"k{state}", chain_id="c", parent_id="p", depends_on=["first"])
    bench.run("other")
    bench.run()
    with mock.patch("rookery.store.search.FEW", few):
        steps = plans(bench.machine._db, INDEXED[name])
    scans = [step for step in steps if step.startswith("SCAN job") and "USING" not in step]
    assert scans == []
    if name == "dependency":
        assert any(step.startswith("SEARCH named_dependency USING PRIMARY KEY (id=?") for step in steps)
    if name == "everything":
        assert any("job_by_creation" in step for step in steps)


def test_many_queues_are_merged_in_order(bench: Workbench) -> None:
    ids = []
    for number in range(300):
        bench.advance(number % 2)
        ids.append(bench.add(f"q{number % 150}"))
    bench.add("other", scheduled_at=bench.now + 1000)
    found = search(bench.machine._db, JobFilter(states=("pending",)), "default", Order(), 100)
    assert [id for _, id, _ in found.rows] == ids[::-1][:100]
    assert found.total == 300
    walked, _ = find_ids(
        bench.machine._db, JobFilter(states=("pending",)), "default", up_to=200, after=None, limit=1000
    )
    assert walked == ids[:200]


def test_a_queue_that_is_not_there_has_no_jobs(bench: Workbench) -> None:
    bench.add()
    for wanted in (
        JobFilter(queue="none"),
        JobFilter(queue="none", payload_contains="x"),
        JobFilter(states=("unknown",)),
    ):
        assert search(bench.machine._db, wanted, "default", Order(), 10) == Found([], 0)
        assert count_jobs(bench.machine._db, wanted, "default") == 0
        assert find_ids(bench.machine._db, wanted, "default", up_to=9, after=None, limit=5) == ([], None)


def test_a_walk_leaves_later_jobs_alone(bench: Workbench) -> None:
    ids = [bench.add() for _ in range(5)]
    assert find_ids(bench.machine._db, JobFilter(), "default", up_to=3, after=None, limit=10)[0] == ids[:3]
    page, position = find_ids(bench.machine._db, JobFilter(queue="q"), "default", up_to=3, after=None, limit=2)
    assert page == ids[:2]
    assert find_ids(bench.machine._db, JobFilter(queue="q"), "default", up_to=3, after=position, limit=2)[0] == ids[2:3]


MANY = {
    "payload": JobFilter(payload_contains="a"),
    "queue and payload": JobFilter(queue="q", payload_contains="a"),
    "jq": JobFilter(payload_jq=".a == 1"),
    "tag": JobFilter(tags='{"t":"x"}'),
    "errors": JobFilter(has_errors=False),
}


@pytest.mark.parametrize("name", MANY)
def test_more_matches_than_are_asked_for_are_not_counted(bench: Workbench, name: str) -> None:
    for _ in range(5):
        bench.add(payload='{"a":1}', tags='{"t":"x"}')
    bench.add("other", scheduled_at=bench.now + 1000)
    with mock.patch("rookery.store.search.FEW", 3):
        run = statements(bench.machine._db, MANY[name], up_to=3)
        assert search(bench.machine._db, MANY[name], "default", Order(), 2, up_to=3)[1:] == (3, True)
        assert search(bench.machine._db, MANY[name], "default", Order(), 2, up_to=4)[1:] == (4, True)
        assert search(bench.machine._db, MANY[name], "default", Order(), 2, up_to=9).is_partial is False
    assert [sql for sql, _ in run if "count(*)" in sql] == []


def test_a_total_that_is_known_without_counting_is_told_whole(bench: Workbench) -> None:
    for _ in range(5):
        bench.add()
    for wanted in (JobFilter(), JobFilter(queue="q"), JobFilter(payload_contains="{}")):
        assert search(bench.machine._db, wanted, "default", Order(), 2, up_to=1)[1:] == (5, False)


@pytest.mark.parametrize("wanted", [JobFilter(), JobFilter(queue="q"), JobFilter(states=("completed",))])
@pytest.mark.parametrize("is_descending", [True, False])
def test_completed_jobs_are_sorted_by_an_index(bench: Workbench, wanted: JobFilter, is_descending: bool) -> None:
    for _ in range(3):
        bench.add()
        bench.run()
        bench.advance(10)
    order = Order("completed_at", is_descending)
    behind = None if is_descending else (0, "")
    ids = [id for _, id, _ in search(bench.machine._db, wanted, "default", order, 2, behind).rows]
    assert ids == sorted(ids, reverse=is_descending)
    assert len(ids) == 2
    if is_descending:
        steps = plans(bench.machine._db, wanted, order)
        assert any("job_ended" in step for step in steps)


def test_most_jobs_of_a_store_are_gone_through_in_their_order(bench: Workbench) -> None:
    for number in range(20):
        bench.add(f"q{number % 2}", payload='{"a":1}')
    for _ in range(40):
        bench.add("rest", scheduled_at=bench.now + 1000)
    most = plans(bench.machine._db, JobFilter(states=("pending",), payload_contains="b"))
    assert "SCAN job" in most
    with mock.patch("rookery.store.search.SCATTERED", 2):
        part = plans(bench.machine._db, JobFilter(states=("pending",), payload_contains="b"))
    assert "SCAN job" not in part
    assert any("job_of_queue" in step for step in part)


def test_jobs_with_an_error_of_a_kind_are_found_by_their_errors(bench: Workbench) -> None:
    for error in ("lost host 1", "lost host 2", "lost port 3"):
        bench.add(max_retries=1)
        bench.fail(bench.take(), error)
    wanted = JobFilter(states=("dead",), error_matches="lost host *")
    assert search(bench.machine._db, wanted, "default", Order(), 5).total == 2
    sources = [sql for sql, _ in statements(bench.machine._db, wanted) if "FROM error WHERE instr" in sql]
    assert len(sources) == 1
