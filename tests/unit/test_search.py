"""Finding jobs: which index answers, and what is kept for it."""

from typing import Any
from unittest import mock

import apsw
import pytest

from rookery.engine.ops import Delete, NewJob, Purge
from rookery.store.search import JobFilter, Order, count_jobs, find_ids, search
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


def plans(db: apsw.Connection, wanted: JobFilter, order: Order | None = None) -> list[str]:
    """How SQLite goes about a search."""
    run: list[tuple[str, Any]] = []

    def note(_: apsw.Cursor, sql: str, bindings: Any) -> bool:
        run.append((sql, bindings))
        return True

    db.exec_trace = note
    search(db, wanted, "default", order or Order(), 50)
    db.exec_trace = None
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
        assert search(bench.machine._db, wanted, "default", Order(), 10) == ([], 0)
        assert count_jobs(bench.machine._db, wanted, "default") == 0
        assert find_ids(bench.machine._db, wanted, "default", up_to=9, after=None, limit=5) == ([], None)


def test_a_walk_leaves_later_jobs_alone(bench: Workbench) -> None:
    ids = [bench.add() for _ in range(5)]
    assert find_ids(bench.machine._db, JobFilter(), "default", up_to=3, after=None, limit=10)[0] == ids[:3]
    page, position = find_ids(bench.machine._db, JobFilter(queue="q"), "default", up_to=3, after=None, limit=2)
    assert page == ids[:2]
    assert find_ids(bench.machine._db, JobFilter(queue="q"), "default", up_to=3, after=position, limit=2)[0] == ids[2:3]
