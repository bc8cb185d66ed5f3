"""Standing credit: how much is claimed for a stream, when, and what becomes of what it has no room for."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from rookery.engine.ops import Claim, ClaimedJob, Enqueue, NewJob
from rookery.node import wants
from rookery.node.node import Node, NodeSettings
from rookery.node.wants import Want
from rookery.store.views import read_queue

Body = Callable[[Node, "Hand"], Awaitable[None]]


class Hand:
    """Where jobs arrive."""

    def __init__(self) -> None:
        self.jobs: list[ClaimedJob] = []
        self.want: Want

    def take(self, jobs: list[ClaimedJob]) -> None:
        self.jobs += jobs


@pytest.fixture
def run(tmp_path: Path) -> Callable[[Body], None]:
    """Runs a test's body on a node of its own, with a want that is closed in the end."""

    def start(body: Body) -> None:
        async def test() -> None:
            node, hand = Node(NodeSettings(tmp_path / "data")), Hand()
            node.start()
            hand.want = node.want(hand.take)
            try:
                async with asyncio.timeout(20):
                    await body(node, hand)
            finally:
                hand.want.close()
                await node.stop()

        asyncio.run(test())

    return start


async def add(node: Node, count: int = 1, queue: str = "q") -> None:
    await node.submit(Enqueue(jobs=[NewJob(queue=queue)] * count))


async def until(condition: Callable[[], Any]) -> None:
    while not condition():
        await asyncio.sleep(0.002)


def counts(node: Node, queue: str = "q") -> tuple[int, int]:
    """Pending and active."""
    found = read_queue(node.reader, queue)
    assert found is not None
    return found.pending, found.active


OP = Claim(queues=("q",), worker_id="w")


def test_a_want_is_met_up_to_its_credit_and_further_when_some_is_given_back(run: Callable[[Body], None]) -> None:
    async def body(node: Node, hand: Hand) -> None:
        hand.want.set(OP, 2)
        assert hand.want.is_idle
        await add(node, 5)
        await until(lambda: len(hand.jobs) == 2)
        await add(node)
        assert (len(hand.jobs), hand.want.credit) == (2, 0)
        hand.want.give_back(3)
        await until(lambda: len(hand.jobs) == 5)
        assert counts(node) == (1, 5)

    run(body)


def test_while_it_is_held_up_nothing_is_claimed(run: Callable[[Body], None]) -> None:
    async def body(node: Node, hand: Hand) -> None:
        hand.want.set(OP, 2)
        hand.want.hold_up()
        await add(node, 2)
        hand.want.set(OP, 1)
        await add(node)
        assert hand.jobs == []
        hand.want.go_on()
        await until(lambda: hand.jobs)
        assert counts(node) == (2, 1)

    run(body)


def test_what_was_being_claimed_for_a_want_that_has_shrunk_is_put_back(run: Callable[[Body], None]) -> None:
    async def body(node: Node, hand: Hand) -> None:
        await add(node, 5)
        hand.want.set(OP, 5)
        hand.want.set(OP, 2)
        await until(lambda: hand.jobs and counts(node) == (3, 2))
        assert (len(hand.jobs), hand.want.credit) == (2, 0)

    run(body)


@pytest.mark.parametrize("other", [None, Claim(queues=("other",))])
def test_what_was_being_claimed_for_another_want_is_put_back(run: Callable[[Body], None], other: Claim | None) -> None:
    async def body(node: Node, hand: Hand) -> None:
        await add(node, 5)
        hand.want.set(OP, 5)
        hand.want.set(other, 0 if other is None else 5)
        await until(lambda: counts(node) == (5, 0) and not node.waiting)
        hand.want.give_back(5)
        await add(node)
        assert hand.jobs == []

    run(body)


def test_a_queue_that_is_wanted_is_asked_for_even_without_credit(run: Callable[[Body], None]) -> None:
    async def body(node: Node, hand: Hand) -> None:
        assert node.last_asked("q") is None
        hand.want.set(OP, 1)
        await add(node)
        await until(lambda: hand.jobs)
        before = node.clock.now()
        await until(lambda: node.clock.now() > before)
        asked = node.last_asked("q")
        assert asked is not None
        assert asked > before
        hand.want.set(None, 0)
        ended = node.clock.now()
        await until(lambda: node.clock.now() > ended)
        asked = node.last_asked("q")
        assert asked is not None
        assert asked <= ended

    run(body)


def test_a_worker_that_only_waits_is_noted_again_and_again(
    run: Callable[[Body], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wants, "SEEN_EVERY", 0.01)

    def seen(node: Node) -> int:
        found = node.reader.execute("SELECT last_heartbeat FROM worker WHERE id = 'w'").get
        return int(found or 0)

    async def body(node: Node, hand: Hand) -> None:
        hand.want.set(OP, 1)
        await until(lambda: seen(node))
        first = seen(node)
        await until(lambda: seen(node) > first)

    run(body)


def test_after_a_claim_went_wrong_it_is_tried_again(
    run: Callable[[Body], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wants, "TRY_AGAIN", 0.01)

    async def body(node: Node, hand: Hand) -> None:
        await add(node)
        append, failures = node._log.append, 3

        async def fail(ops: list[Any]) -> list[Any]:
            nonlocal failures
            if failures and any(isinstance(op, Claim) for op in ops):
                failures -= 1
                raise ValueError("a bug")
            return await append(ops)

        monkeypatch.setattr(node._log, "append", fail)
        hand.want.set(OP, 1)
        await until(lambda: hand.jobs)
        assert failures == 0

    run(body)


def test_a_want_over_many_queues_takes_from_all_and_no_more_than_512_at_once(run: Callable[[Body], None]) -> None:
    async def body(node: Node, hand: Hand) -> None:
        names = tuple(f"q{n}" for n in range(4))
        for name in names:
            await add(node, 300, name)
        hand.want.set(Claim(queues=names), 1000)
        sizes = []
        hand.want._deliver = lambda jobs: sizes.append(len(jobs))
        await until(lambda: sum(sizes) == 1000)
        assert max(sizes) <= 512

    run(body)
