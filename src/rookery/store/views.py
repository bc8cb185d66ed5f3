"""Jobs, queues and job batches as the API shows them. Nothing here writes."""

from array import array
from collections.abc import Sequence
from typing import Any, Final

import apsw
import msgspec

from rookery.model.durations import format_duration
from rookery.model.instants import format_instant, format_known
from rookery.model.job import STATES, priority_name
from rookery.model.names import DEFAULT_NAMESPACE, is_visible, may_see, shown_name
from rookery.store.throughput import completed_in_last_minute

Raw = msgspec.Raw


class WorkerRef(msgspec.Struct):
    """The worker that has, or had, a job."""

    id: str
    hostname: str | None


class ErrorView(msgspec.Struct):
    """One failed attempt."""

    id: int
    job_id: str
    attempt: int
    error: str
    backtrace: str | None
    created_at: str
    at: str


class JobView(msgspec.Struct):
    """A job, whole."""

    id: str
    queue: str
    state: str
    payload: Raw
    priority: int
    priority_name: str
    attempt: int
    max_retries: int
    retry_backoff: str
    retry_base_delay_ms: int
    retry_max_delay_ms: int
    retry_base_delay: str
    retry_max_delay: str
    max_lost_leases: int
    unique_key: str | None
    unique_period: int | None
    batch_id: str | None
    worker_id: str | None
    hostname: str | None
    worker: WorkerRef | None
    tags: Raw | None
    progress: Raw | None
    checkpoint: Raw | None
    result: Raw | None
    created_at: str
    scheduled_at: str | None
    started_at: str | None
    completed_at: str | None
    failed_at: str | None
    lease_expires_at: str | None
    expire_at: str | None
    expire_after: str | None
    parent_id: str | None
    chain_id: str | None
    chain_step: int | None
    chain_config: Raw | None
    depends_on: list[str] | None
    agent: Raw | None
    hold_reason: str | None
    traceparent: str | None
    errors: list[ErrorView]


class QueueView(msgspec.Struct):
    """A queue's settings and counts."""

    name: str
    paused: bool
    max_concurrency: int | None
    rate_limit: int | None
    rate_window_ms: int | None
    created_at: str
    pending: int
    active: int
    held: int
    completed: int
    dead: int
    scheduled: int
    retrying: int
    cancelled: int
    enqueued: int
    failed: int
    oldest_pending_at: str | None
    throughput_per_min: int


class JobBatchView(msgspec.Struct):
    """How far a job batch is."""

    id: str
    total: int
    pending: int
    succeeded: int
    failed: int
    callback_queue: str | None
    callback_payload: Raw | None
    created_at: str


_JOB_COLUMNS: Final = [
    "seq",
    "id",
    "state",
    "payload",
    "rank",
    "attempt",
    "max_retries",
    "backoff",
    "base_delay",
    "max_delay",
    "max_lost_leases",
    "unique_key",
    "unique_period",
    "batch_id",
    "worker_id",
    "hostname",
    "tags",
    "progress",
    "checkpoint",
    "result",
    "created_at",
    "scheduled_at",
    "started_at",
    "completed_at",
    "failed_at",
    "lease_until",
    "expire_at",
    "expire_after",
    "parent_id",
    "chain_id",
    "chain_step",
    "chain_config",
    "depends_on",
    "agent",
    "hold_reason",
    "trace",
]
SELECTED: Final = f"queue.name, {', '.join('job.' + column for column in _JOB_COLUMNS)}"
"""What `job_view` is made from."""
_SELECT_JOB: Final = f"SELECT {SELECTED} FROM job JOIN queue ON queue.id = job.queue WHERE job.id = ?"


def read_job(db: apsw.Connection, job_id: str, namespace: str = DEFAULT_NAMESPACE) -> JobView | None:
    """One job, if the caller may see it."""
    row = db.execute(_SELECT_JOB, (job_id,)).fetchone()
    if row is None or not is_visible(namespace, row[0]):
        return None
    return job_view(row, read_errors(db, [row]), namespace)


