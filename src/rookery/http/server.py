"""Running the HTTP face on uvicorn: bounded connections, clean start, clean stop."""

import logging
import os
import socket
from types import FrameType
from typing import Final

import uvicorn

from rookery.http.gate import Gate
from rookery.http.protocol import BoundedProtocol
from rookery.http.settings import HttpSettings
from rookery.node.node import Node

logger = logging.getLogger(__name__)

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
    node.start()
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
