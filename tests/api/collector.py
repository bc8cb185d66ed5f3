"""A collector of traces that keeps what it is sent."""

import gzip
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

import msgspec
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

SERVER = 2
"""The kind of a span that answers somebody."""


class Span(msgspec.Struct):
    """One span, the ids in hexadecimal."""

    name: str
    kind: int
    trace: str
    id: str
    parent: str
    start: int
    end: int
    attributes: dict[str, Any]


class Collector:
    """Takes traces by OTLP over HTTP at `url`."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.service = ""
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                assert self.path == "/v1/traces"
                body = self.rfile.read(int(self.headers["content-length"]))
                collector.take(gzip.decompress(body) if self.headers["content-encoding"] == "gzip" else body)
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def take(self, body: bytes) -> None:
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            about = {attribute.key: attribute.value.string_value for attribute in resource.resource.attributes}
            self.service = about["service.name"]
            for scope in resource.scope_spans:
                self.spans += [
                    Span(
                        span.name,
                        span.kind,
                        span.trace_id.hex(),
                        span.span_id.hex(),
                        span.parent_span_id.hex(),
                        span.start_time_unix_nano,
                        span.end_time_unix_nano,
                        {
                            attribute.key: getattr(attribute.value, attribute.value.WhichOneof("value"))
                            for attribute in span.attributes
                        },
                    )
                    for span in scope.spans
                ]

    def named(self, name: str) -> list[Span]:
        """The spans of that name that have come so far."""
        return [span for span in self.spans if span.name == name]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
