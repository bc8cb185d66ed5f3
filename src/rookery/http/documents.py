"""Backup documents: what may stand in one, and what it comes to if all of it is in order."""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from graphlib import CycleError, TopologicalSorter
from time import sleep
from typing import Annotated, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from rookery.engine.agents import HIGHEST_COST, Agent
from rookery.engine.jsontext import json_text
from rookery.engine.ops import (
    AnyOperation,
    NewJob,
    OldError,
    OldJob,
    RestoreQueue,
    RestoreSchedule,
)
from rookery.engine.schedules import DEFAULT_ZONE
from rookery.http.backup import chosen_namespace
from rookery.http.call import Call, decode, says
from rookery.http.errors import ApiError, invalid
from rookery.http.produce import AgentRequest, EnqueueRequest, new_job
from rookery.http.schedules import ScheduleRequest, save_operation
from rookery.http.values import LARGEST_COUNT, count, duration, given_json, instant
from rookery.model.backoff import POLICIES
from rookery.model.durations import LONGEST
from rookery.model.job import COMPLETED, PENDING, RETRYING, SCHEDULED, STATES, rank_of
from rookery.model.names import DEFAULT_NAMESPACE, is_job_id, is_namespace
from rookery.node.addresses import form_fault
from rookery.store.backup import FORMAT, Internal, Meta

PAUSE_EVERY: Final = 200
PAUSE: Final = 0.001
"""After so many jobs, the thread that checks them leaves the processor to the others for so many seconds."""
_ON_LOST_LEASE: Final = ("requeue", "retry_now", "back_off")


class AgentRecord(AgentRequest):
    """An agent's limits, and how far it is."""

    iteration: Annotated[int | None, says("The one it is in, 1 by default")] = 1
    total_cost_usd: Annotated[float | None, says("What it has cost so far")] = 0.0


class ErrorRecord(msgspec.Struct):
    """A failed attempt."""

    attempt: Annotated[int | None, says("Its number")] = 0
    error: Annotated[str | None, says("What went wrong")] = ""
    backtrace: Annotated[str | None, says("Where")] = None
    created_at: Annotated[str | None, says("When; now if absent")] = None


class JobRecord(EnqueueRequest):
    """A job as in `/enqueue`, with its past. Only `queue` is required."""

    id: Annotated[str | None, says("A job whose id is there already is skipped; without one it gets a new id")] = None
    state: Annotated[str | None, says("`pending` by default; `active` comes back as `pending`")] = None
    agent: Annotated[AgentRecord | None, says("An agent's limits, and how far it is")] = None
    retry_base_delay_ms: Annotated[int | None, says("Goes before `retry_base_delay`")] = None
    retry_max_delay_ms: Annotated[int | None, says("Goes before `retry_max_delay`")] = None
    attempt: Annotated[int | None, says("Attempts so far")] = None
    batch_id: Annotated[str | None, says("Kept as a link; the batch itself does not come back")] = None
    worker_id: Annotated[str | None, says("Who ended it")] = None
    hostname: Annotated[str | None, says("Where that was")] = None
    progress: Annotated[Raw, says("Any JSON value")] = msgspec.field(default_factory=Raw)
    result: Annotated[Raw, says("Any JSON value")] = msgspec.field(default_factory=Raw)
    created_at: Annotated[str | None, says("Now if absent")] = None
    started_at: Annotated[str | None, says("When it was last begun")] = None
    completed_at: Annotated[str | None, says("When it was completed")] = None
    failed_at: Annotated[str | None, says("When it last failed")] = None
    expire_at: Annotated[str | None, says("`expire_after` from `created_at` if absent")] = None
    hold_reason: Annotated[str | None, says("Why it is held")] = None
    errors: Annotated[list[ErrorRecord] | None, says("Failed attempts, oldest first")] = None
    internal: Annotated[Internal | None, says("What a backup says beyond the job object")] = None


