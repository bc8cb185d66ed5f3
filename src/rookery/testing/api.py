"""The native API without a server: the routes, checks and errors of the HTTP face, answered from memory."""

import asyncio
from threading import Lock
from typing import Any, Final, cast

from rookery.client.errors import RookeryError
from rookery.http.call import Answer, Call, Receive, Route, Scope, Stream, Work
from rookery.http.gate import Gate, answer_to
from rookery.http.settings import HttpSettings
from rookery.http.visit import Visit
from rookery.testing.node import Added, MemoryNode, Settled, drive

__all__ = ["Added", "MemoryApi", "NeedsServer", "needs_server"]

_NEEDS_SERVER_TAGS: Final = frozenset({"Webhooks", "Backup"})
_NEEDS_SERVER_PATHS: Final = frozenset({"/api/v1/metrics", "/metrics", "/api/v1/debug/runtime"})


class NeedsServer(RookeryError):
    """What was asked for makes sense only with a server: a stream, a webhook, a backup."""


class MemoryApi(Gate):
    """Answers requests at once. Threads take turns."""

    def __init__(self, node: MemoryNode) -> None:
        super().__init__(node, HttpSettings(rate_limit_enabled=False))
        self._memory = node
        self.turn = Lock()
        """Held while the engine is asked for something: it does one thing at a time."""

    def exchange(
        self, method: str, target: str, headers: dict[str, str] | None = None, body: bytes = b""
    ) -> tuple[Answer, list[Added]]:
        """The answer to a request, and the jobs that it has added; `target` is a path with its query."""
        with self.turn:
            before = len(self._memory.added)
            answer = self._answer_now(method, target, headers or {}, body)
            return answer, self._memory.added[before:]

    def _answer_now(self, method: str, target: str, headers: dict[str, str], body: bytes) -> Answer:
        path, _, query = target.partition("?")
        scope: Scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode("latin-1"),
            "query_string": query.encode("latin-1"),
            "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()],
            "client": None,
        }

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body}

        try:
            answer = drive(self._answer(scope, receive, self._visit()))
        except NeedsServer:
            raise
        except Exception as error:
            return answer_to(error, scope)
        self._memory.finish_bulks()
        if isinstance(answer, Stream):
            raise needs_server(method, path)
        return answer

    def admit(self, route: Route, params: dict[str, str], scope: Scope, receive: Receive) -> Call:
        """Let the caller in, unless only a server could do what is asked for."""
        if route.tag in _NEEDS_SERVER_TAGS or route.path in _NEEDS_SERVER_PATHS:
            raise needs_server(route.method, route.path)
        call = super().admit(route, params, scope, receive)
        return _Call(call.node, call.settings, scope, receive, call.headers, call.params, call.namespace, call.charge)

    def _visit(self) -> Visit:
        traffic = self._memory.measures.traffic
        return Visit(traffic, traffic.of_others("GET"), 0.0)


class _Call(Call):
    """A call that never waits: a fetch gets what there is now."""

    __slots__ = ()

    async def run(self, work: Work) -> Answer:
        if work.wait is None:
            return work.finish(await self.node.submit(work.op))
        return work.finish(cast(MemoryNode, self.node).claim(work.op))

    def watch_gone(self) -> asyncio.Future[Any]:
        return cast("asyncio.Future[Any]", Settled(None))


def needs_server(method: str, path: str) -> NeedsServer:
    """The error for a call that cannot be answered here."""
    return NeedsServer(
        f"{method} {path} needs a server; rookery.testing has none (start `rookery server` for this test)"
    )
