"""HTTP in an event loop: the transport of `AsyncClient`. Every loop that uses it has connections of its own."""

import asyncio
import os
import select
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, cast

from rookery.client.errors import AnswerTimeout, ServerUnreachable
from rookery.client.transport.addresses import (
    LONGEST_CONNECT,
    LONGEST_IDLE,
    POOL_SIZE,
    TIMEOUT,
    Envelope,
    cannot_connect,
    check_limits,
    places_of,
    read_url,
    trusted_certificates,
    worse,
)
from rookery.client.transport.answers import AnswerReader
from rookery.client.transport.requests import Request, Response, Retry

if TYPE_CHECKING:
    import ssl

HIGH_WATER: Final = 1 << 20
"""Bytes of a stream that wait to be read; beyond them the server is made to wait."""

_left_behind: Final[list[object]] = []
"""Connections of a parent process: a child must neither use nor close them, so they are never collected either."""


class AsyncHttpTransport:
    """Carries requests over kept connections. At most `pool_size` are under way at a time; long waits do not count."""

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        namespace: str | None = None,
        timeout: float = TIMEOUT,
        pool_size: int = POOL_SIZE,
        tls: "ssl.SSLContext | None" = None,
    ) -> None:
        check_limits(timeout, pool_size)
        self.address = read_url(url)
        self._envelope = Envelope(self.address, api_key, namespace)
        self._timeout = timeout
        self._pool_size = pool_size
        self._tls = tls
        self._is_closed = False
        self._owner = os.getpid()
        self._pools: dict[asyncio.AbstractEventLoop, _Pool] = {}
        self._long_waits: dict[Request[Any], _Connection] = {}

    async def send(self, request: Request[Any]) -> Response:
        """Send it, and hear the whole answer."""
        pool = self._pool()
        if request.waits:
            try:
                return await self._exchange(pool, request)
            finally:
                self._long_waits.pop(request, None)
        async with pool.turns:
            return await self._exchange(pool, request)

    def hurry(self, waiting: Request[Any], other: Request[Any]) -> bool:
        """Have a request that the server lets wait answered now, by sending another one behind it.

        What is answered to the other is not heard. False if the first one is not under way.
        """
        connection = self._long_waits.get(waiting)
        if connection is not None:
            connection.say_more(self._envelope.wrap(other))
        return connection is not None

    @asynccontextmanager
    async def stream(self, request: Request[Any], silence: float) -> "AsyncIterator[AsyncStream]":
        """Send it, and hear the answer as it comes, with at most so many seconds of silence."""
        pool = self._pool()
        connection, answer = await self._converse(pool, request, silence, is_stream=True)
        try:
            yield AsyncStream(connection, answer, silence)
        finally:
            pool.put_back(connection, answer)

    async def close(self) -> None:
        """Let go of all connections."""
        self._is_closed = True
        here = asyncio.get_running_loop()
        pools, self._pools = self._pools, {}
        for loop, pool in pools.items():
            if loop is here:
                await pool.close()
            elif not loop.is_closed():
                loop.call_soon_threadsafe(pool.abort)

    def _pool(self) -> "_Pool":
        """The connections of the loop that runs."""
        if self._is_closed:
            raise RuntimeError("the client is closed")
        if self._owner != os.getpid():
            _left_behind.append(self._pools)
            self._owner, self._pools = os.getpid(), {}
        loop = asyncio.get_running_loop()
        pool = self._pools.get(loop)
        if pool is None:
            for old in [old for old in self._pools if old.is_closed()]:
                del self._pools[old]
            pool = self._pools[loop] = _Pool(self._pool_size)
        return pool

    async def _exchange(self, pool: "_Pool", request: Request[Any]) -> Response:
        limit = self._timeout + request.waits
        connection, answer = await self._converse(pool, request, limit)
        pool.put_back(connection, answer)
        return Response(answer.status, b"".join(answer.parts), answer.headers)

    async def _converse(
        self, pool: "_Pool", request: Request[Any], limit: float, *, is_stream: bool = False
    ) -> "tuple[_Connection, AnswerReader]":
        """Send it and hear the answer, or of a stream the head of the answer.

        A kept connection that turns out to be closed, before a single byte has come, is replaced.
        """
        data = self._envelope.wrap(request)
        while True:
            connection, answer = pool.take(request.retry) or await self._connect(), AnswerReader()
            try:
                connection.say(data, answer, is_stream)
                if request.waits:
                    self._long_waits[request] = connection
                while not (answer.has_head if is_stream else answer.is_whole):
                    await connection.hear(limit)
                return connection, answer
            except BaseException as error:
                connection.abort()
                if isinstance(error, AnswerTimeout) or not isinstance(error, ServerUnreachable):
                    raise
                if not connection.is_used or answer.has_heard or request.retry is not Retry.SAFE:
                    raise

    async def _connect(self) -> "_Connection":
        """Try all addresses of the host, one after the other."""
        address, loop = self.address, asyncio.get_running_loop()
        if address.is_tls and self._tls is None:
            self._tls = await asyncio.to_thread(trusted_certificates)
        tls = self._tls if address.is_tls else None
        fault: Exception | None = None
        try:
            async with asyncio.timeout(min(self._timeout, LONGEST_CONNECT)):
                found = await loop.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
                for place in places_of(address, found):
                    try:
                        _, connection = await loop.create_connection(
                            _Connection, place, address.port, ssl=tls, server_hostname=address.host if tls else None
                        )
                        return connection
                    except OSError as error:
                        fault = worse(fault, error)
        except (OSError, UnicodeError) as error:
            fault = worse(fault, error)
        raise cannot_connect(address, fault)


