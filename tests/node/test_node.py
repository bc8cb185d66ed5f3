"""A running node: nobody waits in vain, whatever goes wrong beside them."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from rookery.engine import Batch, Machine
from rookery.engine.ops import Ack, Claim, ClaimedJob, Completion, Enqueue, NewJob, PauseQueue, ResumeQueue, Throttle
from rookery.node import waiters
from rookery.node.batcher import StorageDown, resolver
from rookery.node.node import Node, NodeSettings

LIMIT = 5.0
"""Seconds after which a test gives up."""

Body = Callable[[Node], Awaitable[None]]


@asynccontextmanager
async def running(path: Path) -> AsyncIterator[Node]:
    node = Node(NodeSettings(path))
    node.start()
    try:
        yield node
    finally:
        await node.stop()


@pytest.fixture
def run(tmp_path: Path) -> Callable[[Body], None]:
    """Runs a test's body on a node of its own."""

    def start(body: Body) -> None:
        async def test() -> None:
            async with running(tmp_path / "data") as node, asyncio.timeout(4 * LIMIT):
                await body(node)

        asyncio.run(test())

    return start


def fetch(node: Node, *queues: str, count: int = 1) -> asyncio.Future[list[ClaimedJob]]:
    future: asyncio.Future[list[ClaimedJob]] = asyncio.get_running_loop().create_future()
    node.fetch(Claim(queues=queues, count=count), LIMIT, resolver(future))
    return future


def enqueue(*queues: str, **fields: Any) -> Enqueue:
    return Enqueue(jobs=[NewJob(queue=queue, **fields) for queue in queues])


def test_a_waiter_of_two_queues_does_not_keep_another_from_the_second(run: Callable[[Body], None]) -> None:
    async def body(node: Node) -> None:
        both, second = fetch(node, "a", "b"), fetch(node, "b")
        await node.submit(enqueue("a", "b"))
        assert len(await both) == 1
        assert [job.queue for job in await asyncio.wait_for(second, 20)] == ["b"]

    run(body)


def test_a_waiter_that_takes_less_than_it_may_leaves_the_rest_to_others(run: Callable[[Body], None]) -> None:
    async def body(node: Node) -> None:
        greedy, modest = fetch(node, "a", "b", count=10), fetch(node, "b")
        await node.submit(enqueue("a", "b"))
        assert len(await greedy) == 2
        await node.submit(enqueue("b"))
        assert len(await asyncio.wait_for(modest, 20)) == 1

    run(body)


def test_a_job_that_somebody_waits_for_is_handed_out_by_the_commit_that_adds_it(run: Callable[[Body], None]) -> None:
    async def body(node: Node) -> None:
        first, second, third = fetch(node, "a", count=2), fetch(node, "a"), fetch(node, "a")
        before = node.measures.batch_sizes.count
        await node.submit(enqueue("a", "a", "a"))
        assert (first.done(), second.done(), third.done()) == (True, True, False)
        assert node.measures.batch_sizes.count == before + 1
        assert (len(await first), len(await second)) == (2, 1)

        await node.submit(enqueue("a", scheduled_at=node.clock.now() + 10**9))
        await node.submit(PauseQueue(queue="a"))
        await node.submit(enqueue("a"))
        assert not third.done()
        await node.submit(ResumeQueue(queue="a"))
        assert len(await third) == 1

    run(body)


