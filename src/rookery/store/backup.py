"""The backup as a JSON document: all that a namespace sees, written part by part from one view of the store."""

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Final

import apsw
import msgspec

from rookery.model.instants import format_instant, format_known
from rookery.model.job import COMPLETED
from rookery.model.names import DEFAULT_NAMESPACE, shown_name
from rookery.store.schedules import Schedule, read_schedules
from rookery.store.views import SELECTED, ErrorView, JobView, job_view, read_errors

FORMAT: Final = 1
PART_JOBS: Final = 200
PART_SIZE: Final = 1 << 20
"""About how many jobs, and how many characters of them, one part may have."""


class Internal(msgspec.Struct, omit_defaults=True):
    """What a job needs to go on as before, beyond what the API shows of it. Absent fields have their defaults."""

    failures: Annotated[int, msgspec.Meta(description="Failed attempts since it last began anew")] = 0
    lost_leases: Annotated[int, msgspec.Meta(description="Leases lost in a row")] = 0
    on_lost_lease: Annotated[
        str | None, msgspec.Meta(description="`requeue` (if absent), `retry_now` or `back_off`")
    ] = None
    order_by_due: Annotated[bool, msgspec.Meta(description="Its place in line is by when it was due")] = False
    in_line_since: Annotated[str | None, msgspec.Meta(description="Its place in line, if that is not its age")] = None
    was_completed: Annotated[bool, msgspec.Meta(description="It has completed before, so nobody waits for it")] = False
    held_at: Annotated[str | None, msgspec.Meta(description="Since when it is held")] = None
    namespace: Annotated[str | None, msgspec.Meta(description="Its maker's, if that is not the document's")] = None
    trace: Annotated[str | None, msgspec.Meta(description="`traceparent` of its maker")] = None
    unique_until: Annotated[str | None, msgspec.Meta(description="Up to when it holds its unique key")] = None
    gone_dependencies: Annotated[int, msgspec.Meta(description="Dependencies that are gone unfinished")] = 0
    face: Annotated[dict[str, Any] | None, msgspec.Meta(description="What another API keeps with it")] = None
    callback: Annotated[str | None, msgspec.Meta(description="The URL that is told how it ended")] = None
    by_result: Annotated[bool, msgspec.Meta(description="It is dead because its result says so")] = False


class BackedUpJob(JobView):
    """A job, whole, with what it needs to go on as before."""

    internal: Internal


class BackedUpQueue(msgspec.Struct):
    """A queue's settings."""

    name: str
    paused: bool
    max_concurrency: int | None
    rate_limit: int | None
    rate_window_ms: int | None
    created_at: str


class BackedUpSchedule(msgspec.Struct):
    """A schedule, and when it ran."""

    id: str
    name: str
    queue: str
    cron: str
    timezone: str
    payload: msgspec.Raw
    unique_key: str | None
    max_retries: int
    enabled: bool
    overlap: str
    missed: str
    last_run: str | None
    next_run: str | None
    created_at: str


class Meta(msgspec.Struct):
    """About the document itself."""

    format: int = FORMAT


class BackupDocument(msgspec.Struct):
    """All jobs, by creation, and all settings of a namespace, without its prefix."""

    namespace: str
    created_at: str
    jobs: list[BackedUpJob]
    queues: list[BackedUpQueue]
    budgets: list[dict[str, msgspec.Raw]]
    schedules: list[BackedUpSchedule]
    meta: Meta


_INTERNAL_COLUMNS: Final = (
    "job.failures",
    "job.lost_leases",
    "job.on_lost_lease",
    "job.order_by_due",
    "job.order_key",
    "job.was_completed",
    "job.held_at",
    "job.namespace",
    "job.trace",
    "unique_lock.expires_at",
    "job.waiting_on - (SELECT count(*) FROM dependency JOIN job AS other ON other.seq = dependency.dependency "
    "WHERE job.waiting_on > 0 AND dependency.dependent = job.seq)",
    "job.face",
    "job.callback",
    "job.by_result",
)
_SELECT_JOBS: Final = f"""
    SELECT {SELECTED}, {", ".join(_INTERNAL_COLUMNS)}
      FROM job INDEXED BY job_by_creation
     CROSS JOIN queue ON queue.id = job.queue
      LEFT JOIN unique_lock
        ON unique_lock.queue = job.queue AND unique_lock.key = job.unique_key AND unique_lock.job = job.seq
     WHERE ?1 = '{DEFAULT_NAMESPACE}' OR queue.namespace = ?1
     ORDER BY job.created_at, job.seq
"""
_SELECT_QUEUES: Final = f"""
    SELECT name, paused_at IS NOT NULL, max_concurrency, rate, window, created_at
      FROM queue
     WHERE ?1 = '{DEFAULT_NAMESPACE}' OR namespace = ?1
     ORDER BY name
"""

