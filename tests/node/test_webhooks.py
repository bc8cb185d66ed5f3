"""Delivering: room for everybody, a store that cannot be written for a while, and nothing under way twice."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from rookery.engine.ops import DeleteWebhook, Enqueue, NewJob, SaveWebhook
from rookery.node import dispatch
from rookery.node import webhooks as webhooks_module
from rookery.node.batcher import Overloaded
from rookery.node.node import Node, NodeSettings
from rookery.store.webhooks import read_deliveries, read_webhook
from tests.receiver import Receiver, receiving

Body = Callable[[Node], Awaitable[None]]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


def run(path: Path, body: Body) -> None:
    async def test() -> None:
        node = Node(NodeSettings(path, may_reach_loopback=True))
        node.start()
        try:
            async with asyncio.timeout(30):
                await body(node)
        finally:
            await node.stop()

    asyncio.run(test())


async def until(condition: Callable[[], Any]) -> None:
    while not condition():
        await asyncio.sleep(0.005)


async def make_hook(node: Node, url: str, **fields: Any) -> str:
    webhook_id: str = (await node.submit(SaveWebhook(url=url, **fields))).webhook_id
    return webhook_id


async def add(node: Node, count: int, queue: str = "q") -> None:
    await node.submit(Enqueue(jobs=[NewJob(queue=queue) for _ in range(count)]))


def waiting(node: Node, webhook_id: str) -> int:
    """What waits for a webhook, or is still to be looked at for it."""
    webhook = read_webhook(node.reader, webhook_id)
    assert webhook is not None
    return webhook.waiting + webhook.behind


def test_those_who_hang_leave_room_for_the_others(
    tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "MOST_AT_A_TIME", 4)

    async def body(node: Node) -> None:
        hanging = [await make_hook(node, receiver.url(f"/hang/{number}")) for number in range(3)]
        healthy = await make_hook(node, receiver.url("/healthy"))
        await add(node, 30)
        await until(lambda: waiting(node, healthy) == 0)
        assert [waiting(node, hook) for hook in hanging] == [30, 30, 30]

    run(tmp_path / "data", body)
    assert len(receiver.at("/healthy")) == 30
    assert [len(receiver.at(f"/hang/{number}")) for number in range(3)] == [1, 1, 1]


def test_one_webhook_has_at_most_eight_under_way(tmp_path: Path, receiver: Receiver) -> None:
    async def body(node: Node) -> None:
        hook = await make_hook(node, receiver.url("/then-hang"), events=["enqueued"])
        await add(node, 101)
        await until(lambda: len(receiver.at("/then-hang")) >= 1 + 8)
        await asyncio.sleep(0.05)
        assert len(receiver.at("/then-hang")) == 1 + 8
        receiver.released.set()
        await until(lambda: waiting(node, hook) == 0)

    run(tmp_path / "data", body)
    told = Counter(request.event["seq"] for request in receiver.requests)
    assert (len(told), set(told.values())) == (101, {1})


def test_an_outcome_that_cannot_be_written_is_written_later(tmp_path: Path, receiver: Receiver) -> None:
    async def body(node: Node) -> None:
        hook = await make_hook(node, receiver.url("/hang"))
        await add(node, 1)
        await until(lambda: receiver.at("/hang"))
        other = apsw.Connection(str(tmp_path / "data" / "rookery.db"))
        other.execute("BEGIN IMMEDIATE")
        receiver.released.set()
        await until(lambda: node.storage_fault)
        assert waiting(node, hook) == 1
        other.execute("ROLLBACK")
        other.close()
        await until(lambda: waiting(node, hook) == 0)
        assert [delivery.outcome for delivery in read_deliveries(node.reader, hook)] == ["delivered"]

    run(tmp_path / "data", body)
    assert len(receiver.requests) == 1


def test_nothing_is_kept_of_webhooks_that_have_nothing_to_do(tmp_path: Path, receiver: Receiver) -> None:
    async def body(node: Node) -> None:
        for number in range(5):
            hook = await make_hook(node, receiver.url(f"/{number}"))
            await add(node, 3)
            await until(lambda hook=hook: waiting(node, hook) == 0)
            await node.submit(DeleteWebhook(webhook_id=hook))
        assert node.webhooks._lanes == {}

    run(tmp_path / "data", body)


def test_there_is_a_limit_to_the_trials_at_a_time(tmp_path: Path, receiver: Receiver) -> None:
    async def body(node: Node) -> None:
        hook = await make_hook(node, receiver.url("/hang"))
        trials = [asyncio.create_task(node.webhooks.try_out(hook)) for _ in range(webhooks_module.MOST_TRIALS)]
        await until(lambda: len(receiver.at("/hang")) == webhooks_module.MOST_TRIALS)
        with pytest.raises(Overloaded):
            await node.webhooks.try_out(hook)
        receiver.released.set()
        assert {reply.status_code for reply in await asyncio.gather(*trials) if reply} == {200}
        assert len(read_deliveries(node.reader, hook)) == webhooks_module.MOST_TRIALS
        assert await node.webhooks.try_out("nobody") is None

    run(tmp_path / "data", body)
