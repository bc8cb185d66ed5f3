"""A session by plain HTTP: long polls for jobs, and outcomes as soon as there are any."""

import asyncio
import logging
from time import time
from typing import TYPE_CHECKING, Final

import msgspec

from rookery.client.async_client import AsyncClient
from rookery.client.errors import InvalidRequest, LeaseLost, NotFound, Overloaded, PayloadTooLarge, RookeryError
from rookery.client.functions.claimed import ClaimedJob
from rookery.client.functions.current import LEASE_LOST
from rookery.client.records import AckedMany
from rookery.client.transport.nonblocking import AsyncHttpTransport
from rookery.client.transport.requests import API, Request, Retry, answer_as, no_answer, part_of_path
from rookery.client.transport.retries import jittered
from rookery.client.worker.outbox import AckMessage, FailMessage, Message, Outbox, ReleaseMessage
from rookery.model.instants import parse_instant

if TYPE_CHECKING:
    from rookery.client.worker.worker import Worker

logger = logging.getLogger("rookery.worker")

POLL_FOR: Final = 30.0
HURRY_WITHIN: Final = 1.0
"""Seconds that the server has to answer a poll when the worker stops."""
MOST_AT_A_TIME: Final = 8
"""How many messages that go one by one are under way at a time."""

_encode: Final = msgspec.json.Encoder().encode


class ClaimedJobs(msgspec.Struct):
    """The answer to a fetch."""

    jobs: list[ClaimedJob]


class Told(msgspec.Struct):
    """The answer to an outcome: of one that failed, when it is tried again."""

    next_attempt_at: str | None = None


_read_told: Final = answer_as(Told)


class PollSession:
    """Lives until a poll fails."""

    kind = "long polls"

    def __init__(self, worker: "Worker") -> None:
        self._worker = worker
        self._client = worker.app.client
        self._has_room = asyncio.Event()
        self._has_news = asyncio.Event()
        self._under_way: Outbox | None = None
        self._request: Request[ClaimedJobs] | None = None
        self._poll: asyncio.Task[ClaimedJobs] | None = None

    @property
    def is_unanswered(self) -> bool:
        """Whether messages, or jobs, are on their way."""
        return self._under_way is not None or self._poll is not None

    async def open(self) -> None:
        """See that the server answers, and lets us in."""
        await self._client.heartbeat({})

    async def run(self) -> None:
        """Take jobs and tell outcomes until a poll fails."""
        telling = asyncio.create_task(self._tell())
        try:
            await self._take()
        finally:
            telling.cancel()
            await asyncio.gather(telling, return_exceptions=True)

    def flush(self) -> None:
        """There may be something to tell, and room for more jobs."""
        if self._worker.outbox:
            self._has_news.set()
        if self._worker.room:
            self._has_room.set()

    def stop_taking(self) -> None:
        """Have the poll answered: were it given up, a job that is on its way would be nobody's until its lease ends."""
        if self._poll is None or self._request is None:
            return
        transport = self._client._transport
        nothing = Request("POST", f"{API}/heartbeat", no_answer, body=_encode({"jobs": {}}))
        if isinstance(transport, AsyncHttpTransport) and transport.hurry(self._request, nothing):
            # Something between us and the server may have kept the second request back.
            asyncio.get_running_loop().call_later(HURRY_WITHIN, self._poll.cancel)
        else:
            self._poll.cancel()

    def close(self) -> None:
        """What is under way may not have been heard."""
        if self._under_way is not None:
            self._worker.outbox.put_back(self._under_way)
            self._under_way = None

    async def _take(self) -> None:
        worker = self._worker
        while True:
            self._has_room.clear()
            if not worker.room:
                await self._has_room.wait()
                continue
            self._request = self._fetch(worker.room)
            self._poll = asyncio.create_task(self._client._send(self._request))
            try:
                await asyncio.wait({self._poll})
                if not self._poll.cancelled():
                    worker.receive(self._poll.result().jobs)
            finally:
                self._poll.cancel()
                self._poll = self._request = None

    def _fetch(self, count: int) -> Request[ClaimedJobs]:
        body = {
            "queues": self._worker.queues,
            "worker_id": self._worker.worker_id,
            "hostname": self._worker.hostname,
            "lease_duration": self._worker.lease_seconds,
            "timeout": POLL_FOR,
            "count": count,
        }
        read = answer_as(ClaimedJobs)
        return Request("POST", f"{API}/fetch/batch", read, body=_encode(body), retry=Retry.UNSENT, waits=POLL_FOR)

    async def _tell(self) -> None:
        """Tell what there is to tell, again until it is heard."""
        failures = 0
        while True:
            if not self._worker.outbox:
                self._has_news.clear()
                await self._has_news.wait()
            self._under_way = self._worker.outbox.take()
            try:
                await deliver(self._client, self._under_way)
                self._under_way = None
                failures = 0
                self.flush()
            except RookeryError as error:
                self.close()
                pause = jittered(failures) + (error.retry_after if isinstance(error, Overloaded) else 0.0)
                logger.warning("outcomes could not be told: %s; trying again in %.1f s", error, pause)
                failures += 1
                await asyncio.sleep(pause)


