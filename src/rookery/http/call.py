"""One call as a handler sees it, the answer a handler gives, and the description of a route."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, MutableMapping
from functools import lru_cache
from io import BytesIO
from typing import Any, ClassVar, Final, TypeVar
from urllib.parse import parse_qsl

import msgspec

from rookery.http.errors import invalid, too_large, unparsable
from rookery.http.settings import HttpSettings
from rookery.http.visit import Visit
from rookery.model.names import DEFAULT_NAMESPACE, NAMESPACE_MARK, queue_name_fault, stored_name
from rookery.model.traces import read_traceparent
from rookery.node.batcher import resolver
from rookery.node.node import Node

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

T = TypeVar("T")

SMALL_BODY: Final = 1 << 20
"""What a call about one job may have around its payload."""
LARGE_BODY: Final = 64 << 20
"""What a call about many jobs may have."""


class CallerGone(Exception):
    """The connection was closed before the request was whole."""


class Answer(msgspec.Struct, frozen=True):
    """Status and body; the gate adds the headers that every answer has."""

    status: int
    body: bytes = b""
    content_type: bytes = b"application/json"
    headers: tuple[tuple[bytes, bytes], ...] = ()


class Work(msgspec.Struct, frozen=True):
    """What a hot call comes to: an operation, and how its result is answered. A claim may have to wait."""

    op: Any
    finish: Callable[[Any], Answer]
    wait: float | None = None


class Stream(msgspec.Struct, frozen=True):
    """An answer that goes on, part by part: server-sent events unless it says otherwise, one frame a part."""

    parts: AsyncGenerator[bytes, None]
    content_type: bytes = b"text/event-stream; charset=utf-8"
    status: ClassVar[int] = 200
    headers: tuple[tuple[bytes, bytes], ...] = ()


class Call:
    """A request with what a handler needs to answer it."""

    __slots__ = ("_receive", "charge", "headers", "namespace", "node", "params", "scope", "settings", "visit")

    def __init__(
        self,
        node: Node,
        settings: HttpSettings,
        scope: Scope,
        receive: Receive,
        headers: dict[bytes, bytes],
        params: dict[str, str],
        namespace: str,
        charge: Callable[[int], None],
    ) -> None:
        self.node = node
        self.settings = settings
        self.scope = scope
        self.headers = headers
        self.params = params
        self.namespace = namespace
        self.charge = charge
        self.visit: Visit | None = None
        self._receive = receive

    async def body(self, limit: int, *, is_patient: bool = False) -> bytes:
        """The whole body; one that is over the limit is refused before it is read whole.

        It must have come within a minute, or, if we are patient, go on coming.
        """
        declared = self.headers.get(b"content-length")
        if declared is not None and int(declared) > limit:
            raise too_large(f"the body has {int(declared)} bytes, the limit is {limit}")
        whole, size = BytesIO(), 0
        while (message := await self._receive())["type"] == "http.request":
            size += whole.write(message["body"])
            if is_patient:
                self.scope["rookery.wait"]()
            if size > limit:
                raise too_large(f"the body is over the limit of {limit} bytes")
            if not message.get("more_body", False):
                return whole.getvalue()
        raise CallerGone

    async def parse(self, decoder: "msgspec.json.Decoder[T]", limit: int | None = None) -> T:
        """The body as a record; an empty one counts as `{}`."""
        return decode(decoder, await self.body(self.small_body if limit is None else limit) or b"{}")

    @property
    def small_body(self) -> int:
        """The limit of a body about one job: twice its payload, for white space, and something around it."""
        payload = self.settings.max_payload_size
        return LARGE_BODY if payload == 0 else 2 * payload + SMALL_BODY

    async def run(self, work: Work) -> Answer:
        """Do the work and wait for its result."""
        if work.wait is None:
            return work.finish(await self.node.submit(work.op))
        gone = self.watch_gone()
        fetched: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        waiter = self.node.fetch(work.op, work.wait, resolver(fetched))
        try:
            await asyncio.wait({fetched, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not gone.done():
                return work.finish(fetched.result())
            if fetched.done() and fetched.exception() is None:
                self.node.put_back(work.op, fetched.result())
            raise CallerGone
        finally:
            gone.cancel()
            if waiter is not None and not fetched.done():
                self.node.abandon(waiter)

    def watch_gone(self) -> asyncio.Future[Any]:
        """A future that is done once the caller has closed the connection. Cancel it in the end."""
        return asyncio.ensure_future(until_gone(self._receive))

    def query(self) -> dict[str, str]:
        """The query's parameters; of one given twice, the last."""
        return dict(parse_qsl(self.scope["query_string"].decode("latin-1"), keep_blank_values=True))

    def trace(self) -> str | None:
        """The trace that jobs made by this call belong to: the caller's own, or else the request's."""
        given = self.headers.get(b"traceparent")
        trace = None if given is None else read_traceparent(given)
        return trace or (None if self.visit is None else self.visit.trace)

    def queue(self, name: str, field: str = "queue") -> str:
        """A queue's stored name, from the name that the caller gives it."""
        try:
            return _stored_name(self.namespace, name)
        except ValueError as fault:
            raise invalid(f"{field} {fault}") from None


@lru_cache(10_000)
def _stored_name(namespace: str, name: str) -> str:
    """Checked once for each name; raises ValueError."""
    fault = queue_name_fault(name)
    if fault is not None:
        raise ValueError(fault)
    if namespace != DEFAULT_NAMESPACE and NAMESPACE_MARK in name:
        raise ValueError(f"must not contain {NAMESPACE_MARK}")
    return stored_name(namespace, name)


async def until_gone(receive: Receive) -> None:
    """Wait until the caller has closed the connection."""
    while (await receive())["type"] != "http.disconnect":
        pass


def decode(decoder: "msgspec.json.Decoder[T]", body: bytes | msgspec.Raw) -> T:
    """JSON as a record, or an error that names the field."""
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        raise unparsable(f"invalid request: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise unparsable(f"the body is not valid JSON: {error}") from None
    except RecursionError:
        raise unparsable("the body is nested too deeply") from None


def json_answer(value: object, status: int = 200) -> Answer:
    """A record as JSON."""
    return Answer(status, msgspec.json.encode(value))


Handler = Callable[[Call], Awaitable[Answer | Stream]]
Prepare = Callable[[Call, bytes], Work]


def says(description: str) -> msgspec.Meta:
    """What a field means, for the description of the API."""
    return msgspec.Meta(description=description)


class Parameter(msgspec.Struct, frozen=True):
    """A parameter of the query, or a header, for the description of the API."""

    name: str
    description: str
    type: str = "string"
    place: str = "query"


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """A path, who answers it, and what there is to say about it."""

    method: str
    path: str
    handler: Handler
    prepare: Prepare | None = None
    summary: str
    description: str = ""
    request: Any = None
    frames: tuple[Any, ...] = ()
    answers: dict[int, Any]
    parameters: tuple[Parameter, ...] = ()
    tag: str = ""
    is_public: bool = False
    is_public_at_home: bool = False
    """Whether a server that only its own host can reach asks for no credential here."""
    takes_many: bool = False


def hot_route(path: str, prepare: Prepare, *, large: bool = False, **rest: Any) -> Route:
    """A route that producers or workers use all day: it can be answered in the fast lane."""

    async def handler(call: Call) -> Answer:
        return await call.run(prepare(call, await call.body(LARGE_BODY if large else call.small_body)))

    return Route(method="POST", path=path, handler=handler, prepare=prepare, takes_many=large, **rest)
