"""A session over the server's stream: one WebSocket that brings jobs and takes outcomes, many to a frame."""

import asyncio
import logging
from collections.abc import Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from rookery.client.errors import (
    ApiError,
    Forbidden,
    Overloaded,
    RookeryError,
    ServerUnreachable,
    StorageUnavailable,
    Unauthorized,
    UnexpectedAnswer,
)
from rookery.client.functions.claimed import ClaimedJob
from rookery.client.transport.addresses import DEFAULT_URL, from_environment
from rookery.client.transport.retries import jittered
from rookery.client.transport.stream import Answer, Outcome, Stream, connect
from rookery.client.worker.outbox import MOST_BYTES, Message, Outbox
from rookery.client.worker.polling import deliver, note_dropped, note_retry

if TYPE_CHECKING:
    from rookery.client.worker.worker import Worker

logger = logging.getLogger("rookery.worker")

MOST_WANTED: Final = 512
MOST_UNANSWERED: Final = 8
"""Frames on their way; while there are so many, outcomes wait for the answers."""

RETRY_AT_PAUSE: Final = 3
"""Which of the growing pauses is taken before outcomes that go one by one are tried again."""
NOT_OURS: Final = frozenset({"LEASE_LOST", "NOT_FOUND", "ACK_ERROR", "FAIL_ERROR", "RELEASE_ERROR"})
"""Codes that say that the job is somebody else's, or nobody's."""


class StreamUnavailable(RookeryError):
    """The server has no stream, or somebody on the way does not let it pass."""


