"""Somebody who is called by webhooks: a real HTTP server that keeps what it gets and answers as it is told."""

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

CERTIFICATE = Path(__file__).parent / "localhost.pem"
"""For `localhost`, signed by itself, with its key."""


class Received(NamedTuple):
    """One request."""

    path: str
    headers: dict[str, str]
    body: bytes
    client: tuple[str, int] = ("", 0)

    @property
    def message(self) -> dict[str, Any]:
        return dict(json.loads(self.body))

    @property
    def event(self) -> dict[str, Any]:
        return dict(self.message["event"])


class Receiver(ThreadingHTTPServer):
    """Answers 200 unless told otherwise for a path; hangs on paths that begin with `/hang` until it is released."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.scheme = "http"
        self.requests: list[Received] = []
        self.statuses: dict[str, int] = {}
        self.answers: dict[str, bytes] = {}
        self.released = threading.Event()

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"{self.scheme}://{host}:{self.server_port}{path}"

    def at(self, path: str) -> list[Received]:
        """What has come to a path, in the order it came."""
        return [request for request in self.requests if request.path == path]

    def use_tls(self) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATE)
        self.scheme = "https"
        self.socket = context.wrap_socket(self.socket, server_side=True)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Callers may go before they are answered."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Receiver

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        body = self.rfile.read(length)
        if len(body) < length:
            return
        self.server.requests.append(Received(self.path, dict(self.headers), body, self.client_address))
        if self.path.startswith("/hang") or (self.path == "/then-hang" and len(self.server.at(self.path)) > 1):
            self.server.released.wait(60)
        status = self.server.statuses.get(self.path, 200)
        answer = self.server.answers.get(self.path, b"thanks")
        self.send_response(status)
        if 300 <= status < 400:
            self.send_header("Location", self.server.url("/elsewhere"))
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing."""


@contextmanager
def receiving(*, tls: bool = False) -> Iterator[Receiver]:
    """A receiver that listens as long as it is wanted."""
    with Receiver() as receiver:
        if tls:
            receiver.use_tls()
        thread = threading.Thread(target=receiver.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield receiver
        finally:
            receiver.released.set()
            receiver.shutdown()
            thread.join()
