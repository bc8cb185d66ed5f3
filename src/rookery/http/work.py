"""Working: ack, fail, release, heartbeat."""

from typing import Annotated, Final

import msgspec

from rookery.engine.agents import HIGHEST_COST
from rookery.engine.heartbeat import INACTIVE, LOST, OK, UNKNOWN
from rookery.engine.ops import (
    Ack,
    Acked,
    Beat,
    Beaten,
    Completion,
    Fail,
    Failed,
    FailedJob,
    Failure,
    Heartbeat,
    Refusal,
    Release,
    Released,
    Return,
    Usage,
)
from rookery.http.call import Answer, Call, Work, decode, hot_route, json_answer, says
from rookery.http.errors import invalid, refused
from rookery.http.fetch import MOST_JOBS
from rookery.http.values import Raw, duration, given_json, lease_length, lease_number
from rookery.model.instants import format_instant
from rookery.model.job import CANCELLED, DEAD

MOST_TOKENS: Final = 10**15
_ENDS: Final = (DEAD, CANCELLED)


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

    lease_token: Annotated[
        str | None,
        says("From fetch; 409 `LEASE_LOST` if the job has been taken away since. Without it that is not checked"),
    ] = None
    result: Annotated[Raw, says("Kept on the job; any JSON value")] = msgspec.field(default_factory=Raw)
    checkpoint: Annotated[Raw, says("Replaces the stored one")] = msgspec.field(default_factory=Raw)
    usage: Annotated[UsageReport | None, says("What the attempt has cost")] = None
    agent_status: Annotated[str | None, says("Agent jobs: `continue`, `done` or `hold`")] = None
    hold_reason: Annotated[str | None, says("Agent jobs: why it holds")] = None
    step_status: Annotated[str | None, says("Chain steps: `continue` or `exit`")] = None
    exit_reason: Annotated[str | None, says("Chain steps: handed to the chain's `on_exit`")] = None


class AckBatchItem(AckRequest):
    """One of many jobs that are done."""

    job_id: Annotated[str, says("Required")] = ""


class AckBatchRequest(msgspec.Struct):
    """Jobs that are done."""

    acks: Annotated[list[AckBatchItem] | None, says("Required. 1 to 512 items")] = None


class AckBatchAnswer(msgspec.Struct):
    """How many were taken, and the jobs whose lease was lost."""

    acked: int
    lost: list[str]


class Status(msgspec.Struct):
    """A word on how it went."""

    status: str


class FailRequest(msgspec.Struct):
    """The attempt has failed."""

    lease_token: Annotated[str | None, says("From fetch")] = None
    error: Annotated[str | None, says("What went wrong")] = None
    backtrace: Annotated[str | None, says("Where")] = None
    retry_after: Annotated[
        str | None,
        says("A duration: the next attempt, if one is left, comes after exactly this long, whatever the job's backoff"),
    ] = None
    end: Annotated[
        str | None,
        says("`dead`: there is no further attempt, however many are left; `cancelled`: the job is not to be done"),
    ] = None


class FailAnswer(msgspec.Struct):
    """What becomes of the job: `retrying`, `dead` or `cancelled`."""

    status: str
    next_attempt_at: str | None
    attempts_remaining: int
    attempt: int


class ReleaseRequest(msgspec.Struct):
    """The job is handed back."""

    lease_token: Annotated[str | None, says("From fetch")] = None
    delay: Annotated[str | None, says("A duration to wait before the job is ready again")] = None
    checkpoint: Annotated[Raw, says("What the next attempt is to go on from")] = msgspec.field(default_factory=Raw)
    reason: Annotated[str | None, says("For the timeline")] = None


class BeatRequest(msgspec.Struct):
    """What a worker reports of a job it works on."""

    lease_token: Annotated[str | None, says("From fetch")] = None
    progress: Annotated[Raw, says("Any JSON value; told as an event")] = msgspec.field(default_factory=Raw)
    checkpoint: Annotated[Raw, says("What another attempt would go on from")] = msgspec.field(default_factory=Raw)
    usage: Annotated[UsageReport | None, says("What the attempt has cost so far")] = None
    lease_duration: Annotated[
        int | None, says("Seconds that the lease lasts from now; as granted, and 60 at the least, by default")
    ] = None


