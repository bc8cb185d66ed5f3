"""What stands in for the network: requests of the SDK go to the API in memory, and are answered at once."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from http import HTTPStatus
from typing import Any, Final

import msgspec

from rookery.client.errors import WaitTimeout
from rookery.client.records import Job
from rookery.client.transport.requests import AsyncStreamedResponse, Request, Response, StreamedResponse
from rookery.testing.api import Added, MemoryApi, needs_server

_read_job: Final = msgspec.json.Decoder(Job).decode


class MemoryTransport:
    """For plain code. `react` is called with the jobs that a request has added, before it is answered."""

    def __init__(self, api: MemoryApi, namespace: str | None, react: Callable[[list[Added]], None] | None) -> None:
        self._api = api
        self._namespace = namespace
        self._react = react

    def send(self, request: Request[Any]) -> Response:
        """The whole answer."""
        response, added = exchange(self._api, self._namespace, request)
        if added and self._react is not None:
            self._react(added)
        return response

    def stream(self, request: Request[Any], silence: float) -> AbstractContextManager[StreamedResponse]:
        """Nothing comes later here."""
        raise needs_server(request.method, request.path)

    def close(self) -> None:
        """There is no connection."""


class AsyncMemoryTransport:
    """The same in an event loop."""

    def __init__(
        self, api: MemoryApi, namespace: str | None, react: Callable[[list[Added]], Awaitable[None]] | None
    ) -> None:
        self._api = api
        self._namespace = namespace
        self._react = react

    async def send(self, request: Request[Any]) -> Response:
        """The whole answer."""
        response, added = exchange(self._api, self._namespace, request)
        if added and self._react is not None:
            await self._react(added)
        return response

    def stream(self, request: Request[Any], silence: float) -> AbstractAsyncContextManager[AsyncStreamedResponse]:
        """Nothing comes later here."""
        raise needs_server(request.method, request.path)

    async def close(self) -> None:
        """There is no connection."""


def exchange(api: MemoryApi, namespace: str | None, request: Request[Any]) -> tuple[Response, list[Added]]:
    """The answer to a request, and the jobs that it has added."""
    headers = {**request.headers, **({"x-rookery-namespace": namespace} if namespace else {})}
    answer, added = api.exchange(request.method, request.target, headers, request.body or b"")
    if answer.status == HTTPStatus.ACCEPTED and request.path.endswith("/wait"):
        # Nothing happens while a test waits, so its time may as well be up.
        raise WaitTimeout(_read_job(answer.body))
    return Response(answer.status, answer.body, _headers(answer.headers)), added


def _headers(headers: tuple[tuple[bytes, bytes], ...]) -> dict[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in headers}
