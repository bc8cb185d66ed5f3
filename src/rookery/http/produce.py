"""Producing: enqueue one job, or many at once."""

from hashlib import sha256
from typing import Annotated, Final

import msgspec

from rookery.engine.agents import Agent
from rookery.engine.chains import Chain, Step
from rookery.engine.ops import Enqueue, Enqueued, EnqueuedJob, IdempotencyKey, NewJob, NewJobBatch, Refusal
from rookery.http.call import Answer, Call, Parameter, Work, decode, hot_route, says
from rookery.http.errors import ApiError, invalid, refused, too_large
from rookery.http.values import LARGEST_COUNT, Raw, compact_json, count, duration, given_json, instant, rank
from rookery.model.backoff import NATIVE_POLICIES
from rookery.model.job import PENDING, SCHEDULED
from rookery.model.names import is_job_id

Scalar = str | int | float | bool | None

LONGEST_IDEMPOTENCY_KEY: Final = 255
MOST_JOBS: Final = 20_000
_CONFLICTS: Final = ("keep", "replace", "reschedule")


class AgentRequest(msgspec.Struct):
    """Limits of an agent job; 0 means none."""

    max_iterations: Annotated[int | None, says("0 = no limit")] = 0
    max_cost_usd: Annotated[float | None, says("0 = no limit")] = 0.0
    iteration_timeout: Annotated[str | None, says("A duration; a hint for workers")] = ""


class EnqueueRequest(msgspec.Struct):
    """A job to add."""

    queue: Annotated[str, says("Required. Up to 255 bytes; the queue comes into being with its first job")] = ""
    payload: Annotated[
        Raw, says("Any JSON value, `{}` if absent; at most 256 KiB unless the server says otherwise")
    ] = msgspec.field(default_factory=Raw)
    priority: Annotated[
        str | int | None, says("`critical`, `high` or `normal` (or 0, 1, 2); any other name means normal")
    ] = None
    unique_key: Annotated[
        str | None,
        says("While a job of the queue holds this key, an equal enqueue finds that job instead of adding one"),
    ] = None
    unique_period: Annotated[int | None, says("Seconds for which the key is held at the most, 3600 by default")] = None
    unique_on_conflict: Annotated[
        str | None, says("`keep` (default), `replace` or `reschedule` the waiting job that holds the key")
    ] = None
    max_retries: Annotated[int | None, says("Attempts in all, 3 by default; 0 and 1 both mean a single one")] = None
    max_lost_leases: Annotated[
        int | None, says("Dead after losing its lease this often in a row, 5 by default, 0 = never")
    ] = None
    retry_backoff: Annotated[str | None, says("`none`, `fixed`, `linear` or `exponential` (default)")] = None
    retry_base_delay: Annotated[str | None, says("A duration like `5s` (default) or `1m30s`")] = None
    retry_max_delay: Annotated[str | None, says("A duration, `10m` by default; `0s` = no limit")] = None
    scheduled_at: Annotated[str | None, says("RFC 3339 time; the job waits for it")] = None
    expire_after: Annotated[str | None, says("A duration; a job that has not begun by then is dead")] = None
    tags: Annotated[dict[str, Scalar] | None, says("Names with strings, numbers, booleans or null")] = None
    checkpoint: Annotated[Raw, says("What the first attempt is to go on from; any JSON value")] = msgspec.field(
        default_factory=Raw
    )
    agent: Annotated[AgentRequest | None, says("Makes it an agent job: it runs again and again until it says done")] = (
        None
    )
    chain: Annotated[
        Raw,
        says('`{"steps": [{"queue", "payload"}, …], "on_failure", "on_exit"}`; the first step is this job'),
    ] = msgspec.field(default_factory=Raw)
    depends_on: Annotated[list[str] | None, says("Ids of jobs that must have completed first")] = None
    parent_id: Annotated[str | None, says("A free link to another job")] = None
    chain_id: Annotated[str | None, says("Raw link to a chain; `chain` makes one")] = None
    chain_step: Annotated[int | None, says("Raw link to a chain; `chain` makes one")] = None
    chain_config: Annotated[dict[str, Raw] | None, says("Raw link to a chain; `chain` makes one")] = None
    job_id: Annotated[str | None, says("The caller's own id: 1 to 128 of `A-Z a-z 0-9 . _ : -`; 409 if taken")] = None


