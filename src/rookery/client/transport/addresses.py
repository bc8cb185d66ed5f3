"""Where a server is, and what every request to it begins with."""

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote, urlsplit

from rookery import __version__
from rookery.client.errors import ServerUnreachable
from rookery.client.transport.requests import Request

if TYPE_CHECKING:
    import ssl

DEFAULT_URL: Final = "http://localhost:8080"
POOL_SIZE: Final = 32
TIMEOUT: Final = 30.0
LONGEST_CONNECT: Final = 10.0
LONGEST_IDLE: Final = 60.0
"""Seconds after which a kept connection is not trusted any more."""
_LOOPBACK: Final = ("127.0.0.1", "::1")
_PORTS: Final = {"http": 80, "https": 443}


class Address(NamedTuple):
    """A server, taken apart from its URL."""

    url: str
    host: str
    port: int
    is_tls: bool
    prefix: str
    """What all paths begin with, if the server is behind something that adds it."""
    authority: str
    """The value of the Host header."""

    @property
    def place(self) -> str:
        """Host and port, for messages."""
        return f"{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


def read_url(url: str) -> Address:
    """Take a URL apart; `http://` goes without saying. Raises ValueError."""
    whole = url.strip() if "://" in url else f"http://{url.strip()}"
    try:
        parts = urlsplit(whole)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise ValueError(f"{url!r} is not the URL of a server: {error}") from None
    if parts.scheme not in _PORTS:
        raise ValueError(f"{url!r} is not the URL of a server: it must begin with http:// or https://")
    if parts.username is not None or parts.password is not None:
        raise ValueError("the URL of a server must not contain a user name or password (use an API key)")
    if parts.query or parts.fragment:
        raise ValueError(f"{url!r} is not the URL of a server: it must end with its host, or with a path")
    host = _ascii(host, url)
    default = _PORTS[parts.scheme]
    bracketed = f"[{host}]" if ":" in host else host
    return Address(
        url=whole.rstrip("/"),
        host=host,
        port=port or default,
        is_tls=parts.scheme == "https",
        prefix=quote(parts.path.rstrip("/"), safe="/%:@!$&'()*+,;=~"),
        authority=bracketed if port in (None, default) else f"{bracketed}:{port}",
    )


def _ascii(host: str, url: str) -> str:
    try:
        name = host if host.isascii() else host.encode("idna").decode()
    except UnicodeError:
        name = ""
    if not name or any(character <= " " or character in '"<>\\^`{|}' for character in name):
        raise ValueError(f"{url!r} is not the URL of a server: it has no host")
    return name


def check_limits(timeout: float, pool_size: int) -> None:
    """Refuse what would never let a request through."""
    if not timeout > 0:
        raise ValueError(f"timeout must be more than 0 seconds, not {timeout}")
    if pool_size < 1:
        raise ValueError(f"pool_size must be at least 1, not {pool_size}")


def places_of(address: Address, found: Iterable[tuple[Any, ...]]) -> list[str]:
    """The addresses to try, in this order, from what a look-up has found. `localhost` is both of them, always."""
    places = [str(entry[4][0]) for entry in found]
    return list(dict.fromkeys([*places, *(_LOOPBACK if address.host == "localhost" else ())]))


def worse(fault: Exception | None, error: Exception) -> Exception:
    """Of two addresses of a host that did not work, the fault to tell: anything says more than that nobody is there."""
    return error if fault is None or isinstance(fault, ConnectionRefusedError) else fault


def cannot_connect(address: Address, error: BaseException | None) -> ServerUnreachable:
    """The error for a server that cannot be reached."""
    is_plain = isinstance(error, ConnectionError) or type(error) is OSError
    if isinstance(error, OSError) and error.errno and error.errno > 0 and is_plain:
        reason = os.strerror(error.errno)
    else:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error) or "timed out"
    return ServerUnreachable(f"cannot connect to {address.place}: {reason}")


class Envelope:
    """Puts requests into bytes: the head that they all share is made once."""

    def __init__(self, address: Address, api_key: str | None, namespace: str | None) -> None:
        headers = {
            "host": address.authority,
            "user-agent": f"rookery-python/{__version__}",
            "x-api-key": api_key,
            "x-rookery-namespace": namespace,
            "x-corvo-namespace": namespace,
        }
        self._shared = "".join(_line(name, value) for name, value in headers.items() if value)
        self._prefix = address.prefix

    def wrap(self, request: Request[Any]) -> bytes:
        """A whole request."""
        body = request.body
        own = "".join([_line(name, value) for name, value in request.headers.items()])
        if body is not None:
            own += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n"
        elif request.method != "GET":
            own += "content-length: 0\r\n"
        head = f"{request.method} {self._prefix}{request.target} HTTP/1.1\r\n{self._shared}{own}\r\n"
        return head.encode() + (body or b"")


def _line(name: str, value: str) -> str:
    if not value.isprintable():
        raise ValueError(f"{name}: the value has characters that a header cannot have")
    return f"{name}: {value}\r\n"


def from_environment(given: str | None, name: str) -> str | None:
    """What was given, or else what the environment says: `ROOKERY_URL`, or `CORVO_URL`."""
    return given or os.environ.get(f"ROOKERY_{name}") or os.environ.get(f"CORVO_{name}") or None


def trusted_certificates() -> "ssl.SSLContext":
    """What the server's certificate is checked by: the system's authorities, and those of certifi."""
    import ssl

    import certifi

    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    context.set_alpn_protocols(["http/1.1"])
    return context
