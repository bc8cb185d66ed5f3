"""A server that a command talks to. What goes wrong on the way ends the command with a message."""

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlencode

import click
import msgspec

if TYPE_CHECKING:
    from rookery.client.blocking import HttpTransport
    from rookery.client.requests import StreamedResponse

logger = logging.getLogger(__name__)

TIMEOUT: Final = 60.0


class Unreachable(click.ClickException):
    """There was no answer, or not all of it."""


class Refused(click.ClickException):
    """An answer with status 400 or above."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


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

    def iter_lines(self) -> Iterator[str]:
        """Line by line, without the ends of lines."""
        rest = b""
        for part in self.iter_raw():
            *lines, rest = (rest + part).split(b"\n")
            yield from (line.removesuffix(b"\r").decode() for line in lines)
        if rest:
            yield rest.decode()


class Remote(NamedTuple):
    """Where a server is, and as whom to talk to it."""

    url: str
    api_key: str | None
    namespace: str | None

    def call(self, method: str, path: str, body: Any = None, params: Mapping[str, str] | None = None) -> Any:
        """What the server answers, as JSON; `path` is below `/api/v1`."""
        with self.stream(method, path, body=body, params=params) as answer:
            text = answer.read()
            return json.loads(text) if text else None

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
        from rookery.client.requests import API, Request, Retry, no_answer

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
                if answer.status_code >= 400:
                    raise Refused(_error_text(answer), answer.status_code)
                yield answer
        except ServerUnreachable as error:
            raise self._unreachable(error) from None

    def _transport(self) -> "HttpTransport":
        try:
            return _connections(self)
        except ValueError as error:
            raise self._unreachable(error) from None

    def _unreachable(self, error: Exception) -> Unreachable:
        return Unreachable(f"cannot talk to {self.url}: {error}")


@cache
def _connections(remote: Remote) -> "HttpTransport":
    """The connections to a server, kept from call to call."""
    from rookery.client.blocking import HttpTransport

    return HttpTransport(remote.url, api_key=remote.api_key, namespace=remote.namespace, timeout=TIMEOUT)


def _error_text(answer: Answer) -> str:
    try:
        return str(json.loads(answer.read())["error"])
    except (ValueError, KeyError, TypeError):
        return f"the server answered {answer.status_code}"