async def deliver(client: AsyncClient, outbox: Outbox) -> None:
    """Tell the server everything; what it has heard leaves the outbox. Raises RookeryError if it cannot be reached."""
    if len(outbox.acks) > 1:
        await _ack_many(client, outbox)
    some = asyncio.Semaphore(MOST_AT_A_TIME)

    async def tell(message: Message) -> None:
        async with some:
            await _deliver_one(client, message)
            outbox.remove(message)

    told = await asyncio.gather(*[tell(message) for message in outbox.messages()], return_exceptions=True)
    for error in told:
        if error is not None:
            raise error


async def _ack_many(client: AsyncClient, outbox: Outbox) -> None:
    """Many acks at once. If the server does not like one of them they go one by one."""
    request = Request("POST", f"{API}/ack/batch", answer_as(AckedMany), body=_encode({"acks": outbox.acks}))
    try:
        answer = await client._send(request)
    except (InvalidRequest, PayloadTooLarge):
        return
    lost = set(answer.lost)
    for ack in outbox.acks:
        if ack.job_id in lost:
            note_dropped(ack, LEASE_LOST)
    outbox.acks = []


async def _deliver_one(client: AsyncClient, message: Message) -> None:
    """Tell of one job. That the server does not want to know any more is fine; an ack it refuses becomes a failure."""
    try:
        outcome = await client._send(_request(message))
        if outcome.next_attempt_at is not None:
            note_retry(message.job_id, outcome.next_attempt_at)
    except (LeaseLost, NotFound) as error:
        note_dropped(message, str(error))
    except (InvalidRequest, PayloadTooLarge) as error:
        if isinstance(message, AckMessage) and error.code != "ACK_ERROR":
            told = FailMessage(message.job_id, message.lease_token, f"the server refused the result: {error}")
            await _deliver_one(client, told)
        else:
            note_dropped(message, str(error))


def note_dropped(message: Message, reason: str) -> None:
    """The server does not want to know how a job went."""
    what = "it had gone back already" if isinstance(message, ReleaseMessage) else "its outcome is dropped"
    logger.info("job %s: %s (%s)", message.job_id, what, reason)


def note_retry(job_id: str, at: str) -> None:
    """The server has said when a job that failed comes again."""
    seconds = max(0.0, parse_instant(at) / 1000 - time())
    logger.info("job %s: again in %s", job_id, f"{seconds:.0f} s" if seconds >= 1 else "a moment")


def _request(message: Message) -> Request[Told]:
    verb = VERBS[type(message)]
    return Request("POST", f"{API}/{verb}/{part_of_path(message.job_id)}", _read_told, body=_encode(message))


VERBS: Final[dict[type[Message], str]] = {AckMessage: "ack", FailMessage: "fail", ReleaseMessage: "release"}
