"""A small, fast HTTP client: one keep-alive connection, one request at a time."""

import asyncio
from typing import Any, Self

import msgspec


class Connection:
    """A connection to a server on loopback."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, port: int) -> Self:
        return cls(*await asyncio.open_connection("127.0.0.1", port, limit=1 << 24))

    async def post(self, path: str, body: Any) -> tuple[int, Any]:
        """Status and decoded answer."""
        content = msgspec.json.encode(body)
        head = f"POST /api/v1{path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(content)}\r\n\r\n"
        self._writer.write(head.encode() + content)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        status = int(answer[9:12])
        length = 0
        for line in answer.lower().split(b"\r\n"):
            if line.startswith(b"content-length:"):
                length = int(line[15:])
        data = await self._reader.readexactly(length) if length else b""
        return status, msgspec.json.decode(data) if data else None

    def close(self) -> None:
        self._writer.close()
