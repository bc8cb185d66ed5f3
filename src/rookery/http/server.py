"""Running the HTTP face on uvicorn: bounded connections, clean start, clean stop."""

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

import uvicorn

from rookery.http.gate import Gate
from rookery.http.protocol import BoundedProtocol
from rookery.http.settings import HttpSettings
from rookery.node.node import Node

KEEP_ALIVE: Final = 75
BACKLOG: Final = 4096


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
                proxy_headers=False,
                timeout_keep_alive=KEEP_ALIVE,
                timeout_graceful_shutdown=shutdown_timeout,  # type: ignore[arg-type]
                backlog=BACKLOG,
                ws="none",
            )
        )
        self._node = node

    def heed_signals(self) -> None:
        """Let SIGTERM and SIGINT stop it from now on, until the process is gone: also before and after it serves."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.handle_exit)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals as they are: uvicorn would heed them only while it serves."""
        yield

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop; asked twice, stop at once."""
        if self.should_exit:
            os._exit(128 + sig)
        self.should_exit = True

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until a signal says stop, or if one has said so already, not at all."""
        self._node.start()
        try:
            await super().serve(sockets)
        finally:
            await self._node.stop()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Send everybody who waits home, then let uvicorn finish what is under way."""
        self._node.end_waiting()
        await super().shutdown(sockets)


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
