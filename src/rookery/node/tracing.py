"""Spans of requests, batches and commits, sent to an OpenTelemetry collector. Needs the extra `otel`.

A node without tracing has None in its place: nothing of this is loaded then, and nothing is paid for it.
"""

import asyncio
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from rookery import __version__

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span

LONGEST_FAREWELL: Final = 3.0
"""Seconds for which the last spans may hold up the end of the server."""

Interval = tuple[float, float]
"""Beginning and end, by `perf_counter`."""


class TracingUnavailable(Exception):
    """Tracing is wanted, but what it takes is not installed."""


class Tracing:
    """Makes spans. They are gathered and sent by a thread of their own; too many are dropped, nobody waits."""

    def __init__(self, endpoint: str | None = None) -> None:
        try:
            from opentelemetry import trace
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
        except ImportError as error:
            raise TracingUnavailable(f"tracing needs the extra `otel` (rookery[otel]): {error}") from None
        about = Resource.create({SERVICE_NAME: "rookery", SERVICE_VERSION: __version__})
        self._provider = TracerProvider(resource=about, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))
        self._tracer = self._provider.get_tracer("rookery", __version__)
        self._trace = trace

    def begin_request(self, method: str, route: str, parent: str | None) -> "Span":
        """A request has come; `parent` is the caller's `traceparent`."""
        return self._tracer.start_span(
            f"http {method} {route}",
            context=self._context(parent),
            kind=self._trace.SpanKind.SERVER,
            attributes={"http.request.method": method, "http.route": route},
        )

    def end_request(self, span: "Span", status: int) -> None:
        """The request is answered, or its caller has gone (0)."""
        if status:
            span.set_attribute("http.response.status_code", status)
        if status >= 500:
            span.set_status(self._trace.StatusCode.ERROR)
        span.end()

    def traceparent(self, span: "Span") -> str:
        """The context that a span hands on."""
        context = span.get_span_context()
        return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"

    def batch(self, operations: int, jobs: int, applied: Interval, commit: Interval | None) -> None:
        """A batch was applied; its commit is a part of that."""
        span = self._timed("batch", applied, None, {"rookery.operations": operations, "rookery.jobs": jobs})
        if commit is not None:
            self._timed("commit", commit, self._trace.set_span_in_context(span), {"rookery.operations": operations})

    def _timed(self, name: str, interval: Interval, parent: "Context | None", figures: Mapping[str, int]) -> "Span":
        """A span of the past."""
        since_epoch = time.time_ns() - time.perf_counter_ns()
        began, ended = (since_epoch + int(moment * 1e9) for moment in interval)
        context = self._context(None) if parent is None else parent
        span = self._tracer.start_span(name, context=context, attributes=figures, start_time=began)
        span.end(ended)
        return span

    def _context(self, parent: str | None) -> "Context":
        from opentelemetry.context import Context

        if parent is None:
            return Context()
        _, trace_id, span_id, flags = parent.split("-")
        remote = self._trace.SpanContext(
            int(trace_id, 16), int(span_id, 16), is_remote=True, trace_flags=self._trace.TraceFlags(int(flags, 16))
        )
        return self._trace.set_span_in_context(self._trace.NonRecordingSpan(remote), Context())

    async def close(self) -> None:
        """Send what there is, if the collector takes it in time."""
        farewell = threading.Thread(target=self._provider.shutdown, daemon=True)
        farewell.start()
        await asyncio.to_thread(farewell.join, LONGEST_FAREWELL)
