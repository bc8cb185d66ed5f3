"""A stream to the server: one WebSocket that carries frames of many items, and brings jobs as they become claimable.

It lives as long as its connection. Whoever uses it connects again when it is lost.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast

import msgspec
from websockets.client import ClientProtocol
from websockets.exceptions import InvalidMessage
from websockets.frames import OP_CONT, OP_TEXT, Frame
from websockets.http11 import Response as HandshakeResponse
from websockets.protocol import OPEN
from websockets.typing import Subprotocol
from websockets.uri import WebSocketURI

from rookery import __version__
from rookery.client.errors import ApiError, RookeryError, ServerUnreachable, UnexpectedAnswer, error_of
from rookery.client.transport.addresses import LONGEST_CONNECT, Address, cannot_connect, read_url, trusted_certificates
from rookery.client.transport.requests import API, Response

if TYPE_CHECKING:
    import ssl

J = TypeVar("J")

PATH: Final = f"{API}/stream"
SUBPROTOCOL: Final = Subprotocol("rookery.json")
LONGEST_SILENCE: Final = 20.0
"""Seconds without a sign of the server after which it is asked for one, and as many again to give it."""
LONGEST_GOODBYE: Final = 2.0

_STATUS: Final = {
    "LEASE_LOST": 409,
    "CONFLICT": 409,
    "NOT_FOUND": 404,
    "PAYLOAD_TOO_LARGE": 413,
    "OVERLOADED": 429,
    "RATE_LIMITED": 429,
    "INTERNAL_ERROR": 500,
    "UNHEALTHY": 503,
}
"""The status that HTTP would have with these codes; all others have 400."""

_encode: Final = msgspec.json.Encoder().encode


class Outcome(msgspec.Struct, frozen=True):
    """What became of one item: its `status`, or else `error` and `code`."""

    job_id: str | None = None
    status: str = ""
    unique_existing: bool = False
    next_attempt_at: str | None = None
    attempts_remaining: int = 0
    attempt: int = 0
    error: str | None = None
    code: str | None = None

    @property
    def fault(self) -> ApiError | None:
        """What is wrong with the item, as a call by HTTP would raise it."""
        return None if self.error is None else _fault({"job_id": self.job_id, "error": self.error, "code": self.code})


class Beats(msgspec.Struct, frozen=True):
    """What became of a heartbeat: a job whose status is not `ok` is to be stopped."""

    jobs: dict[str, Outcome] = {}
    acked: list[str] = []
    unknown: list[str] = []
    canceled: list[str] = []


class Answer(msgspec.Struct, frozen=True):
    """What became of a frame; each list is in the order of the frame, and None if the frame had none."""

    enqueued: list[Outcome] | None = None
    acked: list[Outcome] | None = None
    failed: list[Outcome] | None = None
    released: list[Outcome] | None = None
    heartbeat: Beats | None = None


class _ServerFrame(Answer, frozen=True):
    id: int | None = None
    jobs: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)
    error: str | None = None
    code: str = ""


_frame_decoder = msgspec.json.Decoder(_ServerFrame)


async def connect(
    url: str,
    take: Callable[[list[J]], None],
    kind: type[J],
    *,
    api_key: str | None = None,
    namespace: str | None = None,
    timeout: float = LONGEST_CONNECT,
    tls: "ssl.SSLContext | None" = None,
) -> "Stream[J]":
    """Open a stream; `take` is called with jobs that come, as records of that kind.

    Raises ServerUnreachable, or whatever error the server answers with instead.
    """
    address = read_url(url)
    if address.is_tls and tls is None:
        tls = await asyncio.to_thread(trusted_certificates)
    headers = {
        "user-agent": f"rookery-python/{__version__}",
        "x-api-key": api_key,
        "x-rookery-namespace": namespace,
        "x-corvo-namespace": namespace,
    }
    given = {name: value for name, value in headers.items() if value}
    stream: Stream[J] | None = None
    try:
        async with asyncio.timeout(timeout):
            _, stream = await asyncio.get_running_loop().create_connection(
                lambda: Stream(address, given, take, kind),
                address.host,
                address.port,
                ssl=tls if address.is_tls else None,
                server_hostname=address.host if address.is_tls else None,
            )
            await stream.opened
    except (OSError, UnicodeError) as error:
        if stream is not None:
            stream.abort()
        raise cannot_connect(address, error) from None
    except BaseException:
        if stream is not None:
            stream.abort()
        raise
    return stream


class Stream(asyncio.Protocol, Generic[J]):
    """An open stream. Frames may be sent while earlier ones wait for their answers."""

    def __init__(
        self, address: Address, headers: dict[str, str], take: Callable[[list[J]], None], kind: type[J]
    ) -> None:
        loop = asyncio.get_running_loop()
        uri = WebSocketURI(address.is_tls, address.host, address.port, address.prefix + PATH, "")
        self._websocket = ClientProtocol(uri, subprotocols=[SUBPROTOCOL], max_size=None)
        self._headers = headers
        self._take = take
        self._jobs_decoder = msgspec.json.Decoder(list[kind])  # type: ignore[valid-type]
        self._transport: asyncio.Transport | None = None
        self._last_id = 0
        self._waiting: dict[int, asyncio.Future[Answer]] = {}
        self._fragments: list[bytes] = []
        self._drained: asyncio.Future[None] | None = None
        self._fault: RookeryError | None = None
        self._has_heard = True
        self._awaits_pong = False
        self._check: asyncio.TimerHandle | None = None
        self.opened: asyncio.Future[None] = loop.create_future()
        self.lost: asyncio.Future[RookeryError] = loop.create_future()
        """Done with the reason when the connection is gone."""

    # --- sending

    def send(
        self,
        *,
        enqueue: Sequence[Any] | None = None,
        ack: Sequence[Any] | None = None,
        fail: Sequence[Any] | None = None,
        release: Sequence[Any] | None = None,
        heartbeat: Any = None,
        want: Any = None,
        got: Sequence[str] | None = None,
    ) -> "asyncio.Future[Answer]":
        """Send a frame of anything that msgspec can write as the items of the API; its answer is a future.

        Await it for the outcomes; it raises an ApiError if the frame was refused as a whole, and nothing was done,
        or ServerUnreachable if the connection was lost before there was an answer.
        """
        self._last_id += 1
        frame: dict[str, Any] = {"id": self._last_id}
        for name, part in (
            ("enqueue", enqueue),
            ("ack", ack),
            ("fail", fail),
            ("release", release),
            ("heartbeat", heartbeat),
            ("want", want),
            ("got", got),
        ):
            if part is not None:
                frame[name] = part
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        if not self.is_open:
            _fail(answer, self._fault or ServerUnreachable("the stream is closed"))
            return answer
        text = _encode(frame)
        self._waiting[self._last_id] = answer
        self._websocket.send_text(text)
        self._flush()
        return answer

    @property
    def is_open(self) -> bool:
        """Whether frames can be sent."""
        return self._fault is None and self._websocket.state is OPEN

    @property
    def unanswered(self) -> int:
        """How many frames wait for their answers."""
        return len(self._waiting)

    async def drain(self) -> None:
        """Wait until the server has read most of what was sent."""
        if self._drained is not None:
            await asyncio.shield(self._drained)

    async def close(self) -> None:
        """Say goodbye, and wait until the connection is gone; unanswered frames are given up."""
        if self.is_open:
            self._websocket.send_close(1000)
            self._flush()
            await asyncio.wait({self.lost}, timeout=LONGEST_GOODBYE)
        self.abort()
        await asyncio.wait({self.lost}, timeout=LONGEST_GOODBYE)

    def abort(self) -> None:
        """Let go of the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    def _flush(self) -> None:
        parts = self._websocket.data_to_send()
        if parts and self._transport is not None:
            self._transport.write(b"".join(parts))

    # --- called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """There is a connection: ask for a stream on it."""
        self._transport = cast(asyncio.Transport, transport)
        request = self._websocket.connect()
        request.headers.update(self._headers)
        self._websocket.send_request(request)
        self._flush()

    def data_received(self, data: bytes) -> None:
        """Something came."""
        self._has_heard = True
        self._websocket.receive_data(data)
        try:
            for event in self._websocket.events_received():
                if isinstance(event, Frame):
                    self._take_frame(event)
                elif isinstance(event, HandshakeResponse):
                    self._begin(event)
        except RookeryError as fault:
            self._end(fault)
            self.abort()
            return
        self._flush()

    def eof_received(self) -> None:
        """The server says nothing more."""

    def pause_writing(self) -> None:
        """The server does not read as fast as we send."""
        self._drained = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        """It has read."""
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)
        self._drained = None

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone, and with it the answers that have not come."""
        self._websocket.receive_eof()
        closed = self._websocket.close_rcvd
        if isinstance(self._websocket.handshake_exc, InvalidMessage):
            reason = "what answers there is no Rookery server"
        elif closed is not None:
            reason = f"the server closed the stream: {closed.reason or closed.code}"
        else:
            reason = f"the connection to the server was lost{f': {exc}' if exc else ''}"
        self._end(ServerUnreachable(reason, was_sent=True))
        self.resume_writing()
        if not self.lost.done():
            assert self._fault is not None
            self.lost.set_result(self._fault)

    def _begin(self, response: HandshakeResponse) -> None:
        """The server has answered: it opens the stream, or says why not."""
        if self._websocket.state is OPEN:
            self._check = asyncio.get_running_loop().call_later(LONGEST_SILENCE, self._check_life)
            self.opened.set_result(None)
        elif response.status_code >= 400:
            headers = {name.lower(): value for name, value in response.headers.raw_items()}
            raise error_of(Response(response.status_code, bytes(response.body or b""), headers))
        else:
            raise UnexpectedAnswer(f"the server does not open a stream: {self._websocket.handshake_exc}")

    def _take_frame(self, frame: Frame) -> None:
        if frame.opcode is not OP_TEXT and frame.opcode is not OP_CONT:
            return
        if self._fragments or not frame.fin:
            self._fragments.append(bytes(frame.data))
            if not frame.fin:
                return
            data = b"".join(self._fragments)
            self._fragments.clear()
        else:
            data = bytes(frame.data)
        try:
            said = _frame_decoder.decode(data)
            jobs = self._jobs_decoder.decode(said.jobs) if said.jobs else None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UnexpectedAnswer(f"the frame is not what a Rookery server says: {error}") from None
        if jobs is not None:
            self._take(jobs)
        elif said.error is not None:
            self._hear_refusal(said.id, data)
        elif said.id is not None:
            answer = self._waiting.pop(said.id, None)
            if answer is not None and not answer.done():
                answer.set_result(said)

    def _hear_refusal(self, id: int | None, data: bytes) -> None:
        fault = _fault(json.loads(data))
        answer = None if id is None else self._waiting.pop(id, None)
        if answer is None:
            raise fault
        _fail(answer, fault)

    def _end(self, fault: RookeryError) -> None:
        """It is over; the first reason counts."""
        self._fault = self._fault or fault
        if self._check is not None:
            self._check.cancel()
        if not self.opened.done():
            _fail(self.opened, self._fault)
        waiting, self._waiting = self._waiting, {}
        for answer in waiting.values():
            _fail(answer, self._fault)

    def _check_life(self) -> None:
        """Ask a silent server whether it is there; one that does not say so in time is given up."""
        if self._awaits_pong and not self._has_heard:
            self._end(ServerUnreachable("the server is silent", was_sent=True))
            self.abort()
            return
        self._awaits_pong = not self._has_heard
        if self._awaits_pong and self.is_open:
            self._websocket.send_ping(b"")
            self._flush()
        self._has_heard = False
        self._check = asyncio.get_running_loop().call_later(LONGEST_SILENCE, self._check_life)


def _fault(said: dict[str, Any]) -> ApiError:
    """An error of a frame or of an item as HTTP would say it."""
    said.pop("id", None)
    return error_of(Response(_STATUS.get(said.get("code", ""), 400), _encode(said)))


def _fail(future: "asyncio.Future[Any]", fault: Exception) -> None:
    """Let a future raise; if nobody asks it, nobody is to be bothered either."""
    if not future.done():
        future.set_exception(fault)
        future.exception()