class QueueRecord(msgspec.Struct):
    """A queue's settings; what is not given stays as it is."""

    name: Annotated[str, says("Required")] = ""
    paused: Annotated[bool | UnsetType | None, says("Whether it hands out no jobs")] = UNSET
    max_concurrency: Annotated[int | UnsetType | None, says("0 or null lifts the limit")] = UNSET
    rate_limit: Annotated[int | UnsetType | None, says("Claims in a window; null lifts the limit")] = UNSET
    rate_window_ms: Annotated[int | None, says("The window")] = None
    created_at: Annotated[str | None, says("For a queue that is new here")] = None


class ScheduleRecord(ScheduleRequest):
    """A schedule as in `/schedules`, with its past."""

    id: Annotated[str | None, says("Kept for a schedule that is new here")] = None
    last_run: Annotated[str | None, says("When it last ran")] = None
    created_at: Annotated[str | None, says("When it was made")] = None


class _Settings(msgspec.Struct):
    """What a backup document holds beside jobs."""

    namespace: Annotated[str | None, says("Where to; a caller of another than the default one has only its own")] = None
    queues: Annotated[list[QueueRecord] | None, says("Settings of queues")] = None
    budgets: Annotated[list[Raw] | None, says("Must be empty: there are no budgets here")] = None
    schedules: Annotated[list[ScheduleRecord] | None, says("Schedules; one of the same name is changed")] = None
    meta: Annotated[Meta | None, says("`format` must be 1")] = None


class RestoreRequest(_Settings):
    """A backup document."""

    jobs: Annotated[list[JobRecord] | None, says("Jobs with their past")] = None


class _Document(_Settings):
    """The same, as it is first read: where each job begins and ends, and no more."""

    jobs: list[Raw] | None = None


_decoder = msgspec.json.Decoder(_Document)
_job_decoder = msgspec.json.Decoder(JobRecord)
_pack = msgspec.msgpack.Encoder().encode
unpacked = msgspec.msgpack.Decoder(OldJob).decode


class Plan(msgspec.Struct):
    """What a document comes to, all of it in order. Jobs are packed: there may be a million of them."""

    namespace: str
    settings: list[AnyOperation]
    jobs: deque[bytes]


def read_document(call: Call, body: bytes) -> Plan:
    """What the document comes to, if all of it is in order. It takes long: call it in a thread."""
    document = decode(_decoder, body or b"{}")
    caller, target = call.namespace, chosen_namespace(call, document.namespace)
    if document.meta is not None and document.meta.format != FORMAT:
        raise invalid(f"meta.format is {document.meta.format}, this server reads format {FORMAT}")
    if document.budgets:
        raise invalid("budgets must be empty: this server has none")
    call.namespace = target
    # What was accepted once may come back, whatever the limit is here and now.
    call.settings = msgspec.structs.replace(call.settings, max_payload_size=0)
    settings: list[AnyOperation] = []
    for number, queue in enumerate(document.queues or []):
        with _at(f"queues[{number}]"):
            settings.append(_queue(call, queue))
    for number, schedule in enumerate(document.schedules or []):
        with _at(f"schedules[{number}]"):
            settings.append(_schedule(call, schedule))
    return Plan(target, settings, _packed_jobs(call, caller, document.jobs or []))


def _packed_jobs(call: Call, caller: str, records: list[Raw]) -> deque[bytes]:
    """Every job, checked, in an order in which none comes before one that it waits for."""
    packed: list[bytes] = []
    ids: list[str | None] = []
    waits: dict[int, list[str]] = {}
    now = call.node.clock.now()
    for number, record in enumerate(records):
        with _at(f"jobs[{number}]"):
            job = _old_job(call, caller, decode(_job_decoder, record), now)
        packed.append(_pack(job))
        ids.append(job.new.id)
        if job.new.depends_on:
            waits[number] = job.new.depends_on
        if (number + 1) % PAUSE_EVERY == 0:
            sleep(PAUSE)
    order = _dependencies_first(ids, waits)
    return deque(packed if order is None else (packed[place] for place in order))


@contextmanager
def _at(place: str) -> Iterator[None]:
    """An error in here says where in the document it is."""
    try:
        yield
    except ApiError as error:
        raise ApiError(error.status, error.code, f"{place}: {error.message}") from None


