"""Sending requests to URLs that callers have given: to allowed addresses only, in bounded time, never redirected.

The HTTP client is loaded with the first request, so that a server that sends none pays nothing for it.
"""

import asyncio
import threading
from contextlib import suppress
from time import perf_counter
from typing import TYPE_CHECKING, Final

import msgspec

from rookery.node.addresses import IpAddress, address_fault, literal_address, look_up

if TYPE_CHECKING:
    from httpcore import AsyncConnectionPool

    from rookery.node.guarded_network import FindAddresses

ATTEMPT_TIMEOUT: Final = 10.0
"""Seconds for all of it: finding the address, connecting, sending, hearing the answer."""
ANSWER_KEPT: Final = 1024
_ANSWER_READ: Final = 64 << 10
"""A longer answer is not read to its end: its connection is given up instead."""

Addresses = list[IpAddress]


class Reply(msgspec.Struct):
    """What came of a request: the status, or 0 and why there is none."""

    status_code: int = 0
    error: str | None = None
    answer: str | None = None
    duration_ms: float = 0.0


class ForbiddenAddress(Exception):
    """The host has only addresses that the server must not connect to."""


class Courier:
    """Sends requests and tells what came of them, whatever goes wrong on the way."""

    def __init__(self, may_reach_loopback: bool) -> None:
        self._may_reach_loopback = may_reach_loopback
        self._pool: asyncio.Task[AsyncConnectionPool] | None = None
        self._lookups: dict[str, asyncio.Future[Addresses]] = {}

    async def post(self, url: str, headers: dict[str, str], body: bytes) -> Reply:
        """Send a body. A status that came in time counts, even if the rest of the answer did not."""
        started = perf_counter()
        reply = Reply()
        try:
            async with asyncio.timeout(ATTEMPT_TIMEOUT):
                await self._exchange(url, headers, body, reply)
        except TimeoutError:
            reply.error = f"no answer within {ATTEMPT_TIMEOUT:g} s"
        except ForbiddenAddress as fault:
            reply.error = str(fault)
        except Exception as fault:
            reply.error = f"{type(fault).__name__}: {fault}".rstrip(": ")
        if reply.status_code:
            reply.error = _status_fault(reply.status_code)
        reply.duration_ms = round((perf_counter() - started) * 1000, 3)
        return reply

    async def _exchange(self, url: str, headers: dict[str, str], body: bytes, reply: Reply) -> None:
        if self._pool is None:
            self._pool = asyncio.create_task(asyncio.to_thread(_open_pool, self._allowed_addresses))
        pool = await asyncio.shield(self._pool)
        limits = dict.fromkeys(("pool", "connect", "write", "read"), ATTEMPT_TIMEOUT)
        async with pool.stream(
            "POST", url, headers=list(headers.items()), content=body, extensions={"timeout": limits}
        ) as response:
            reply.status_code = response.status
            answer = b""
            async for part in response.aiter_stream():
                answer += part
                reply.answer = answer[:ANSWER_KEPT].decode(errors="replace")
                if len(answer) > _ANSWER_READ:
                    return

    async def _allowed_addresses(self, host: str, port: int) -> Addresses:
        literal = literal_address(host)
        found = await self._look_up(host, port) if literal is None else [literal]
        faults = [address_fault(address, self._may_reach_loopback) for address in found]
        allowed = [address for address, fault in zip(found, faults, strict=True) if fault is None]
        if not allowed:
            raise ForbiddenAddress(f"not sent: {faults[0] if faults else f'{host} has no address'}")
        return allowed

    async def _look_up(self, host: str, port: int) -> Addresses:
        """Ask the system, in a thread that nobody has to wait for; one for each name at a time."""
        lookup = self._lookups.get(host)
        if lookup is None:
            lookup = self._lookups[host] = asyncio.get_running_loop().create_future()
            threading.Thread(target=self._look_up_aside, args=(lookup, host, port), daemon=True).start()
        return await asyncio.shield(lookup)

    def _look_up_aside(self, lookup: asyncio.Future[Addresses], host: str, port: int) -> None:
        result: Addresses | Exception
        try:
            result = look_up(host, port)
        except Exception as error:
            result = error
        with suppress(RuntimeError):  # the loop may be gone by now
            lookup.get_loop().call_soon_threadsafe(self._looked_up, lookup, host, result)

    def _looked_up(self, lookup: asyncio.Future[Addresses], host: str, result: Addresses | Exception) -> None:
        del self._lookups[host]
        if isinstance(result, Exception):
            lookup.set_exception(result)
            lookup.exception()  # whoever waited may have gone
        else:
            lookup.set_result(result)

    async def close(self) -> None:
        """Close all connections."""
        if self._pool is not None:
            with suppress(Exception):
                await (await self._pool).aclose()


def _open_pool(find: "FindAddresses") -> "AsyncConnectionPool":
    """Load the client and the certificates; both take a while."""
    from rookery.node.guarded_network import open_pool

    return open_pool(find)


def _status_fault(status_code: int) -> str | None:
    if 200 <= status_code < 300:
        return None
    if 300 <= status_code < 400:
        return f"answered {status_code}; redirects are not followed"
    return f"answered {status_code}"
