"""The full-text index of a running node: how far it is, and what is known of its making."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from rookery.engine.ops import Enqueue, NewJob
from rookery.node import fulltext
from rookery.node.fulltext import RebuildRecord
from rookery.node.node import Node, NodeSettings
from rookery.store.fulltext import FullTextIndex
from tests.node.test_node import LIMIT, running


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(LIMIT):
        while not condition():
            await asyncio.sleep(0.005)


def test_the_lag_is_what_is_not_in_the_index_yet(tmp_path: Path) -> None:
    async def test() -> None:
        node = Node(NodeSettings(tmp_path))
        await node.submit(Enqueue(jobs=[NewJob(queue="q")] * 3))
        assert node.fulltext.lag == 3
        node.start()
        await until(lambda: node.fulltext.lag == 0)
        assert node.fulltext.position == 3
        await node.stop()

    asyncio.run(test())


def test_without_an_index_nothing_lags(tmp_path: Path) -> None:
    async def test() -> None:
        node = Node(NodeSettings(tmp_path, fulltext_enabled=False))
        node.start()
        await node.submit(Enqueue(jobs=[NewJob(queue="q")]))
        assert node.fulltext.lag == 0
        await node.stop()

    asyncio.run(test())


def test_who_asks_while_the_index_is_made_anew_gets_the_same_answer(tmp_path: Path) -> None:
    async def test() -> None:
        async with running(tmp_path) as node:
            await node.submit(Enqueue(jobs=[NewJob(queue="q", payload='"word"')] * 500))
            assert node.fulltext.rebuild_record == RebuildRecord(ran=False)
            before = node.clock.now()
            first, second = await asyncio.gather(node.fulltext.rebuild(), node.fulltext.rebuild())
            record = node.fulltext.rebuild_record
            assert first == second == record.last_duration_ms
            assert (record.ran, record.last_success) == (True, True)
            assert before <= (record.last_started_at or 0) <= node.clock.now()
            assert len(await node.fulltext.search("word NOT absent", 500, "default")) == 500

    asyncio.run(test())


def test_a_rebuild_that_fails_is_remembered_as_such(tmp_path: Path) -> None:
    async def test() -> None:
        async with running(tmp_path) as node:
            await until(lambda: (tmp_path / "fulltext.db").exists())
            await node.fulltext.rebuild()
            node.fulltext._path = tmp_path
            with pytest.raises(fulltext.IndexDown):
                await node.fulltext.rebuild()
            assert node.fulltext.rebuild_record.last_success is False
            assert node.fulltext.fault is not None

    asyncio.run(test())


def test_an_idle_node_does_not_look_at_the_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0
    advance = FullTextIndex.advance

    def count(index: FullTextIndex) -> bool:
        nonlocal looks
        looks += 1
        return advance(index)

    async def test() -> None:
        monkeypatch.setattr(FullTextIndex, "advance", count)
        monkeypatch.setattr(fulltext, "INTERVAL", 0.001)
        async with running(tmp_path) as node:
            await node.submit(Enqueue(jobs=[NewJob(queue="q")]))
            await until(lambda: node.fulltext.position == 1)
            await asyncio.sleep(0.1)
            quiet = looks
            await asyncio.sleep(0.2)
            assert looks == quiet
            await node.submit(Enqueue(jobs=[NewJob(queue="q")]))
            await until(lambda: node.fulltext.position == 2)

    asyncio.run(test())