def _queue(call: Call, record: QueueRecord) -> RestoreQueue:
    most, rate, window = record.max_concurrency, record.rate_limit, record.rate_window_ms
    if most is not UNSET and most is not None:
        most = count(max(0, most), 0, "max_concurrency") or None
    if rate is not UNSET and rate is not None:
        if not 0 < rate <= LARGEST_COUNT:
            raise invalid(f"rate_limit must be between 1 and {LARGEST_COUNT}, not {rate}")
        if window is None or not 0 < window <= LONGEST:
            raise invalid("rate_window_ms must be more than 0 and at most a hundred years")
    return RestoreQueue(
        queue=call.queue(record.name, "name"),
        paused=bool(record.paused) if record.paused is not UNSET else UNSET,
        max_active=most,
        rate=rate,
        window=window if rate else None,
        created_at=_time(record.created_at, "created_at"),
        namespace=call.namespace,
    )


def _schedule(call: Call, record: ScheduleRecord) -> RestoreSchedule:
    """When it next runs is found anew: what came since it was written down is over."""
    if record.id is not None and not is_job_id(record.id):
        raise invalid("id must have 1 to 128 characters of A-Z a-z 0-9 . _ : -")
    if record.timezone is None:
        record.timezone = DEFAULT_ZONE
    return RestoreSchedule(
        schedule=save_operation(call, None, record),
        id=record.id,
        last_run=_time(record.last_run, "last_run"),
        created_at=_time(record.created_at, "created_at"),
        namespace=call.namespace,
    )


def _old_job(call: Call, caller: str, record: JobRecord, now: int) -> OldJob:
    state, internal = record.state or PENDING, record.internal or Internal()
    if state not in STATES:
        raise invalid(f"state must be one of {', '.join(STATES)}, not {state[:32]!r}")
    new = _new_job(call, record, internal)
    created_at = now if record.created_at is None else instant(record.created_at, "created_at")
    expire_at = _time(record.expire_at, "expire_at")
    if new.expire_after is not None and expire_at is None:
        expire_at = created_at + duration(new.expire_after, 0, "expire_after")
    if state in (SCHEDULED, RETRYING):
        new.scheduled_at = now if new.scheduled_at is None else new.scheduled_at
    else:
        new.scheduled_at = None
    in_line_since = _time(internal.in_line_since, "internal.in_line_since")
    unique_until = _time(internal.unique_until, "internal.unique_until")
    if record.internal is None and state != COMPLETED:
        unique_until = created_at + new.unique_period * 1000
    return OldJob(
        new=new,
        namespace=_maker(call, caller, internal),
        state=state,
        created_at=created_at,
        order_key=created_at if in_line_since is None else in_line_since,
        attempt=count(record.attempt, 0, "attempt"),
        failures=count(internal.failures, 0, "internal.failures"),
        lost_leases=count(internal.lost_leases, 0, "internal.lost_leases"),
        was_completed=internal.was_completed,
        by_result=internal.by_result,
        started_at=_time(record.started_at, "started_at"),
        completed_at=_time(record.completed_at, "completed_at"),
        failed_at=_time(record.failed_at, "failed_at"),
        held_at=_time(internal.held_at, "internal.held_at"),
        expire_at=expire_at,
        worker_id=record.worker_id,
        hostname=record.hostname,
        batch_id=record.batch_id,
        hold_reason=record.hold_reason,
        progress=given_json(record.progress, "progress"),
        result=given_json(record.result, "result"),
        unique_until=unique_until,
        gone_dependencies=count(internal.gone_dependencies, 0, "internal.gone_dependencies"),
        errors=[_old_error(number, error, now) for number, error in enumerate(record.errors or [])],
    )


