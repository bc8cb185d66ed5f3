"""The connection of a stream: WebSocket messages in and out, as fast as the other side can read and no faster."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from uvicorn.config import Config
from uvicorn.server import ServerState
from websockets.datastructures import Headers
from websockets.exceptions import InvalidUpgrade, NegotiationError
from websockets.frames import OP_BINARY, OP_CONT, OP_TEXT, CloseCode, Frame
from websockets.http11 import Request, Response
from websockets.protocol import OPEN, Protocol, Side
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol

from rookery.http.call import LARGE_BODY, Call
from rookery.http.errors import ApiError, invalid, unparsable
from rookery.http.frames import FORMS, JSON_FORM
from rookery.http.stream import WorkStream

logger = logging.getLogger(__name__)

CLOSE_TIMEOUT: Final = 5.0
"""Seconds in which the other side must have answered when we close; while the server stops it has less."""
STOP_TIMEOUT: Final = 0.25
LONGEST_REASON: Final = 123
"""Bytes; a close frame has no room for more."""


class Pace:
    """So many messages a second, and a tenth of that at once after a pause."""

    def __init__(self, per_second: int, now: float) -> None:
        self._per_second = per_second
        self._most = self._tokens = max(1.0, per_second / 10)
        self._at = now

    def take(self, now: float) -> float:
        """Seconds to wait for the next message: none if it may come now."""
        self._tokens = min(self._most, self._tokens + (now - self._at) * self._per_second)
        self._at = now
        if self._tokens < 1:
            return (1 - self._tokens) / self._per_second
        self._tokens -= 1
        return 0.0


class StreamConnection(asyncio.Protocol):
    """One WebSocket. To uvicorn it looks like any other connection."""

    def __init__(self, call: Call, transport: asyncio.Transport, config: Config, server_state: ServerState) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._connections = server_state.connections
        self._measures = call.node.measures
        self._stall_timeout = call.settings.stream_stall_timeout
        self._ping_interval = config.ws_ping_interval or 20.0
        self._response, subprotocol = _shake_hands(call)
        self._websocket = Protocol(Side.SERVER, max_size=LARGE_BODY, logger=logger)
        self._form = FORMS.get(subprotocol or "", JSON_FORM)
        self._stream = WorkStream(call, self._form, self.send, self.close)
        self._pace = Pace(call.settings.stream_max_fps, self._loop.time())
        self._messages: deque[tuple[bytes, bool]] = deque()
        self._fragments = bytearray()
        self._is_text = False
        self._is_reading = True
        self._is_full = False
        self._is_stopping = False
        self._is_gone = False
        self._has_closed = False
        self._has_heard = True
        self._awaits_pong = False
        self._unread = 0
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def open(self, headers: Sequence[tuple[bytes, bytes]]) -> None:
        """Say yes to the other side."""
        streams = self._measures.streams
        streams.open += 1
        streams.opened += 1
        self._connections.add(self)  # type: ignore[arg-type]
        for name, value in headers:
            self._response.headers[name.decode()] = value.decode()
        self._transport.write(self._response.serialize())
        self._set_timer("ping", self._ping_interval, self._keep_alive)

    # --- out

    def send(self, data: bytes) -> None:
        """Send a message, unless nobody hears it any more."""
        if self._is_gone or self._websocket.state is not OPEN:
            return
        if self._form.is_text:
            self._websocket.send_text(data)
        else:
            self._websocket.send_binary(data)
        self._flush()
        self._set_reading()

    def close(self, code: int, reason: str) -> None:
        """Say goodbye; what the client may not have got is put back at once."""
        self._has_closed = True
        self._stream.end()
        if self._is_gone or self._websocket.state is not OPEN:
            return
        self._websocket.send_close(code, reason.encode()[:LONGEST_REASON].decode(errors="ignore"))
        self._flush()
        self._set_reading()
        self._set_timer("close", STOP_TIMEOUT if self._is_stopping else CLOSE_TIMEOUT, self._transport.abort)

    def shutdown(self) -> None:
        """The server stops: answer what is in progress, put back what may not have arrived, and say goodbye."""
        self._is_stopping = True
        self._receive_in_time()
        self._stream.end(lambda: self.close(CloseCode.GOING_AWAY, "the server stops"))

    def _flush(self) -> None:
        parts = self._websocket.data_to_send()
        if parts:
            self._transport.write(b"".join(parts))

    def pause_writing(self) -> None:
        """The client does not read as fast as we write: wait for it, but not for ever."""
        self._is_full = True
        self._stream.hold_up()
        self._set_reading()
        self._unread = self._transport.get_write_buffer_size()
        self._set_timer("stall", self._stall_timeout, self._drop_if_stalled)

    def resume_writing(self) -> None:
        """The client has read."""
        self._is_full = False
        self._cancel_timer("stall")
        self._set_reading()
        self._stream.go_on()

    def _drop_if_stalled(self) -> None:
        unread = self._transport.get_write_buffer_size()
        if unread < self._unread:
            self._unread = unread
            self._set_timer("stall", self._stall_timeout, self._drop_if_stalled)
        else:
            logger.warning("dropped a stream whose client does not read")
            self._transport.abort()

    # --- in

    def data_received(self, data: bytes) -> None:
        """Something came."""
        self._has_heard = True
        websocket = self._websocket
        websocket.receive_data(data)
        for event in websocket.events_received():
            if isinstance(event, Frame) and event.opcode in (OP_TEXT, OP_BINARY, OP_CONT):
                self._take_frame(event)
        self._flush()
        if websocket.eof_sent:
            self._stream_is_over()
            self._transport.close()

    def _take_frame(self, frame: Frame) -> None:
        """A frame of WebSocket's, which is a message or a part of one."""
        if frame.opcode is not OP_CONT:
            self._is_text = frame.opcode is OP_TEXT
        if self._fragments or not frame.fin:
            self._fragments += frame.data
            if not frame.fin:
                return
            message = bytes(self._fragments)
            self._fragments.clear()
        else:
            message = bytes(frame.data)
        self._messages.append((message, self._is_text))
        if "delay" not in self._timers:
            self._receive_in_time()

    def _receive_in_time(self) -> None:
        """Take messages, not too many a second; those that came before the end are taken at once."""
        self._cancel_timer("delay")
        while self._messages:
            wait = 0.0 if self._is_gone or self._is_stopping else self._pace.take(self._loop.time())
            if wait:
                self._set_timer("delay", wait, self._receive_in_time)
                break
            self._receive(*self._messages.popleft())
        self._set_reading()

    def _receive(self, message: bytes, is_text: bool) -> None:
        if self._has_closed:
            return
        if is_text is self._form.is_text:
            self._stream.receive(message)
        else:
            kind = "text" if self._form.is_text else "binary"
            self._stream.refuse(unparsable(f"the frames of this subprotocol are {kind}"))

    def _set_reading(self) -> None:
        """Read no further while the client does not read, sends too fast, or has too much in progress."""
        should_read = not (self._is_full or self._messages or self._is_stopping or self._stream.load > LARGE_BODY)
        should_read = should_read or self._websocket.state is not OPEN
        if should_read is not self._is_reading and not self._transport.is_closing():
            self._is_reading = should_read
            (self._transport.resume_reading if should_read else self._transport.pause_reading)()

    def eof_received(self) -> None:
        """The other side says nothing more: nor do we."""

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone."""
        self._stream_is_over()
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._connections.discard(self)
        self._measures.traffic.connections -= 1
        self._measures.streams.open -= 1

    def _stream_is_over(self) -> None:
        """Take what had come before, then put back what may not have arrived."""
        self._is_gone = True
        self._receive_in_time()
        self._stream.end()

    def _keep_alive(self) -> None:
        """Ask a silent client whether it is there; one that does not say so in time, while we listen, is gone."""
        if self._awaits_pong and not self._has_heard and self._is_reading:
            logger.info("a stream's client does not answer any more")
            self.close(CloseCode.INTERNAL_ERROR, "no answer to a ping")
            self._transport.abort()
            return
        self._awaits_pong = not self._has_heard
        if self._awaits_pong and self._websocket.state is OPEN:
            self._websocket.send_ping(b"")
            self._flush()
        self._has_heard = False
        self._set_timer("ping", self._ping_interval, self._keep_alive)

    def _set_timer(self, name: str, seconds: float, call: Callable[[], None]) -> None:
        self._cancel_timer(name)
        self._timers[name] = self._loop.call_later(seconds, call)

    def _cancel_timer(self, name: str) -> None:
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()


def _shake_hands(call: Call) -> tuple[Response, str | None]:
    """The answer to what a WebSocket begins with, and the subprotocol; raises if something is missing."""
    headers = Headers([(name.decode("latin-1"), value.decode("latin-1")) for name, value in call.scope["headers"]])
    websocket = ServerProtocol(select_subprotocol=_choose_subprotocol, logger=logger)
    response = websocket.accept(Request(call.scope["path"], headers))
    if response.status_code == 101:
        return response, websocket.subprotocol
    fault = websocket.handshake_exc
    if isinstance(fault, InvalidUpgrade):
        raise ApiError(426, "UPGRADE_REQUIRED", f"cannot open a WebSocket: {fault}")
    raise invalid(f"cannot open a WebSocket: {fault}")


def _choose_subprotocol(_: ServerProtocol, offered: Sequence[Subprotocol]) -> Subprotocol | None:
    """The first one that we know; who asks for none gets JSON."""
    known = [name for name in offered if name in FORMS]
    if offered and not known:
        raise NegotiationError(f"the subprotocols here are {' and '.join(FORMS)}")
    return known[0] if known else None
