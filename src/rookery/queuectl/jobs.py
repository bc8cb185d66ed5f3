"""A job of `queuectl` as the engine knows it, and back: queues, states, priorities, and the columns that are shown."""

from typing import Any, Final

import msgspec

from rookery.engine.ops import Enqueue, IdempotencyKey, NewJob
from rookery.model.backoff import LONGEST_DELAY
from rookery.model.instants import format_known
from rookery.model.job import NORMAL_RANK

QUEUE_PREFIX: Final = "shell."
DEFAULT_QUEUE: Final = "default"
KEY_PREFIX: Final = "\0queuectl\0"
MOST_RECOVERIES: Final = 5
"""A job whose workers died so often in a row has failed."""

STATES: Final = ("pending", "processing", "completed", "failed", "dead")
COLUMNS: Final = (
    *("id", "command", "state", "attempts", "max_retries", "priority", "created_at", "updated_at", "next_run_at"),
    *("last_error", "worker_id", "queue", "timeout", "run_at", "idempotency_key", "exit_code", "started_at"),
    "finished_at",
)


class JobRequest(msgspec.Struct, kw_only=True):
    """A job as somebody wants it, checked and with nothing left open. Times are milliseconds, `timeout` is seconds."""

    command: str
    max_retries: int
    id: str | None = None
    priority: int = 0
    queue: str = DEFAULT_QUEUE
    run_at: int | None = None
    timeout: float | None = None
    idempotency_key: str | None = None


def enqueue_operation(job: JobRequest, backoff_base: float, now: int) -> Enqueue:
    """The operation that adds it. `backoff_base` counts only where nobody can look up the one of the day."""
    kept = {"idempotency_key": job.idempotency_key, "run_at": format_known(job.run_at)}
    new = NewJob(
        queue=QUEUE_PREFIX + job.queue,
        payload=_json({"command": job.command, "timeout": job.timeout}),
        id=job.id,
        rank=NORMAL_RANK - job.priority,
        max_retries=job.max_retries,
        backoff="power",
        base_delay=min(int(backoff_base * 1000), LONGEST_DELAY),
        max_delay=0,
        scheduled_at=job.run_at if job.run_at is not None and job.run_at > now else None,
        max_lost_leases=MOST_RECOVERIES,
        on_lost_lease="retry_now",
        order_by_due=True,
        face=_json({name: value for name, value in kept.items() if value is not None}),
    )
    mark = None
    if job.idempotency_key is not None:
        mark = IdempotencyKey(KEY_PREFIX + job.idempotency_key, "", None, names_job=True)
    return Enqueue(jobs=[new], idempotency=mark)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