Row = tuple[Any, ...]
_encode = msgspec.json.Encoder().encode


def document_parts(db: apsw.Connection, namespace: str, now: int) -> Iterator[bytes]:
    """The document, part by part. The connection is inside a read transaction and stays there."""
    yield b'{"namespace":%s,"created_at":%s,"jobs":[' % (_encode(namespace), _encode(format_instant(now)))
    separator = b""
    for rows in _groups(db.execute(_SELECT_JOBS, (namespace,))):
        errors = read_errors(db, rows)
        yield separator + b",".join([_encode(_backed_up(row, errors, namespace)) for row in rows])
        separator = b","
    yield b'],"queues":%s,"budgets":[],"schedules":%s,"meta":%s}' % (
        _encode(_queues(db, namespace)),
        _encode([_schedule(schedule, namespace) for schedule in read_schedules(db, namespace)]),
        _encode(Meta()),
    )


def _groups(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """The rows in groups that are small, however large a row is."""
    group: list[Row] = []
    size = 0
    for row in rows:
        group.append(row)
        size += sum(len(value) for value in row if isinstance(value, str))
        if len(group) == PART_JOBS or size >= PART_SIZE:
            yield group
            group, size = [], 0
    if group:
        yield group


def _backed_up(row: Row, errors: dict[int, list[ErrorView]], namespace: str) -> BackedUpJob:
    job = msgspec.structs.asdict(job_view(row, errors, namespace))
    return BackedUpJob(**job, internal=_internal(row, namespace))


def _internal(row: Row, namespace: str) -> Internal:
    own = row[-len(_INTERNAL_COLUMNS) :]
    failures, lost_leases, on_lost_lease, by_due, order_key, was_completed, held_at, maker, trace, until, gone = own[
        :11
    ]
    face, callback, by_result = own[11:]
    return Internal(
        failures=failures,
        lost_leases=lost_leases,
        on_lost_lease=None if on_lost_lease == "requeue" else on_lost_lease,
        order_by_due=bool(by_due),
        in_line_since=format_instant(order_key) if by_due else None,
        was_completed=bool(was_completed) and row[3] != COMPLETED,
        held_at=format_known(held_at),
        namespace=None if maker == namespace else maker,
        trace=trace,
        unique_until=format_known(until),
        gone_dependencies=gone,
        face=None if face is None else msgspec.json.decode(face),
        callback=callback,
        by_result=bool(by_result),
    )


def _queues(db: apsw.Connection, namespace: str) -> list[BackedUpQueue]:
    return [
        BackedUpQueue(
            shown_name(namespace, name), bool(paused), max_concurrency, rate, window, format_instant(created_at)
        )
        for name, paused, max_concurrency, rate, window, created_at in db.execute(_SELECT_QUEUES, (namespace,))
    ]


def _schedule(schedule: Schedule, namespace: str) -> BackedUpSchedule:
    return BackedUpSchedule(
        id=schedule.id,
        name=schedule.name,
        queue=shown_name(namespace, schedule.queue),
        cron=schedule.cron,
        timezone=schedule.timezone,
        payload=msgspec.Raw(schedule.payload.encode()),
        unique_key=schedule.unique_key,
        max_retries=schedule.max_retries,
        enabled=schedule.enabled,
        overlap=schedule.overlap,
        missed=schedule.missed,
        last_run=format_known(schedule.last_run),
        next_run=format_known(schedule.next_run),
        created_at=format_instant(schedule.created_at),
    )