class JobBatchRequest(msgspec.Struct):
    """Follow the jobs together; enqueue a job when all have ended."""

    callback_queue: Annotated[str | None, says("Where one job is enqueued when all have ended")] = None
    callback_payload: Annotated[Raw, says("Its payload; the counts are added under `batch`")] = msgspec.field(
        default_factory=Raw
    )


class EnqueueBatchRequest(msgspec.Struct):
    """Jobs to add, all or none."""

    jobs: Annotated[list[EnqueueRequest] | None, says("Required. Jobs as in `/enqueue`")] = None
    batch: Annotated[JobBatchRequest | None, says("Follow them together")] = None


class EnqueueAnswer(msgspec.Struct):
    """What became of the job."""

    job_id: str
    status: str
    unique_existing: bool


class EnqueueBatchAnswer(msgspec.Struct, omit_defaults=True):
    """What became of the jobs."""

    job_ids: list[str]
    batch_id: str | None = None


_enqueue_decoder = msgspec.json.Decoder(EnqueueRequest)
_batch_decoder = msgspec.json.Decoder(EnqueueBatchRequest)
_chain_decoder = msgspec.json.Decoder(Chain)


def enqueue(call: Call, body: bytes) -> Work:
    """Add one job."""
    job = new_job(call, decode(_enqueue_decoder, body or b"{}"))
    op = Enqueue(jobs=[job], idempotency=idempotency(call, body), namespace=call.namespace)
    return Work(op, enqueued_one)


def enqueued_one(enqueued: Enqueued | Refusal) -> Answer:
    """The answer about one job."""
    if isinstance(enqueued, Refusal):
        raise refused(enqueued, "VALIDATION_ERROR")
    return enqueue_answer(enqueued.jobs[0])


def enqueue_answer(job: EnqueuedJob) -> Answer:
    """201 for a new job, 200 for one that was there."""
    return Answer(201 if job.status in (PENDING, SCHEDULED) else 200, enqueued_json(job).encode())


def enqueued_json(job: EnqueuedJob) -> str:
    """What became of a job, as both an enqueue and a stream say it."""
    existed = "false" if job.status in (PENDING, SCHEDULED) else "true"
    return f'{{"job_id":"{job.job_id}","status":"{job.status}","unique_existing":{existed}}}'


def enqueue_batch(call: Call, body: bytes) -> Work:
    """Add many jobs, all or none, and maybe follow them as a batch."""
    request = decode(_batch_decoder, body or b"{}")
    if not request.jobs:
        raise invalid("jobs array is required")
    if len(request.jobs) > MOST_JOBS:
        raise invalid(f"jobs has {len(request.jobs)} items, the limit is {MOST_JOBS}")
    call.charge(len(request.jobs))
    jobs = [_numbered(call, number, job) for number, job in enumerate(request.jobs)]
    batch = None if request.batch is None else _job_batch(call, request.batch)
    op = Enqueue(jobs=jobs, batch=batch, idempotency=idempotency(call, body), namespace=call.namespace)
    return Work(op, _enqueued_batch)


def _enqueued_batch(enqueued: Enqueued | Refusal) -> Answer:
    if isinstance(enqueued, Refusal):
        raise refused(enqueued, "VALIDATION_ERROR")
    answer = EnqueueBatchAnswer([job.job_id for job in enqueued.jobs], enqueued.batch_id)
    return Answer(201, msgspec.json.encode(answer))