def job_view(row: tuple[Any, ...], errors: dict[int, list[ErrorView]], namespace: str = DEFAULT_NAMESPACE) -> JobView:
    """A job from a row that begins with what is `SELECTED`, and from the errors of its seq."""
    job = dict(zip(_JOB_COLUMNS, row[1:], strict=False))
    return JobView(
        id=job["id"],
        queue=shown_name(namespace, row[0]),
        state=job["state"],
        payload=Raw(job["payload"]),
        priority=job["rank"],
        priority_name=priority_name(job["rank"]),
        attempt=job["attempt"],
        max_retries=job["max_retries"],
        retry_backoff=job["backoff"],
        retry_base_delay_ms=job["base_delay"],
        retry_max_delay_ms=job["max_delay"],
        retry_base_delay=format_duration(job["base_delay"]),
        retry_max_delay=format_duration(job["max_delay"]),
        max_lost_leases=job["max_lost_leases"],
        unique_key=job["unique_key"],
        unique_period=job["unique_period"],
        batch_id=job["batch_id"],
        worker_id=job["worker_id"],
        hostname=job["hostname"],
        worker=WorkerRef(job["worker_id"], job["hostname"]) if job["worker_id"] else None,
        tags=_raw(job["tags"]),
        progress=_raw(job["progress"]),
        checkpoint=_raw(job["checkpoint"]),
        result=_raw(job["result"]),
        created_at=format_instant(job["created_at"]),
        scheduled_at=format_known(job["scheduled_at"]),
        started_at=format_known(job["started_at"]),
        completed_at=format_known(job["completed_at"]),
        failed_at=format_known(job["failed_at"]),
        lease_expires_at=format_known(job["lease_until"]),
        expire_at=format_known(job["expire_at"]),
        expire_after=job["expire_after"],
        parent_id=job["parent_id"],
        chain_id=job["chain_id"],
        chain_step=job["chain_step"],
        chain_config=_chain_config(job["chain_config"], job["depends_on"]),
        depends_on=None if job["depends_on"] is None else msgspec.json.decode(job["depends_on"]),
        agent=_raw(job["agent"]),
        hold_reason=job["hold_reason"],
        traceparent=job["trace"],
        errors=errors.get(job["seq"], []),
    )


def read_errors(db: apsw.Connection, rows: Sequence[tuple[Any, ...]]) -> dict[int, list[ErrorView]]:
    """The errors of the jobs in these rows, by their seq, oldest first."""
    ids = {row[1]: row[2] for row in rows}
    errors: dict[int, list[ErrorView]] = {}
    for seq, id, attempt, error, backtrace, at in db.execute(
        """
        SELECT job, id, attempt, error, backtrace, created_at
          FROM carray(?) AS given
         CROSS JOIN error ON error.job = given.value
         ORDER BY id
        """,
        (apsw.carray(array("q", ids)),),
    ):
        time = format_instant(at)
        errors.setdefault(seq, []).append(ErrorView(id, ids[seq], attempt, error, backtrace, time, time))
    return errors


def _chain_config(config: str | None, depends_on: str | None) -> Raw | None:
    """The chain as it was given; what the job depends on is shown in it too."""
    if depends_on is None:
        return _raw(config)
    shown: dict[str, Raw] = {} if config is None else msgspec.json.decode(config, type=dict[str, Raw])
    return Raw(msgspec.json.encode({**shown, "depends_on": Raw(depends_on)}))


_QUEUE_COLUMNS: Final = [
    "id",
    "name",
    "paused_at",
    "max_concurrency",
    "rate",
    "window",
    "created_at",
    "pending",
    "active",
    "held",
    "completed",
    "dead",
    "scheduled",
    "retrying",
    "cancelled",
    "blocked",
    "enqueued",
    "failed",
]
_SELECT_QUEUES: Final = f"SELECT {', '.join(_QUEUE_COLUMNS)} FROM queue"


