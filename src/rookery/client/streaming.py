"""A session over the server's stream: one WebSocket that brings jobs and takes outcomes, many to a frame."""

from typing import TYPE_CHECKING

from rookery.client.errors import RookeryError

if TYPE_CHECKING:
    from rookery.client.worker import Worker


class StreamUnavailable(RookeryError):
    """The server has no stream, or somebody on the way does not let it pass."""


class StreamSession:
    """Lives until the connection is lost."""

    kind = "stream"

    def __init__(self, worker: "Worker") -> None:
        self._worker = worker

    async def open(self) -> None:
        """Connect."""
        raise StreamUnavailable("not yet")

    async def run(self) -> None: ...
    def flush(self) -> None: ...
    def stop_taking(self) -> None: ...
    def close(self) -> None: ...
    @property
    def is_unanswered(self) -> bool:
        return False