def _numbered(call: Call, number: int, request: EnqueueRequest) -> NewJob:
    """One of many jobs; an error says which."""
    try:
        return new_job(call, request)
    except ApiError as error:
        raise ApiError(error.status, error.code, f"jobs[{number}]: {error.message}") from None


def _job_batch(call: Call, request: JobBatchRequest) -> NewJobBatch:
    callback_queue = (request.callback_queue or "").strip() or None
    if callback_queue is not None:
        call.queue(callback_queue, "batch.callback_queue")
    payload = given_json(request.callback_payload, "batch.callback_payload")
    if payload is not None:
        check_size(call, payload, "batch.callback_payload")
    return NewJobBatch(callback_queue, payload)


def idempotency(call: Call, body: bytes) -> IdempotencyKey | None:
    """The caller's own mark of the request, if there is one."""
    key = call.headers.get(b"idempotency-key")
    if not key:
        return None
    if len(key) > LONGEST_IDEMPOTENCY_KEY:
        raise invalid(f"Idempotency-Key is longer than {LONGEST_IDEMPOTENCY_KEY} characters")
    digest = sha256(call.scope["path"].encode() + b"\0" + body).hexdigest()
    return IdempotencyKey(key.decode("latin-1"), digest)


def new_job(call: Call, request: EnqueueRequest) -> NewJob:
    """Check a request and say it in the engine's words."""
    job = NewJob(queue=call.queue(request.queue))
    payload = compact_json(request.payload, "payload")
    if payload is not None:
        check_size(call, payload, "payload")
        job.payload = payload
    if request.priority is not None:
        job.rank = rank(request.priority)
    if request.scheduled_at is not None:
        job.scheduled_at = instant(request.scheduled_at, "scheduled_at")
    if request.tags is not None:
        job.tags = msgspec.json.encode(request.tags).decode()
    job.checkpoint = given_json(request.checkpoint, "checkpoint")
    job.trace = call.trace()
    if request.agent is not None:
        job.agent = _agent(request.agent)
    _read_retries(request, job)
    _read_identity(request, job)
    _read_links(call, request, job)
    return job


def check_size(call: Call, payload: str, field: str) -> None:
    """Refuse a payload that is over its limit."""
    limit = call.settings.max_payload_size
    if limit and len(payload) * 4 > limit:
        size = len(payload.encode())
        if size > limit:
            raise too_large(f"{field} has {size} bytes, the limit is {limit}")


def _read_retries(request: EnqueueRequest, job: NewJob) -> None:
    """How often and how long the job may try."""
    if request.max_retries is not None:
        job.max_retries = count(request.max_retries, job.max_retries, "max_retries")
    if request.max_lost_leases is not None:
        job.max_lost_leases = count(request.max_lost_leases, job.max_lost_leases, "max_lost_leases")
    if request.retry_backoff:
        if request.retry_backoff not in NATIVE_POLICIES:
            raise invalid(f"retry_backoff must be one of {', '.join(NATIVE_POLICIES)}, not {request.retry_backoff!r}")
        job.backoff = request.retry_backoff
    if request.retry_base_delay:
        job.base_delay = duration(request.retry_base_delay, job.base_delay, "retry_base_delay")
    if request.retry_max_delay:
        job.max_delay = duration(request.retry_max_delay, job.max_delay, "retry_max_delay")
    if request.expire_after:
        duration(request.expire_after, 0, "expire_after")
        job.expire_after = request.expire_after


def _read_identity(request: EnqueueRequest, job: NewJob) -> None:
    """The job's own id, and what keeps it from being there twice."""
    if request.job_id is not None:
        if not is_job_id(request.job_id):
            raise invalid("job_id must have 1 to 128 characters of A-Z a-z 0-9 . _ : - and not be batch, . or ..")
        job.id = request.job_id
    conflict = request.unique_on_conflict or "keep"
    if conflict not in _CONFLICTS:
        raise invalid(f"unique_on_conflict must be one of {', '.join(_CONFLICTS)}, not {conflict!r}")
    if request.unique_key:
        job.unique_key = request.unique_key
        job.on_conflict = conflict
        period = request.unique_period
        if period is not None and period > LARGEST_COUNT:
            raise invalid(f"unique_period must be at most {LARGEST_COUNT}, not {period}")
        if period is not None and period > 0:
            job.unique_period = period


