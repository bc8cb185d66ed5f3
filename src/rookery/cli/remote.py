"""A server that a command talks to. What goes wrong on the way ends the command with a message."""

import json
import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlencode

import click
import msgspec

if TYPE_CHECKING:
    from rookery.client.transport.blocking import HttpTransport
    from rookery.client.transport.requests import StreamedResponse

logger = logging.getLogger(__name__)

TIMEOUT: Final = 60.0
_USER: Final = re.compile(r"(?<=://)\S*@")
"""Name and password in a URL."""
_PLACE: Final = re.compile(r"^cannot connect to \S+: ")
"""What need not be said again beside the URL."""


class Unreachable(click.ClickException):
    """There was no answer, or not all of it."""


class Refused(click.ClickException):
    """An answer with status 300 or above; a server that is too busy says after how many seconds to try again."""

    def __init__(self, message: str, status: int, retry_after: float = 1.0) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after


class Unexpected(click.ClickException):
    """An answer that no job server gives."""

    def __init__(self, error: Exception | str) -> None:
        super().__init__(f"the server's answer is not what it should be: {error}")


class Answer:
    """An answer, read whole or part by part."""

    def __init__(self, answer: "StreamedResponse") -> None:
        self.status_code = answer.status
        self.headers = answer.headers
        self.num_bytes_downloaded = 0
        self._answer = answer

    def read(self) -> bytes:
        """All of it."""
        return b"".join(self.iter_raw())

    def iter_raw(self) -> Iterator[bytes]:
        """Part by part, as it comes."""
        for part in self._answer.parts():
            self.num_bytes_downloaded += len(part)
            yield part

    def events(self) -> Iterator[bytes]:
        """The data of server-sent events, as they come."""
        from rookery.client.transport.sse import FrameReader

        if not self.headers.get("content-type", "").startswith("text/event-stream"):
            raise Unexpected("it is no stream of events")
        reader = FrameReader()
        for part in self.iter_raw():
            yield from (frame.data for frame in reader.feed(part))


class Remote(NamedTuple):
    """Where a server is, and as whom to talk to it."""

    url: str
    api_key: str | None
    namespace: str | None

    def call(
        self, method: str, path: str, body: Any = None, params: Mapping[str, str] | None = None, shape: Any = Any
    ) -> Any:
        """What the server answers, as JSON that has at least this shape; `path` is below `/api/v1`."""
        with self.stream(method, path, body=body, params=params) as answer:
            return unpack(answer.read(), shape)

    @contextmanager
    def stream(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        params: Mapping[str, str] | None = None,
        silence: float = TIMEOUT,
    ) -> Iterator[Answer]:
        """An answer, read part by part, with at most so many seconds of silence; `path` is below `/api/v1`.

        JSON text in the body that is to arrive as it is comes as `msgspec.Raw`.
        """
        from rookery.client.errors import ServerUnreachable
        from rookery.client.transport.requests import API, Request, Retry, no_answer

        request = Request(
            method,
            f"{API}{path}",
            no_answer,
            query=urlencode(params or {}),
            body=None if body is None else msgspec.json.encode(body),
            retry=Retry.SAFE if method == "GET" else Retry.UNSENT,
        )
        started = perf_counter()
        transport = self._transport()
        try:
            with transport.stream(request, silence) as streamed:
                answer = Answer(streamed)
                elapsed = (perf_counter() - started) * 1000
                url = f"{transport.address.url}{request.target}"
                logger.debug("%s %s: %d in %.1f ms", method, url, answer.status_code, elapsed)
                if answer.status_code >= 300:
                    raise _refusal(answer)
                yield answer
        except ServerUnreachable as error:
            raise self.unreachable(error) from None

    def _transport(self) -> "HttpTransport":
        try:
            return _connections(self)
        except ValueError as error:
            raise self.unreachable(error) from None

    def unreachable(self, error: Exception) -> Unreachable:
        """There was no talking to the server; a password in its URL is not repeated."""
        reason = _PLACE.sub("", str(error))
        hint = " (is it running? `rookery server` starts one)" if reason == "Connection refused" else ""
        return Unreachable(_USER.sub("***@", f"cannot talk to {self.url}: {reason}{hint}"))


def unpack(text: bytes, shape: Any = Any) -> Any:
    """JSON as it came, if it has at least this shape."""
    try:
        return checked(json.loads(text) if text else None, shape)
    except (ValueError, RecursionError) as error:
        raise Unexpected(error) from None


def checked(value: Any, shape: Any) -> Any:
    """The value, if it has at least this shape."""
    try:
        msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        raise Unexpected(error) from None
    return value


@cache
def _connections(remote: Remote) -> "HttpTransport":
    """The connections to a server, kept from call to call."""
    from rookery.client.transport.blocking import HttpTransport

    return HttpTransport(remote.url, api_key=remote.api_key, namespace=remote.namespace, timeout=TIMEOUT)


def _refusal(answer: Answer) -> Refused:
    from rookery.client.errors import Overloaded, error_of
    from rookery.client.transport.requests import Response

    status = answer.status_code
    if status < 400:
        return Refused(f"the server redirects to {answer.headers.get('location', 'another place')}", status)
    error = error_of(Response(status, answer.read(), answer.headers))
    return Refused(error.message, status, error.retry_after if isinstance(error, Overloaded) else 1.0)
