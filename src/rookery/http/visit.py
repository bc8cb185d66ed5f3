"""One request from its beginning to its end, counted, timed and, where that is wanted, traced."""

from time import perf_counter
from typing import TYPE_CHECKING, Final

from rookery.http.errors import RATE_LIMITED, ApiError
from rookery.model.traces import read_traceparent
from rookery.node.measures import RouteTraffic, Traffic
from rookery.node.tracing import Tracing

if TYPE_CHECKING:
    from opentelemetry.trace import Span

CALLER_GONE: Final = 0
"""Instead of a status: nobody was there any more to be answered."""

Headers = list[tuple[bytes, bytes]]


class Visit:
    """Begins when a request has come, ends when it is answered or its caller is gone."""

    __slots__ = ("_route", "_span", "_started", "_tracing", "_traffic")

    def __init__(self, traffic: Traffic, route: RouteTraffic, started: float) -> None:
        self._traffic = traffic
        self._route: RouteTraffic | None = route
        self._started = started
        self._tracing: Tracing | None = None
        traffic.in_flight += 1

    def enter(self, route: RouteTraffic) -> None:
        """Now it is known which route it is for."""
        self._route = route

    def begin_trace(self, tracing: Tracing, headers: Headers) -> None:
        """Make a span of it, as a part of what the caller does."""
        assert self._route is not None
        parent = read_traceparent(dict(headers).get(b"traceparent", b""))
        self._tracing = tracing
        self._span: Span = tracing.begin_request(self._route.method, self._route.route, parent)

    @property
    def trace(self) -> str | None:
        """What the request hands on to the jobs it makes, if it is traced."""
        return None if self._tracing is None else self._tracing.traceparent(self._span)

    def refused(self, error: BaseException) -> None:
        """The call came to nothing."""
        if self._route is not None and isinstance(error, ApiError) and error.code == RATE_LIMITED:
            self._route.throttled += 1

    def end(self, status: int) -> None:
        """It is over. Said twice, the first counts."""
        route = self._route
        if route is None:
            return
        self._route = None
        self._traffic.in_flight -= 1
        route.durations.add(perf_counter() - self._started)
        if status >= 400:
            route.errors += 1
        if self._tracing is not None:
            self._tracing.end_request(self._span, status)