def _new_job(call: Call, record: JobRecord, internal: Internal) -> NewJob:
    """The job as somebody would enqueue it, and what only other faces or its own past can give it."""
    rank, backoff, record.priority, record.retry_backoff = record.priority, record.retry_backoff, None, None
    if record.depends_on and record.chain_config is not None:
        record.chain_config.pop("depends_on", None)
        record.chain_config = record.chain_config or None
    new = new_job(call, record)
    if record.id:
        if not is_job_id(record.id):
            raise invalid("id must have 1 to 128 characters of A-Z a-z 0-9 . _ : - and not be batch, . or ..")
        new.id = record.id
    if isinstance(rank, int):
        if abs(rank) > LARGEST_COUNT:
            raise invalid(f"priority must be between -{LARGEST_COUNT} and {LARGEST_COUNT}")
        new.rank = rank
    else:
        new.rank = rank_of(rank)
    if backoff:
        if backoff not in POLICIES:
            raise invalid(f"retry_backoff must be one of {', '.join(POLICIES)}, not {backoff[:32]!r}")
        new.backoff = backoff
    new.base_delay = _milliseconds(record.retry_base_delay_ms, new.base_delay, "retry_base_delay_ms")
    new.max_delay = _milliseconds(record.retry_max_delay_ms, new.max_delay, "retry_max_delay_ms")
    new.on_lost_lease = internal.on_lost_lease or new.on_lost_lease
    if new.on_lost_lease not in _ON_LOST_LEASE:
        raise invalid(f"internal.on_lost_lease must be one of {', '.join(_ON_LOST_LEASE)}")
    new.order_by_due, new.trace = internal.order_by_due, internal.trace
    new.face = None if internal.face is None else json_text(internal.face)
    new.callback = _callback(internal.callback)
    if record.agent is not None and new.agent is not None:
        agent = msgspec.json.decode(new.agent, type=Agent)
        agent.iteration = count(record.agent.iteration, 1, "agent.iteration")
        agent.total_cost_usd = min(max(0.0, record.agent.total_cost_usd or 0.0), HIGHEST_COST)
        new.agent = json_text(agent)
    return new


def _callback(url: str | None) -> str | None:
    fault = None if url is None else form_fault(url)
    if fault is not None:
        raise invalid(f"internal.callback {fault}")
    return url


def _old_error(number: int, record: ErrorRecord, now: int) -> OldError:
    with _at(f"errors[{number}]"):
        created_at = _time(record.created_at, "created_at")
        attempt = count(record.attempt, 0, "attempt")
    return OldError(attempt, record.error or "", record.backtrace, now if created_at is None else created_at)


def _maker(call: Call, caller: str, internal: Internal) -> str:
    """The namespace in which the job's chain names its queues; nobody puts a job into another than may be its own."""
    if internal.namespace is None or caller != DEFAULT_NAMESPACE:
        return call.namespace
    if not is_namespace(internal.namespace):
        raise invalid(f"internal.namespace: {internal.namespace[:64]!r} is not the name of a namespace")
    return internal.namespace


def _time(text: str | None, field: str) -> int | None:
    return None if text is None else instant(text, field)


def _milliseconds(value: int | None, default: int, field: str) -> int:
    if value is None:
        return default
    if not 0 <= value <= LONGEST:
        raise invalid(f"{field} must be between 0 and {LONGEST}, not {value}")
    return value


def _dependencies_first(ids: list[str | None], waits: dict[int, list[str]]) -> list[int] | None:
    """The places of jobs in an order in which none comes before one that it waits for; None: as they stand."""
    if not waits:
        return None
    places: dict[str, int] = {}
    for place, job_id in enumerate(ids):
        if job_id is not None:
            places.setdefault(job_id, place)
    wanted = {place: [places[job_id] for job_id in before if job_id in places] for place, before in waits.items()}
    if all(max(before, default=-1) < place for place, before in wanted.items()):
        return None
    sorter = TopologicalSorter({place: wanted.get(place, ()) for place in range(len(ids))})
    try:
        sorter.prepare()
    except CycleError as error:
        raise invalid(f"jobs[{min(error.args[1])}]: depends_on: the job waits for itself, by way of others") from None
    order: list[int] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        order += ready
        sorter.done(*ready)
    return order
