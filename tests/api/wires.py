"""A stream as another client would speak it: the `websockets` library, JSON or MessagePack, frame by frame."""

import json
import socket
from contextlib import suppress
from typing import Any, Self

import msgspec
from websockets.exceptions import ConnectionClosed
from websockets.frames import OP_TEXT, Frame
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from tests.conftest import Api


class Wire:
    """An open stream. What it hears out of turn, jobs or answers, it keeps until somebody asks."""

    def __init__(
        self,
        api: Api,
        *,
        subprotocols: tuple[str, ...] = ("rookery.json",),
        headers: dict[str, str] | None = None,
        receive_buffer: int | None = None,
    ) -> None:
        url = api.server.url.replace("http://", "ws://") + "/api/v1/stream"
        options: dict[str, Any] = {}
        if receive_buffer is not None:
            options["sock"] = connected_socket(api, receive_buffer)
        self.websocket = connect(
            url,
            subprotocols=[Subprotocol(name) for name in subprotocols] or None,
            additional_headers=headers,
            compression=None,
            max_size=None,
            proxy=None,
            open_timeout=20,
            ping_interval=None,
            **options,
        )
        self._is_packed = self.websocket.subprotocol == "rookery.msgpack"
        self._last_id = 0
        self._answers: dict[Any, dict[str, Any]] = {}
        self.jobs: list[dict[str, Any]] = []

    def say(self, **frame: Any) -> int:
        """Send a frame; its id."""
        if "id" not in frame:
            self._last_id += 1
            frame["id"] = self._last_id
        self.websocket.send(msgspec.msgpack.encode(frame) if self._is_packed else json.dumps(frame))
        id: int = frame["id"]
        return id

    def say_at_once(self, *frames: dict[str, Any]) -> None:
        """Send several frames so that they arrive together."""
        data = [Frame(OP_TEXT, json.dumps(frame).encode()).serialize(mask=True) for frame in frames]
        self.websocket.socket.sendall(b"".join(data))

    def hear(self, timeout: float = 20) -> dict[str, Any]:
        """The next frame, whatever it is."""
        data = self.websocket.recv(timeout)
        if self._is_packed:
            assert isinstance(data, bytes)
            frame = msgspec.msgpack.decode(data)
        else:
            assert isinstance(data, str)
            frame = json.loads(data)
        if "jobs" in frame:
            assert frame.keys() == {"jobs"}
            self.jobs += frame["jobs"]
        return dict(frame)

    def answer(self, id: Any) -> dict[str, Any]:
        """The answer to a frame."""
        while id not in self._answers:
            frame = self.hear()
            if "jobs" not in frame:
                self._answers[frame["id"]] = frame
        return self._answers.pop(id)

    def ask(self, **frame: Any) -> dict[str, Any]:
        """Send a frame and hear its answer."""
        return self.answer(self.say(**frame))

    def want(self, *queues: str, count: int, **fields: Any) -> None:
        """Ask for jobs."""
        id = self.say(want={"queues": queues, "count": count, **fields})
        assert self.answer(id) == {"id": id}

    def take(self, count: int) -> list[dict[str, Any]]:
        """The next so many jobs, in the order they came."""
        while len(self.jobs) < count:
            self.hear()
        taken, self.jobs = self.jobs[:count], self.jobs[count:]
        return taken

    def is_silent(self) -> bool:
        """Whether no job comes, though the server has had the time: it has done two commits since."""
        for _ in range(2):
            self.ask(enqueue=[{"queue": "elsewhere"}])
        try:
            while True:
                self.hear(timeout=0.1)
        except TimeoutError:
            return not self.jobs

    def ended(self) -> tuple[int, str]:
        """Code and reason with which the server closes."""
        with suppress(ConnectionClosed):
            while True:
                self.hear()
        code, reason = self.websocket.close_code, self.websocket.close_reason
        assert code is not None
        return code, reason or ""

    def drop(self) -> None:
        """Be gone without a word."""
        self.websocket.socket.shutdown(socket.SHUT_RDWR)
        self.close()

    def close(self) -> None:
        """Say goodbye."""
        self.websocket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def connected_socket(api: Api, receive_buffer: int | None = None) -> socket.socket:
    """A connection to the server; with a small buffer it soon notices who does not read."""
    raw = socket.socket()
    if receive_buffer is not None:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    raw.settimeout(20)
    host, _, port = api.server.url.removeprefix("http://").rpartition(":")
    raw.connect((host, int(port)))
    return raw


def lease_of(job: dict[str, Any]) -> dict[str, str]:
    """A job and its lease, as every message about it names them."""
    return {"job_id": job["job_id"], "lease_token": job["lease_token"]}


def raw_stream(api: Api, *, receive_buffer: int | None = None) -> socket.socket:
    """A connection that asks for a stream, and does nothing of itself after that."""
    raw = connected_socket(api, receive_buffer)
    upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    raw.sendall(f"GET /api/v1/stream HTTP/1.1\r\nHost: x\r\n{upgrade}Sec-WebSocket-Version: 13\r\n\r\n".encode())
    return raw