def read_queues(db: apsw.Connection, namespace: str = DEFAULT_NAMESPACE, now: int | None = None) -> list[QueueView]:
    """The queues that the caller may see, by name. Without `now` it is as late as the store knows."""
    if namespace == DEFAULT_NAMESPACE:
        rows = db.execute(f"{_SELECT_QUEUES} ORDER BY name").fetchall()
    else:
        rows = db.execute(f"{_SELECT_QUEUES} WHERE namespace = ? ORDER BY name", (namespace,)).fetchall()
    completed = completed_in_last_minute(db, _stored_now(db) if now is None else now)
    return [_queue_view(db, row, namespace, completed) for row in rows]


def read_queue(
    db: apsw.Connection, name: str, namespace: str = DEFAULT_NAMESPACE, now: int | None = None
) -> QueueView | None:
    """One queue by its stored name."""
    row = db.execute(f"{_SELECT_QUEUES} WHERE name = ?", (name,)).fetchone()
    if row is None or not is_visible(namespace, name):
        return None
    completed = completed_in_last_minute(db, _stored_now(db) if now is None else now, row[0])
    return _queue_view(db, row, namespace, completed)


def _stored_now(db: apsw.Connection) -> int:
    now: int = db.execute("SELECT now FROM machine").get
    return now


def _queue_view(db: apsw.Connection, row: tuple[Any, ...], namespace: str, completed: dict[int, int]) -> QueueView:
    queue = dict(zip(_QUEUE_COLUMNS, row, strict=True))
    oldest = _oldest_pending(db, queue["id"]) if queue["pending"] > queue["blocked"] else None
    return QueueView(
        name=shown_name(namespace, queue["name"]),
        paused=queue["paused_at"] is not None,
        max_concurrency=queue["max_concurrency"],
        rate_limit=queue["rate"],
        rate_window_ms=queue["window"],
        created_at=format_instant(queue["created_at"]),
        **{state: queue[state] for state in STATES},
        enqueued=queue["enqueued"],
        failed=queue["failed"],
        oldest_pending_at=format_known(oldest),
        throughput_per_min=completed.get(queue["id"], 0),
    )


WITH_RANKS: Final = """
    WITH RECURSIVE ranks (rank) AS (
      SELECT min(rank) FROM job WHERE state = 'pending' AND waiting_on = 0 AND queue = ?1
      UNION ALL
      SELECT (SELECT min(rank) FROM job
               WHERE state = 'pending' AND waiting_on = 0 AND queue = ?1 AND rank > ranks.rank)
        FROM ranks
       WHERE rank IS NOT NULL)
"""
"""The ranks that a queue's ready jobs have, each found by the index."""


def _oldest_pending(db: apsw.Connection, queue_id: int) -> int | None:
    """The first of each rank is found by the index; the oldest of those is the oldest of all."""
    oldest: int | None = db.execute(
        f"""
        {WITH_RANKS}
        SELECT min((SELECT created_at FROM job
                     WHERE state = 'pending' AND waiting_on = 0 AND queue = ?1 AND job.rank = ranks.rank
                     ORDER BY order_key, seq
                     LIMIT 1))
          FROM ranks
         WHERE rank IS NOT NULL
        """,
        (queue_id,),
    ).get
    return oldest


def read_job_batch(db: apsw.Connection, batch_id: str, namespace: str = DEFAULT_NAMESPACE) -> JobBatchView | None:
    """How far a job batch is, if it is the caller's."""
    row = db.execute(
        "SELECT id, total, pending, succeeded, failed, callback_queue, callback_payload, created_at, namespace "
        "FROM job_batch WHERE id = ?",
        (batch_id,),
    ).fetchone()
    if row is None or not may_see(namespace, row[8]):
        return None
    id, total, pending, succeeded, failed, callback_queue, callback_payload, created_at, _ = row
    return JobBatchView(
        id, total, pending, succeeded, failed, callback_queue, _raw(callback_payload), format_instant(created_at)
    )


def _raw(text: str | None) -> Raw | None:
    return None if text is None else Raw(text)
