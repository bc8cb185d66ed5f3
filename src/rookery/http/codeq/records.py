"""Tasks and results as codeQ writes them, made from jobs. What is empty or zero is left out."""

from datetime import UTC, datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

import msgspec

from rookery.http.codeq.names import command_of, queue_of
from rookery.http.codeq.priorities import priority_of
from rookery.model.job import ACTIVE, CANCELLED, COMPLETED, DEAD, PENDING, RETRYING, SCHEDULED
from rookery.model.names import namespace_of, shown_name
from rookery.store.tasks import TaskRow

Raw = msgspec.Raw

STATUS_PENDING: Final = "PENDING"
STATUS_IN_PROGRESS: Final = "IN_PROGRESS"
STATUS_COMPLETED: Final = "COMPLETED"
STATUS_FAILED: Final = "FAILED"
STATUSES: Final = {
    ACTIVE: STATUS_IN_PROGRESS,
    COMPLETED: STATUS_COMPLETED,
    DEAD: STATUS_FAILED,
    CANCELLED: STATUS_FAILED,
}
"""By the state of the job; every other state is one of waiting."""
MAX_ATTEMPTS: Final = "MAX_ATTEMPTS"
_RESULT_KEY: Final = "codeq:results"
_LOCATIONS: Final = {
    PENDING: "PENDING_LIST",
    SCHEDULED: "DELAYED_ZSET",
    RETRYING: "DELAYED_ZSET",
    ACTIVE: "INPROG_SET",
    DEAD: "DLQ_SET",
}
_NOWHERE: Final = "NONE"
_EXPIRED: Final = "expired"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Artifact(msgspec.Struct, frozen=True):
    """Something that a result has beside itself, and where it is."""

    name: str
    url: str


class Face(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """What this face keeps with a job."""

    command: str = ""
    """As its producer spelled it."""
    tenant: str | None = None
    trace_state: str | None = None
    error: str | None = None
    """What a worker had to say although it completed the task."""
    artifacts: tuple[Artifact, ...] = ()
    files: tuple[tuple[str, str, str], ...] = ()
    """Those artifacts that we keep: name, the key in its URL, type."""


class Task(msgspec.Struct, omit_defaults=True, rename="camel", kw_only=True):
    """A task."""

    id: str
    command: str
    payload: str
    priority: int = 0
    webhook: str = ""
    status: str
    worker_id: str = ""
    lease_until: str = ""
    attempts: int = 0
    max_attempts: int
    error: str = ""
    result_key: str = ""
    tenant_id: str = ""
    trace_parent: str = ""
    trace_state: str = ""
    last_known_location: str
    created_at: str
    updated_at: str


class Result(msgspec.Struct, omit_defaults=True, rename="camel", kw_only=True):
    """What came of a task."""

    task_id: str
    status: str
    result: Raw | None = None
    error: str = ""
    artifacts: tuple[Artifact, ...] = ()
    completed_at: str


_face_decoder = msgspec.json.Decoder(Face)
_NO_FACE: Final = Face()


def face_of(row: TaskRow) -> Face:
    """What is kept with a job; nothing, if it was made by another face."""
    return read_face(row.face)


def read_face(text: str | bytes | None) -> Face:
    """The same from its text."""
    try:
        return _NO_FACE if text is None else _face_decoder.decode(text)
    except msgspec.ValidationError:
        return _NO_FACE


def task_of(row: TaskRow, zone: ZoneInfo) -> Task:
    """A job as a task."""
    face = face_of(row)
    is_active = row.state == ACTIVE
    is_dlq = row.state == DEAD and not row.by_result
    return Task(
        id=row.id,
        command=command_in(row.queue, face),
        payload=row.payload,
        priority=priority_of(row.rank),
        webhook=row.callback or "",
        status=STATUSES.get(row.state, STATUS_PENDING),
        worker_id=(row.worker_id or "") if is_active else "",
        lease_until=lease_end(row.lease_until) if is_active and row.lease_until is not None else "",
        attempts=row.attempt,
        max_attempts=row.max_retries,
        error=_error(row),
        result_key=_RESULT_KEY if has_result(row) else "",
        tenant_id=face.tenant or "",
        trace_parent=row.trace or "",
        trace_state=face.trace_state or "",
        last_known_location=_LOCATIONS.get(row.state, _NOWHERE) if row.state != DEAD or is_dlq else _NOWHERE,
        created_at=local_time(row.created_at, zone),
        updated_at=local_time(row.changed_at, zone),
    )


def has_result(row: TaskRow) -> bool:
    """Whether a worker has submitted a result; who ran out of attempts has none."""
    return row.state == COMPLETED or (row.state == DEAD and bool(row.by_result))


def result_of(row: TaskRow, zone: ZoneInfo) -> Result:
    """The result of a job that has one."""
    face = face_of(row)
    is_completed = row.state == COMPLETED
    at = row.completed_at if is_completed else row.failed_at
    return Result(
        task_id=row.id,
        status=STATUS_COMPLETED if is_completed else STATUS_FAILED,
        result=None if row.result in (None, "null") else Raw(row.result.encode()),
        error=(face.error or "") if is_completed else _error(row),
        artifacts=face.artifacts,
        completed_at=local_time(row.changed_at if at is None else at, zone),
    )


def local_time(ms: int, zone: ZoneInfo) -> str:
    """A time in the zone that the operator has chosen."""
    return (_EPOCH + timedelta(milliseconds=ms)).astimezone(zone).isoformat(timespec="milliseconds")


def lease_end(ms: int) -> str:
    """The end of a lease: UTC, in whole seconds."""
    return f"{_EPOCH + timedelta(seconds=ms // 1000):%Y-%m-%dT%H:%M:%SZ}"


def command_in(queue: str, face: Face) -> str:
    """The command as its producer spelled it, unless somebody has moved the job to another queue."""
    namespace = namespace_of(queue)
    if face.command and queue_of(namespace, face.command) == queue:
        return face.command
    return command_of(namespace, queue) or shown_name(namespace, queue)


def _error(row: TaskRow) -> str:
    """Why the task failed, if it did."""
    if row.state == CANCELLED:
        return "CANCELLED"
    if row.state != DEAD:
        return ""
    has_expired = row.error == _EXPIRED and row.expire_at is not None and row.expire_at <= (row.failed_at or 0)
    return "EXPIRED" if has_expired else row.error or MAX_ATTEMPTS


def face_text(face: Face) -> str:
    """What is kept with a job, as it is written."""
    return msgspec.json.encode(face).decode()


def face_patch(**changes: Any) -> str:
    """Changes of what is kept; null takes away."""
    return msgspec.json.encode(changes).decode()