class HeartbeatRequest(msgspec.Struct):
    """Jobs that are still worked on, by id."""

    jobs: Annotated[
        dict[str, BeatRequest | None] | None, says("Jobs that are still worked on, by id; `{}` is enough for each")
    ] = None


class HeartbeatAnswer(msgspec.Struct):
    """What each of them is to do, and the same as lists."""

    jobs: dict[str, Status]
    acked: list[str]
    unknown: list[str]
    canceled: list[str]


_ack_decoder = msgspec.json.Decoder(AckRequest)
_ack_batch_decoder = msgspec.json.Decoder(AckBatchRequest)
_fail_decoder = msgspec.json.Decoder(FailRequest)
_release_decoder = msgspec.json.Decoder(ReleaseRequest)
_heartbeat_decoder = msgspec.json.Decoder(HeartbeatRequest)

_OK: Final = Answer(200, b'{"status":"ok"}')


def completion(job_id: str, request: AckRequest) -> Completion:
    """An ack in the engine's words."""
    return Completion(
        job_id,
        lease_number(request.lease_token),
        given_json(request.result, "result"),
        given_json(request.checkpoint, "checkpoint"),
        _usage(request.usage),
        request.agent_status,
        request.hold_reason,
        request.step_status,
        request.exit_reason,
    )


def _usage(report: UsageReport | None) -> Usage | None:
    """A report in the engine's words; negative numbers count as 0, and nothing is beyond counting."""
    if report is None:
        return None

    def tokens(number: int | None) -> int:
        return min(max(0, number or 0), MOST_TOKENS)

    return Usage(
        tokens(report.input_tokens),
        tokens(report.output_tokens),
        tokens(report.cache_creation_tokens),
        tokens(report.cache_read_tokens),
        (report.model or "").strip(),
        (report.provider or "").strip(),
        min(max(0.0, report.cost_usd or 0.0), HIGHEST_COST),
    )


def ack(call: Call, body: bytes) -> Work:
    """The job is done."""
    item = completion(call.params["job_id"], decode(_ack_decoder, body or b"{}"))
    return Work(Ack(items=[item], namespace=call.namespace), _acked)


def _acked(acked: Acked) -> Answer:
    refusal = acked.outcomes[0]
    if refusal is not None:
        raise refused(refusal, "ACK_ERROR")
    return _OK


def ack_batch(call: Call, body: bytes) -> Work:
    """Many jobs are done; those that are not the caller's are skipped."""
    request = decode(_ack_batch_decoder, body or b"{}")
    if not request.acks:
        raise invalid("acks array is required")
    if len(request.acks) > MOST_JOBS:
        raise invalid(f"acks has {len(request.acks)} items, the limit is {MOST_JOBS}")
    for number, item in enumerate(request.acks):
        if not item.job_id.strip():
            raise invalid(f"acks[{number}].job_id is required")
    call.charge(len(request.acks))
    items = [completion(item.job_id, item) for item in request.acks]

    def finish(acked: Acked) -> Answer:
        lost = [
            item.job_id
            for item, refusal in zip(items, acked.outcomes, strict=True)
            if refusal is not None and refusal.kind == Refusal.LEASE_LOST
        ]
        return json_answer(AckBatchAnswer(acked.outcomes.count(None), lost))

    return Work(Ack(items=items, namespace=call.namespace), finish)


def fail(call: Call, body: bytes) -> Work:
    """The attempt has failed."""
    item = failure(call.params["job_id"], decode(_fail_decoder, body or b"{}"))
    return Work(Fail(items=[item], namespace=call.namespace), _failed)


def failure(job_id: str, request: FailRequest) -> Failure:
    """A failed attempt in the engine's words."""
    if request.end and request.end not in _ENDS:
        raise invalid(f"end must be one of {', '.join(_ENDS)}, not {request.end!r}")
    if request.end and request.retry_after:
        raise invalid("retry_after cannot be given together with end: there is no further attempt")
    return Failure(
        job_id,
        lease_number(request.lease_token),
        request.error or "",
        request.backtrace or None,
        duration(request.retry_after, 0, "retry_after") if request.retry_after else None,
        request.end or None,
    )


