"""The HTTP client's way to the network: it connects to addresses that were checked, and to no others.

Loading this loads the client, so it is loaded only when something is to be sent.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

import httpcore

from rookery.node.addresses import IpAddress

_MOST_CONNECTIONS: Final = 128
_MOST_IDLE: Final = 32
_IDLE: Final = 4.0
"""Seconds. Less than most servers keep an idle connection, so that none is used that is just being closed."""

FindAddresses = Callable[[str, int], Awaitable[list[IpAddress]]]
"""The addresses behind a name that may be connected to; raises if there are none."""


class GuardedNetwork(httpcore.AnyIOBackend):
    """Looks names up itself, so that what was checked is what is connected to."""

    def __init__(self, find: FindAddresses) -> None:
        super().__init__()
        self._find = find

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first address that answers."""
        addresses = await self._find(host, port)
        share = None if timeout is None else timeout / len(addresses)
        *others, last = addresses
        for address in others:
            try:
                return await super().connect_tcp(str(address), port, share, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return await super().connect_tcp(str(last), port, share, local_address, socket_options)


def open_pool(find: FindAddresses) -> httpcore.AsyncConnectionPool:
    """Connections, with the certificates to check others' by."""
    return httpcore.AsyncConnectionPool(
        ssl_context=httpcore.default_ssl_context(),
        max_connections=_MOST_CONNECTIONS,
        max_keepalive_connections=_MOST_IDLE,
        keepalive_expiry=_IDLE,
        network_backend=GuardedNetwork(find),
    )
