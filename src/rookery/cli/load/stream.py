"""The load over the stream: one WebSocket for all producers, and one for each worker."""

import asyncio
from collections.abc import Sequence
from functools import partial
from time import perf_counter
from typing import Any, Final, cast

import msgspec

from rookery.cli.load.lane import Ended, Lease, NumberedLease, Patience
from rookery.cli.load.settings import Settings
from rookery.cli.remote import Remote
from rookery.client.transport.stream import Outcome, Stream, connect

MOST_CREDIT: Final = 512


class StreamLane:
    """Frames of many jobs; workers are handed jobs as they become claimable."""

    def __init__(self, settings: Settings, remote: Remote, patience: Patience) -> None:
        self._settings = settings
        self._remote = remote
        self._patience = patience
        self._streams: list[Stream[Lease]] = []
        self._inboxes: list[asyncio.Queue[list[Lease]]] = []

    async def open(self) -> None:
        """One for the producers, one for each worker."""
        for _ in range(1 + self._settings.workers):
            inbox: asyncio.Queue[list[Lease]] = asyncio.Queue()
            self._inboxes.append(inbox)
            self._streams.append(await self._patience.insist(partial(self._connect, inbox)))

    async def _connect(self, inbox: "asyncio.Queue[list[Lease]]") -> Stream[Lease]:
        remote = self._remote
        kind: type[Lease] = NumberedLease if self._settings.combined else Lease
        return await connect(remote.url, inbox.put_nowait, kind, api_key=remote.api_key, namespace=remote.namespace)

    async def close(self) -> None:
        """Let go of them."""
        for stream in self._streams:
            await stream.close()
        self._streams.clear()
        self._inboxes.clear()

    async def enqueue(self, jobs: Sequence[bytes]) -> None:
        """One frame."""
        frame = cast(Sequence[Any], msgspec.Raw(b"[" + b",".join(jobs) + b"]"))
        answer = await self._patience.insist(lambda: self._streams[0].send(enqueue=frame))
        _check(answer.enqueued)

    async def work(self, worker: int, ended: Ended) -> None:
        """End jobs as they come; each that is ended makes room for another."""
        settings, stream = self._settings, self._streams[1 + worker]
        want = {
            "queues": [settings.queue_of(worker)],
            "worker_id": f"bench-{worker + 1}",
            "count": min(MOST_CREDIT, settings.fetch_batch_size * settings.slots_of(worker)),
        }
        await self._patience.insist(lambda: stream.send(want=want))
        inbox, size = self._inboxes[1 + worker], settings.ack_batch_size
        async with asyncio.TaskGroup() as group:
            while True:
                jobs = await inbox.get()
                began = perf_counter()
                for start in range(0, len(jobs), size):
                    group.create_task(self._end(stream, jobs[start : start + size], began, ended))

    async def _end(self, stream: Stream[Lease], jobs: Sequence[Lease], began: float, ended: Ended) -> None:
        if self._settings.work_duration:
            await asyncio.sleep(self._settings.work_duration / 1000)
        acks = [{"job_id": job.job_id, "lease_token": job.lease_token} for job in jobs]
        answer = await self._patience.insist(lambda: stream.send(ack=acks))
        _check(answer.acked)
        ended(jobs, began)


def _check(outcomes: list[Outcome] | None) -> None:
    """All must have been taken."""
    for outcome in outcomes or ():
        if outcome.fault is not None:
            raise outcome.fault
