"""Working: fetch, ack, fail, release, heartbeat."""


from typing import Final

import msgspec

from rookery.engine.heartbeat import INACTIVE, LOST, OK, UNKNOWN
from rookery.engine.ops import (
    DEFAULT_LEASE,
    Ack,
    Beat,
    Claim,
    ClaimedJob,
    Completion,
    Fail,
    Failure,
    Heartbeat,
    Refusal,
    Release,
    Return,
    Usage,
)
from rookery.http.call import LARGE_BODY, Answer, Call, Route, decode, json_answer
from rookery.http.errors import invalid, refused
from rookery.http.values import Raw, duration, given_json, lease_number, lease_text
from rookery.model.instants import format_instant
from rookery.model.names import shown_name

DEFAULT_WAIT: Final = 30.0
LONGEST_WAIT: Final = 60.0
ANSWER_EARLY: Final = 0.25
"""An empty poll is answered this long before its time is up, so that the caller's own timer does not fire first."""
MOST_JOBS: Final = 512
LONGEST_LEASE: Final = 86_400


class FetchRequest(msgspec.Struct):
    """Who wants work, of which queues."""

    queues: list[str] | None = None
    worker_id: str | None = None
    hostname: str | None = None
    timeout: float | None = None
    lease_duration: int | None = None


class FetchBatchRequest(FetchRequest):
    """The same, for several jobs at once."""

    count: int | None = None


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


class FetchBatchAnswer(msgspec.Struct):
    """Jobs to work on."""

    jobs: list[FetchedJob]


class UsageReport(msgspec.Struct):
    """What an attempt has cost."""

    input_tokens: int | None = 0
    output_tokens: int | None = 0
    cache_creation_tokens: int | None = 0
    cache_read_tokens: int | None = 0
    model: str | None = ""
    provider: str | None = ""
    cost_usd: float | None = 0.0


class AckRequest(msgspec.Struct):
    """The job is done."""

    lease_token: str | None = None
    result: Raw = msgspec.field(default_factory=Raw)
    checkpoint: Raw = msgspec.field(default_factory=Raw)
    usage: UsageReport | None = None
    agent_status: str | None = None
    hold_reason: str | None = None
    step_status: str | None = None
    exit_reason: str | None = None


class AckBatchItem(AckRequest):
    """One of many jobs that are done."""

    job_id: str = ""


class AckBatchRequest(msgspec.Struct):
    """Jobs that are done."""

    acks: list[AckBatchItem] | None = None


class AckBatchAnswer(msgspec.Struct):
    """How many were taken, and the jobs whose lease was lost."""

    acked: int
    lost: list[str]


class Status(msgspec.Struct):
    """A word on how it went."""

    status: str


class FailRequest(msgspec.Struct):
    """The attempt has failed."""

    lease_token: str | None = None
    error: str | None = None
    backtrace: str | None = None


class FailAnswer(msgspec.Struct):
    """What becomes of the job."""

    status: str
    next_attempt_at: str | None
    attempts_remaining: int
    attempt: int


class ReleaseRequest(msgspec.Struct):
    """The job is handed back."""

    lease_token: str | None = None
    delay: str | None = None
    checkpoint: Raw = msgspec.field(default_factory=Raw)
    reason: str | None = None


class BeatRequest(msgspec.Struct):
    """What a worker reports of a job it works on."""

    lease_token: str | None = None
    progress: Raw = msgspec.field(default_factory=Raw)
    checkpoint: Raw = msgspec.field(default_factory=Raw)
    usage: UsageReport | None = None


class HeartbeatRequest(msgspec.Struct):
    """Jobs that are still worked on, by id."""

    jobs: dict[str, BeatRequest | None] | None = None


class HeartbeatAnswer(msgspec.Struct):
    """What each of them is to do, and the same as lists."""

    jobs: dict[str, Status]
    acked: list[str]
    unknown: list[str]
    canceled: list[str]


_fetch_decoder = msgspec.json.Decoder(FetchRequest)
_fetch_batch_decoder = msgspec.json.Decoder(FetchBatchRequest)
_ack_decoder = msgspec.json.Decoder(AckRequest)
_ack_batch_decoder = msgspec.json.Decoder(AckBatchRequest)
_fail_decoder = msgspec.json.Decoder(FailRequest)
_release_decoder = msgspec.json.Decoder(ReleaseRequest)
_heartbeat_decoder = msgspec.json.Decoder(HeartbeatRequest)

