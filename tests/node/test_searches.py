"""Searches beside the work: nobody waits for them, and they see what was acknowledged."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import apsw

from rookery.engine.ops import Enqueue, NewJob
from rookery.node.node import Node, NodeSettings
from rookery.node.reads import THREADS
from rookery.store.search import JobFilter, Order, count_jobs, search

ENDLESS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


def endless(db: apsw.Connection) -> None:
    db.execute(ENDLESS).fetchall()


def run(path: Path, body: Callable[[Node], object]) -> None:
    async def test() -> None:
        node = Node(NodeSettings(path))
        node.start()
        try:
            async with asyncio.timeout(30):
                await body(node)  # type: ignore[misc]
        finally:
            await node.stop()

    asyncio.run(test())


def test_work_goes_on_while_every_reader_is_busy(tmp_path: Path) -> None:
    async def body(node: Node) -> None:
        reads = [asyncio.create_task(node.reads.run(endless)) for _ in range(2 * THREADS)]
        await asyncio.sleep(0)
        for _ in range(20):
            await node.submit(Enqueue(jobs=[NewJob(queue="q")]))
        assert not any(read.done() for read in reads)
        for read in reads:
            read.cancel()
        await asyncio.gather(*reads, return_exceptions=True)
        found = await node.reads.run(lambda db: search(db, JobFilter(queue="q"), "default", Order(), 5))
        assert (len(found.rows), found.total) == (5, 20)

    run(tmp_path / "data", body)


def test_a_read_sees_what_was_acknowledged_before_it(tmp_path: Path) -> None:
    async def body(node: Node) -> None:
        for number in range(1, 20):
            await node.submit(Enqueue(jobs=[NewJob(queue="q")]))
            assert await node.reads.run(lambda db: count_jobs(db, JobFilter(queue="q"), "default")) == number

    run(tmp_path / "data", body)
