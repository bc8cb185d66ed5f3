"""One connection to somebody else's HTTP server: sends a request, hears the answer, can be used again."""

import asyncio
from typing import Final, cast

import httptools

LONGEST_ANSWER: Final = 64 << 10
"""An answer that goes on beyond this is not heard to its end: the connection is given up instead."""


class NoAnswer(Exception):
    """The connection ended, or what came was no answer, before there was a status."""


class Connection(asyncio.Protocol):
    """HTTP/1.1, one request after the other. Whoever stops waiting for an answer must abort it."""

    def __init__(self) -> None:
        self.is_used = False
        self.status_code = 0
        self.answer = b""
        self._parser: httptools.HttpResponseParser | None = None
        self._received = 0
        self._is_fit = False
        self._end: asyncio.Future[None] | None = None
        self._transport: asyncio.Transport | None = None

    async def post(self, request: bytes) -> None:
        """Send a request and hear its answer: the status and the beginning of the body. Raises NoAnswer."""
        assert self._transport is not None
        self.status_code, self.answer, self._received, self._is_fit = 0, b"", 0, False
        self._parser = httptools.HttpResponseParser(self)
        self._end = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        await self._end
        self.is_used = True

    @property
    def is_reusable(self) -> bool:
        """Whether another request can be sent."""
        return self._is_fit and self._transport is not None and not self._transport.is_closing()

    @property
    def has_heard(self) -> bool:
        """Whether anything has come since the last request."""
        return self._received > 0

    def abort(self) -> None:
        """Give it up."""
        if self._transport is not None:
            self._transport.abort()

    # --- called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """There is a connection."""
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Something came; when nobody has asked for anything, the connection is of no use."""
        self._received += len(data)
        if self._parser is None or not self._is_waiting:
            self.abort()
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._give_up(f"what came is not an answer of HTTP: {error}")
        if self._received > LONGEST_ANSWER:
            self._give_up(f"the answer has no status in its first {LONGEST_ANSWER} bytes")

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone; an answer may end with it."""
        self._is_fit = False
        self._parser = None
        self._finish("the connection was closed without an answer" if exc is None else f"the connection broke: {exc}")

    # --- called by the parser

    def on_headers_complete(self) -> None:
        """The head of an answer is there; one that only says to go on is not the answer."""
        assert self._parser is not None
        status_code = self._parser.get_status_code()
        if self._is_waiting and (status_code >= 200 or status_code == 101):
            self.status_code = status_code

    def on_body(self, body: bytes) -> None:
        """More of the body."""
        if self._is_waiting:
            self.answer += body

    def on_message_complete(self) -> None:
        """The answer is whole. If more comes with it, the connection cannot be trusted any longer."""
        assert self._parser is not None
        if self.status_code:
            self._is_fit = self._is_waiting and self._parser.should_keep_alive()
            self._finish("")

    def _give_up(self, fault: str) -> None:
        self._is_fit = False
        self._finish(fault)
        self.abort()

    def _finish(self, fault: str) -> None:
        """No more is waited for: what is there counts if it has a status."""
        if self._end is not None and not self._end.done():
            if self.status_code:
                self._end.set_result(None)
            else:
                self._end.set_exception(NoAnswer(fault))

    @property
    def _is_waiting(self) -> bool:
        return self._end is not None and not self._end.done()