_OK: Final = Answer(200, b'{"status":"ok"}')
_NOTHING: Final = Answer(204)


async def fetch(call: Call) -> Answer:
    """Lease one job, waiting for it if there is none."""
    request = await call.parse(_fetch_decoder)
    jobs = await _fetch(call, request, 1)
    return Answer(200, _job_json(call, jobs[0]).encode()) if jobs else _NOTHING


async def fetch_batch(call: Call) -> Answer:
    """Lease several jobs, waiting until there is at least one."""
    request = await call.parse(_fetch_batch_decoder)
    count = min(MOST_JOBS, 1 if request.count is None else request.count)
    if count < 1:
        raise invalid(f"count must be at least 1, not {count}")
    call.charge(count)
    jobs = await _fetch(call, request, count)
    return Answer(200, f'{{"jobs":[{",".join([_job_json(call, job) for job in jobs])}]}}'.encode())


async def _fetch(call: Call, request: FetchRequest, count: int) -> list[ClaimedJob]:
    if not request.queues:
        raise invalid("queues is required")
    lease = request.lease_duration
    if lease is not None and not 1 <= lease <= LONGEST_LEASE:
        raise invalid(f"lease_duration must be between 1 and {LONGEST_LEASE} seconds, not {lease}")
    wait = request.timeout if request.timeout is not None and request.timeout > 0 else DEFAULT_WAIT
    wait = min(wait, LONGEST_WAIT)
    claim = Claim(
        queues=tuple([call.queue(queue, "queues") for queue in request.queues]),
        count=count,
        worker_id=(request.worker_id or "").strip() or None,
        hostname=request.hostname or None,
        lease=DEFAULT_LEASE if lease is None else lease * 1000,
        namespace=call.namespace,
    )
    gone = call.watch_gone()
    try:
        return await call.node.fetch(claim, wait - min(ANSWER_EARLY, wait / 10), gone)
    finally:
        gone.cancel()


def _job_json(call: Call, job: ClaimedJob) -> str:
    """A fetched job; payload and the like are JSON text already."""
    queue = msgspec.json.encode(shown_name(call.namespace, job.queue)).decode()
    return (
        f'{{"job_id":"{job.job_id}","queue":{queue},"payload":{job.payload},"attempt":{job.attempt},'
        f'"max_retries":{job.max_retries},"lease_duration":{job.lease_length // 1000},'
        f'"lease_token":"{lease_text(job.lease)}","checkpoint":{job.checkpoint or "null"},'
        f'"tags":{job.tags or "null"},"agent":{job.agent or "null"},"priority":{job.rank}}}'
    )


def _completion(job_id: str, request: AckRequest) -> Completion:
    return Completion(
        job_id,
        lease_number(request.lease_token),
        given_json(request.result, "result"),
        given_json(request.checkpoint, "checkpoint"),
        None if request.usage is None else Usage(request.usage.cost_usd or 0.0),
        request.agent_status,
        request.hold_reason,
        request.step_status,
        request.exit_reason,
    )


async def ack(call: Call) -> Answer:
    """The job is done."""
    request = await call.parse(_ack_decoder)
    item = _completion(call.params["job_id"], request)
    acked = await call.node.submit(Ack(items=[item], namespace=call.namespace))
    if acked.outcomes[0] is not None:
        raise refused(acked.outcomes[0], "ACK_ERROR")
    return _OK


async def ack_batch(call: Call) -> Answer:
    """Many jobs are done; those that are not the caller's are skipped."""
    request = decode(_ack_batch_decoder, await call.body(LARGE_BODY) or b"{}")
    if not request.acks:
        raise invalid("acks array is required")
    if len(request.acks) > MOST_JOBS:
        raise invalid(f"acks has {len(request.acks)} items, the limit is {MOST_JOBS}")
    for number, item in enumerate(request.acks):
        if not item.job_id.strip():
            raise invalid(f"acks[{number}].job_id is required")
    call.charge(len(request.acks))
    items = [_completion(item.job_id, item) for item in request.acks]
    outcomes = (await call.node.submit(Ack(items=items, namespace=call.namespace))).outcomes
    lost = [
        item.job_id
        for item, outcome in zip(items, outcomes, strict=True)
        if outcome is not None and outcome.kind == Refusal.LEASE_LOST
    ]
    return json_answer(AckBatchAnswer(outcomes.count(None), lost))


