"""The load over HTTP: one request a job, or one request for many.

It has a connection of its own, as plain as can be: the server is to be measured, not the client.
"""

import asyncio
from collections.abc import Sequence
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Final, cast

import msgspec

from rookery.cli.load.lane import Ended, Lease, NumberedLease, Patience
from rookery.cli.load.settings import Settings
from rookery.cli.remote import Remote
from rookery.client.errors import RookeryError, ServerUnreachable, error_of
from rookery.client.transport.addresses import Envelope, cannot_connect, read_url, trusted_certificates
from rookery.client.transport.answers import AnswerReader
from rookery.client.transport.requests import API, Request, Response, no_answer

if TYPE_CHECKING:
    import ssl

LONGEST_POLL: Final = 30
_HEAD_END: Final = b"0\r\n\r\n"


class HttpLane:
    """Producers and workers over connections that are kept."""

    def __init__(self, settings: Settings, remote: Remote, patience: Patience, *, in_batches: bool) -> None:
        self._settings = settings
        self._patience = patience
        self._in_batches = in_batches
        self._address = read_url(remote.url)
        head = Envelope(self._address, remote.api_key, remote.namespace).wrap(
            Request("POST", f"{API}/", no_answer, body=b"")
        )
        before, version, after = head.removesuffix(_HEAD_END).partition(b" HTTP/1.1\r\n")
        self._before_path, self._after_path = before, version + after
        self._idle: list[Connection] = []
        kind = NumberedLease if settings.combined else Lease
        self._read_one = msgspec.json.Decoder(kind).decode
        self._read_many = msgspec.json.Decoder(dict[str, list[kind]]).decode  # type: ignore[valid-type]

    async def open(self) -> None:
        """A connection for every request that may be under way."""
        settings = self._settings
        slots = sum(settings.slots_of(worker) for worker in range(settings.workers))
        tls = await asyncio.to_thread(trusted_certificates) if self._address.is_tls else None
        most = settings.concurrency + slots if settings.combined else max(settings.concurrency, slots)
        for _ in range(most):
            self._idle.append(await self._connect(tls))

    async def close(self) -> None:
        """Let go of them."""
        for connection in self._idle:
            connection.abort()
        self._idle.clear()
        await asyncio.sleep(0)

    async def enqueue(self, jobs: Sequence[bytes]) -> None:
        """One request."""
        if self._in_batches:
            await self._post(b"enqueue/batch", b'{"jobs":[' + b",".join(jobs) + b"]}")
        else:
            await self._post(b"enqueue", jobs[0])

    async def work(self, worker: int, ended: Ended) -> None:
        """As many rounds at a time as the worker has slots."""
        settings = self._settings
        asked = {
            "queues": [settings.queue_of(worker)],
            "worker_id": f"bench-{worker + 1}",
            "timeout": LONGEST_POLL,
            **({"count": settings.fetch_batch_size} if self._in_batches else {}),
        }
        rounds = self._work_in_batches if self._in_batches else self._work_one_by_one
        async with asyncio.TaskGroup() as group:
            for _ in range(settings.slots_of(worker)):
                group.create_task(rounds(msgspec.json.encode(asked), ended))

    async def _work_one_by_one(self, asked: bytes, ended: Ended) -> None:
        while True:
            began = perf_counter()
            answer = await self._post(b"fetch", asked)
            if answer.status != 200:
                continue
            job = self._read_one(answer.body)
            await self._do_the_work()
            body = b'{"lease_token":"%b"}' % job.lease_token.encode()
            await self._post(b"ack/" + job.job_id.encode(), body)
            ended([job], began)

    async def _work_in_batches(self, asked: bytes, ended: Ended) -> None:
        size = self._settings.ack_batch_size
        while True:
            began = perf_counter()
            answer = await self._post(b"fetch/batch", asked)
            jobs = self._read_many(answer.body)["jobs"]
            if not jobs:
                continue
            await self._do_the_work()
            for start in range(0, len(jobs), size):
                await self._ack(jobs[start : start + size])
            ended(jobs, began)

    async def _ack(self, jobs: Sequence[Lease]) -> None:
        acks = [{"job_id": job.job_id, "lease_token": job.lease_token} for job in jobs]
        answer = await self._post(b"ack/batch", msgspec.json.encode({"acks": acks}))
        acked = msgspec.json.decode(answer.body)["acked"]
        if acked != len(jobs):
            raise RookeryError(f"the server has taken {acked} of {len(jobs)} acks: somebody else works on the queue")

    async def _do_the_work(self) -> None:
        if self._settings.work_duration:
            await asyncio.sleep(self._settings.work_duration / 1000)

    async def _post(self, path: bytes, body: bytes) -> Response:
        """An answer that is no error; one that asks to wait is waited for."""
        data = b"%b%b%b%d\r\n\r\n%b" % (self._before_path, path, self._after_path, len(body), body)
        return await self._patience.insist(partial(self._exchange, data))

    async def _exchange(self, data: bytes) -> Response:
        connection = self._idle.pop()
        try:
            answer = await connection.exchange(data)
        except BaseException:
            connection.abort()
            raise
        self._idle.append(connection)
        if answer.status >= 400:
            raise error_of(Response(answer.status, b"".join(answer.parts), answer.headers()))
        return Response(answer.status, b"".join(answer.parts))

    async def _connect(self, tls: "ssl.SSLContext | None") -> "Connection":
        address = self._address
        try:
            _, connection = await asyncio.get_running_loop().create_connection(
                Connection, address.host, address.port, ssl=tls, server_hostname=address.host if tls else None
            )
        except (OSError, UnicodeError) as error:
            raise cannot_connect(address, error) from None
        return connection


class Connection(asyncio.Protocol):
    """One connection, one request at a time, without limits of time."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._answer = AnswerReader()
        self._waiter: asyncio.Future[None] | None = None

    async def exchange(self, data: bytes) -> AnswerReader:
        """Send a request, and hear the whole answer."""
        assert self._transport is not None
        if self._transport.is_closing():
            raise ServerUnreachable("the server has closed the connection")
        answer = self._answer = AnswerReader()
        self._waiter = asyncio.get_running_loop().create_future()
        self._transport.write(data)
        await self._waiter
        return answer

    def abort(self) -> None:
        """Let go of it."""
        if self._transport is not None:
            self._transport.abort()

    # --- called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """There is a connection."""
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Something came."""
        try:
            self._answer.feed(data)
        except ServerUnreachable as fault:
            self._wake(fault)
        else:
            if self._answer.is_whole:
                self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone."""
        self._wake(ServerUnreachable("the connection to the server was lost", was_sent=True))

    def _wake(self, fault: ServerUnreachable | None = None) -> None:
        if self._waiter is not None and not self._waiter.done():
            if fault is None:
                self._waiter.set_result(None)
            else:
                self._waiter.set_exception(fault)
