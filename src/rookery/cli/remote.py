"""A server that a command talks to. What goes wrong on the way ends the command with a message."""

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click
import msgspec

if TYPE_CHECKING:
    import httpx

logger = logging.getLogger(__name__)

TIMEOUT: Final = 60.0


class Unreachable(click.ClickException):
    """There was no answer, or not all of it."""


class Refused(click.ClickException):
    """An answer with status 400 or above."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


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
    ) -> "Iterator[httpx.Response]":
        """An answer, read part by part, with at most so many seconds of silence; `path` is below `/api/v1`.

        JSON text in the body that is to arrive as it is comes as `msgspec.Raw`.
        """
        import httpx

        headers = {
            "Content-Type": None if body is None else "application/json",
            "X-API-Key": self.api_key,
            "X-Rookery-Namespace": self.namespace,
            "X-Corvo-Namespace": self.namespace,
        }
        started = perf_counter()
        try:
            with httpx.stream(
                method,
                f"{self.url.rstrip('/')}/api/v1{path}",
                headers={name: value.encode() for name, value in headers.items() if value},
                params=params,
                content=None if body is None else msgspec.json.encode(body),
                timeout=httpx.Timeout(TIMEOUT, read=silence),
            ) as answer:
                elapsed = (perf_counter() - started) * 1000
                logger.debug("%s %s: %d in %.1f ms", method, answer.url, answer.status_code, elapsed)
                if answer.status_code >= 400:
                    raise Refused(_error_text(answer), answer.status_code)
                yield answer
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise Unreachable(f"cannot talk to {self.url}: {error or type(error).__name__}") from None


def _error_text(answer: "httpx.Response") -> str:
    answer.read()
    try:
        return str(answer.json()["error"])
    except (ValueError, KeyError, TypeError):
        return f"the server answered {answer.status_code}"
