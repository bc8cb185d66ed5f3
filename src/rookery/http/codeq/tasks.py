"""Creating tasks, one or many, and looking at them."""

import asyncio
import re
from typing import Any, Final
from uuid import uuid4

import msgspec

from rookery.engine.ops import Bulk, BulkDone, Enqueue, Enqueued, IdempotencyKey, NewJob, Refusal
from rookery.http.call import LARGE_BODY, Answer, json_answer
from rookery.http.codeq.call import CodeqCall, Route
from rookery.http.codeq.errors import CodeqError
from rookery.http.codeq.priorities import rank_for
from rookery.http.codeq.records import (
    STATUS_PENDING,
    STATUSES,
    Face,
    Task,
    face_text,
    task_of,
)
from rookery.http.codeq.settings import CodeqSettings
from rookery.http.errors import ApiError
from rookery.http.produce import check_size
from rookery.http.values import LARGEST_COUNT, Raw, given_json
from rookery.model.instants import LATEST, BadInstant, parse_bound
from rookery.model.job import PENDING, SCHEDULED, STATES
from rookery.node.addresses import form_fault
from rookery.node.batcher import resolver
from rookery.store.filters import JobFilter
from rookery.store.tasks import TaskRow, list_tasks, read_task, read_tasks

MOST_AT_ONCE: Final = 100
KEY_MARK: Final = "\0codeq\0"
"""Stands in front of this face's keys, so that they are not those of the native API."""
INVALID_BODY: Final = "invalid body"
_RFC3339: Final = re.compile(r"[\d-]{10}[Tt][\d:]{8}(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_LONGEST_TRACE_STATE: Final = 512
_DEFAULT_LISTED: Final = 100
_MOST_LISTED: Final = 1000


class NewTask(msgspec.Struct, rename="camel"):
    """A task as its producer wants it."""

    command: str | None = None
    payload: Raw = msgspec.field(default_factory=Raw)
    priority: int | None = None
    max_attempts: int | None = None
    webhook: str | None = None
    idempotency_key: str | None = None
    run_at: str | None = None
    delay_seconds: int | None = None


class NewTasks(msgspec.Struct):
    """Many of them; each is looked at by itself."""

    tasks: list[Raw] | None = None


class BatchItem(msgspec.Struct, omit_defaults=True):
    """What became of one of many."""

    task: Task | None = None
    error: str | None = None


_task_decoder = msgspec.json.Decoder(NewTask)
_tasks_decoder = msgspec.json.Decoder(NewTasks)


async def create(call: CodeqCall) -> Answer:
    """Add a task, or find the one that its key stands for."""
    op = enqueue_of(call, await call.read(_task_decoder))
    (created,) = await _create_all(call, [op])
    if isinstance(created, str):
        raise CodeqError(500, created)
    return json_answer(created, 202)


async def create_many(call: CodeqCall) -> Answer:
    """Add many tasks; each stands alone."""
    request = await call.read(_tasks_decoder, limit=LARGE_BODY)
    check_count(request.tasks)
    ops: list[Enqueue | str] = [_enqueue_or_fault(call, raw) for raw in request.tasks or ()]
    created = iter(await _create_all(call, [op for op in ops if isinstance(op, Enqueue)]))
    outcomes = [next(created) if isinstance(op, Enqueue) else op for op in ops]
    items = [BatchItem(error=it) if isinstance(it, str) else BatchItem(task=it) for it in outcomes]
    return json_answer({"results": items})


def check_count(items: list[Raw] | None) -> None:
    """Refuse a batch that is empty or too large."""
    if not items:
        raise CodeqError(400, INVALID_BODY)
    if len(items) > MOST_AT_ONCE:
        raise CodeqError(400, f"batch size exceeds maximum of {MOST_AT_ONCE}")


def _enqueue_or_fault(call: CodeqCall, raw: Raw) -> Enqueue | str:
    try:
        return enqueue_of(call, _task_decoder.decode(raw))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return INVALID_BODY
    except CodeqError as fault:
        return fault.text
    except ApiError as fault:
        return fault.message


def enqueue_of(call: CodeqCall, task: NewTask) -> Enqueue:
    """A new task in the engine's words; raises CodeqError."""
    payload = _payload(call, task.payload)
    command = task.command or ""
    if not command.strip():
        raise CodeqError(400, "invalid command")
    webhook = (task.webhook or "").strip()
    if webhook and form_fault(webhook) is not None:
        raise CodeqError(400, "invalid webhook url")
    attempts, settings = task.max_attempts or 0, call.settings
    backoff, base_delay, max_delay = retry_policy(settings)
    trace = call.call.trace()
    face = Face(command, call.caller.tenant, _trace_state(call) if trace else None)
    job = NewJob(
        queue=call.queue(command),
        payload=payload,
        id=str(uuid4()),
        rank=rank_for(task.priority or 0),
        max_retries=min(attempts if attempts > 0 else settings.max_attempts_default, LARGEST_COUNT),
        backoff=backoff,
        base_delay=base_delay,
        max_delay=max_delay,
        scheduled_at=_visible_at(task, call.node.clock.now()),
        max_lost_leases=0,
        on_lost_lease="back_off",
        order_by_due=True,
        trace=trace,
        face=face_text(face),
        spelling=command,
        callback=webhook or None,
    )
    key = task.idempotency_key or ""
    mark = IdempotencyKey(KEY_MARK + key, "", names_job=True) if key.strip() else None
    return Enqueue(jobs=[job], idempotency=mark, namespace=call.namespace)


def retry_policy(settings: CodeqSettings) -> tuple[str, int, int]:
    """Backoff, base and cap in the engine's words: its exponential series begin at the base, codeQ's at twice that."""
    base, most = settings.backoff_base_seconds * 1000, settings.backoff_max_seconds * 1000
    if most == 0:
        return "none", 0, 0
    is_steady = settings.backoff_policy in ("fixed", "linear")
    return settings.backoff_policy, base if is_steady else 2 * base, most


def _payload(call: CodeqCall, raw: Raw) -> str:
    """The payload as compact JSON text, with its numbers as they were written."""
    try:
        text = given_json(raw, "payload")
    except ApiError:
        text = None
    if text is None:
        raise CodeqError(400, INVALID_BODY)
    check_size(call.call, text, "payload")
    return text


def _visible_at(task: NewTask, now: int) -> int | None:
    """When the task can first be claimed; None: at once."""
    run_at = (task.run_at or "").strip()
    if run_at:
        at = instant(run_at, "runAt")
    else:
        delay = task.delay_seconds or 0
        if delay < 0:
            raise CodeqError(400, "invalid 'delaySeconds' (must be >= 0)")
        at = min(now + delay * 1000, LATEST)
    return at if at > now else None


def instant(text: str, field: str) -> int:
    """A time in milliseconds, written to the letter of RFC 3339."""
    try:
        if _RFC3339.fullmatch(text) is None:
            raise BadInstant
        return min(parse_bound(text, round_up=True), LATEST)
    except BadInstant:
        raise CodeqError(400, f"invalid '{field}' (use RFC3339)") from None


def _trace_state(call: CodeqCall) -> str | None:
    given = b",".join(value for name, value in call.call.scope["headers"] if name == b"tracestate").strip()
    return given.decode("latin-1") if 0 < len(given) <= _LONGEST_TRACE_STATE and given.isascii() else None


async def _create_all(call: CodeqCall, ops: list[Enqueue]) -> list[Task | str]:
    """The tasks as they are now, in the order of the operations, or what went wrong. All are let in, or none."""
    if not ops:
        return []
    futures: list[asyncio.Future[Any]] = [call.node.submit(ops[0])]
    for op in ops[1:]:
        future = asyncio.get_running_loop().create_future()
        call.node.send_more(op, resolver(future))
        futures.append(future)
    results: list[Enqueued | Refusal | BaseException] = await asyncio.gather(*futures, return_exceptions=True)
    if all(isinstance(result, BaseException) for result in results):
        await futures[0]
    created = call.node.measures.face_work.created
    for op, result in zip(ops, results, strict=True):
        if isinstance(result, Enqueued) and result.jobs[0].status in (PENDING, SCHEDULED):
            created[op.jobs[0].queue] += 1
    ids = [result.jobs[0].job_id if isinstance(result, Enqueued) else "" for result in results]
    rows = read_tasks(call.node.reader, ids, call.namespace)
    return [
        task_of(rows[job_id], call.settings.timezone) if job_id in rows else _fault(result)
        for job_id, result in zip(ids, results, strict=True)
    ]


def _fault(result: Enqueued | Refusal | BaseException) -> str:
    """Why there is no task to show: it was not taken, or deleted by somebody before it could be read."""
    if isinstance(result, Enqueued):
        return "not found"
    return result.message if isinstance(result, Refusal) else str(result)


async def get(call: CodeqCall) -> Answer:
    """A task as it is now."""
    row = read_task(call.node.reader, call.params["id"], call.namespace)
    if row is None:
        raise CodeqError(404, "not found")
    return json_answer(task_of(row, call.settings.timezone))


# --- for admins


async def requeue(call: CodeqCall) -> Answer:
    """Give a dead-lettered task all its attempts again."""
    task_id = call.params["id"]
    row = read_task(call.node.reader, task_id, call.namespace)
    if row is None:
        raise CodeqError(404, "not-found")
    # By filter, because that spares tasks whose result says that they failed.
    done: BulkDone = await call.node.submit(
        Bulk(action="retry", job_ids=[task_id], wanted=JobFilter(states=("dead",)), namespace=call.namespace)
    )
    if not done.affected:
        raise CodeqError(409, "not-in-dlq")
    return json_answer({"status": "requeued"})


async def find(call: CodeqCall) -> Answer:
    """The newest tasks, of one status or of all, of one command or of all."""
    query = call.call.query()
    status = query.get("status", "").strip().upper()
    states = tuple(state for state in STATES if status in ("", STATUSES.get(state, STATUS_PENDING)))
    if not states:
        raise CodeqError(400, "invalid status")
    limit = query.get("limit", "").strip() or str(_DEFAULT_LISTED)
    if not (limit.isascii() and limit.isdigit() and len(limit) < 10):
        raise CodeqError(400, "invalid 'limit' (must be >= 0)")
    command = query.get("command", "").strip()
    most = min(int(limit) or _DEFAULT_LISTED, _MOST_LISTED)
    queue = call.queue(command) if command else None
    rows: list[TaskRow] = await call.node.reads.run(lambda db: list_tasks(db, call.namespace, states, queue, most))
    return json_answer({"tasks": [task_of(row, call.settings.timezone) for row in rows]})


ROUTES: Final = [
    Route(method="POST", path="/tasks", handler=create, who="producer", limit="producer"),
    Route(method="POST", path="/tasks/batch", handler=create_many, who="producer", limit="producer"),
    Route(method="GET", path="/tasks/{id}", handler=get, who="either"),
    Route(method="POST", path="/tasks/{id}/requeue", handler=requeue, who="admin"),
    Route(method="GET", path="/admin/tasks", handler=find, who="admin"),
]