class AsyncStream:
    """An answer that is read part by part."""

    def __init__(self, connection: "_Connection", answer: AnswerReader, silence: float) -> None:
        self.status = answer.status
        self.headers: Mapping[str, str] = answer.headers()
        self._connection = connection
        self._answer = answer
        self._silence = silence

    async def parts(self) -> AsyncIterator[bytes]:
        """The body as it comes."""
        answer = self._answer
        while True:
            parts, answer.parts = answer.parts, []
            for part in parts:
                yield part
            if answer.parts:
                continue
            if answer.is_whole:
                return
            await self._connection.hear(self._silence)

    async def read(self) -> bytes:
        """All of the body that has not been read."""
        return b"".join([part async for part in self.parts()])


class _Pool:
    """The connections of one event loop."""

    def __init__(self, size: int) -> None:
        self.turns = asyncio.Semaphore(size)
        self._size = size
        self._idle: list[_Connection] = []
        self._is_closed = False

    def take(self, retry: Retry) -> "_Connection | None":
        """One that is kept and still stands, the last used first."""
        now = monotonic()
        while self._idle:
            connection = self._idle.pop()
            if connection.is_usable(now, retry):
                return connection
            connection.abort()
        return None

    def put_back(self, connection: "_Connection", answer: AnswerReader) -> None:
        """Keep it, if it can be used again."""
        if not answer.is_fit or connection.is_hurried or self._is_closed or len(self._idle) >= self._size:
            connection.abort()
            return
        connection.rest(monotonic())
        self._idle.append(connection)

    async def close(self) -> None:
        """Let go of all, and let the loop see it."""
        self.abort()
        await asyncio.sleep(0)

    def abort(self) -> None:
        """Let go of all."""
        self._is_closed = True
        for connection in self._idle:
            connection.abort()
        self._idle.clear()


class _Connection(asyncio.Protocol):
    """One connection, used for one request at a time. Whoever stops waiting for an answer must abort it."""

    def __init__(self) -> None:
        self.is_used = False
        self.is_lost = False
        self.is_hurried = False
        """Whether answers may come that nobody waits for."""
        self.idle_since = 0.0
        self._transport: asyncio.Transport | None = None
        self._answer: AnswerReader | None = None
        self._is_stream = False
        self._is_paused = False
        self._fault: ServerUnreachable | None = None
        self._waiter: asyncio.Future[None] | None = None

    def say(self, data: bytes, answer: AnswerReader, is_stream: bool) -> None:
        """Send a request; the answer is fed with what comes."""
        assert self._transport is not None
        self._answer, self._is_stream, self._fault = answer, is_stream, None
        if self.is_lost:
            self._end()
        else:
            self._transport.write(data)

    def say_more(self, data: bytes) -> None:
        """Send a second request behind the first, unless that is being answered."""
        if self._transport is not None and self._answer is not None and not self._answer.has_heard:
            self.is_hurried = True
            self._transport.write(data)

    async def hear(self, seconds: float) -> None:
        """Wait at most so long until there is more: the whole answer, or of a stream anything."""
        if self._fault is not None:
            raise self._fault
        if self._is_paused and self._transport is not None:
            self._is_paused = False
            self._transport.resume_reading()
        loop = asyncio.get_running_loop()
        self._waiter = loop.create_future()
        timer = loop.call_later(seconds, self._time_out)
        try:
            await self._waiter
        finally:
            timer.cancel()
            self._waiter = None

    def is_usable(self, now: float, retry: Retry) -> bool:
        """Whether it still stands, as far as the loop knows; for what cannot be sent twice, that is made sure first."""
        if self.is_lost or now - self.idle_since > LONGEST_IDLE:
            return False
        return retry is Retry.SAFE or not self._has_news()

    def _has_news(self) -> bool:
        """Whether something has come that the loop has not seen yet: the end of it, or nothing good."""
        assert self._transport is not None
        poll = select.poll()
        poll.register(self._transport.get_extra_info("socket").fileno(), select.POLLIN)
        return bool(poll.poll(0))

    def rest(self, now: float) -> None:
        """Wait for the next request."""
        self._answer = None
        self.is_used = True
        self.idle_since = now

    def abort(self) -> None:
        """Let go of it."""
        self.is_lost = True
        if self._transport is not None:
            self._transport.abort()

    def _time_out(self) -> None:
        self._fail(AnswerTimeout("the server did not answer in time", was_sent=True))

    def _fail(self, fault: ServerUnreachable) -> None:
        self._fault = fault
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(fault)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _end(self) -> None:
        assert self._answer is not None
        try:
            self._answer.end()
        except ServerUnreachable as fault:
            self._fail(fault)
        else:
            self._wake()

    # --- called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """There is a connection."""
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Something came; if nobody has asked for anything, the connection is of no use."""
        answer = self._answer
        if answer is None:
            self.abort()
            return
        try:
            answer.feed(data)
        except ServerUnreachable as fault:
            self._fail(fault)
            self.abort()
            return
        if answer.is_whole:
            self._wake()
        elif self._is_stream:
            self._wake()
            if sum(map(len, answer.parts)) > HIGH_WATER and self._transport is not None:
                self._is_paused = True
                self._transport.pause_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone; an answer may end with it."""
        self.is_lost = True
        if self._answer is not None and not self._answer.is_whole:
            self._end()
