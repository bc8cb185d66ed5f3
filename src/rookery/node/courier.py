"""Sending requests to URLs that callers have given: to allowed addresses only, in bounded time, never redirected."""

import asyncio
import ssl
import threading
from contextlib import suppress
from time import perf_counter
from typing import Final
from urllib.parse import urlsplit

import msgspec

from rookery import __version__
from rookery.node.addresses import IpAddress, address_fault, literal_address, look_up
from rookery.node.connection import LONGEST_ANSWER, Connection, NoAnswer

ATTEMPT_TIMEOUT: Final = 10.0
"""Seconds for all of it: finding the address, connecting, sending, hearing the answer."""
ANSWER_KEPT: Final = 1024
_MOST_IDLE: Final = 32
_IDLE: Final = 4.0
"""Seconds. Less than most servers keep an idle connection, so that seldom one is used that is just being closed."""
USUAL_HEADERS: Final = {
    "Content-Type": "application/json",
    "User-Agent": f"rookery/{__version__}",
    "Accept": "*/*",
    "Accept-Encoding": "identity",
}
"""What every request says that carries JSON."""
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}

Addresses = list[IpAddress]
Target = tuple[str, str, int]
"""Scheme, host and port: what connections are kept by."""


class Reply(msgspec.Struct):
    """What came of a request: the status, or 0 and why there is none."""

    status_code: int = 0
    error: str | None = None
    answer: str | None = None
    duration_ms: float = 0.0


class Letter(msgspec.Struct, frozen=True):
    """A request to be sent."""

    url: str
    headers: dict[str, str]
    body: bytes


class ForbiddenAddress(Exception):
    """The host has only addresses that the server must not connect to."""


class Courier:
    """Sends requests and tells what came of them, whatever goes wrong on the way."""

    def __init__(self, may_reach_loopback: bool) -> None:
        self._may_reach_loopback = may_reach_loopback
        self._certificates: asyncio.Task[ssl.SSLContext] | None = None
        self._idle: dict[Connection, tuple[Target, asyncio.TimerHandle]] = {}
        self._lookups: dict[str, asyncio.Future[Addresses]] = {}

    async def post(self, url: str, headers: dict[str, str], body: bytes) -> Reply:
        """Send a body. A status that came in time counts, even if the rest of the answer did not."""
        return await self._request("POST", url, headers, body, ATTEMPT_TIMEOUT, ANSWER_KEPT)

    async def get(self, url: str, headers: dict[str, str], timeout: float) -> Reply:
        """Ask for something short; all of the answer is kept."""
        return await self._request("GET", url, headers, b"", timeout, LONGEST_ANSWER)

    async def _request(
        self, method: str, url: str, headers: dict[str, str], body: bytes, timeout: float, kept: int
    ) -> Reply:
        started = perf_counter()
        reply = Reply()
        try:
            async with asyncio.timeout(timeout):
                await self._exchange(method, url, headers, body, reply, kept)
        except TimeoutError:
            reply.error = f"no answer within {timeout:g} s"
        except (ForbiddenAddress, NoAnswer) as fault:
            reply.error = str(fault)
        except Exception as fault:
            reply.error = f"{type(fault).__name__}: {fault}".rstrip(": ")
        if reply.status_code:
            reply.error = _status_fault(reply.status_code)
        reply.duration_ms = round((perf_counter() - started) * 1000, 3)
        return reply

    async def close(self) -> None:
        """Close the connections that are kept; nothing may be under way."""
        for connection, (_, timer) in self._idle.items():
            timer.cancel()
            connection.abort()
        self._idle.clear()
        if self._certificates is not None:
            await asyncio.gather(self._certificates, return_exceptions=True)

    async def _exchange(
        self, method: str, url: str, headers: dict[str, str], body: bytes, reply: Reply, kept: int
    ) -> None:
        parts = urlsplit(url)
        scheme, host = parts.scheme, parts.hostname or ""
        target = (scheme, host, parts.port or _DEFAULT_PORTS[scheme])
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        lines = [f"{method} {path} HTTP/1.1", f"Host: {parts.netloc}", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        request = "\r\n".join((*lines, "", "")).encode("ascii") + body
        connection = self._take_idle(target) or await self._connect(target)
        try:
            await connection.post(request)
        except NoAnswer:
            if not connection.is_used or connection.has_heard:
                raise
            # It was closed while it was kept, which is nobody's fault.
            connection = await self._connect(target)
            await connection.post(request)
        finally:
            if connection.status_code:
                reply.status_code = connection.status_code
                reply.answer = connection.answer[:kept].decode(errors="replace")
            self._give_back(target, connection)

    # --- connections

    def _take_idle(self, target: Target) -> Connection | None:
        for connection, (kept_for, timer) in self._idle.items():
            if kept_for == target and connection.is_reusable:
                timer.cancel()
                del self._idle[connection]
                return connection
        return None

    def _give_back(self, target: Target, connection: Connection) -> None:
        if not connection.is_reusable or len(self._idle) >= _MOST_IDLE:
            connection.abort()
            return
        timer = asyncio.get_running_loop().call_later(_IDLE, self._drop, connection)
        self._idle[connection] = (target, timer)

    def _drop(self, connection: Connection) -> None:
        del self._idle[connection]
        connection.abort()

    async def _connect(self, target: Target) -> Connection:
        """Connect to the first allowed address that answers, and to no other."""
        scheme, host, port = target
        context = await self._load_certificates() if scheme == "https" else None
        name = host if context is not None else None
        addresses = await self._allowed_addresses(host, port)
        for left, address in zip(range(len(addresses) - 1, -1, -1), addresses, strict=True):
            connecting = asyncio.get_running_loop().create_connection(
                Connection, str(address), port, ssl=context, server_hostname=name
            )
            try:
                async with asyncio.timeout(ATTEMPT_TIMEOUT / len(addresses)):
                    _, connection = await connecting
                    return connection
            except OSError:
                if not left:
                    raise
        raise AssertionError("there is at least one address")

    async def _load_certificates(self) -> ssl.SSLContext:
        """What others' certificates are checked by; loading it takes a while, so a thread does it once."""
        if self._certificates is None:
            self._certificates = asyncio.create_task(asyncio.to_thread(_trusted_certificates))
        return await asyncio.shield(self._certificates)

    # --- addresses

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
            lookup = asyncio.get_running_loop().create_future()
            threading.Thread(target=self._look_up_aside, args=(lookup, host, port), daemon=True).start()
            self._lookups[host] = lookup  # not before the thread has started, which may fail
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


def _trusted_certificates() -> ssl.SSLContext:
    """Those of the system, and those that the field has agreed on."""
    import certifi

    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


def _status_fault(status_code: int) -> str | None:
    if 200 <= status_code < 300:
        return None
    if 300 <= status_code < 400:
        return f"answered {status_code}; redirects are not followed"
    return f"answered {status_code}"
