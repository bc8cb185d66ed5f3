"""Streams that are cut at random, in the middle of frames too: each job is finished once, and none is lost."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from rookery.client.errors import RookeryError
from rookery.client.records import FetchedJob
from rookery.client.transport.stream import Answer, Stream, connect
from tests.conftest import Api, ServerProcess

JOBS = 600
WORKERS = 4
LEASE = 2


class Cutter:
    """Passes bytes on between clients and the server, until it has had enough of a connection."""

    def __init__(self, chance: random.Random, port: int) -> None:
        self._chance = chance
        self._port = port
        self.is_cutting = True
        self.cuts = 0

    async def start(self) -> str:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def stop(self) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._port)
        except OSError:
            writer.transport.abort()
            return
        budget = [self._chance.randint(500, 40_000)]
        both = {
            asyncio.ensure_future(self._pass_on(reader, far_writer, budget)),
            asyncio.ensure_future(self._pass_on(far_reader, writer, budget)),
        }
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        for half in both:
            half.cancel()
        await asyncio.gather(*both, return_exceptions=True)
        for end in (writer, far_writer):
            end.transport.abort()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, budget: list[int]) -> None:
        with suppress(OSError):
            while data := await reader.read(4096):
                budget[0] -= len(data)
                if budget[0] < 0 and self.is_cutting:
                    writer.write(data[: self._chance.randrange(len(data))])
                    await writer.drain()
                    self.cuts += 1
                    return
                writer.write(data)
                await writer.drain()


class Client:
    """Connects again and again, and has one thing done after the other on the stream."""

    def __init__(self, url: str, done: asyncio.Event) -> None:
        self._url = url
        self.done = done

    async def run(self) -> None:
        while not self.done.is_set():
            try:
                stream = await connect(self._url, self.take, FetchedJob, timeout=5)
            except RookeryError:
                await asyncio.sleep(0.01)
                continue
            try:
                await self.work(stream)
            except RookeryError:
                pass
            finally:
                await stream.close()

    def take(self, jobs: list[FetchedJob]) -> None:
        raise AssertionError("nobody asked for jobs")

    async def work(self, stream: Stream[FetchedJob]) -> None:
        raise NotImplementedError


class Producer(Client):
    """Adds jobs under ids of its own, so that it can say them again when it got no answer."""

    def __init__(self, url: str, done: asyncio.Event) -> None:
        super().__init__(url, done)
        self.left = [f"j{number}" for number in range(JOBS)]

    async def work(self, stream: Stream[FetchedJob]) -> None:
        while self.left:
            frame = self.left[:20]
            jobs = [{"queue": "q", "job_id": id, "max_retries": 1000, "max_lost_leases": 0} for id in frame]
            answer = await stream.send(enqueue=jobs)
            assert answer.enqueued is not None
            assert {outcome.code for outcome in answer.enqueued} <= {None, "CONFLICT"}
            self.left = self.left[len(frame) :]
        self.done.set()


class Worker(Client):
    """Finishes jobs, some of which it says that it has got before; says its acks again when it got no answer."""

    def __init__(self, url: str, done: asyncio.Event, chance: random.Random, finished: Counter[str]) -> None:
        super().__init__(url, done)
        self._chance = chance
        self._finished = finished
        self._in_hand: list[FetchedJob] = []
        self._unanswered: list[FetchedJob] = []

    def take(self, jobs: list[FetchedJob]) -> None:
        self._in_hand += jobs

    async def work(self, stream: Stream[FetchedJob]) -> None:
        kept = [job for job in self._in_hand if self._chance.random() < 0.5]
        self._in_hand.clear()
        await self._finish(stream, self._unanswered or kept)
        await stream.send(want={"queues": ["q"], "count": 10, "lease_duration": LEASE})
        while not self.done.is_set():
            await asyncio.sleep(self._chance.random() * 0.01)
            if not stream.is_open:
                return
            if self._in_hand:
                number = self._chance.randint(1, len(self._in_hand))
                jobs, self._in_hand = self._in_hand[:number], self._in_hand[number:]
                if self._chance.random() < 0.3:
                    await stream.send(got=[job.job_id for job in self._in_hand])
                if self._chance.random() < 0.2:
                    await stream.send(release=[_lease(job) for job in jobs])
                else:
                    await self._finish(stream, jobs)

    async def _finish(self, stream: Stream[FetchedJob], jobs: list[FetchedJob]) -> None:
        self._unanswered = jobs
        answer: Answer = await stream.send(ack=[_lease(job) for job in jobs])
        self._unanswered = []
        for job, outcome in zip(jobs, answer.acked or [], strict=True):
            assert outcome.code in (None, "LEASE_LOST", "ACK_ERROR"), outcome
            if outcome.code is None:
                self._finished[f"{job.job_id} {job.lease_token}"] += 1


def _lease(job: FetchedJob) -> dict[str, Any]:
    return {"job_id": job.job_id, "lease_token": job.lease_token}


async def run_chaos(server: ServerProcess, chance: random.Random) -> tuple[Counter[str], int]:
    """Let producers and workers work over connections that break, until all is done; who finished what, and cuts."""
    finished: Counter[str] = Counter()
    cutter = Cutter(chance, int(server.url.rpartition(":")[2]))
    url = await cutter.start()
    all_added, all_done = asyncio.Event(), asyncio.Event()
    workers = [Worker(url, all_done, chance, finished) for _ in range(WORKERS)]
    running = [asyncio.ensure_future(client.run()) for client in (Producer(url, all_added), *workers)]
    api = Api(server)
    async with asyncio.timeout(120):
        await all_added.wait()
        while api.get("/queues/q").json()["completed"] < JOBS:
            await asyncio.sleep(0.05)
    all_done.set()
    await asyncio.gather(*running)
    await cutter.stop()
    return finished, cutter.cuts


def test_streams_that_are_cut_lose_no_job_and_finish_none_twice(start_server: Callable[..., ServerProcess]) -> None:
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    server = start_server("--rate-limit-enabled=false", "--durability=relaxed", "--stream-max-fps=100000")
    finished, cuts = asyncio.run(run_chaos(server, random.Random(seed)))
    assert cuts > 0
    counts = server.http.get("/api/v1/queues/q").json()
    assert (counts["completed"], counts["active"], counts["pending"]) == (JOBS, 0, 0)
    assert len({key.partition(" ")[0] for key in finished}) == len(finished), "two leases of one job were both finished"
    events: Counter[tuple[str, str]] = Counter()
    after = 0
    while page := server.http.get("/api/v1/cluster/events", params={"after_seq": after, "limit": 1000}).json()[
        "events"
    ]:
        events.update((event["job_id"], event["type"]) for event in page)
        after = page[-1]["seq"]
    assert {events[f"j{number}", "completed"] for number in range(JOBS)} == {1}
    assert {events[f"j{number}", "enqueued"] for number in range(JOBS)} == {1}
