"""Bulk operations of a running node: what goes wrong is counted or waited out, and others are not held up."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from rookery.engine import Machine, manage
from rookery.engine.jobs import Job
from rookery.engine.ledger import Ledger
from rookery.engine.ops import CHUNK, Bulk, Enqueue, JobOperation, NewJob, StartBulk
from rookery.node import bulks
from rookery.node.batcher import StorageDown
from rookery.node.bulks import AtOnce
from rookery.node.node import Node, NodeSettings
from rookery.store.bulks import BulkRecord, read_bulk
from rookery.store.filters import JobFilter
from rookery.store.views import read_queue

LIMIT = 20.0
"""Seconds after which a test gives up."""

Body = Callable[[Node], Awaitable[None]]


@asynccontextmanager
async def running(path: Path, **settings: Any) -> AsyncIterator[Node]:
    node = Node(NodeSettings(path, **settings))
    node.start()
    try:
        yield node
    finally:
        await node.stop()


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., None]:
    """Runs a test's body on a node of its own."""

    def start(body: Body, **settings: Any) -> None:
        async def test() -> None:
            async with running(tmp_path / "data", **settings) as node, asyncio.timeout(LIMIT):
                await body(node)

        asyncio.run(test())

    return start


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulks, "_PAUSE_AFTER_FAULT", 0.01)


async def add_many(node: Node, count: int) -> list[str]:
    enqueued = await node.submit(Enqueue(jobs=[NewJob(queue="q") for _ in range(count)]))
    return [job.job_id for job in enqueued.jobs]


def record(node: Node, bulk_id: str) -> BulkRecord:
    found = read_bulk(node.reader, bulk_id)
    assert found is not None
    return found


async def until_done(node: Node, bulk_id: str) -> BulkRecord:
    while True:
        news = node.bulks.news.next()
        found = record(node, bulk_id)
        if found.finished_at is not None:
            return found
        await news


def counts(node: Node) -> tuple[int, int]:
    """How many jobs are pending, and how many cancelled."""
    queue = read_queue(node.reader, "q")
    assert queue is not None
    return queue.pending, queue.cancelled


def stumble_over(monkeypatch: pytest.MonkeyPatch, bad: set[str]) -> None:
    """Let acting on some jobs show a bug."""
    act = manage.act

    def stumble(ledger: Ledger, job: Job, op: JobOperation) -> Any:
        if job.id in bad:
            raise RuntimeError("a bug")
        return act(ledger, job, op)

    monkeypatch.setattr(manage, "act", stumble)


