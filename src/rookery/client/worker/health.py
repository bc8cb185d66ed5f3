"""Answers to the probes of whoever looks after a worker: is it alive, does it take jobs."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final

import msgspec

from rookery.client.worker.lines import CannotStart

LONGEST_REQUEST: Final = 5.0

Checks = dict[str, Callable[[], str | None]]
"""By path: what is wrong, or None if all is well."""


@asynccontextmanager
async def answering_probes(address: tuple[str, int] | None, checks: Checks) -> AsyncIterator[tuple[str, int] | None]:
    """While it lasts, GET of a path answers 200, or 503 with what is wrong. Where it listens, if it does."""
    if address is None:
        yield None
        return

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            async with asyncio.timeout(LONGEST_REQUEST):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(_answer(head, checks))
                await writer.drain()
        writer.close()

    try:
        server = await asyncio.start_server(answer, *address)
    except OSError as error:
        reason = error.strerror if isinstance(error, socket.gaierror) else os.strerror(error.errno or 0)
        place = "{}:{}".format(*address)
        raise CannotStart(f"cannot listen on {place}: {reason} (--health-bind takes another address)") from None
    async with server:
        host, port = server.sockets[0].getsockname()[:2]
        yield host, port


def _answer(head: bytes, checks: Checks) -> bytes:
    method, _, rest = head.partition(b" ")
    path = rest.partition(b" ")[0].partition(b"?")[0].decode("latin-1")
    if path not in checks:
        status, body = "404 Not Found", {"error": f"there is {' and '.join(checks)}"}
    elif method not in (b"GET", b"HEAD"):
        status, body = "405 Method Not Allowed", {"error": "only GET"}
    elif (problem := checks[path]()) is not None:
        status, body = "503 Service Unavailable", {"status": problem}
    else:
        status, body = "200 OK", {"status": "ok"}
    text = msgspec.json.encode(body)
    lines = (
        f"HTTP/1.1 {status}",
        "content-type: application/json",
        f"content-length: {len(text)}",
        "connection: close",
    )
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + (b"" if method == b"HEAD" else text)
