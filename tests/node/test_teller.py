"""Telling webhooks: after the commit, one chunk at a time, never in the way, and nothing is left behind."""

import asyncio
from pathlib import Path

import apsw
import pytest

from rookery.engine import Batch, Machine, outbox
from rookery.engine.ops import AnyOperation, Enqueue, NewJob, SaveWebhook, TellWebhooks
from rookery.node import teller as teller_module
from rookery.node.node import Node
from rookery.store.webhooks import read_webhook
from tests.conftest import START
from tests.node.test_webhooks import add, make_hook, run, until

NOWHERE = "http://127.0.0.1:9/"


def counts(node: Node, webhook_id: str) -> tuple[int, int]:
    """How many events a webhook has not been told of, and how many deliveries wait for it."""
    webhook = read_webhook(node.reader, webhook_id)
    assert webhook is not None
    return webhook.behind, webhook.waiting


def watch_batches(node: Node, monkeypatch: pytest.MonkeyPatch) -> list[list[AnyOperation]]:
    """The batches that the node's machine gets from now on."""
    seen: list[list[AnyOperation]] = []
    prepare = node._machine.prepare

    def watched(batch: Batch) -> object:
        seen.append(batch.ops)
        return prepare(batch)

    monkeypatch.setattr(node._machine, "prepare", watched)
    return seen


def tells(batches: list[list[AnyOperation]]) -> list[int]:
    """How many of each batch's operations tell webhooks."""
    return [sum(isinstance(op, TellWebhooks) for op in batch) for batch in batches]


def test_chunks_go_one_by_one_and_others_have_their_turn_between(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "MOST_PAIRS", 10)
    monkeypatch.setattr(teller_module, "LEAST_REST", 0.0)
    monkeypatch.setattr(teller_module, "REST", 0.0)

    async def body(node: Node) -> None:
        hook = await make_hook(node, NOWHERE, queues=["q"], retry_limit=100)
        batches = watch_batches(node, monkeypatch)
        await add(node, 200)
        others = 0
        while counts(node, hook)[0] > 0:
            await add(node, 1, "elsewhere")
            others += 1
        assert others > 1
        assert max(tells(batches)) == 1
        assert sum(tells(batches)) >= 20
        assert counts(node, hook) == (0, 200)

    run(tmp_path / "data", body)


def test_a_backlog_does_not_keep_the_loop_to_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "MOST_PAIRS", 1)

    async def body(node: Node) -> None:
        hook = await make_hook(node, NOWHERE, queues=["q"], retry_limit=100)
        await add(node, 50)
        seen = set()
        while counts(node, hook)[0] > 0:
            seen.add(counts(node, hook)[0])
            await asyncio.sleep(0)
        assert len(seen) > 10

    run(tmp_path / "data", body)


def test_nothing_is_proposed_while_there_is_nothing_to_tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def body(node: Node) -> None:
        batches = watch_batches(node, monkeypatch)
        await add(node, 3)
        hook = await make_hook(node, NOWHERE, events=["dead"])
        await node.submit(SaveWebhook(webhook_id=hook, retry_limit=5))
        await asyncio.sleep(2 * teller_module.LEAST_REST)
        assert sum(tells(batches)) == 0
        await add(node, 3)
        await until(lambda: counts(node, hook) == (0, 0))
        await asyncio.sleep(2 * teller_module.LEAST_REST)
        assert sum(tells(batches)) == 1

    run(tmp_path / "data", body)


def test_what_a_server_that_died_has_not_told_is_told_at_the_next_start(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    with Machine(tmp_path / "data" / "rookery.db") as machine:
        machine.apply(Batch(START, [SaveWebhook(webhook_id="one", url=NOWHERE, retry_limit=100)]))
        machine.apply(Batch(START, [Enqueue(jobs=[NewJob(queue="q") for _ in range(3)])]))

    async def body(node: Node) -> None:
        await until(lambda: counts(node, "one") == (0, 3))

    run(tmp_path / "data", body)


def test_a_store_that_cannot_be_written_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(teller_module, "PAUSE_AFTER_FAULT", 0.01)

    async def body(node: Node) -> None:
        hook = await make_hook(node, NOWHERE, retry_limit=100)
        look = node._teller.look
        monkeypatch.setattr(node._teller, "look", lambda: None)
        await add(node, 1)
        monkeypatch.setattr(node._teller, "look", look)
        other = apsw.Connection(str(tmp_path / "data" / "rookery.db"))
        other.execute("BEGIN IMMEDIATE")
        node._teller.look()
        await until(lambda: node.storage_fault)
        assert counts(node, hook) == (1, 0)
        other.execute("ROLLBACK")
        other.close()
        await until(lambda: counts(node, hook) == (0, 1))

    run(tmp_path / "data", body)
