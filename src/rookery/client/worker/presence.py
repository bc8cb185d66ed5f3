"""What a worker says of itself: how many jobs it runs at a time, and that it drains. No work waits for it, or fails."""

import asyncio
import logging
from typing import TYPE_CHECKING

from rookery.client.errors import RookeryError

if TYPE_CHECKING:
    from rookery.client.worker.worker import Worker

logger = logging.getLogger("rookery.worker")


class Presence:
    """Says one thing after the other, so that the server ends up with the last."""

    def __init__(self, worker: "Worker") -> None:
        self._worker = worker
        self._is_draining = False
        self._is_said = True
        self._saying: asyncio.Task[None] | None = None

    def say(self, *, draining: bool) -> None:
        """Say so, as soon as what is being said has been heard."""
        self._is_draining, self._is_said = draining, False
        if self._saying is None or self._saying.done():
            self._saying = asyncio.create_task(self._say())

    async def close(self) -> None:
        """Say nothing more."""
        if self._saying is not None:
            self._saying.cancel()
            await asyncio.gather(self._saying, return_exceptions=True)

    async def _say(self) -> None:
        worker = self._worker
        while not self._is_said:
            self._is_said = True
            try:
                await worker.app.client.announce_worker(
                    worker.worker_id,
                    hostname=worker.hostname,
                    queues=worker.queues,
                    slots=worker.concurrency,
                    draining=self._is_draining,
                )
            except (RookeryError, ValueError) as error:
                # An older server, or another one that does not know of this: it is told of jobs all the same.
                logger.debug("the server was not told what this worker is: %s", error)
