"""A node that runs schedules: on time, once, and again after a fault."""

import asyncio
from collections.abc import Callable
from typing import Any

import apsw
import pytest

from rookery.engine import Batch, Machine
from rookery.engine.ops import NextRun, RunSchedule, SaveSchedule
from rookery.node.node import Node
from rookery.store.schedules import read_schedule
from tests.node.test_node import LIMIT, Body, enqueue, fetch, run

__all__ = ["run"]

YEARLY = "0 0 1 1 *"


def due_in(node: Node, milliseconds: int, **fields: Any) -> SaveSchedule:
    """A schedule whose first slot is about to come."""
    soon = NextRun(YEARLY, "UTC", node.clock.now() + milliseconds)
    return SaveSchedule(name="s", queue="q", cron=YEARLY, timezone="UTC", next=soon, **fields)


def test_a_slot_is_run_when_it_comes_and_not_before(run: Callable[[Body], None]) -> None:
    async def body(node: Node) -> None:
        op = due_in(node, 150)
        saved = await node.submit(op)
        [job] = await asyncio.wait_for(fetch(node, "q"), LIMIT)
        after = read_schedule(node.reader, saved.schedule_id)
        assert after is not None
        assert after.last_run is not None
        assert after.last_run >= op.next.at
        assert after.next_run is not None
        assert after.next_run > after.last_run
        assert job.queue == "q"

    run(body)


def test_a_schedule_that_comes_sooner_is_not_held_up_by_one_that_comes_later(run: Callable[[Body], None]) -> None:
    async def body(node: Node) -> None:
        later, sooner = due_in(node, 100_000), due_in(node, 100)
        await node.submit(later)
        await node.submit(SaveSchedule(name="t", queue="t", cron=YEARLY, timezone="UTC", next=sooner.next))
        assert len(await asyncio.wait_for(fetch(node, "t"), LIMIT)) == 1

    run(body)


def test_a_slot_whose_commit_failed_is_run_again_a_moment_later(
    run: Callable[[Body], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare, commit = Machine.prepare, Machine.commit
    proposed = 0

    def count(machine: Machine, batch: Batch) -> Any:
        nonlocal proposed
        if any(isinstance(op, RunSchedule) for op in batch.ops):
            proposed += 1
            monkeypatch.setattr(Machine, "commit", fail if proposed == 1 else commit)
        return prepare(machine, batch)

    def fail(machine: Machine) -> None:
        monkeypatch.setattr(Machine, "commit", commit)
        machine._undo()
        raise apsw.FullError("no room")

    async def body(node: Node) -> None:
        monkeypatch.setattr(Machine, "prepare", count)
        await node.submit(due_in(node, 50))
        [job] = await asyncio.wait_for(fetch(node, "q"), LIMIT)
        await node.submit(enqueue("other"))
        assert proposed == 2
        assert node.reader.execute("SELECT count(*) FROM job WHERE id = ?", (job.job_id,)).get == 1
        assert node.reader.execute("SELECT count(*) FROM job").get == 2

    run(body)
