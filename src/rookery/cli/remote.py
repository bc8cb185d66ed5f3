"""A server that a command talks to. What goes wrong on the way ends the command with a message."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

if TYPE_CHECKING:
    import httpx

TIMEOUT: Final = 60.0


class Unreachable(click.ClickException):
    """The server is not there, or has gone away."""


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
        """An answer, read part by part, with at most so many seconds of silence; `path` is below `/api/v1`."""
        import httpx

        headers = {"X-API-Key": self.api_key, "X-Rookery-Namespace": self.namespace}
        try:
            with httpx.stream(
                method,
                f"{self.url.rstrip('/')}/api/v1{path}",
                headers={name: value for name, value in headers.items() if value},
                params=params,
                json=body,
                timeout=httpx.Timeout(TIMEOUT, read=silence),
            ) as answer:
                if answer.status_code >= 400:
                    raise click.ClickException(_error_text(answer))
                yield answer
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise Unreachable(f"cannot talk to {self.url}: {error or type(error).__name__}") from None


def _error_text(answer: "httpx.Response") -> str:
    answer.read()
    try:
        return str(answer.json()["error"])
    except (ValueError, KeyError, TypeError):
        return f"the server answered {answer.status_code}"
