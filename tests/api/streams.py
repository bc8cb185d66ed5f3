"""Server-sent events read from the wire, chunk by chunk."""

import json
import select
import socket
from typing import Any, Self
from urllib.parse import urlencode, urlsplit

from tests.conftest import Api


class EventStream:
    """A stream that is read as slowly as a test wants."""

    def __init__(
        self,
        api: Api,
        path: str,
        headers: dict[str, str] | None = None,
        *,
        receive_buffer: int | None = None,
        **params: Any,
    ) -> None:
        address = urlsplit(api.server.url)
        self._socket = socket.socket()
        if receive_buffer is not None:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self._socket.settimeout(20)
        self._socket.connect((address.hostname, address.port))
        lines = [f"GET /api/v1{path}?{urlencode(params)} HTTP/1.1", "Host: x"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        self._socket.sendall("\r\n".join([*lines, "", ""]).encode())
        self._file = self._socket.makefile("rb", buffering=4096)
        self.status = self._file.readline().decode().strip()
        self.headers: dict[str, str] = {}
        while line := self._file.readline().decode().strip():
            name, _, value = line.partition(":")
            self.headers[name.lower()] = value.strip()

    def chunk(self) -> str:
        """The next chunk of the answer; nothing if it was the last."""
        size = int(self._file.readline(), 16)
        content = self._file.read(size)
        assert self._file.read(2) == b"\r\n"
        return content.decode()

    def frame(self) -> tuple[str, int | None, Any]:
        """The next frame: its event, its id and its data."""
        frame = self.chunk()
        assert not frame.startswith(":"), "nothing but a keepalive came in time"
        *id, event, data, end, rest = frame.split("\n")
        assert (event[:7], data[:6], end, rest) == ("event: ", "data: ", "", "")
        assert [line[:4] for line in id] in ([], ["id: "])
        return event[7:], int(id[0][4:]) if id else None, json.loads(data[6:])

    def event(self) -> dict[str, Any]:
        """The next event of the timeline."""
        type, seq, event = self.frame()
        assert (seq, type) == (event["seq"], event["type"])
        found: dict[str, Any] = event
        return found

    def rest(self) -> bytes:
        """All that still comes before the connection ends, well or badly."""
        rest = b""
        try:
            while some := self._file.read1(65536):
                rest += some
        except ConnectionResetError:
            pass
        return rest

    def is_silent(self) -> bool:
        """Whether nothing more comes for a moment."""
        return not select.select([self._socket], [], [], 0.1)[0]

    def close(self) -> None:
        """Hang up."""
        self._file.close()
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
