"""Fetching: jobs leased to a worker, one or many, waiting for the first."""

from typing import Annotated, Final

import msgspec

from rookery.engine.ops import DEFAULT_LEASE, Claim, ClaimedJob
from rookery.http.call import Answer, Call, Work, decode, hot_route, says
from rookery.http.errors import invalid
from rookery.http.values import Raw, lease_length, lease_text
from rookery.model.names import shown_name

DEFAULT_WAIT: Final = 30.0
LONGEST_WAIT: Final = 60.0
ANSWER_EARLY: Final = 0.25
"""An empty poll is answered this long before its time is up, so that the caller's own timer does not fire first."""
MOST_JOBS: Final = 512
MOST_QUEUES: Final = 1000


class ClaimRequest(msgspec.Struct):
    """Who wants work, of which queues."""

    queues: Annotated[list[str] | None, says("Required. Names of queues")] = None
    worker_id: Annotated[str | None, says("Names the worker in `/workers` and on the job")] = None
    hostname: Annotated[str | None, says("Where it runs")] = None
    lease_duration: Annotated[
        int | None, says("Seconds until the job goes to somebody else unless heartbeats renew it, 60 by default")
    ] = None


class FetchRequest(ClaimRequest):
    """The same, and for how long to wait."""

    timeout: Annotated[float | None, says("Seconds to wait for a job, 30 by default, 60 at the most")] = None


class FetchBatchRequest(FetchRequest):
    """The same, for several jobs at once."""

    count: Annotated[int | None, says("How many jobs at the most, 1 by default, 512 at the most")] = None


class FetchedJob(msgspec.Struct):
    """A job to work on."""

    job_id: str
    queue: str
    payload: Raw
    attempt: int
    max_retries: int
    lease_duration: int
    lease_token: str
    checkpoint: Raw | None
    tags: Raw | None
    agent: Raw | None
    priority: int
    traceparent: Annotated[str | None, says("W3C trace context of whoever enqueued it, if there is one")] = None


class FetchBatchAnswer(msgspec.Struct):
    """Jobs to work on."""

    jobs: list[FetchedJob]


_fetch_decoder = msgspec.json.Decoder(FetchRequest)
_fetch_batch_decoder = msgspec.json.Decoder(FetchBatchRequest)

_NOTHING: Final = Answer(204)


def fetch(call: Call, body: bytes) -> Work:
    """Lease one job, waiting for it if there is none."""
    request = decode(_fetch_decoder, body or b"{}")

    def finish(jobs: list[ClaimedJob]) -> Answer:
        if not jobs:
            return _NOTHING
        return Answer(200, job_json(jobs[0], queue_json(call.namespace, jobs[0].queue)).encode())

    return Work(claim(call, request, 1), finish, _wait(request))


def fetch_batch(call: Call, body: bytes) -> Work:
    """Lease several jobs, waiting until there is at least one."""
    request = decode(_fetch_batch_decoder, body or b"{}")
    count = min(MOST_JOBS, 1 if request.count is None else request.count)
    if count < 1:
        raise invalid(f"count must be at least 1, not {count}")
    call.charge(count)

    def finish(jobs: list[ClaimedJob]) -> Answer:
        return Answer(200, jobs_json(call.namespace, jobs))

    return Work(claim(call, request, count), finish, _wait(request))


def claim(call: Call, request: ClaimRequest, count: int) -> Claim:
    """What is asked for, checked."""
    if not request.queues:
        raise invalid("queues is required")
    lease = lease_length(request.lease_duration, "lease_duration")
    return Claim(
        queues=queue_names(call, request.queues),
        count=count,
        worker_id=(request.worker_id or "").strip() or None,
        hostname=request.hostname or None,
        lease=DEFAULT_LEASE if lease is None else lease,
        namespace=call.namespace,
    )


def queue_names(call: Call, given: list[str]) -> tuple[str, ...]:
    """The queues that a worker names, as they are stored."""
    queues = dict.fromkeys(given)
    if len(queues) > MOST_QUEUES:
        raise invalid(f"queues has {len(queues)} names, the limit is {MOST_QUEUES}")
    return tuple([call.queue(queue, "queues") for queue in queues])


def _wait(request: FetchRequest) -> float:
    """Seconds to wait for a job."""
    wait = request.timeout if request.timeout is not None and request.timeout > 0 else DEFAULT_WAIT
    wait = min(wait, LONGEST_WAIT)
    return wait - min(ANSWER_EARLY, wait / 10)


def jobs_json(namespace: str, jobs: list[ClaimedJob]) -> bytes:
    """Fetched jobs, as both a fetch of many and a stream say them."""
    queues = {queue: queue_json(namespace, queue) for queue in {job.queue for job in jobs}}
    return f'{{"jobs":[{",".join([job_json(job, queues[job.queue]) for job in jobs])}]}}'.encode()


def queue_json(namespace: str, queue: str) -> str:
    """The queue's name as the caller knows it, as JSON text."""
    return msgspec.json.encode(shown_name(namespace, queue)).decode()


def job_json(job: ClaimedJob, queue: str) -> str:
    """A fetched job; its queue, payload and the like are JSON text already."""
    trace = f',"traceparent":"{job.trace}"' if job.trace is not None else ""
    return (
        f'{{"job_id":"{job.job_id}","queue":{queue},"payload":{job.payload},"attempt":{job.attempt},'
        f'"max_retries":{job.max_retries},"lease_duration":{job.lease_length // 1000},'
        f'"lease_token":"{lease_text(job.lease)}","checkpoint":{job.checkpoint or "null"},'
        f'"tags":{job.tags or "null"},"agent":{job.agent or "null"},"priority":{job.rank}{trace}}}'
    )


ROUTES = [
    hot_route(
        "/api/v1/fetch",
        fetch,
        summary="Lease one job, waiting for it",
        request=FetchRequest,
        answers={200: FetchedJob, 204: None},
        tag="Working",
    ),
    hot_route(
        "/api/v1/fetch/batch",
        fetch_batch,
        large=True,
        summary="Lease several jobs, waiting for the first",
        request=FetchBatchRequest,
        answers={200: FetchBatchAnswer},
        tag="Working",
    ),
]
