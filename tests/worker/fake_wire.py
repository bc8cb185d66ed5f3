"""A stream without a server, for tests of the worker in the test's own process."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from rookery import App, Worker
from rookery.client.errors import RookeryError, ServerUnreachable
from rookery.client.functions.claimed import ClaimedJob
from rookery.client.transport.stream import Answer, Outcome
from rookery.client.worker import streaming

NOWHERE = "http://127.0.0.1:9"
"""Nobody listens there."""


class FakeWire:
    """What the worker sends is in `frames`; frames are answered at once unless `is_silent`."""

    def __init__(self) -> None:
        self.frames: list[dict[str, Any]] = []
        self.unanswered: list[asyncio.Future[Answer]] = []
        self.is_silent = False
        self.is_open = True
        self.connections = 0

    async def connect(self, url: str, take: Callable[[list[ClaimedJob]], None], kind: type, **options: Any) -> Any:
        self.bring = take
        self.lost: asyncio.Future[RookeryError] = asyncio.get_running_loop().create_future()
        self.connections += 1
        return self

    def send(self, **parts: Any) -> "asyncio.Future[Answer]":
        given = {name: part for name, part in parts.items() if part is not None}
        msgspec.json.encode(given)
        self.frames.append(given)
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        if self.is_silent:
            self.unanswered.append(answer)
        else:
            answer.set_result(fine(given))
        return answer

    async def close(self) -> None:
        if not self.lost.done():
            self.lost.set_result(ServerUnreachable("closed"))

    def told(self, kind: str) -> list[Any]:
        """All messages of a kind: `ack`, `fail`, `release`."""
        return [message for frame in self.frames for message in frame.get(kind, [])]

    @property
    def wants(self) -> list[int]:
        """How many jobs were wanted, each time that it was said."""
        return [frame["want"]["count"] for frame in self.frames if "want" in frame]


def fine(frame: dict[str, Any]) -> Answer:
    """All went well."""
    return Answer(
        acked=[Outcome(status="ok") for _ in frame.get("ack", [])],
        failed=[Outcome(status="ok") for _ in frame.get("fail", [])],
        released=[Outcome(status="ok") for _ in frame.get("release", [])],
    )


def claim(queue: str, number: int = 1, **fields: Any) -> ClaimedJob:
    """A job as the server hands it out."""
    given = {"job_id": f"job_{number}", "lease_token": f"lease_{number}", "payload": msgspec.Raw(b"{}"), **fields}
    return ClaimedJob(queue=queue, **given)


@asynccontextmanager
async def working(app: App, monkeypatch: pytest.MonkeyPatch, **options: Any) -> AsyncIterator[tuple[Worker, FakeWire]]:
    """A worker that is connected."""
    app.url = NOWHERE
    wire = FakeWire()
    monkeypatch.setattr(streaming, "connect", wire.connect)
    worker = Worker(app, transport="stream", shutdown_timeout=0.5, **options)
    running = asyncio.create_task(worker.run())
    try:
        await until(lambda: worker.is_ready)
        yield worker, wire
    finally:
        wire.is_silent = False
        worker.stop()
        await running


async def until(condition: Callable[[], Any]) -> Any:
    """Let the loop turn until something is so."""
    async with asyncio.timeout(20):
        while not (value := condition()):
            await asyncio.sleep(0.001)
        return value