def test_a_waiter_waits_on_when_the_jobs_it_waits_for_cannot_be_added(
    run: Callable[[Body], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def body(node: Node) -> None:
        waiting = fetch(node, "a")
        with monkeypatch.context() as patch:
            patch.setattr(node._machine, "prepare", failing)
            with pytest.raises(StorageDown):
                await node.submit(enqueue("a"))
        assert not waiting.done()
        await node.submit(enqueue("a"))
        assert len(await waiting) == 1

    def failing(_: Batch) -> Any:
        raise apsw.FullError("the disk is full")

    run(body)


def test_it_is_known_when_somebody_last_asked_for_a_queue(
    run: Callable[[Body], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiters, "MOST_REMEMBERED", 3)

    async def body(node: Node) -> None:
        assert node.last_asked("a") is None
        await node.submit(enqueue("a", "a", "b", "c", "d"))
        before = node.clock.now()
        await fetch(node, "a", "b")
        await fetch(node, "c")
        await fetch(node, "a")
        await fetch(node, "d")
        after = node.clock.now()
        known = {queue: node.last_asked(queue) for queue in "abcd"}
        assert [queue for queue, at in known.items() if at is None] == ["b"]
        assert all(before <= at <= after for at in known.values() if at is not None)
        fetch(node, "b")
        assert (node.last_asked("b") or 0) >= after

    run(body)


def test_a_failing_operation_does_not_hide_what_the_others_of_its_batch_brought(
    run: Callable[[Body], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def body(node: Node) -> None:
        job_id = (await node.submit(enqueue("watched"))).jobs[0].job_id
        [job] = await fetch(node, "watched")
        ended, waiting = node.watch_end(job_id), fetch(node, "first")
        broken = node.submit(Enqueue(jobs=[NewJob(queue="x", payload=b"no text")]))  # type: ignore[arg-type]
        acked = node.submit(Ack(items=[Completion(job_id, job.lease)]))
        others = [node.submit(enqueue("first")), node.submit(enqueue("last"))]
        with pytest.raises(apsw.Error):
            await broken
        assert (await acked).outcomes == [None]
        assert len(await asyncio.wait_for(waiting, 20)) == 1
        await asyncio.wait_for(ended, 20)
        await asyncio.gather(*others)

    run(body)


def test_after_an_undone_batch_waiters_get_what_is_there(
    run: Callable[[Body], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = Machine.commit

    def fail_once(machine: Machine) -> None:
        monkeypatch.setattr(Machine, "commit", commit)
        machine._undo()
        raise apsw.FullError("no room")

    async def body(node: Node) -> None:
        await node.submit(enqueue("q"))
        monkeypatch.setattr(Machine, "commit", fail_once)
        with pytest.raises(StorageDown):
            await fetch(node, "q")
        [job] = await asyncio.wait_for(fetch(node, "q"), 20)
        assert job.attempt == 1

    run(body)


def test_a_listener_that_fails_does_not_stop_the_node(run: Callable[[Body], None]) -> None:
    async def body(node: Node) -> None:
        def fail(_: Any) -> None:
            raise RuntimeError("not my day")

        node.send(enqueue("q"), fail)
        assert len((await node.submit(enqueue("q"))).jobs) == 1

    run(body)


def test_a_rate_that_is_raised_is_noticed_by_those_who_wait(run: Callable[[Body], None]) -> None:
    async def body(node: Node) -> None:
        await node.submit(Throttle(queue="q", rate=1, window=60_000))
        await node.submit(enqueue("q", "q"))
        await fetch(node, "q")
        waiting = fetch(node, "q")
        await asyncio.sleep(0)
        await node.submit(Throttle(queue="q", rate=1, window=300))
        assert len(await asyncio.wait_for(waiting, 20)) == 1

    run(body)


def test_on_a_slow_disk_others_are_served_while_a_commit_is_under_way(
    run: Callable[[Body], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = Machine.commit

    def commit_slowly(machine: Machine) -> None:
        time.sleep(0.02)
        commit(machine)

    async def body(node: Node) -> None:
        monkeypatch.setattr(Machine, "commit", commit_slowly)
        for _ in range(8):
            await node.submit(enqueue("q"))
        enqueued, turns = node.submit(enqueue("q")), 0
        while not enqueued.done():
            await asyncio.sleep(0.001)
            turns += 1
        assert turns > 3

    run(body)


def test_jobs_that_another_process_adds_are_found(run: Callable[[Body], None]) -> None:
    async def body(node: Node) -> None:
        waiting = fetch(node, "q")
        with Machine(node.settings.data_dir / "rookery.db") as other:
            other.apply(Batch(node.clock.now(), [enqueue("q")], entropy=1))
        assert len(await asyncio.wait_for(waiting, 20)) == 1

    run(body)
