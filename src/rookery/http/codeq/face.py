"""The door of the codeQ API: finds who answers a call, lets the caller in, and puts errors into codeQ's words."""

import logging
from typing import Final

import msgspec

from rookery.http.call import Answer, Call, CallerGone, Receive, Scope
from rookery.http.codeq import admin, artifacts, claims, cleanup, results, subscriptions, tasks
from rookery.http.codeq.artifacts import Artifacts
from rookery.http.codeq.auth import Guard
from rookery.http.codeq.call import CodeqCall, Route
from rookery.http.codeq.errors import CodeqError
from rookery.http.codeq.hooks import Hooks
from rookery.http.codeq.limits import RateLimits
from rookery.http.codeq.settings import CodeqSettings
from rookery.http.errors import api_error, internal_error
from rookery.http.request_ids import request_id_header
from rookery.http.routing import Routes
from rookery.http.settings import HttpSettings
from rookery.http.visit import Visit
from rookery.node.node import Node

logger = logging.getLogger(__name__)

BASE: Final = "/v1/codeq"
ROUTES: Final[list[Route]] = [
    *tasks.ROUTES,
    *claims.ROUTES,
    *results.ROUTES,
    *artifacts.ROUTES,
    *admin.ROUTES,
    *cleanup.ROUTES,
    *subscriptions.ROUTES,
]


class CodeqFace:
    """Answers everything below `/v1/codeq`."""

    def __init__(self, node: Node, http_settings: HttpSettings, settings: CodeqSettings) -> None:
        self._node = node
        self._http_settings = http_settings
        self._settings = settings
        self._guard = Guard(settings, is_open=http_settings.is_open)
        self._limits = RateLimits(settings, node.measures.rate_limit_hits)
        self._artifacts = Artifacts(settings)
        node.serve(Hooks(settings, self._limits))
        self._routes = Routes(
            [msgspec.structs.replace(route, path=BASE + route.path) for route in ROUTES],
        )

    async def answer(self, scope: Scope, receive: Receive, visit: Visit) -> Answer:
        """Answer one request, whatever goes wrong with it."""
        headers = dict(scope["headers"])
        try:
            answer = await self._answer(scope, receive, headers, visit)
        except CallerGone:
            raise
        except Exception as error:
            answer = _answer_to(error, scope)
        return msgspec.structs.replace(answer, headers=(*answer.headers, request_id_header(headers)))

    async def _answer(self, scope: Scope, receive: Receive, headers: dict[bytes, bytes], visit: Visit) -> Answer:
        if scope["method"] == "OPTIONS":
            return Answer(200, b"{}")
        route, params = self._routes.find(scope["method"], scope["raw_path"].decode("latin-1"))
        visit.enter(self._node.measures.traffic.of(route.method, route.path))
        if self._node.tracing is not None:
            visit.begin_trace(self._node.tracing, scope["headers"])
        caller = await self._guard.admit(route.who, headers)
        if route.scope is not None and route.scope not in caller.scopes:
            raise CodeqError(403, "missing scope")
        if route.limit is not None:
            self._limits.charge(route.limit, caller.bearer)
        call = Call(self._node, self._http_settings, scope, receive, headers, params, caller.namespace, _free_of_charge)
        call.visit = visit
        return await route.handler(CodeqCall(call, caller, self._settings, self._artifacts))


def is_codeq(path: str) -> bool:
    """Whether a path belongs to the codeQ API."""
    return path.startswith(BASE) and path[len(BASE) :][:1] in ("", "/")


def _free_of_charge(_: int) -> None:
    """Native limits do not count here."""


def _answer_to(error: Exception, scope: Scope) -> Answer:
    """The answer to a call that went wrong."""
    if isinstance(error, CodeqError):
        wait = error.extra.get("retryAfterSeconds")
        return Answer(error.status, error.body(), headers=() if wait is None else ((b"retry-after", b"%d" % wait),))
    told = api_error(error)
    if told is None:
        logger.error("%s %s failed", scope["method"], scope["path"], exc_info=error)
        told = internal_error()
    text = "not found" if told.status == 404 else told.message
    return Answer(told.status, CodeqError(told.status, text).body(), headers=told.headers())
