"""The door: who may come in, who answers, and how every answer looks from outside.

It is the ASGI application. The paths that producers and workers use all day can also be taken through the fast
lane, which asks the same questions here and ends in the same handlers.
"""

import asyncio
import hmac
import logging
from collections.abc import Callable
from functools import cache, partial
from time import perf_counter
from typing import Final, NoReturn

from rookery.http import (
    backup,
    bulk,
    cluster,
    fetch,
    figures,
    fulltext,
    joblogs,
    jobs,
    metrics,
    observe,
    produce,
    queues,
    restore,
    schedules,
    search,
    stream,
    ui,
    usage,
    webhooks,
    why,
    work,
    workers,
)
from rookery.http.call import Answer, Call, CallerGone, Receive, Route, Scope, Send, Stream, until_gone
from rookery.http.codeq.face import CodeqFace, is_codeq
from rookery.http.errors import ApiError, api_error, forbidden, internal_error, invalid, overloaded
from rookery.http.openapi import docs_routes
from rookery.http.rate_limit import RateLimiter, client_of
from rookery.http.routing import Routes
from rookery.http.settings import HttpSettings
from rookery.http.visit import CALLER_GONE, Visit
from rookery.model.names import DEFAULT_NAMESPACE, is_namespace
from rookery.node.node import Node

logger = logging.getLogger(__name__)

API_ROUTES: Final = [
    *produce.ROUTES,
    *fetch.ROUTES,
    *work.ROUTES,
    *workers.ROUTES,
    *stream.ROUTES,
    *jobs.ROUTES,
    *joblogs.ROUTES,
    *why.ROUTES,
    *search.ROUTES,
    *fulltext.ROUTES,
    *bulk.ROUTES,
    *queues.ROUTES,
    *schedules.ROUTES,
    *webhooks.ROUTES,
    *observe.ROUTES,
    *cluster.ROUTES,
    *metrics.ROUTES,
    *figures.ROUTES,
    *usage.ROUTES,
    *backup.ROUTES,
    *restore.ROUTES,
]

COMMON_HEADERS: Final = (
    (b"access-control-allow-origin", b"*"),
    (b"access-control-allow-methods", b"GET, POST, PUT, DELETE, OPTIONS"),
    (
        b"access-control-allow-headers",
        b"Content-Type, Authorization, X-API-Key, X-Corvo-Namespace, X-Rookery-Namespace, Idempotency-Key, "
        b"Last-Event-ID",
    ),
)
_WITHOUT_BODY: Final = frozenset({204, 304})
_READ_METHODS: Final = frozenset({"GET", "HEAD"})
_NO_PARAMS: Final[dict[str, str]] = {}


class Gate:
    """The ASGI application."""

    def __init__(self, node: Node, settings: HttpSettings) -> None:
        self.node = node
        self._settings = settings
        self._limiter = RateLimiter(settings) if settings.rate_limit_enabled else None
        self._routes = _all_routes()
        self._codeq = None if settings.codeq is None else CodeqFace(node, settings, settings.codeq)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        started = perf_counter()
        if scope["type"] != "http":
            raise RuntimeError(f"unexpected connection of type {scope['type']}")
        traffic = self.node.measures.traffic
        visit, status = Visit(traffic, traffic.of_others(scope["method"]), started), CALLER_GONE
        try:
            try:
                answer = await self._answer(scope, receive, visit)
            except CallerGone:
                return
            except Exception as error:
                visit.refused(error)
                answer = answer_to(error, scope)
            status = answer.status
            if isinstance(answer, Stream):
                await _send_stream(answer, started, scope, receive, send, self._settings.stream_stall_timeout)
            else:
                await _send_answer(answer, started, send)
        finally:
            visit.end(status)

    async def _answer(self, scope: Scope, receive: Receive, visit: Visit) -> Answer | Stream:
        path = scope["raw_path"].decode("latin-1")
        if self._codeq is not None and is_codeq(path):
            return await self._codeq.answer(scope, receive, visit)
        if scope["method"] == "OPTIONS":
            return Answer(200, b"{}")
        route, params = self._routes.find(scope["method"], path)
        visit.enter(self.node.measures.traffic.of(route.method, route.path))
        if self.node.tracing is not None:
            visit.begin_trace(self.node.tracing, scope["headers"])
        call = self.admit(route, params, scope, receive)
        call.visit = visit
        return await route.handler(call)

    def admit(self, route: Route, params: dict[str, str], scope: Scope, receive: Receive) -> Call:
        """Let a caller in, or say why not."""
        headers = dict(scope["headers"])
        namespace, limiter = DEFAULT_NAMESPACE, None
        charge: Callable[[int], None] = _free_of_charge
        if not route.is_public:
            if not (route.is_public_at_home and self._settings.is_local):
                self._check_credential(headers)
            namespace, limiter = _namespace(headers), self._limiter
        if limiter is not None:
            client = client_of(headers, scope["client"])
            is_read = scope["method"] in _READ_METHODS
            limiter.charge(client, is_read, 1)
            charge = partial(limiter.charge_items, client, is_read)
        return Call(self.node, self._settings, scope, receive, headers, params, namespace, charge)

    def admit_stream(self, scope: Scope) -> Call:
        """Let a caller open a stream: who it is and what it may is settled here for all of its frames."""
        call = self.admit(stream.ROUTE, _NO_PARAMS, scope, _nothing_more)
        headers = call.headers
        if self._settings.admin_password is not None and _is_from_elsewhere(headers):
            raise forbidden("a page of another site may not open a stream with the cookie of this one")
        if self.node.measures.streams.open >= self._settings.stream_max_open:
            raise overloaded(1000, f"{self._settings.stream_max_open} streams are open already")
        if self._limiter is not None:
            call.charge = partial(self._limiter.charge_frame, client_of(headers, scope["client"]))
        headers.pop(b"traceparent", None)
        return call

    def _check_credential(self, headers: dict[bytes, bytes]) -> None:
        password = self._settings.admin_password
        if password is not None:
            credential = _credential(headers)
            if credential is None:
                raise ApiError(401, "UNAUTHORIZED", "missing API key")
            if not hmac.compare_digest(credential.strip(), password.encode()):
                raise ApiError(401, "UNAUTHORIZED", "invalid API key")


