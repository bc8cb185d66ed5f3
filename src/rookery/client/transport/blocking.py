"""HTTP over blocking sockets: the transport of `Client`. Threads share it, but never a connection."""

import os
import select
import socket
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, Any, Final
from weakref import finalize

from rookery.client.errors import AnswerTimeout, ServerUnreachable
from rookery.client.transport.addresses import (
    LONGEST_CONNECT,
    LONGEST_IDLE,
    POOL_SIZE,
    TIMEOUT,
    Address,
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

READ_SIZE: Final = 64 << 10


class HttpTransport:
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
        self._begin()

    def _begin(self) -> None:
        self._owner = os.getpid()
        self._idle: deque[_Connection] = deque()
        self._turns: SimpleQueue[None] = SimpleQueue()
        for _ in range(self._pool_size):
            self._turns.put(None)
        self._let_go = finalize(self, _close_all, self._idle)

    def send(self, request: Request[Any]) -> Response:
        """Send it, and hear the whole answer."""
        self._check()
        if request.waits:
            return self._exchange(request)
        self._turns.get()
        try:
            return self._exchange(request)
        finally:
            self._turns.put(None)

    @contextmanager
    def stream(self, request: Request[Any], silence: float) -> "Iterator[BlockingStream]":
        """Send it, and hear the answer as it comes, with at most so many seconds of silence."""
        self._check()
        connection, answer = self._converse(request, silence)
        try:
            yield BlockingStream(connection, answer, silence)
        finally:
            self._put_back(connection, answer)

    def close(self) -> None:
        """Let go of all connections."""
        self._is_closed = True
        _close_all(self._idle)

    def _check(self) -> None:
        if self._is_closed:
            raise RuntimeError("the client is closed")
        if self._owner != os.getpid():
            # The parent's connections are the parent's: a child only lets go of its copies.
            self._let_go()
            self._begin()

    def _exchange(self, request: Request[Any]) -> Response:
        limit = self._timeout + request.waits
        end = monotonic() + limit
        connection, answer = self._converse(request, limit)
        try:
            while not answer.is_whole:
                connection.hear(answer, end - monotonic())
        finally:
            self._put_back(connection, answer)
        return Response(answer.status, b"".join(answer.parts), answer.headers)

    def _converse(self, request: Request[Any], limit: float) -> "tuple[_Connection, AnswerReader]":
        """Send it and hear the head of the answer.

        A kept connection that turns out to be closed, before a single byte has come, is replaced.
        """
        data = self._envelope.wrap(request)
        end = monotonic() + limit
        while True:
            connection, answer = self._take(request.retry), AnswerReader()
            try:
                connection.say(data, limit)
                connection.hear(answer, limit)
                while not answer.has_head:
                    connection.hear(answer, end - monotonic())
                return connection, answer
            except BaseException as error:
                connection.close()
                if isinstance(error, AnswerTimeout) or not isinstance(error, ServerUnreachable):
                    raise
                if not connection.is_used or answer.has_heard or request.retry is not Retry.SAFE:
                    raise

    def _take(self, retry: Retry) -> "_Connection":
        now = monotonic()
        while self._idle:
            try:
                connection = self._idle.pop()
            except IndexError:
                break
            if connection.is_usable(now, retry):
                return connection
            connection.close()
        if self.address.is_tls and self._tls is None:
            self._tls = trusted_certificates()
        tls = self._tls if self.address.is_tls else None
        return _connect(self.address, min(self._timeout, LONGEST_CONNECT), tls)

    def _put_back(self, connection: "_Connection", answer: AnswerReader) -> None:
        if not answer.is_fit or len(self._idle) >= self._pool_size:
            connection.close()
            return
        connection.is_used = True
        connection.idle_since = monotonic()
        self._idle.append(connection)
        if self._is_closed:
            _close_all(self._idle)


class BlockingStream:
    """An answer that is read part by part."""

    def __init__(self, connection: "_Connection", answer: AnswerReader, silence: float) -> None:
        self.status = answer.status
        self.headers: Mapping[str, str] = answer.headers()
        self._connection = connection
        self._answer = answer
        self._silence = silence

    def parts(self) -> Iterator[bytes]:
        """The body as it comes."""
        answer = self._answer
        while True:
            parts, answer.parts = answer.parts, []
            yield from parts
            if answer.is_whole and not answer.parts:
                return
            self._connection.hear(answer, self._silence)

    def read(self) -> bytes:
        """All of the body that has not been read."""
        return b"".join(self.parts())


class _Connection:
    """One connection, used by one thread at a time."""

    __slots__ = ("_poll", "_seconds", "_socket", "idle_since", "is_used")

    def __init__(self, connected: socket.socket) -> None:
        self.is_used = False
        self.idle_since = 0.0
        self._socket = connected
        self._seconds = -1.0
        self._poll = select.poll()
        self._poll.register(connected, select.POLLIN)

    def say(self, data: bytes, seconds: float) -> None:
        """Send a request. If the server does not want to hear it, it may have said why: that is for `hear`."""
        self._limit(seconds)
        try:
            self._socket.sendall(data)
        except TimeoutError:
            raise AnswerTimeout(f"the request could not be sent within {seconds:g} s", was_sent=True) from None
        except OSError:
            pass

    def hear(self, answer: AnswerReader, seconds: float) -> None:
        """Wait at most so long for the next bytes."""
        self._limit(seconds)
        try:
            data = self._socket.recv(READ_SIZE)
        except TimeoutError:
            raise AnswerTimeout("the server did not answer in time", was_sent=True) from None
        except OSError as error:
            raise ServerUnreachable(f"the connection broke: {error.strerror or error}", was_sent=True) from None
        if data:
            answer.feed(data)
        else:
            answer.end()

    def is_usable(self, now: float, retry: Retry) -> bool:
        """Whether it still stands, as far as is known; for what cannot be sent twice, that is made sure first.

        One on which something has come unasked has been closed, or is no good.
        """
        if now - self.idle_since > LONGEST_IDLE:
            return False
        return retry is Retry.SAFE or not self._poll.poll(0)

    def close(self) -> None:
        """Let go of it."""
        self._socket.close()

    def _limit(self, seconds: float) -> None:
        if seconds != self._seconds:
            self._seconds = seconds
            self._socket.settimeout(max(seconds, 0.001))


def _connect(address: Address, seconds: float, tls: "ssl.SSLContext | None") -> _Connection:
    """Try all addresses of the host, one after the other."""
    end = monotonic() + seconds
    fault: Exception | None = None
    try:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise cannot_connect(address, error) from None
    for place in places_of(address, found):
        try:
            connected = socket.create_connection((place, address.port), max(0.01, end - monotonic()))
        except OSError as error:
            fault = worse(fault, error)
            continue
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if tls is None:
            return _Connection(connected)
        try:
            return _Connection(tls.wrap_socket(connected, server_hostname=address.host))
        except BaseException as error:
            connected.close()
            if not isinstance(error, OSError):
                raise
            fault = worse(fault, error)
    raise cannot_connect(address, fault)


def _close_all(connections: "deque[_Connection]") -> None:
    while connections:
        with suppress(IndexError):
            connections.pop().close()