def _failed(failed: Failed) -> Answer:
    outcome = failed.outcomes[0]
    if isinstance(outcome, Refusal):
        raise refused(outcome, "FAIL_ERROR")
    return json_answer(fail_answer(outcome))


def fail_answer(job: FailedJob) -> FailAnswer:
    """What became of a job whose attempt failed."""
    due = job.next_attempt_at
    return FailAnswer(job.status, None if due is None else format_instant(due), job.attempts_remaining, job.attempt)


def release(call: Call, body: bytes) -> Work:
    """The job is handed back: the attempt does not count."""
    item = job_return(call.params["job_id"], decode(_release_decoder, body or b"{}"))
    return Work(Release(items=[item], namespace=call.namespace), _released)


def job_return(job_id: str, request: ReleaseRequest) -> Return:
    """A job that is handed back, in the engine's words."""
    return Return(
        job_id,
        lease_number(request.lease_token),
        duration(request.delay, 0, "delay"),
        given_json(request.checkpoint, "checkpoint"),
        request.reason,
    )


def _released(released: Released) -> Answer:
    outcome = released.outcomes[0]
    if isinstance(outcome, Refusal):
        raise refused(outcome, "RELEASE_ERROR")
    return json_answer(Status(outcome))


def heartbeat(call: Call, body: bytes) -> Work:
    """The jobs are still worked on: renew their leases."""
    request = decode(_heartbeat_decoder, body or b"{}")
    beats = [beat(job_id, item) for job_id, item in (request.jobs or {}).items()]

    def finish(beaten: Beaten) -> Answer:
        return json_answer(heartbeat_answer(beats, beaten))

    return Work(Heartbeat(items=beats, namespace=call.namespace), finish)


def beat(job_id: str, request: BeatRequest | None) -> Beat:
    """A sign of life in the engine's words."""
    if request is None:
        return Beat(job_id)
    return Beat(
        job_id,
        lease_number(request.lease_token),
        given_json(request.progress, f"jobs.{job_id}.progress"),
        given_json(request.checkpoint, f"jobs.{job_id}.checkpoint"),
        _usage(request.usage),
        lease_length(request.lease_duration, f"jobs.{job_id}.lease_duration"),
    )


def heartbeat_answer(beats: list[Beat], beaten: Beaten) -> HeartbeatAnswer:
    """What the worker of each job is to do."""
    found = dict(zip([beat.job_id for beat in beats], beaten.outcomes, strict=True))
    return HeartbeatAnswer(
        {job_id: Status(_SAID[outcome]) for job_id, outcome in found.items()},
        [job_id for job_id, outcome in found.items() if outcome == OK],
        [job_id for job_id, outcome in found.items() if outcome == UNKNOWN],
        [job_id for job_id, outcome in found.items() if outcome in (INACTIVE, LOST)],
    )


_SAID: Final = {OK: "ok", LOST: "lost", UNKNOWN: "cancel", INACTIVE: "cancel"}

ROUTES = [
    hot_route(
        "/api/v1/ack/batch",
        ack_batch,
        large=True,
        summary="Finish many jobs",
        request=AckBatchRequest,
        answers={200: AckBatchAnswer},
        tag="Working",
    ),
    hot_route(
        "/api/v1/ack/{job_id}",
        ack,
        summary="Finish a job",
        request=AckRequest,
        answers={200: Status},
        tag="Working",
    ),
    hot_route(
        "/api/v1/fail/{job_id}",
        fail,
        summary="Give up an attempt",
        request=FailRequest,
        answers={200: FailAnswer},
        tag="Working",
    ),
    hot_route(
        "/api/v1/release/{job_id}",
        release,
        summary="Hand a job back; the attempt does not count",
        request=ReleaseRequest,
        answers={200: Status},
        tag="Working",
    ),
    hot_route(
        "/api/v1/heartbeat",
        heartbeat,
        summary="Renew leases, report progress",
        request=HeartbeatRequest,
        answers={200: HeartbeatAnswer},
        tag="Working",
    ),
]
