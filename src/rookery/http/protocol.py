"""uvicorn's HTTP protocol, with an end to requests that have none, and with the fast lane.

The fast lane answers the hot paths right from the parser: no task, no coroutine, one write for head and body. What
it does not know (a query string, a pipelined request, anything unusual) takes the ordinary way through ASGI.
"""

import asyncio
from http import HTTPStatus
from time import perf_counter
from typing import Any, Final, cast
from urllib.parse import unquote

import msgspec
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from rookery.engine.ops import ClaimedJob
from rookery.http import stream
from rookery.http.call import LARGE_BODY, Answer, Call, Route, Scope
from rookery.http.errors import too_large
from rookery.http.gate import API_ROUTES, COMMON_HEADERS, Gate, answer_to, server_timing
from rookery.http.visit import CALLER_GONE, Visit
from rookery.http.websocket import StreamConnection
from rookery.node.measures import Traffic
from rookery.node.waiters import Waiter

LARGEST_HEAD: Final = 64 << 10
STREAM_PATH: Final = stream.ROUTE.path.encode()
REQUEST_TIMEOUT: Final = 60.0
"""Seconds in which a request must have arrived whole, once it has begun."""

_COMMON: Final = b"".join(b"%s: %s\r\n" % header for header in COMMON_HEADERS)
_HEADS: Final = {
    status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() + _COMMON + b"server-timing: "
    for status in HTTPStatus
}
_NO_PARAMS: Final[dict[str, str]] = {}
_EXACT: Final = {route.path.encode(): route for route in API_ROUTES if route.prepare and "{" not in route.path}
_WITH_ID: Final = {
    route.path.partition("{")[0].encode(): route for route in API_ROUTES if route.prepare and "{" in route.path
}


