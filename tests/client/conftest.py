"""What tests of the SDK share: both clients behind one face, so that every test is about both."""

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable, Iterator
from typing import Any

import pytest

from rookery import AsyncClient, Client
from tests.client.bad_server import BadServer, Behaviour
from tests.conftest import ServerProcess

Connect = Callable[..., Any]


class Driven:
    """An AsyncClient that is used like a Client: every call runs its loop until it is done."""

    def __init__(self, client: AsyncClient) -> None:
        self.client = client
        self.loop = asyncio.new_event_loop()

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.client, name)

        def call(*args: Any, **options: Any) -> Any:
            started = method(*args, **options)
            return self._walk(started) if inspect.isasyncgen(started) else self.loop.run_until_complete(started)

        return call

    def _walk(self, generator: AsyncGenerator[Any, None]) -> Iterator[Any]:
        try:
            while True:
                try:
                    yield self.loop.run_until_complete(anext(generator))
                except StopAsyncIteration:
                    return
        finally:
            self.loop.run_until_complete(generator.aclose())

    def close(self) -> None:
        if not self.loop.is_closed():
            self.loop.run_until_complete(self.client.close())
            self.loop.run_until_complete(asyncio.sleep(0))
            self.loop.run_until_complete(self.loop.shutdown_default_executor())
            self.loop.close()


@pytest.fixture(params=["Client", "AsyncClient"])
def connect(request: pytest.FixtureRequest) -> Iterator[Connect]:
    """Makes clients of either kind."""
    clients: list[Any] = []

    def make(url: str, **options: Any) -> Any:
        client = Client(url, **options) if request.param == "Client" else Driven(AsyncClient(url, **options))
        clients.append(client)
        return client

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def client(connect: Connect, server: ServerProcess) -> Any:
    """A client of the server of the file."""
    return connect(server.url)


@pytest.fixture
def bad_server() -> Iterator[Callable[..., BadServer]]:
    """Starts servers that do as they are told."""
    servers: list[BadServer] = []

    def start(*behaviours: Behaviour) -> BadServer:
        servers.append(BadServer(*behaviours))
        return servers[-1]

    yield start
    for server in servers:
        server.close()