@cache
def _all_routes() -> Routes[Route]:
    return Routes([*API_ROUTES, *docs_routes(API_ROUTES), *ui.ROUTES])


def _namespace(headers: dict[bytes, bytes]) -> str:
    """Which namespace the caller works in."""
    chosen = headers.get(b"x-rookery-namespace") or headers.get(b"x-corvo-namespace")
    if not chosen:
        return DEFAULT_NAMESPACE
    namespace = chosen.decode("latin-1").strip()
    if not is_namespace(namespace):
        raise invalid(f"X-Rookery-Namespace: {namespace[:64]!r} is not the name of a namespace")
    return namespace


async def _nothing_more() -> NoReturn:
    """What comes after the head of an upgrade is not HTTP."""
    raise CallerGone


def _is_from_elsewhere(headers: dict[bytes, bytes]) -> bool:
    """Whether a browser sends the cookie on behalf of another site's page; no browser sends our headers for one."""
    origin = headers.get(b"origin")
    if not origin or headers.get(b"x-api-key") or headers.get(b"authorization"):
        return False
    return origin.partition(b"://")[2] != headers.get(b"host")


def _free_of_charge(_: int) -> None:
    """No limit."""


def _credential(headers: dict[bytes, bytes]) -> bytes | None:
    """The caller's key: from its header, as a bearer token, or from the cookie."""
    key = headers.get(b"x-api-key")
    if key:
        return key
    scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
    if scheme.lower() == b"bearer" and token:
        return token
    cookies = dict(part.strip().partition(b"=")[::2] for part in headers.get(b"cookie", b"").split(b";"))
    return cookies.get(b"rookery_api_key") or cookies.get(b"corvo_api_key") or None


def answer_to(error: BaseException, scope: Scope) -> Answer:
    """The answer to a call that went wrong."""
    told = api_error(error)
    if told is None:
        logger.error("%s %s failed", scope["method"], scope["path"], exc_info=error)
        told = internal_error()
    return Answer(told.status, told.body(), headers=told.headers())


def server_timing(started: float) -> bytes:
    """How long the answer took, for the header of that name."""
    return b"proc;dur=%.3f" % ((perf_counter() - started) * 1000)


async def _send_answer(answer: Answer, started: float, send: Send) -> None:
    headers = [*COMMON_HEADERS, (b"server-timing", server_timing(started)), *answer.headers]
    if answer.status not in _WITHOUT_BODY:
        headers += ((b"content-type", answer.content_type), (b"content-length", b"%d" % len(answer.body)))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})


async def _send_stream(
    stream: Stream, started: float, scope: Scope, receive: Receive, send: Send, stall_timeout: float
) -> None:
    """Send part by part until the reader goes or there are no more; a slow reader makes us wait, but not for ever."""
    headers = [
        *COMMON_HEADERS,
        (b"server-timing", server_timing(started)),
        (b"content-type", stream.content_type),
        (b"cache-control", b"no-cache"),
        *stream.headers,
    ]
    await send({"type": "http.response.start", "status": stream.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"", "more_body": True})
    gone = asyncio.ensure_future(until_gone(receive))
    parts = asyncio.ensure_future(_send_parts(stream, send, stall_timeout))
    try:
        await asyncio.wait({gone, parts}, return_when=asyncio.FIRST_COMPLETED)
        if parts.done():
            parts.result()
            await send({"type": "http.response.body", "body": b""})
    except TimeoutError:
        logger.warning("%s: dropped a reader who does not read", scope["path"])
        scope["rookery.abort"]()
    finally:
        gone.cancel()
        parts.cancel()
        await asyncio.gather(gone, parts, return_exceptions=True)
        await stream.parts.aclose()


async def _send_parts(stream: Stream, send: Send, stall_timeout: float) -> None:
    async for part in stream.parts:
        async with asyncio.timeout(stall_timeout):
            await send({"type": "http.response.body", "body": part, "more_body": True})