class BoundedProtocol(HttpToolsProtocol):
    """One connection."""

    _head_size = 0
    _is_in_head = False
    _idle_since = 0.0
    _idle_check: asyncio.TimerHandle | None = None
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A connection that says nothing is closed like one that has nothing more to say."""
        super().connection_made(transport)
        self._traffic.connections += 1
        self._idle_since = self.loop.time()
        self._idle_check = self.loop.call_later(self.timeout_keep_alive, self._close_if_idle)

    def connection_lost(self, exc: Exception | None) -> None:
        """Whoever waits for the caller hears that it is gone."""
        self._meet_deadline()
        self._traffic.connections -= 1
        if self._idle_check is not None:
            self._idle_check.cancel()
        super().connection_lost(exc)

    @property
    def _traffic(self) -> Traffic:
        return cast(Gate, self.app).node.measures.traffic

    def _should_upgrade_to_ws(self) -> bool:
        """Only one path is a WebSocket; elsewhere the wish for one is not heard."""
        return self.url.partition(b"?")[0] == STREAM_PATH and self.parser.get_method() == b"GET"

    def _unsupported_upgrade_warning(self) -> None:
        """The request has been taken as one that wishes for nothing."""

    def handle_websocket_upgrade(self) -> None:
        """Hand the connection over to a stream, or say why not."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._refuse(400, "VALIDATION_ERROR", "a request before this one has not been answered yet")
            return
        started = perf_counter()
        gate, scope = cast(Gate, self.app), cast(Scope, self.scope)
        scope["path"] = STREAM_PATH.decode()
        visit = Visit(self._traffic, self._traffic.of("GET", scope["path"]), started)
        if gate.node.tracing is not None:
            visit.begin_trace(gate.node.tracing, self.headers)
        try:
            connection = StreamConnection(gate.admit_stream(scope), self.transport, self.config, self.server_state)
        except Exception as error:
            visit.refused(error)
            answer = answer_to(error, scope)
            visit.end(answer.status)
            headers = tuple(header for header in answer.headers if header[0] != b"connection")
            answer = msgspec.structs.replace(answer, headers=(*headers, (b"connection", b"close")))
            self.transport.write(render(answer, self.server_state.default_headers, started))
            self.transport.close()
            return
        visit.end(101)
        self._meet_deadline()
        if self._idle_check is not None:
            self._idle_check.cancel()
        self.connections.discard(self)
        connection.open([*COMMON_HEADERS, (b"server-timing", server_timing(started))])
        self.transport.set_protocol(connection)

    def data_received(self, data: bytes) -> None:
        """Take in what came; a request that is not whole yet has so much room and so much time."""
        was_in_head = self._is_in_head
        super().data_received(data)
        if was_in_head and self._is_in_head:
            self._head_size += len(data)
            if self._head_size > LARGEST_HEAD:
                self._refuse(431, "HEAD_TOO_LARGE", f"the request's head is over {LARGEST_HEAD} bytes")
                return
        if self._deadline is None and self._is_incomplete():
            self._deadline = self.loop.call_later(REQUEST_TIMEOUT, self.timeout_keep_alive_handler)

    def _is_incomplete(self) -> bool:
        cycle = self.cycle
        return self._is_in_head or (cycle is not None and cycle.more_body and not cycle.response_complete)

    def on_message_begin(self) -> None:
        """A head begins."""
        super().on_message_begin()
        self._is_in_head, self._head_size = True, 0

    def on_headers_complete(self) -> None:
        """The head is whole: take the fast lane if this is for it."""
        self._is_in_head = False
        waiting: Any = self.cycle
        if isinstance(waiting, FastCycle):
            waiting.hurry()
        if not self._take_fast_lane():
            scope: Any = self.scope
            scope["rookery.abort"] = self.transport.abort
            scope["rookery.wait"] = self._wait_longer
            super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The request is whole."""
        self._meet_deadline()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Go on with what was pipelined. One timer watches over the connection, not one for each answer."""
        self.server_state.total_requests += 1
        self._idle_since = self.loop.time()
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            cycle, app = self.pipeline.pop()
            self._start_asgi_task(cycle, app)

    def _close_if_idle(self) -> None:
        is_busy = self.cycle is not None and not self.cycle.response_complete
        remaining = self._idle_since + self.timeout_keep_alive - self.loop.time()
        if is_busy or remaining > 0:
            wait = self.timeout_keep_alive if is_busy else remaining
            self._idle_check = self.loop.call_later(wait, self._close_if_idle)
        else:
            self.timeout_keep_alive_handler()

    def _take_fast_lane(self) -> bool:
        url: bytes = self.url
        route, params = _EXACT.get(url), _NO_PARAMS
        if route is None:
            cut = url.rfind(b"/") + 1
            route = _WITH_ID.get(url[:cut])
            if route is None or cut == len(url) or b"?" in url or b"#" in url:
                return False
            params = {"job_id": unquote(url[cut:].decode("latin-1"))}
        parser = self.parser
        is_busy = self.cycle is not None and not self.cycle.response_complete
        if is_busy or parser.get_method() != b"POST" or self.expect_100_continue or parser.should_upgrade():
            return False
        if parser.get_http_version() != "1.1":
            return False
        self.scope["method"] = "POST"
        self.scope["path"] = url.decode("latin-1")
        self.scope["query_string"] = b""
        self.cycle = FastCycle(self, route, params)  # type: ignore[assignment]
        return True

    def _wait_longer(self) -> None:
        """Give the request that is coming in as much time again."""
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = self.loop.call_later(REQUEST_TIMEOUT, self.timeout_keep_alive_handler)

    def _meet_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def send_400_response(self, msg: str) -> None:
        """What is not HTTP gets an error in our shape."""
        self._refuse(400, "PARSE_ERROR", msg)

    def _refuse(self, status: int, code: str, message: str) -> None:
        body = msgspec.json.encode({"error": message, "code": code})
        answer = Answer(status, body, headers=((b"connection", b"close"),))
        self.transport.write(render(answer, self.server_state.default_headers, perf_counter()))
        self.transport.close()


