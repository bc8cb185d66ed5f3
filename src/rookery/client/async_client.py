"""`AsyncClient`: everything that a Rookery server can be asked for, in an event loop.

`client.py` is made from this file by `tools/make_sync_client.py`: change this one, then run that.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import aclosing
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar, Unpack

import msgspec
from msgspec import UNSET

from rookery.client.calls import find, jobs, produce, queues, schedules, watch, webhooks, work
from rookery.client.calls.find import Action, Filters, Order, Sort
from rookery.client.calls.produce import StepLike
from rookery.client.calls.schedules import ScheduleChanges, ScheduleOptions, ScheduleRef
from rookery.client.calls.watch import GroupBy, Names
from rookery.client.calls.webhooks import WebhookChanges, WebhookOptions, WebhookRef
from rookery.client.calls.work import Ack, Beat, End, NewLine, Usage
from rookery.client.errors import (
    BulkFailed,
    JobFailed,
    RookeryError,
    ServerUnreachable,
    UnexpectedAnswer,
    WaitTimeout,
    error_of,
)
from rookery.client.newjobs import Batch, EnqueueOptions, NewJob, Priority
from rookery.client.records import (
    AckedMany,
    Enqueued,
    EnqueuedMany,
    Failed,
    FetchedJob,
    Heartbeat,
    Job,
    JobSummary,
    LogsAdded,
)
from rookery.client.reports import (
    BatchStatus,
    BulkProgress,
    BulkResult,
    BulkStatus,
    Delivery,
    Event,
    Health,
    Hit,
    Info,
    LogLine,
    Minute,
    Page,
    Queue,
    Restored,
    Schedule,
    ServerStatus,
    Trial,
    UsageSummary,
    Webhook,
    Why,
    WorkerInfo,
)
from rookery.client.transport.addresses import DEFAULT_URL, POOL_SIZE, TIMEOUT, from_environment
from rookery.client.transport.nonblocking import AsyncHttpTransport
from rookery.client.transport.requests import AsyncTransport, Request, Response
from rookery.client.transport.retries import RETRIES, pause_before_retry
from rookery.client.transport.sse import Frame, FrameReader
from rookery.client.values import Duration, JobRef, job_id_of, seconds_of

if TYPE_CHECKING:
    import ssl

T = TypeVar("T")

PAGE_SIZE: Final = 200
LONGEST_POLL: Final = 30.0
"""Seconds that one request waits for a job to end; then the next one does."""
EARLY_PAUSE: Final = 0.25
SILENCE: Final = 45.0
"""Seconds after which a stream that says nothing is taken for broken; the server says something every 15."""


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

        >>> await client.enqueue("emails", {"to": "a@example.com"}, priority="high", delay="5m")
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

        >>> await client.enqueue_many([NewJob("emails", {"to": to}) for to in people], batch=Batch("reports"))
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

        >>> await client.chain([("images.fetch", {"url": url}), "images.resize"], on_failure="alerts")
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

        >>> job = await client.fetch("emails", worker_id="w1")
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

        >>> await client.ack(job, {"sent": True})
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

        >>> await client.ack_many([Ack(job=job, result=result) for job, result in done])
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

        >>> (await client.heartbeat([job])).to_stop
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

        >>> await client.progress(job, {"percent": 40}, checkpoint={"page": 12})
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

        >>> await client.add_logs(job, "sending", level="debug")
        """
        appended, last = 0, 0
        for request in work.add_logs(job, lines, level, lease_token):
            answer = await self._send(request)
            appended, last = appended + answer.appended, answer.last
        return LogsAdded(appended=appended, last=last)

    # --- one job

    async def get(self, job: JobRef) -> Job:
        """A job, whole. Raises NotFound."""
        return await self._send(jobs.get(job))

    async def get_many(self, ids: Iterable[JobRef]) -> list[Job]:
        """Jobs by their ids, in that order; those that there are not are left out."""
        found: list[Job] = []
        for request in jobs.get_many(ids):
            found += await self._send(request)
        return found

    async def wait(self, job: JobRef, timeout: Duration | None = None) -> Job:
        """Wait until a job has ended, and return it. Raises WaitTimeout if it has not in time; no limit by default.

        >>> job = await client.wait(job, timeout="2m")
        """
        end = None if timeout is None else monotonic() + seconds_of(timeout, "timeout")
        while True:
            begin = monotonic()
            seconds = LONGEST_POLL if end is None else min(LONGEST_POLL, max(0.0, end - begin))
            found = await self._send(jobs.wait(job, seconds))
            if found.has_ended:
                return found
            if end is not None and monotonic() >= end:
                raise WaitTimeout(found)
            if monotonic() - begin < seconds / 2:
                # A server that is about to stop answers early.
                await asyncio.sleep(EARLY_PAUSE)

    async def result(self, job: JobRef, timeout: Duration | None = None) -> Any:
        """Wait until a job has ended, and return its result. Raises JobFailed if it is dead or cancelled, WaitTimeout.

        >>> await client.result(await client.enqueue("sums", [1, 2, 3]), timeout="1m")
        """
        ended = await self.wait(job, timeout)
        if not ended.is_completed:
            raise JobFailed(ended)
        return ended.result

    async def retry(self, job: JobRef) -> None:
        """Run a dead, cancelled, completed or scheduled job now, from its first attempt."""
        await self._send(jobs.act(job, "retry"))

    async def cancel(self, job: JobRef) -> None:
        """Take a job out, waiting or running; the worker that has it is told with its next heartbeat."""
        await self._send(jobs.act(job, "cancel"))

    async def move(
        self, job: JobRef, queue: str, *, reset_attempt: bool = False, priority: Priority | None = None
    ) -> None:
        """Put a job that is not running into another queue."""
        await self._send(jobs.move(job, queue, reset_attempt, priority))

    async def hold(self, job: JobRef, reason: str | None = None) -> None:
        """Make a job wait for `approve` or `reject`."""
        await self._send(jobs.hold(job, reason))

    async def approve(self, job: JobRef) -> None:
        """Let a held job go on."""
        await self._send(jobs.act(job, "approve"))

    async def reject(self, job: JobRef) -> None:
        """Bury a held job."""
        await self._send(jobs.act(job, "reject"))

    async def delete(self, job: JobRef) -> None:
        """Forget a job, whatever its state."""
        await self._send(jobs.delete(job))

    async def why(self, job: JobRef) -> Why:
        """Why a job is not running.

        >>> print((await client.why(job)).reasons[0].detail)
        """
        return await self._send(jobs.why(job))

    async def logs(self, job: JobRef, *, after: int = 0) -> AsyncGenerator[LogLine, None]:
        """The lines of a job's log, behind the one with this number."""
        while True:
            page = await self._send(jobs.log_page(job, after, PAGE_SIZE))
            for line in page.lines:
                yield line
            if not page.has_more or page.next_after is None:
                return
            after = page.next_after

    async def follow_logs(self, job: JobRef, *, after: int = 0) -> AsyncGenerator[LogLine, None]:
        """A job's log as it grows, until the job has ended. Goes on where it was when the connection breaks."""
        async with aclosing(self._follow(lambda last: jobs.follow_logs(job, last or after))) as frames:
            async for frame in frames:
                if frame.event == "end":
                    return
                if frame.event == "dropped":
                    dropped = msgspec.json.decode(frame.data)["dropped"]
                    yield LogLine(n=frame.number or 0, level="warning", message=f"({dropped} lines were dropped)")
                else:
                    yield msgspec.json.decode(frame.data, type=LogLine)

    async def history(self, job: JobRef) -> list[Event]:
        """What has happened to a job, oldest first, as far back as the server remembers."""
        events: list[Event] = []
        while True:
            after = events[-1].seq if events else 0
            page = await self._send(watch.event_page(None, job_id_of(job), None, after, PAGE_SIZE))
            events += page
            if len(page) < PAGE_SIZE:
                return events

    # --- many jobs

    async def search(
        self,
        *,
        sort: Sort | None = None,
        order: Order | None = None,
        limit: int | None = None,
        **filters: Unpack[Filters],
    ) -> AsyncGenerator[JobSummary, None]:
        """All jobs that match, the newest first, fetched page by page as you go on; at most `limit` if given.

        >>> async for job in client.search(queue="emails", state="dead", error_contains="mailbox full"):
        ...     print(job.id, job.last_error)
        """
        cursor: str | None = None
        while limit is None or limit > 0:
            size = PAGE_SIZE if limit is None else min(PAGE_SIZE, limit)
            page = await self._send(find.search(filters, sort, order, size, cursor, 0))
            for job in page.jobs:
                yield job
            if not page.has_more or page.cursor is None:
                return
            cursor = page.cursor
            limit = None if limit is None else limit - len(page.jobs)

    async def search_page(
        self,
        *,
        sort: Sort | None = None,
        order: Order | None = None,
        limit: int = 50,
        cursor: str | None = None,
        total_up_to: int | None = None,
        **filters: Unpack[Filters],
    ) -> Page:
        """One page of the jobs that match, and how many match in all; `cursor` of a page leads to the next.

        With `total_up_to` no more than these are counted, which is faster if very many match.
        """
        return await self._send(find.search(filters, sort, order, limit, cursor, total_up_to))

    async def count(self, **filters: Unpack[Filters]) -> int:
        """How many jobs match.

        >>> await client.count(queue="emails", state=["pending", "scheduled"])
        """
        return (await self.search_page(limit=1, **filters)).total

    async def dead(self, queue: str | None = None) -> AsyncGenerator[JobSummary, None]:
        """The jobs that have failed for good, the newest first, fetched page by page as you go on."""
        cursor: str | None = None
        while True:
            page = await self._send(find.dead(queue, PAGE_SIZE, cursor))
            for job in page.jobs:
                yield job
            if not page.has_more or page.cursor is None:
                return
            cursor = page.cursor

    async def find(self, text: str, limit: int = 50) -> list[Hit]:
        """Jobs by words of their queue, state, payload, tags and errors, the newest first."""
        return await self._send(find.find(text, limit))

    async def bulk(
        self,
        action: Action,
        *,
        jobs: Iterable[JobRef] | None = None,
        filter: Filters | None = None,
        to_queue: str | None = None,
        priority: Priority | None = None,
        wait: bool = True,
        on_progress: Callable[[BulkProgress], object] | None = None,
    ) -> BulkResult:
        """Do one thing to many jobs, by their ids or by a filter of `search`; jobs that it does not fit are skipped.

        More than 10,000 are worked off in the background: with `wait` until that is through (or raises BulkFailed).
        Without `wait` it always goes on in the background, and `bulk_status` says how far it is.

        >>> await client.bulk("retry", filter={"queue": "emails", "state": "dead"})
        """
        result = await self._send(find.bulk(action, jobs, filter, to_queue, priority, not wait))
        if result.operation_id is None or not wait:
            return result
        return await self._until_through(result.operation_id, on_progress)

    async def _until_through(
        self, operation_id: str, on_progress: Callable[[BulkProgress], object] | None
    ) -> BulkResult:
        async with aclosing(self._follow(lambda _: find.follow_bulk(operation_id))) as frames:
            async for frame in frames:
                progress = msgspec.json.decode(frame.data, type=BulkProgress)
                if on_progress is not None:
                    on_progress(progress)
                if progress.status in ("completed", "failed"):
                    break
        status = await self.bulk_status(operation_id)
        if status.status == "failed":
            raise BulkFailed(status)
        return BulkResult(
            affected=status.affected,
            errors=status.errors,
            skipped=max(0, status.processed - status.affected - status.errors),
            operation_id=operation_id,
            total=status.total,
        )

    async def bulk_status(self, operation_id: str) -> BulkStatus:
        """How far an action on many jobs is."""
        return await self._send(find.bulk_status(operation_id))

    async def cancel_bulk(self, operation_id: str) -> BulkStatus:
        """Stop an action on many jobs; what it has done stays done."""
        return await self._send(find.cancel_bulk(operation_id))

    async def batch(self, batch_id: str) -> BatchStatus:
        """How far the jobs of `enqueue_many(…, batch=Batch())` are."""
        return await self._send(watch.batch(batch_id))

    # --- queues

    async def queues(self) -> list[Queue]:
        """All queues with their counts, by name."""
        return await self._send(queues.list_all())

    async def queue(self, name: str) -> Queue:
        """One queue with its counts. Raises NotFound."""
        return await self._send(queues.get(name))

    async def pause(self, queue: str) -> None:
        """Hand out no more jobs of a queue; those that run go on."""
        await self._send(queues.switch(queue, "pause"))

    async def resume(self, queue: str) -> None:
        """Hand out jobs of a queue again."""
        await self._send(queues.switch(queue, "resume"))

    async def drain(self, queue: str) -> None:
        """Hand out no more jobs of a queue; watch `(await client.queue(name)).active` go to 0."""
        await self._send(queues.switch(queue, "drain"))

    async def clear(self, queue: str) -> int:
        """Delete the pending and scheduled jobs of a queue; how many."""
        return await self._send(queues.clear(queue))

    async def delete_queue(self, queue: str) -> None:
        """Delete a queue with all its jobs and settings."""
        await self._send(queues.delete(queue))

    async def set_concurrency(self, queue: str, max: int | None) -> None:
        """Let at most so many jobs of a queue run at a time; None lifts the limit."""
        await self._send(queues.set_concurrency(queue, max))

    async def throttle(self, queue: str, rate: int, period: Duration) -> None:
        """Let at most `rate` jobs of a queue begin in a period: `await client.throttle("emails", 100, "1m")`."""
        await self._send(queues.throttle(queue, rate, period))

    async def remove_throttle(self, queue: str) -> None:
        """Lift that limit."""
        await self._send(queues.remove_throttle(queue))

    # --- schedules

    async def schedules(self) -> list[Schedule]:
        """All schedules, by name."""
        return await self._send(schedules.list_all())

    async def schedule(self, schedule: ScheduleRef) -> Schedule:
        """One schedule, and when it runs next. Raises NotFound."""
        return await self._send(schedules.get(schedule))

    async def create_schedule(self, name: str, queue: str, cron: str, **options: Unpack[ScheduleOptions]) -> Schedule:
        """Enqueue a job again and again. Raises Conflict if the name is taken.

        >>> await client.create_schedule("nightly", "reports", "0 3 * * *", timezone="Europe/Paris")
        """
        return await self._send(schedules.create(name, queue, cron, options))

    async def update_schedule(self, schedule: ScheduleRef, **changes: Unpack[ScheduleChanges]) -> Schedule:
        """Change what is given of a schedule."""
        return await self._send(schedules.update(schedule, changes))

    async def pause_schedule(self, schedule: ScheduleRef) -> Schedule:
        """No runs until it is resumed."""
        return await self._send(schedules.switch(schedule, "pause"))

    async def resume_schedule(self, schedule: ScheduleRef) -> Schedule:
        """Runs again, from the next slot on."""
        return await self._send(schedules.switch(schedule, "resume"))

    async def run_schedule(self, schedule: ScheduleRef) -> Enqueued:
        """Enqueue one job of a schedule now, beside its slots."""
        return await self._send(schedules.run(schedule))

    async def delete_schedule(self, schedule: ScheduleRef) -> None:
        """Forget a schedule; its jobs stay."""
        await self._send(schedules.delete(schedule))

    # --- webhooks

    async def webhooks(self) -> list[Webhook]:
        """All webhooks, the oldest first."""
        return await self._send(webhooks.list_all())

    async def webhook(self, webhook: WebhookRef) -> Webhook:
        """One webhook, and how its deliveries go. Raises NotFound."""
        return await self._send(webhooks.get(webhook))

    async def create_webhook(self, url: str, *, id: str | None = None, **options: Unpack[WebhookOptions]) -> str:
        """Have the server call a URL when something happens; the webhook's id.

        >>> await client.create_webhook("https://example.com/jobs", events=["dead"], secret="…")
        """
        return await self._send(webhooks.save(id, {"url": url, **options}))

    async def update_webhook(self, webhook: WebhookRef, **changes: Unpack[WebhookChanges]) -> None:
        """Change what is given of a webhook."""
        await self._send(webhooks.save(webhook, changes))

    async def delete_webhook(self, webhook: WebhookRef) -> None:
        """Forget a webhook, with what waits for it."""
        await self._send(webhooks.delete(webhook))

    async def webhook_deliveries(self, webhook: WebhookRef) -> list[Delivery]:
        """The last deliveries of a webhook, the newest first."""
        return await self._send(webhooks.deliveries(webhook))

    async def test_webhook(self, webhook: WebhookRef) -> Trial:
        """Send a made-up event now, and tell what came of it."""
        return await self._send(webhooks.try_out(webhook))

    # --- looking on

    async def events(
        self,
        *,
        queues: Names | None = None,
        job_ids: Names | None = None,
        types: Names | None = None,
        after: int | None = None,
    ) -> AsyncGenerator[Event, None]:
        """What happens, as it happens, for ever; from behind event `after` if given (0 = all that is kept).

        When the connection breaks it goes on behind the last event that came, so that none is lost or told twice.

        >>> async for event in client.events(queues="emails", types=["dead"]):
        ...     print(event.at, event.job_id, event.data)
        """

        def request(last: int | None) -> Request[None]:
            return watch.events(queues, job_ids, types, after if last is None else last)

        async with aclosing(self._follow(request)) as frames:
            async for frame in frames:
                yield msgspec.json.decode(frame.data, type=Event)

    async def event_page(
        self,
        *,
        queues: Names | None = None,
        job_ids: Names | None = None,
        types: Names | None = None,
        after: int = 0,
        limit: int = 100,
    ) -> list[Event]:
        """Events of the past behind event `after`, oldest first, at most 1,000 at a time."""
        return await self._send(watch.event_page(queues, job_ids, types, after, limit))

    async def workers(self) -> list[WorkerInfo]:
        """Workers seen in the last day, the one heard of last first."""
        return await self._send(watch.workers())

    async def announce_worker(
        self,
        worker_id: str,
        *,
        hostname: str | None = None,
        queues: str | Iterable[str] | None = None,
        slots: int | None = None,
        draining: bool | None = None,
    ) -> None:
        """Say of a worker how many jobs it runs at a time, and whether it drains; what is not given stays as it is.

        For workers that `fetch` by themselves. A `Worker` does it on its own.
        """
        await self._send(work.announce_worker(worker_id, hostname, queues, slots, draining))

    async def throughput(self) -> list[Minute]:
        """What happened in each of the last 60 minutes."""
        return await self._send(watch.throughput())

    async def usage(self, period: Duration = "24h", *, group_by: GroupBy | None = None) -> UsageSummary:
        """What attempts have cost in the last day, or in another period: tokens and money, as workers report them."""
        return await self._send(watch.usage(period, group_by))

    async def metrics(self) -> str:
        """Everything that the server counts, in the text format of Prometheus."""
        return await self._send(watch.metrics())

    async def health(self) -> Health:
        """Whether the server can do its work. Raises StorageUnavailable."""
        return await self._send(watch.health())

    async def info(self) -> Info:
        """Which version runs there; needs no key."""
        return await self._send(watch.info())

    async def status(self) -> ServerStatus:
        """How the server, or the cluster, is."""
        return await self._send(watch.status())

    async def runtime(self) -> dict[str, Any]:
        """Figures of the server's process."""
        return await self._send(watch.runtime())

    async def rebuild_index(self) -> None:
        """Make the server's full-text index anew."""
        await self._send(watch.rebuild_index())

    async def backup(self, namespace: str | None = None) -> bytes:
        """What a namespace sees, as a JSON document for `restore`."""
        return await self._send(watch.backup(namespace))

    async def restore(self, document: bytes | Mapping[str, Any], namespace: str | None = None) -> Restored:
        """Bring back what a document of `backup` holds; jobs that are there already are skipped."""
        return await self._send(watch.restore(document, namespace))

    async def _follow(self, request: Callable[[int | None], Request[None]]) -> AsyncGenerator[Frame, None]:
        """The events of a stream. When it breaks it is asked for again, behind the last event that came.

        To begin with that is tried as often as any request; later for as long as the client's timeout.
        """
        last: int | None = None
        failing_since: float | None = None
        has_begun, tries = False, 0
        while True:
            asked = request(last)
            try:
                async with self._transport.stream(asked, SILENCE) as answer:
                    if answer.status == 200:
                        has_begun, tries, failing_since = True, 0, None
                        reader = FrameReader()
                        async for part in answer.parts():
                            for frame in reader.feed(part):
                                last = last if frame.number is None else frame.number
                                yield frame
                        error: RookeryError = ServerUnreachable("the stream has ended")
                    else:
                        error = error_of(Response(answer.status, await answer.read(), answer.headers))
            except ServerUnreachable as lost:
                error = lost
            failing_since = failing_since or monotonic()
            may_go_on = monotonic() - failing_since < self._timeout if has_begun else tries < self._retries
            pause = pause_before_retry(asked, error, tries, is_stream=True) if may_go_on else None
            if pause is None:
                raise error
            tries += 1
            await asyncio.sleep(pause)