def test_jobs_that_a_bug_shows_in_are_counted_as_errors_and_the_others_are_done(
    run: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def body(node: Node) -> None:
        ids = await add_many(node, 2 * CHUNK + 10)
        bad = {ids[0], ids[3], ids[4], ids[CHUNK + 7], ids[-1]}
        stumble_over(monkeypatch, bad)
        bulk_id = await node.bulks.begin(StartBulk(action="cancel", total=len(ids)), ids)

        done = await until_done(node, bulk_id)

        assert (done.status, done.processed, done.affected, done.errors) == ("completed", len(ids), len(ids) - 5, 5)
        assert {failure.job_id for failure in done.view().failures} == bad
        assert {failure.error for failure in done.view().failures} == {"the server failed at it: its log says more"}
        assert counts(node) == (5, len(ids) - 5)

    run(body)


def test_the_same_is_so_for_a_filter(run: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    async def body(node: Node) -> None:
        ids = await add_many(node, CHUNK)
        stumble_over(monkeypatch, {ids[17], ids[-1]})
        bulk_id = await node.bulks.begin(StartBulk(action="cancel", total=len(ids), wanted=JobFilter(queue="q")))

        done = await until_done(node, bulk_id)

        assert (done.status, done.processed, done.affected, done.errors) == ("completed", CHUNK, CHUNK - 2, 2)

    run(body)


def test_the_same_is_so_at_once(run: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    async def body(node: Node) -> None:
        ids = await add_many(node, CHUNK + 5)
        stumble_over(monkeypatch, {ids[2], ids[-1]})

        assert await node.bulks.do(Bulk(action="cancel", job_ids=[*ids, "unknown"])) == AtOnce(CHUNK + 3, 1, 2)
        assert counts(node) == (2, CHUNK + 3)

    run(body)


def test_a_full_disk_is_waited_out_and_nothing_is_counted_for_it(
    run: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    commit, refused = Machine.commit, 0

    def no_room(machine: Machine) -> None:
        nonlocal refused
        refused += 1
        if refused == 5:
            monkeypatch.setattr(Machine, "commit", commit)
        machine._undo()
        raise apsw.FullError("no room")

    async def body(node: Node) -> None:
        ids = await add_many(node, CHUNK + 1)
        bulk_id = await node.bulks.begin(StartBulk(action="cancel", total=len(ids)), ids)
        monkeypatch.setattr(Machine, "commit", no_room)

        done = await until_done(node, bulk_id)

        assert refused == 5
        assert (done.status, done.processed, done.affected, done.errors) == ("completed", CHUNK + 1, CHUNK + 1, 0)

    run(body)


def test_a_bulk_whose_jobs_cannot_be_found_fails_and_the_next_has_its_turn(
    run: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    look = bulks.next_targets

    def look_in_vain(db: apsw.Connection, record: BulkRecord, limit: int) -> Any:
        if record.filter is not None:
            db.execute(
                "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n) SELECT max(n) FROM n"
            ).fetchall()
        return look(db, record, limit)

    async def body(node: Node) -> None:
        [job_id] = await add_many(node, 1)
        monkeypatch.setattr(bulks, "next_targets", look_in_vain)
        hopeless = await node.bulks.begin(StartBulk(action="cancel", total=1, wanted=JobFilter()))
        other = await node.bulks.begin(StartBulk(action="hold", total=1), [job_id])

        failed, done = await until_done(node, hopeless), await until_done(node, other)

        assert (failed.status, failed.processed, failed.affected) == ("failed", 0, 0)
        assert "longer than 0.05 s" in (failed.error or "")
        assert (done.status, done.affected) == ("completed", 1)

    run(body, read_timeout=50)


def test_while_others_want_something_done_a_bulk_rests_after_each_chunk(
    run: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulks, "REST", 1e9)

    async def body(node: Node) -> None:
        ids = await add_many(node, 10 * CHUNK)
        undisturbed = await node.bulks.begin(StartBulk(action="hold", total=len(ids)), ids)
        assert (await until_done(node, undisturbed)).affected == len(ids)

        bulk_id = await node.bulks.begin(StartBulk(action="approve", total=len(ids)), ids)
        for _ in range(1000):
            await node.submit(Enqueue(jobs=[NewJob(queue="other")]))
        assert 0 < record(node, bulk_id).processed < len(ids)

    run(body)


def test_a_bulk_whose_jobs_could_not_all_be_listed_is_interrupted(
    run: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    commit, commits = Machine.commit, 0

    def fail_the_second(machine: Machine) -> None:
        nonlocal commits
        commits += 1
        if commits == 2:
            machine._undo()
            raise apsw.FullError("no room")
        commit(machine)

    async def body(node: Node) -> None:
        ids = await add_many(node, 2)
        monkeypatch.setattr(Machine, "commit", fail_the_second)
        with pytest.raises(StorageDown):
            await node.bulks.begin(StartBulk(action="cancel", total=2), ids)
        [bulk_id] = node.reader.execute("SELECT id FROM bulk").fetchone()

        done = await until_done(node, bulk_id)

        assert (done.status, done.error, done.processed) == ("failed", "interrupted", 0)
        assert counts(node) == (2, 0)

    run(body)


def test_a_bulk_goes_on_where_another_node_was_stopped(tmp_path: Path) -> None:
    async def first() -> str:
        async with running(tmp_path) as node:
            ids = await add_many(node, 40 * CHUNK)
            bulk_id = await node.bulks.begin(StartBulk(action="cancel", total=len(ids)), ids)
            while record(node, bulk_id).processed == 0:
                await node.bulks.news.next()
            return bulk_id

    async def second(bulk_id: str) -> None:
        async with running(tmp_path) as node, asyncio.timeout(LIMIT):
            assert 0 < record(node, bulk_id).processed < 40 * CHUNK
            done = await until_done(node, bulk_id)
            assert (done.status, done.processed, done.affected) == ("completed", 40 * CHUNK, 40 * CHUNK)
            assert counts(node) == (0, 40 * CHUNK)

    asyncio.run(second(asyncio.run(first())))
