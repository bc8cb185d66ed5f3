"""A small proxy that puts a server below a path, as people do with their own; it can let callers only read."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import httpx

LOOKS = ("/api/v1/jobs/search", "/api/v1/jobs/bulk-get")
"""What is asked with a POST and changes nothing."""
REFUSAL = "this key may read but not change anything"
PASSED_ON = ("accept", "content-type", "cache-control", "x-api-key", "if-none-match")


class _Handler(BaseHTTPRequestHandler):
    prefix: ClassVar[str]
    is_read_only: ClassVar[bool]
    client: ClassVar[httpx.Client]

    def answer(self) -> None:
        if not self.path.startswith(f"{self.prefix}/"):
            self.send_error(404)
            return
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.is_read_only and self.command != "GET" and self.path.removeprefix(self.prefix) not in LOOKS:
            self.refuse()
            return
        headers = {name: value for name, value in self.headers.items() if name.lower() in PASSED_ON}
        headers["X-Forwarded-Prefix"] = self.prefix
        with self.client.stream(
            self.command, self.path.removeprefix(self.prefix), content=body, headers=headers
        ) as got:
            self.send_response(got.status_code)
            for name, value in got.headers.items():
                if name not in (
                    "transfer-encoding",
                    "content-length",
                    "content-encoding",
                    "connection",
                    "date",
                    "server",
                ):
                    self.send_header(name, value)
            self.send_header("connection", "close")
            self.end_headers()
            try:
                for chunk in got.iter_bytes():
                    self.wfile.write(chunk)
                    self.wfile.flush()
            except (OSError, httpx.HTTPError):
                pass  # The browser has left, or the test is over.

    def refuse(self) -> None:
        body = json.dumps({"error": REFUSAL, "code": "FORBIDDEN"}).encode()
        self.send_response(403)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def below(url: str, prefix: str, *, is_read_only: bool = False) -> Iterator[str]:
    """The address of the server's new place, as long as it is needed."""
    with httpx.Client(base_url=url, timeout=70) as client:
        methods = dict.fromkeys(("do_GET", "do_POST", "do_PUT", "do_DELETE"), _Handler.answer)
        settings = {"prefix": prefix, "is_read_only": is_read_only, "client": client}
        handler = type("Handler", (_Handler,), {**settings, **methods})
        proxy = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        proxy.daemon_threads = True
        thread = threading.Thread(target=proxy.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{proxy.server_address[1]}{prefix}"
        finally:
            proxy.shutdown()
            thread.join()
            proxy.server_close()