class StreamSession:
    """Lives until the connection is lost."""

    kind = "the stream"

    def __init__(self, worker: "Worker") -> None:
        self._worker = worker
        self._stream: Stream[ClaimedJob] | None = None
        self._opened_at = monotonic()
        self._unanswered: dict[asyncio.Future[Answer], Outbox] = {}
        self._delivering: set[asyncio.Task[None]] = set()
        self._refusals = 0
        self._pause: asyncio.TimerHandle | None = None
        self._wants_more = False
        """Whether there is room for more jobs than may be wanted at once."""
        self._refused: asyncio.Future[RookeryError] = asyncio.get_running_loop().create_future()
        """Done with the reason when the server does not want to hand out jobs on this stream."""

    @property
    def is_unanswered(self) -> bool:
        """Whether the server has yet to say something to what it was told."""
        return bool(self._unanswered or self._delivering)

    async def open(self) -> None:
        """Connect. Raises StreamUnavailable if the server is there, but has no stream."""
        app = self._worker.app
        try:
            self._stream = await connect(
                from_environment(app.url, "URL") or DEFAULT_URL,
                self._worker.receive,
                ClaimedJob,
                api_key=from_environment(app.api_key, "API_KEY"),
                namespace=from_environment(app.namespace, "NAMESPACE"),
            )
        except (Unauthorized, Forbidden, Overloaded, StorageUnavailable):
            raise
        except (ApiError, UnexpectedAnswer) as error:
            raise StreamUnavailable(str(error)) from None

    async def run(self) -> None:
        """Wait until the connection is lost, or of no use."""
        assert self._stream is not None
        try:
            ended, _ = await asyncio.wait({self._stream.lost, self._refused}, return_when=asyncio.FIRST_COMPLETED)
            raise ended.pop().result()
        finally:
            await self._stream.close()

    def close(self) -> None:
        """What was not answered may not have been heard; what had not begun goes back to the queue by itself."""
        for unheard in self._unanswered.values():
            self._worker.outbox.put_back(unheard)
        self._unanswered.clear()
        self._worker.lose_waiting(self._opened_at)
        for task in self._delivering:
            task.cancel()

    def stop_taking(self) -> None:
        """Want nothing more."""
        if self._stream is not None:
            self._stream.send(want={"queues": self._worker.queues, "count": 0})

    def flush(self) -> None:
        """Send what there is to tell in one frame: outcomes, which jobs have begun, how many more are wanted."""
        worker, stream = self._worker, self._stream
        if stream is None or not stream.is_open or self._pause is not None:
            return
        if len(self._unanswered) >= MOST_UNANSWERED:
            return
        told = worker.outbox.take()
        if told.size > MOST_BYTES:
            # One huge result would end the whole stream.
            self._deliver(told)
            told = Outbox()
        began = worker.begun_jobs()
        want = self._want()
        if not told and not began and want is None:
            return
        try:
            answer = stream.send(
                ack=told.acks or None,
                fail=told.fails or None,
                release=told.releases or None,
                got=began or None,
                want=want,
            )
        except (TypeError, ValueError) as error:
            # One of them cannot be written as JSON: it must not take the others with it.
            logger.warning("a frame could not be written: %s; its parts go one by one", error)
            self._deliver(told)
            told = Outbox()
            answer = stream.send(got=began or None, want=want)
        self._unanswered[answer] = told
        answer.add_done_callback(self._hear)

    def _want(self) -> dict[str, Any] | None:
        """How many jobs may come, if the server has to be told."""
        worker = self._worker
        if not (worker.credit.is_off or self._wants_more) or not worker.room:
            # None at all would mean that no more are wanted even when those in hand have ended.
            return None
        worker.credit.is_off = False
        self._wants_more = worker.room > MOST_WANTED
        return {
            "queues": worker.queues,
            "count": min(worker.room, MOST_WANTED),
            "worker_id": worker.worker_id,
            "hostname": worker.hostname,
            "lease_duration": worker.lease_seconds,
        }

    def _hear(self, answer: "asyncio.Future[Answer]") -> None:
        """A frame was answered, or will not be."""
        told = self._unanswered.pop(answer, None)
        if told is None or answer.cancelled():
            return
        error = answer.exception()
        if error is None:
            self._refusals = 0
            refused = _refused(told, answer.result())
            if refused:
                self._deliver(refused)
            self._flush_rest()
        elif isinstance(error, ServerUnreachable):
            self._worker.outbox.put_back(told)
        elif isinstance(error, Overloaded | StorageUnavailable):
            self._try_again(told, error)
        elif not told and isinstance(error, RookeryError):
            if not self._refused.done():
                self._refused.set_result(error)
        else:
            logger.warning("the server refused a frame: %s; its parts go one by one", error)
            self._deliver(told)

    def _flush_rest(self) -> None:
        """There is room on the stream again: send what had to wait for it."""
        worker = self._worker
        if worker.outbox or worker.begun or worker.credit.is_off:
            worker.flush()

    def _try_again(self, told: Outbox, error: ApiError) -> None:
        """The server is too busy: wait as long as it says."""
        self._worker.outbox.put_back(told)
        self._worker.credit.is_off = True
        pause = jittered(self._refusals) + (error.retry_after if isinstance(error, Overloaded) else 0.0)
        self._refusals += 1
        if self._pause is None:
            self._pause = asyncio.get_running_loop().call_later(pause, self._go_on)

    def _go_on(self) -> None:
        self._pause = None
        self._worker.flush()

    def _deliver(self, told: Outbox) -> None:
        task = asyncio.create_task(deliver(self._worker.app.client, told))
        self._delivering.add(task)

        def done(task: asyncio.Task[None]) -> None:
            self._delivering.discard(task)
            self._worker.outbox.put_back(told)
            self._worker.credit.is_off = True
            if task.cancelled():
                return
            if task.exception() is None:
                self._flush_rest()
            else:
                logger.warning("outcomes could not be told: %s", task.exception())
                asyncio.get_running_loop().call_later(jittered(RETRY_AT_PAUSE), self._worker.flush)

        task.add_done_callback(done)


def _refused(told: Outbox, heard: Answer) -> Outbox:
    """What the server would not take but may take in another form; jobs that are not ours any more are left out."""
    refused = Outbox()
    parts: tuple[tuple[Sequence[Message], list[Outcome] | None], ...] = (
        (told.acks, heard.acked),
        (told.fails, heard.failed),
        (told.releases, heard.released),
    )
    for messages, outcomes in parts:
        for message, outcome in zip(messages, outcomes or (), strict=False):
            if outcome.error is None:
                if outcome.next_attempt_at is not None:
                    note_retry(message.job_id, outcome.next_attempt_at)
                continue
            if outcome.code in NOT_OURS:
                note_dropped(message, outcome.error)
            else:
                refused.add(message)
    return refused