async def fail(call: Call) -> Answer:
    """The attempt has failed."""
    request = await call.parse(_fail_decoder)
    item = Failure(
        call.params["job_id"], lease_number(request.lease_token), request.error or "", request.backtrace or None
    )
    outcome = (await call.node.submit(Fail(items=[item], namespace=call.namespace))).outcomes[0]
    if isinstance(outcome, Refusal):
        raise refused(outcome, "FAIL_ERROR")
    due = outcome.next_attempt_at
    return json_answer(
        FailAnswer(
            outcome.status, None if due is None else format_instant(due), outcome.attempts_remaining, outcome.attempt
        )
    )


async def release(call: Call) -> Answer:
    """The job is handed back: the attempt does not count."""
    request = await call.parse(_release_decoder)
    item = Return(
        call.params["job_id"],
        lease_number(request.lease_token),
        duration(request.delay, 0, "delay"),
        given_json(request.checkpoint, "checkpoint"),
        request.reason,
    )
    outcome = (await call.node.submit(Release(items=[item], namespace=call.namespace))).outcomes[0]
    if isinstance(outcome, Refusal):
        raise refused(outcome, "RELEASE_ERROR")
    return json_answer(Status(outcome))


async def heartbeat(call: Call) -> Answer:
    """The jobs are still worked on: renew their leases."""
    request = decode(_heartbeat_decoder, await call.body(LARGE_BODY) or b"{}")
    beats = [
        Beat(
            job_id,
            lease_number(beat.lease_token),
            given_json(beat.progress, f"jobs.{job_id}.progress"),
            given_json(beat.checkpoint, f"jobs.{job_id}.checkpoint"),
        )
        if beat is not None
        else Beat(job_id)
        for job_id, beat in (request.jobs or {}).items()
    ]
    outcomes: list[str] = []
    if beats:
        outcomes = (await call.node.submit(Heartbeat(items=beats, namespace=call.namespace))).outcomes
    found = dict(zip([beat.job_id for beat in beats], outcomes, strict=True))
    said = {OK: "ok", LOST: "lost", UNKNOWN: "cancel", INACTIVE: "cancel"}
    return json_answer(
        HeartbeatAnswer(
            {job_id: Status(said[outcome]) for job_id, outcome in found.items()},
            [job_id for job_id, outcome in found.items() if outcome == OK],
            [job_id for job_id, outcome in found.items() if outcome == UNKNOWN],
            [job_id for job_id, outcome in found.items() if outcome in (INACTIVE, LOST)],
        )
    )


ROUTES = [
    Route(
        method="POST",
        path="/api/v1/fetch",
        handler=fetch,
        summary="Lease one job, waiting for it",
        request=FetchRequest,
        answers={200: FetchedJob, 204: None},
        tag="Working",
    ),
    Route(
        method="POST",
        path="/api/v1/fetch/batch",
        handler=fetch_batch,
        summary="Lease several jobs, waiting for the first",
        request=FetchBatchRequest,
        answers={200: FetchBatchAnswer},
        tag="Working",
        charges_itself=True,
    ),
    Route(
        method="POST",
        path="/api/v1/ack/batch",
        handler=ack_batch,
        summary="Finish many jobs",
        request=AckBatchRequest,
        answers={200: AckBatchAnswer},
        tag="Working",
        charges_itself=True,
    ),
    Route(
        method="POST",
        path="/api/v1/ack/{job_id}",
        handler=ack,
        summary="Finish a job",
        request=AckRequest,
        answers={200: Status},
        tag="Working",
    ),
    Route(
        method="POST",
        path="/api/v1/fail/{job_id}",
        handler=fail,
        summary="Give up an attempt",
        request=FailRequest,
        answers={200: FailAnswer},
        tag="Working",
    ),
    Route(
        method="POST",
        path="/api/v1/release/{job_id}",
        handler=release,
        summary="Hand a job back; the attempt does not count",
        request=ReleaseRequest,
        answers={200: Status},
        tag="Working",
    ),
    Route(
        method="POST",
        path="/api/v1/heartbeat",
        handler=heartbeat,
        summary="Renew leases, report progress",
        request=HeartbeatRequest,
        answers={200: HeartbeatAnswer},
        tag="Working",
    ),
]
