"""What a client asks and what it is told, apart from how it travels: requests, responses, and who carries them.

A call of the API is a function that returns a `Request`. Whoever sends it knows from it how the answer is read and
whether it may be sent again.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from enum import Enum
from functools import cache
from typing import Any, Final, Generic, Protocol, TypeVar
from urllib.parse import quote, urlencode

from rookery.client.errors import UnexpectedAnswer

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

API: Final = "/api/v1"
_NONE: Final[dict[str, str]] = {}


class Retry(Enum):
    """When a request may be sent again."""

    SAFE = "safe"
    """After any failure of the connection: to send it twice is the same as to send it once."""
    UNSENT = "unsent"
    """Only if the server cannot have heard it, or has said that it is too busy."""


class Response:
    """An answer, whole. The names of headers are in lower case."""

    __slots__ = ("_headers", "body", "status")

    def __init__(
        self, status: int, body: bytes = b"", headers: Mapping[str, str] | Callable[[], Mapping[str, str]] = _NONE
    ) -> None:
        self.status = status
        self.body = body
        self._headers = headers

    @property
    def headers(self) -> Mapping[str, str]:
        """They are seldom looked at, so that they are made when they are."""
        if callable(self._headers):
            self._headers = self._headers()
        return self._headers

    def __repr__(self) -> str:
        return f"Response({self.status}, {self.body[:100]!r})"


class Request(Generic[T_co]):
    """One call of the API: `path` and `query` are percent-encoded, `decode` reads the answer if it is none above 399.

    `waits` is how many seconds the server may take before it begins to answer, on top of the client's own timeout.
    """

    __slots__ = ("body", "decode", "headers", "method", "path", "query", "retry", "waits")

    def __init__(
        self,
        method: str,
        path: str,
        decode: Callable[[Response], T_co],
        *,
        query: str = "",
        body: bytes | None = None,
        headers: Mapping[str, str] = _NONE,
        retry: Retry = Retry.SAFE,
        waits: float = 0.0,
    ) -> None:
        self.method = method
        self.path = path
        self.decode = decode
        self.query = query
        self.body = body
        self.headers = headers
        self.retry = retry
        self.waits = waits

    @property
    def target(self) -> str:
        """Path and query."""
        return f"{self.path}?{self.query}" if self.query else self.path

    def __repr__(self) -> str:
        return f"Request({self.method} {self.target})"


class StreamedResponse(Protocol):
    """An answer that is read part by part."""

    status: int
    headers: Mapping[str, str]

    def parts(self) -> Iterator[bytes]:
        """The body as it comes."""
        ...

    def read(self) -> bytes:
        """All of the body that has not been read."""
        ...


class AsyncStreamedResponse(Protocol):
    """The same in an event loop."""

    status: int
    headers: Mapping[str, str]

    def parts(self) -> AsyncIterator[bytes]:
        """The body as it comes."""
        ...

    async def read(self) -> bytes:
        """All of the body that has not been read."""
        ...


class Transport(Protocol):
    """Carries requests to a server. Raises ServerUnreachable; any answer is an answer, whatever its status."""

    def send(self, request: Request[Any]) -> Response:
        """Send it, and hear the whole answer."""
        ...

    def stream(self, request: Request[Any], silence: float) -> AbstractContextManager[StreamedResponse]:
        """Send it, and hear the answer as it comes, with at most so many seconds of silence."""
        ...

    def close(self) -> None:
        """Let go of all connections."""
        ...


class AsyncTransport(Protocol):
    """The same in an event loop."""

    async def send(self, request: Request[Any]) -> Response:
        """Send it, and hear the whole answer."""
        ...

    def stream(self, request: Request[Any], silence: float) -> AbstractAsyncContextManager[AsyncStreamedResponse]:
        """Send it, and hear the answer as it comes, with at most so many seconds of silence."""
        ...

    async def close(self) -> None:
        """Let go of all connections."""
        ...


def part_of_path(text: str) -> str:
    """A name or id as one part of a path; one that would mean the path itself is refused."""
    if text in ("", ".", ".."):
        raise ValueError(f"{text!r} is neither an id nor a name")
    return quote(text, safe="")


def query_of(**parameters: Any) -> str:
    """Parameters as a query; those that are None are left out."""
    return urlencode({name: _text(value) for name, value in parameters.items() if value is not None}, quote_via=quote)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@cache
def answer_as(kind: Any) -> Callable[[Response], Any]:
    """A reader of answers that are a JSON value of this kind."""
    import msgspec

    decoder = msgspec.json.Decoder(kind)

    def decode(response: Response) -> Any:
        try:
            return decoder.decode(response.body)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UnexpectedAnswer(f"the answer is not what a Rookery server says: {error}") from None

    return decode


def no_answer(_: Response) -> None:
    """Nothing in the answer matters but that it came."""