def _read_links(call: Call, request: EnqueueRequest, job: NewJob) -> None:
    """What ties the job to other jobs."""
    if request.depends_on:
        ids = (job_id.strip() for job_id in request.depends_on)
        job.depends_on = list(dict.fromkeys(job_id for job_id in ids if job_id)) or None
    job.parent_id = request.parent_id
    job.chain_id = request.chain_id
    if request.chain_step is not None:
        if abs(request.chain_step) > LARGEST_COUNT:
            raise invalid(f"chain_step must be between -{LARGEST_COUNT} and {LARGEST_COUNT}")
        job.chain_step = request.chain_step
    if request.chain_config is not None:
        job.chain_config = compact_json(Raw(msgspec.json.encode(request.chain_config)), "chain_config")
    chain = given_json(request.chain, "chain")
    if chain is not None:
        _read_chain(call, request, chain, job)


def _read_chain(call: Call, request: EnqueueRequest, text: str, job: NewJob) -> None:
    try:
        chain = _chain_decoder.decode(text)
    except msgspec.ValidationError as error:
        raise invalid(f"chain: {error}") from None
    if len(chain.steps) < 2:
        raise invalid("chain.steps must have at least 2 steps")
    for number, step in enumerate(chain.steps):
        call.queue(step.queue, f"chain.steps[{number}].queue")
    if isinstance(chain.on_failure, Step):
        call.queue(chain.on_failure.queue, "chain.on_failure.queue")
    elif chain.on_failure:
        call.queue(chain.on_failure, "chain.on_failure")
    if chain.on_exit is not None:
        call.queue(chain.on_exit.queue, "chain.on_exit.queue")
    if chain.steps[0].queue != request.queue:
        raise invalid("chain.steps[0].queue must be the queue of the job")
    job.chain_config = text
    job.chain_id = job.chain_step = None
    job.starts_chain = True
    first_payload = compact_json(chain.steps[0].payload, "chain.steps[0].payload")
    if not request.payload and first_payload not in (None, "null"):
        job.payload = first_payload
        check_size(call, first_payload, "chain.steps[0].payload")


def _agent(request: AgentRequest) -> str:
    """An agent's limits at its beginning; negative ones mean none."""
    iterations = max(0, request.max_iterations or 0)
    if iterations > LARGEST_COUNT:
        raise invalid(f"agent.max_iterations must be at most {LARGEST_COUNT}")
    duration(request.iteration_timeout, 0, "agent.iteration_timeout")
    agent = Agent(iterations, max(0.0, request.max_cost_usd or 0.0), request.iteration_timeout or "")
    return msgspec.json.encode(agent).decode()


IDEMPOTENCY: Final = (
    Parameter(
        "Idempotency-Key",
        "The same key with the same body within a day gets the first answer again, and nothing is added",
        place="header",
    ),
    Parameter(
        "traceparent",
        "W3C trace context, kept on the job and handed to its worker; one that is not valid is ignored",
        place="header",
    ),
)

ROUTES = [
    hot_route(
        "/api/v1/enqueue",
        enqueue,
        summary="Add a job",
        request=EnqueueRequest,
        answers={201: EnqueueAnswer, 200: EnqueueAnswer},
        parameters=IDEMPOTENCY,
        tag="Producing",
    ),
    hot_route(
        "/api/v1/enqueue/batch",
        enqueue_batch,
        large=True,
        summary="Add many jobs, all or none",
        request=EnqueueBatchRequest,
        answers={201: EnqueueBatchAnswer},
        parameters=IDEMPOTENCY,
        tag="Producing",
    ),
]
