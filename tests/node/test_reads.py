"""Reads that may take long: they end in time, see one state of the store, and leave their connection usable."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from rookery.engine import Batch, Machine
from rookery.engine.ops import Enqueue, NewJob
from rookery.node.reads import Reads, ReadTimeout
from rookery.store.connections import open_reader

ENDLESS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    Machine(tmp_path / "jobs.db").close()
    return tmp_path / "jobs.db"


def reading(store: Path, timeout: float, test: Callable[[Reads], Any], threads: int = 1) -> Any:
    async def run() -> Any:
        reads = Reads(lambda: open_reader(store), timeout, threads)
        try:
            return await test(reads)
        finally:
            await reads.close()

    return asyncio.run(run())


def count(db: apsw.Connection) -> int:
    return int(db.execute("SELECT count(*) FROM job").get)


def endless(db: apsw.Connection) -> Any:
    return db.execute(ENDLESS).get


def test_a_read_that_takes_too_long_is_ended_and_the_next_one_works(store: Path) -> None:
    async def test(reads: Reads) -> int:
        with pytest.raises(ReadTimeout):
            await reads.run(endless)
        return await reads.run(count)

    assert reading(store, 0.2, test) == 0


def test_waiting_for_a_connection_has_the_same_end(store: Path) -> None:
    async def test(reads: Reads) -> list[Any]:
        return await asyncio.gather(*(reads.run(endless) for _ in range(3)), return_exceptions=True)

    assert [type(outcome) for outcome in reading(store, 0.2, test)] == [ReadTimeout] * 3


def test_a_read_that_nobody_waits_for_any_more_stops_and_frees_its_connection(store: Path) -> None:
    async def test(reads: Reads) -> int:
        task = asyncio.ensure_future(reads.run(endless))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await reads.run(count)

    assert reading(store, 60, test) == 0


def test_a_read_sees_one_state_of_the_store_from_its_beginning_to_its_end(store: Path) -> None:
    def count_twice(db: apsw.Connection) -> tuple[int, int]:
        before = count(db)
        with Machine(store) as machine:
            machine.apply(Batch(1, [Enqueue(jobs=[NewJob(queue="q")])]))
        return before, count(db)

    async def test(reads: Reads) -> tuple[tuple[int, int], int]:
        return await reads.run(count_twice), await reads.run(count)

    assert reading(store, 60, test) == ((0, 0), 1)


def test_a_fault_of_the_read_reaches_the_caller(store: Path) -> None:
    async def test(reads: Reads) -> int:
        with pytest.raises(apsw.SQLError):
            await reads.run(lambda db: db.execute("SELECT nothing FROM nowhere").get)
        return await reads.run(count)

    assert reading(store, 60, test) == 0


def test_closing_ends_reads_that_are_under_way(store: Path) -> None:
    async def test(reads: Reads) -> Any:
        task = asyncio.ensure_future(reads.run(endless))
        await asyncio.sleep(0.05)
        await reads.close()
        return (await asyncio.gather(task, return_exceptions=True))[0]

    assert isinstance(reading(store, 60, test), ReadTimeout)


def test_a_connection_that_cannot_be_opened_costs_nobody_a_place(store: Path) -> None:
    faults = [apsw.CantOpenError("no more files"), apsw.CantOpenError("no more files")]

    def connect() -> apsw.Connection:
        if faults:
            raise faults.pop()
        return open_reader(store)

    async def test() -> int:
        reads = Reads(connect, 5, threads=1)
        for _ in range(2):
            with pytest.raises(apsw.CantOpenError):
                await reads.run(count)
        try:
            return await reads.run(count)
        finally:
            await reads.close()

    assert asyncio.run(test()) == 0


def test_a_read_of_many_short_statements_has_an_end_too(store: Path) -> None:
    def look_again_and_again(db: apsw.Connection) -> None:
        while True:
            count(db)

    async def test(reads: Reads) -> int:
        with pytest.raises(ReadTimeout):
            await reads.run(look_again_and_again)
        return await reads.run(count)

    assert reading(store, 0.05, test) == 0
