"""A stream whose frames come to nothing: what its client has in hand, and how much it may still be sent."""

import asyncio
import json
from pathlib import Path
from typing import Any

import apsw
import pytest

from rookery.engine import Machine
from rookery.engine.ops import Enqueue, NewJob
from rookery.http.call import Call
from rookery.http.frames import JSON_FORM
from rookery.http.settings import HttpSettings
from rookery.http.stream import WorkStream
from rookery.node.node import Node, NodeSettings


def test_a_frame_that_comes_to_nothing_leaves_the_credit_that_it_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def body() -> None:
        node = Node(NodeSettings(tmp_path / "data"))
        heard: list[dict[str, Any]] = []
        node.start()
        call = Call(node, HttpSettings(), {}, None, {}, {}, "default", lambda cost: None)
        stream = WorkStream(call, JSON_FORM, lambda data: heard.append(json.loads(data)), lambda code, reason: None)
        want = {"queues": ["q"], "count": 1, "worker_id": "w"}

        async def hear(condition: Any) -> Any:
            async with asyncio.timeout(20):
                while not (found := [frame for frame in heard if condition(frame)]):
                    await asyncio.sleep(0.002)
            return found[-1]

        await node.submit(Enqueue(jobs=[NewJob(queue="q")]))
        stream.receive(json.dumps({"id": 1, "want": want}).encode())
        job = (await hear(lambda frame: "jobs" in frame))["jobs"][0]
        with monkeypatch.context() as patched:
            patched.setattr(Machine, "commit", _full_disk)
            ack = {"job_id": job["job_id"], "lease_token": job["lease_token"]}
            stream.receive(json.dumps({"id": 2, "ack": [ack], "want": want}).encode())
            assert "error" in await hear(lambda frame: frame.get("id") == 2)
        heard.clear()
        await node.submit(Enqueue(jobs=[NewJob(queue="q")]))
        await hear(lambda frame: "jobs" in frame)
        stream.end()
        await node.stop()

    asyncio.run(body())


def _full_disk(machine: Machine) -> None:
    machine._undo()
    raise apsw.FullError("database or disk is full")
