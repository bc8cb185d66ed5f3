"""Server-sent events: how a frame looks, and how a silent stream is kept alive."""

import asyncio
from typing import Any


def frame(event: str, data: bytes, number: int | None = None) -> bytes:
    """One event; a reader who comes back says the last number it has seen."""
    head = b"" if number is None else b"id: %d\n" % number
    return b"%sevent: %s\ndata: %s\n\n" % (head, event.encode(), data)


class Pulse:
    """Knows how long a stream has been silent, and when that is too long."""

    def __init__(self, longest_silence: float) -> None:
        self._longest_silence = longest_silence
        self._loop = asyncio.get_running_loop()
        self.beat()

    def beat(self) -> None:
        """Something was said."""
        self._due = self._loop.time() + self._longest_silence

    async def wait(self, news: asyncio.Future[Any]) -> bytes | None:
        """Wait for news; if the stream has been silent for too long by then, what there is to say."""
        await asyncio.wait({news}, timeout=max(0.0, self._due - self._loop.time()))
        if self._loop.time() < self._due:
            return None
        self.beat()
        return b":keepalive\n\n"
