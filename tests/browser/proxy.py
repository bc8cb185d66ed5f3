"""A small proxy that puts a server below a path, as people do with their own."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import httpx

PASSED_ON = ("accept", "content-type", "cache-control", "x-api-key", "if-none-match")


class _Handler(BaseHTTPRequestHandler):
    prefix: ClassVar[str]
    client: ClassVar[httpx.Client]

    def answer(self) -> None:
        if not self.path.startswith(f"{self.prefix}/"):
            self.send_error(404)
            return
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
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

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def below(url: str, prefix: str) -> Iterator[str]:
    """The address of the server's new place, as long as it is needed."""
    with httpx.Client(base_url=url, timeout=70) as client:
        methods = dict.fromkeys(("do_GET", "do_POST", "do_PUT", "do_DELETE"), _Handler.answer)
        handler = type("Handler", (_Handler,), {"prefix": prefix, "client": client, **methods})
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
