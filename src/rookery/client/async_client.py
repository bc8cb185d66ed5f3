"""`AsyncClient`: everything that a Rookery server can be asked for, in an event loop.

`client.py` is made from this file by `tools/make_sync_client.py`: change this one, then run that.
"""

import asyncio
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

from msgspec import UNSET

from rookery.client.addresses import DEFAULT_URL, POOL_SIZE, TIMEOUT, from_environment
from rookery.client.calls import jobs, produce, work
from rookery.client.calls.produce import StepLike
from rookery.client.calls.work import Ack, Beat, End, NewLine, Usage
from rookery.client.errors import RookeryError, ServerUnreachable, UnexpectedAnswer, error_of
from rookery.client.newjobs import Batch, EnqueueOptions, NewJob
from rookery.client.nonblocking import AsyncHttpTransport
from rookery.client.records import (
    AckedMany,
    Enqueued,
    EnqueuedMany,
    Failed,
    FetchedJob,
    Heartbeat,
    Job,
    LogsAdded,
)
from rookery.client.requests import AsyncTransport, Request
from rookery.client.retries import RETRIES, pause_before_retry
from rookery.client.values import Duration, JobRef

if TYPE_CHECKING:
    import ssl

T = TypeVar("T")


class AsyncClient:
    """A Rookery server, in an event loop. Keep one for the whole program: it keeps its connections.

    The URL, key and namespace come from `ROOKERY_URL`, `ROOKERY_API_KEY` and `ROOKERY_NAMESPACE` if they are not given.

        async with AsyncClient("http://localhost:8080") as client:
            await client.enqueue("emails", {"to": "a@example.com"})
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        api_key: str | None = None,
        namespace: str | None = None,
        timeout: float = TIMEOUT,
        retries: int = RETRIES,
        pool_size: int = POOL_SIZE,
        tls: "ssl.SSLContext | None" = None,
        transport: AsyncTransport | None = None,
    ) -> None:
        if transport is None:
            transport = AsyncHttpTransport(
                from_environment(url, "URL") or DEFAULT_URL,
                api_key=from_environment(api_key, "API_KEY"),
                namespace=from_environment(namespace, "NAMESPACE"),
                timeout=timeout,
                pool_size=pool_size,
                tls=tls,
            )
        self._transport = transport
        self._timeout = timeout
        self._retries = retries

    async def close(self) -> None:
        """Let go of all connections. The client cannot be used after that."""
        await self._transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _send(self, request: Request[T]) -> T:
        """Send a request, again if that does no harm, and read the answer."""
        tries = 0
        while True:
            error: RookeryError
            try:
                response = await self._transport.send(request)
                if response.status < 300:
                    return request.decode(response)
                if response.status < 400:
                    raise UnexpectedAnswer(f"the server answered {response.status}: is the URL right?")
                error = error_of(response)
            except ServerUnreachable as lost:
                error = lost
            pause = pause_before_retry(request, error, tries) if tries < self._retries else None
            if pause is None:
                raise error
            tries += 1
            await asyncio.sleep(pause)

    # --- producing

    async def enqueue(self, queue: str, payload: Any = UNSET, **options: Unpack[EnqueueOptions]) -> Enqueued:
        """Add a job. The payload is any JSON value, `{}` by default. A retry after a lost answer adds no second job.

        await client.enqueue("emails", {"to": "a@example.com"}, priority="high", delay="5m")
        """
        return await self._send(produce.enqueue(queue, payload, options))

    async def enqueue_many(
        self,
        jobs: Iterable[NewJob | Mapping[str, Any]],
        *,
        batch: Batch | None = None,
        idempotency_key: str | None = None,
        traceparent: str | None = None,
    ) -> EnqueuedMany:
        """Add up to 20,000 jobs, all or none; with a `Batch` they are followed together.

        await client.enqueue_many([NewJob("emails", {"to": to}) for to in people], batch=Batch("reports"))
        """
        return await self._send(produce.enqueue_many(jobs, batch, idempotency_key, traceparent))

    async def chain(
        self,
        steps: Iterable[StepLike],
        *,
        on_failure: StepLike | None = None,
        on_exit: StepLike | None = None,
        **options: Unpack[EnqueueOptions],
    ) -> Enqueued:
        """Add jobs that run one after the other; each is told the result of the one before. The answer is of the first.

        await client.chain([("images.fetch", {"url": url}), "images.resize"], on_failure="alerts")
        """
        return await self._send(produce.chain(steps, on_failure, on_exit, options))

    # --- working

    async def fetch(
        self,
        queues: str | Iterable[str],
        *,
        worker_id: str | None = None,
        hostname: str | None = None,
        timeout: Duration = 30.0,
        lease_duration: Duration | None = None,
    ) -> FetchedJob | None:
        """Lease a job of these queues, waiting up to `timeout` (at most a minute) for one; None if there is none.

        job = await client.fetch("emails", worker_id="w1")
        """
        return await self._send(work.fetch(queues, worker_id, hostname, timeout, lease_duration))

    async def fetch_many(
        self,
        queues: str | Iterable[str],
        count: int,
        *,
        worker_id: str | None = None,
        hostname: str | None = None,
        timeout: Duration = 30.0,
        lease_duration: Duration | None = None,
    ) -> list[FetchedJob]:
        """Lease up to `count` jobs (at most 512), waiting up to `timeout` until there is at least one."""
        return await self._send(work.fetch_many(queues, count, worker_id, hostname, timeout, lease_duration))

    async def ack(
        self,
        job: JobRef,
        result: Any = None,
        *,
        lease_token: str | None = None,
        checkpoint: Any = None,
        usage: Usage | None = None,
        agent_status: work.AgentStatus | None = None,
        hold_reason: str | None = None,
        step_status: work.StepStatus | None = None,
        exit_reason: str | None = None,
    ) -> None:
        """The job is done; `result` is kept on it. Raises LeaseLost if it is no longer yours.

        await client.ack(job, {"sent": True})
        """
        ack = Ack(
            job=job,
            result=result,
            lease_token=lease_token,
            checkpoint=checkpoint,
            usage=usage,
            agent_status=agent_status,
            hold_reason=hold_reason,
            step_status=step_status,
            exit_reason=exit_reason,
        )
        await self._send(work.ack(ack))

    async def ack_many(self, acks: Iterable[Ack | FetchedJob]) -> AckedMany:
        """Many jobs are done. Those that are not yours any more are skipped and listed in `lost`.

        await client.ack_many([Ack(job=job, result=result) for job, result in done])
        """
        acked, lost = 0, list[str]()
        for request in work.ack_many(acks):
            answer = await self._send(request)
            acked += answer.acked
            lost += answer.lost
        return AckedMany(acked=acked, lost=lost)

    async def fail(
        self,
        job: JobRef,
        error: str | BaseException,
        *,
        lease_token: str | None = None,
        backtrace: str | None = None,
        retry_after: Duration | None = None,
        end: End | None = None,
    ) -> Failed:
        """The attempt has failed: the job is tried again later, or dead if it was the last.

        `retry_after` says when to try again instead of the job's backoff, `end` that it is not to be tried again. An
        exception is told with its backtrace.
        """
        return await self._send(work.fail(job, error, lease_token, backtrace, retry_after, end))

    async def release(
        self,
        job: JobRef,
        *,
        lease_token: str | None = None,
        delay: Duration | None = None,
        checkpoint: Any = None,
        reason: str | None = None,
    ) -> str:
        """Hand the job back as if it had never been fetched; after a `delay` if given. `pending` or `scheduled`."""
        return await self._send(work.release(job, lease_token, delay, checkpoint, reason))

    async def heartbeat(self, jobs: Iterable[FetchedJob] | Mapping[str, Beat | None]) -> Heartbeat:
        """These jobs are still worked on: renew their leases. The answer says which of them to stop.

        (await client.heartbeat([job])).to_stop
        """
        return await self._send(work.heartbeat(jobs))

    async def progress(
        self,
        job: JobRef,
        progress: Any = None,
        *,
        lease_token: str | None = None,
        checkpoint: Any = None,
        usage: Usage | None = None,
    ) -> bool:
        """Say how far a job is, and renew its lease. False if it has been cancelled; raises LeaseLost.

        await client.progress(job, {"percent": 40}, checkpoint={"page": 12})
        """
        return await self._send(work.progress(job, progress, lease_token, checkpoint, usage))

    async def add_logs(
        self,
        job: JobRef,
        lines: str | NewLine | Iterable[str | NewLine],
        *,
        level: str | None = None,
        lease_token: str | None = None,
    ) -> LogsAdded:
        """Add lines to a job's log.

        await client.add_logs(job, "sending", level="debug")
        """
        appended, last = 0, 0
        for request in work.add_logs(job, lines, level, lease_token):
            answer = await self._send(request)
            appended, last = appended + answer.appended, answer.last
        return LogsAdded(appended=appended, last=last)

    # --- jobs

    async def get(self, job: JobRef) -> Job:
        """A job, whole. Raises NotFound."""
        return await self._send(jobs.get(job))
