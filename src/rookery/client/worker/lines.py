"""The line to the server: made again whenever it breaks, over the stream if the server has one, else by long polls."""

import asyncio
import logging
from typing import TYPE_CHECKING, Final, Protocol

from rookery.client.errors import Forbidden, Overloaded, RookeryError, Unauthorized
from rookery.client.transport.retries import jittered
from rookery.client.worker.polling import PollSession
from rookery.client.worker.streaming import StreamSession, StreamUnavailable

if TYPE_CHECKING:
    from rookery.client.worker.worker import Worker

logger = logging.getLogger("rookery.worker")

LONG_ENOUGH: Final = 10.0
"""A session that lasted so many seconds was a good one: the next failure is the first again."""


class CannotStart(Exception):
    """The worker cannot run like this; the message says why."""


class Session(Protocol):
    """One connection's life."""

    kind: str

    async def open(self) -> None:
        """Make sure that the server is there and lets us in. Raises RookeryError."""

    async def run(self) -> None:
        """Take jobs and tell outcomes until the connection is lost: then it raises RookeryError."""

    def flush(self) -> None:
        """Send what there is to tell."""

    def stop_taking(self) -> None:
        """Ask for no more jobs."""

    def close(self) -> None:
        """What was sent and not answered goes back to where it came from."""

    @property
    def is_unanswered(self) -> bool:
        """Whether the server has yet to say something to what it was told."""


class Line:
    """Keeps a session with the server."""

    def __init__(self, worker: "Worker") -> None:
        self._worker = worker
        self._session: Session | None = None
        self.is_connected = False

    @property
    def is_unanswered(self) -> bool:
        """Whether the server has yet to say something to what it was told."""
        return self._session is not None and self._session.is_unanswered

    def flush(self) -> None:
        """Send what there is to tell, if there is a connection."""
        if self._session is not None:
            self._session.flush()

    def stop_taking(self) -> None:
        """Ask for no more jobs."""
        if self._session is not None:
            self._session.stop_taking()

    async def run(self) -> None:
        """Keep a session until cancelled. Raises CannotStart if the server does not let us in at the first time."""
        loop = asyncio.get_running_loop()
        failures, was_in = 0, False
        while True:
            began = loop.time()
            try:
                session = await self._open()
                was_in = True
                await self._keep(session)
            except RookeryError as error:
                if isinstance(error, Unauthorized | Forbidden) and not was_in:
                    raise CannotStart(f"the server does not let the worker in: {error}") from None
                failures = 0 if loop.time() - began > LONG_ENOUGH else failures
                pause = jittered(failures) + (error.retry_after if isinstance(error, Overloaded) else 0.0)
                logger.warning("no connection to the server: %s; trying again in %.1f s", error, pause)
            failures += 1
            await asyncio.sleep(pause)

    async def _open(self) -> Session:
        kind = self._worker.transport
        if kind != "http":
            stream = StreamSession(self._worker)
            try:
                await stream.open()
                return stream
            except StreamUnavailable as error:
                if kind == "stream":
                    raise
                logger.info("the server has no stream (%s): jobs are fetched by long polls", error)
        polls = PollSession(self._worker)
        await polls.open()
        return polls

    async def _keep(self, session: Session) -> None:
        self._session, self.is_connected = session, True
        self._worker.connected(session.kind)
        try:
            await session.run()
        finally:
            self._session, self.is_connected = None, False
            session.close()
