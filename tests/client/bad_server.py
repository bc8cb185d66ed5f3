"""A server that does as it is told: one behaviour for each request, the last one for all that follow."""

import json
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from rookery.client.transport.answers import AnswerReader

Behaviour = Callable[[socket.socket, bytes], None]
"""What is done about a request that came on a connection."""


def say(data: bytes, *, then_close: bool = False) -> Behaviour:
    """These very bytes."""

    def behave(connection: socket.socket, request: bytes) -> None:
        connection.sendall(data)
        if then_close:
            hang_up(connection)

    return behave


def answer(status: int, body: Any = None, *, then_close: bool = False, **headers: str) -> Behaviour:
    """An answer as it should be."""
    text = b"" if body is None else json.dumps(body).encode()
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    head = f"HTTP/1.1 {status} Whatever\r\n{lines}content-length: {len(text)}\r\n\r\n"
    return say(head.encode() + text, then_close=then_close)


def hang_up(connection: socket.socket, request: bytes = b"") -> None:
    """No answer, and the connection is closed."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def silence(connection: socket.socket, request: bytes) -> None:
    """No answer, and the connection stays."""


def forward(port: int, *, cut: bool = False) -> Behaviour:
    """What the server on that port answers; or, cut off, it has heard the request and answered, but nobody is told."""

    def behave(connection: socket.socket, request: bytes) -> None:
        answer = AnswerReader()
        with socket.create_connection(("127.0.0.1", port)) as server:
            server.sendall(request)
            data = b""
            while not answer.is_whole:
                part = server.recv(65536)
                answer.feed(part)
                data += part
        if cut:
            hang_up(connection)
        else:
            connection.sendall(data)

    return behave


class BadServer:
    """Listens on loopback. `requests` are those that came, `connections` counts how many were made.

    Requests whose first line begins in one of the ways of `aside` are kept in `set_aside` and counted nowhere else.
    """

    def __init__(
        self, *behaviours: Behaviour, host: str = "127.0.0.1", aside: Mapping[bytes, Behaviour] | None = None
    ) -> None:
        self.requests: list[bytes] = []
        self.set_aside: list[bytes] = []
        self._aside = aside or {}
        self.connections = 0
        self._behaviours = list(behaviours)
        self._open: list[socket.socket] = []
        self._lock = threading.Lock()
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, 0), family=family)
        self.port = self._listener.getsockname()[1]
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{self.port}"
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.hang_up_all()
        for thread in self._threads:
            thread.join(10)
        for connection in self._open:
            connection.close()

    def hang_up_all(self) -> None:
        """Close every connection, as a server does that has waited long enough."""
        for connection in self._open:
            hang_up(connection)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(connection)
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError):
            while (request := _read_request(connection)) is not None:
                self._next(request)(connection, request)

    def _next(self, request: bytes) -> Behaviour:
        with self._lock:
            for begin, behave in self._aside.items():
                if request.startswith(begin):
                    self.set_aside.append(request)
                    return behave
            self.requests.append(request)
            return self._behaviours[min(len(self.requests), len(self._behaviours)) - 1]


def _read_request(connection: socket.socket) -> bytes | None:
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(65536)
        if not part:
            return None
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    length = int(lengths[0].split(b":")[1]) if lengths else 0
    while len(body) < length:
        part = connection.recv(65536)
        if not part:
            return None
        body += part
    return head + b"\r\n\r\n" + body
