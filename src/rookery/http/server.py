"""Running the HTTP face on uvicorn: bounded connections, clean start, clean stop."""

import asyncio
import logging
import os
import socket
from types import FrameType
from typing import Final

import msgspec
import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from rookery.http.gate import Gate
from rookery.http.settings import HttpSettings
from rookery.node.node import Node

logger = logging.getLogger(__name__)

LARGEST_HEAD: Final = 64 << 10
HEAD_TIMEOUT: Final = 30.0
KEEP_ALIVE: Final = 75
BACKLOG: Final = 4096


class BoundedProtocol(HttpToolsProtocol):
    """uvicorn's protocol, with an end to heads that are too long or never finish."""

    _head_size = 0
    _is_in_head = False
    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A connection that says nothing is closed like one that has nothing more to say."""
        super().connection_made(transport)
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop counting."""
        self._head_complete()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count the bytes of a head that has not ended yet."""
        if self._is_in_head:
            self._head_size += len(data)
            if self._head_size > LARGEST_HEAD:
                self._refuse(431, "HEAD_TOO_LARGE", f"the request's head is over {LARGEST_HEAD} bytes")
                return
        super().data_received(data)

    def on_message_begin(self) -> None:
        """A head begins."""
        super().on_message_begin()
        self._is_in_head, self._head_size = True, 0
        self._head_timer = self.loop.call_later(HEAD_TIMEOUT, self.timeout_keep_alive_handler)

    def on_headers_complete(self) -> None:
        """The head is whole."""
        self._head_complete()
        super().on_headers_complete()

    def _head_complete(self) -> None:
        self._is_in_head = False
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def send_400_response(self, msg: str) -> None:
        """What is not HTTP gets an error in our shape."""
        self._refuse(400, "PARSE_ERROR", msg)

    def _refuse(self, status: int, code: str, message: str) -> None:
        body = msgspec.json.encode({"error": message, "code": code})
        head = b"content-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(body)
        self.transport.write(STATUS_LINE[status] + head + body)
        self.transport.close()


class HttpServer(uvicorn.Server):
    """uvicorn's server; the first signal stops it gracefully, the second at once."""

    def __init__(self, node: Node, settings: HttpSettings, shutdown_timeout: float) -> None:
        super().__init__(
            uvicorn.Config(
                Gate(node, settings),
                http=BoundedProtocol,
                loop="uvloop",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_keep_alive=KEEP_ALIVE,
                timeout_graceful_shutdown=shutdown_timeout,  # type: ignore[arg-type]
                backlog=BACKLOG,
                ws="none",
            )
        )
        self._node = node

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop; asked twice, stop at once."""
        if self.should_exit:
            os._exit(128 + sig)
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Send everybody who waits home, then let uvicorn finish what is under way."""
        self._node.end_waiting()
        await super().shutdown(sockets)


async def serve(node: Node, settings: HttpSettings, listener: socket.socket, shutdown_timeout: float) -> None:
    """Serve until a signal says stop."""
    server = HttpServer(node, settings, shutdown_timeout)
    await node.start()
    try:
        await server.serve(sockets=[listener])
    finally:
        await node.stop()


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens there."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except BaseException:
        listener.close()
        raise
    listener.setblocking(False)
    return listener