class FastCycle:
    """One request in the fast lane. To uvicorn it looks like any other request that is under way."""

    __slots__ = (
        "_call",
        "_limit",
        "_protocol",
        "_started",
        "_visit",
        "_waiter",
        "_work",
        "body",
        "disconnected",
        "keep_alive",
        "more_body",
        "response_complete",
        "route",
    )

    def __init__(self, protocol: BoundedProtocol, route: Route, params: dict[str, str]) -> None:
        self._started = perf_counter()
        self._protocol = protocol
        self.route = route
        self.body: Any = bytearray()
        self.more_body = True
        self.disconnected = False
        self.response_complete = False
        self.keep_alive: bool = protocol.parser.should_keep_alive()
        self._waiter: Waiter | None = None
        self._call: Call | None = None
        gate: Any = protocol.app
        traffic, tracing = gate.node.measures.traffic, gate.node.tracing
        self._visit = Visit(traffic, traffic.of("POST", route.path), self._started)
        if tracing is not None:
            self._visit.begin_trace(tracing, protocol.headers)
        try:
            self._call = gate.admit(route, params, protocol.scope, None)
            self._call.visit = self._visit
            self._limit = LARGE_BODY if route.takes_many else self._call.small_body
            self._check_size(int(self._call.headers.get(b"content-length", 0)))
        except Exception as error:
            self._fail(error)

    @property
    def message_event(self) -> "FastCycle":
        """What uvicorn sets when there is news of the request: we are told directly."""
        return self

    def set(self) -> None:
        """More of the body has come, or all of it, or the caller has gone."""
        if self.disconnected:
            if self._waiter is not None:
                self._gate.node.abandon(self._waiter)
            self._visit.end(CALLER_GONE)
        elif not self.response_complete:
            if not self.more_body:
                self._begin()
            else:
                self._receive_more()

    def hurry(self) -> None:
        """Another request came on the same connection: this one waits no longer."""
        if self._waiter is not None:
            self._gate.node.hurry(self._waiter)

    @property
    def _gate(self) -> Gate:
        return cast(Gate, self._protocol.app)

    def _receive_more(self) -> None:
        try:
            self._check_size(len(self.body))
        except Exception as error:
            self._fail(error)
            return
        if len(self.body) > HIGH_WATER_LIMIT:
            self._protocol.flow.resume_reading()

    def _check_size(self, size: int) -> None:
        if size > self._limit:
            raise too_large(f"the body is over the limit of {self._limit} bytes")

    def _begin(self) -> None:
        call, prepare = self._call, self.route.prepare
        assert call is not None
        assert prepare is not None
        node = self._gate.node
        try:
            self._check_size(len(self.body))
            self._work = prepare(call, bytes(self.body))
            if self._work.wait is None:
                node.send(self._work.op, self._deliver)
            else:
                self._waiter = node.fetch(self._work.op, self._work.wait, self._deliver_jobs)
        except Exception as error:
            self._fail(error)

    def _deliver(self, result: Any) -> None:
        if isinstance(result, BaseException):
            self._fail(result)
            return
        try:
            answer = self._work.finish(result)
        except Exception as error:
            self._fail(error)
        else:
            self._finish(answer)

    def _deliver_jobs(self, jobs: list[ClaimedJob] | BaseException) -> None:
        self._waiter = None
        if self._is_gone() and not isinstance(jobs, BaseException):
            self._gate.node.put_back(self._work.op, jobs)
        else:
            self._deliver(jobs)

    def _is_gone(self) -> bool:
        return self.disconnected or self._protocol.transport.is_closing()

    def _fail(self, error: BaseException) -> None:
        self._visit.refused(error)
        self._finish(answer_to(error, cast(Scope, self._protocol.scope)))

    def _finish(self, answer: Answer) -> None:
        """Write head and body at once, and be ready for the next request."""
        self.response_complete = True
        self._visit.end(answer.status)
        if self._is_gone():
            return
        protocol = self._protocol
        if answer.status == 413:
            self.keep_alive = False
        elif not self.keep_alive:
            answer = msgspec.structs.replace(answer, headers=(*answer.headers, (b"connection", b"close")))
        protocol.transport.write(render(answer, protocol.server_state.default_headers, self._started))
        if not self.keep_alive:
            protocol.transport.close()
        protocol.on_response_complete()


def render(answer: Answer, default_headers: list[tuple[bytes, bytes]], started: float) -> bytes:
    """An answer as it goes over the wire."""
    parts = [_HEADS[answer.status], server_timing(started), b"\r\n"]
    for header in default_headers:
        parts += (header[0], b": ", header[1], b"\r\n")
    for header in answer.headers:
        parts += (header[0], b": ", header[1], b"\r\n")
    if answer.status == 204:
        parts.append(b"\r\n")
    else:
        parts += (
            b"content-type: ",
            answer.content_type,
            b"\r\ncontent-length: %d\r\n\r\n" % len(answer.body),
            answer.body,
        )
    return b"".join(parts)
