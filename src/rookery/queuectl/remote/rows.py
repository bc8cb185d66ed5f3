"""A job as a server tells of it, in the columns of `queuectl`."""

from datetime import datetime
from typing import Any, Final

from rookery.client.records import Job
from rookery.model.instants import format_instant, parse_instant
from rookery.model.job import ACTIVE, CANCELLED, COMPLETED, DEAD, HELD, NORMAL_RANK, PENDING, RETRYING, SCHEDULED
from rookery.queuectl.jobs import QUEUE_PREFIX
from rookery.queuectl.place import Row

RUN_AT: Final = "run_at"
"""The tag that keeps what was asked for, as a server forgets the time of a job when it has come."""
EXIT_CODE: Final = "exit_code"
"""What a worker reports of a run, as progress of the job and in its result."""

WAITING: Final = (PENDING, SCHEDULED, HELD)
_SHOWN: Final = {
    **dict.fromkeys(WAITING, "pending"),
    RETRYING: "failed",
    ACTIVE: "processing",
    COMPLETED: "completed",
    DEAD: "dead",
    CANCELLED: "dead",
}


def row_of(job: Job) -> Row:
    """All columns of a job."""
    payload = job.payload if isinstance(job.payload, dict) else {}
    state = _SHOWN[job.state]
    attempts = job.attempt - 1 if job.state in (ACTIVE, COMPLETED) else job.attempt
    if state == "pending" and attempts:
        state = "failed"
    failed_at = job.errors[-1].created_at if job.errors and attempts > 0 else job.failed_at
    ended_at = job.completed_at if job.state == COMPLETED else failed_at
    if job.state == ACTIVE or state == "pending" or (job.started_at and ended_at and ended_at < job.started_at):
        ended_at = None
    return {
        "id": job.id,
        "command": _text(payload.get("command")),
        "state": state,
        "attempts": attempts,
        "max_retries": job.max_retries,
        "priority": NORMAL_RANK - job.priority,
        "created_at": _instant(job.created_at),
        "updated_at": _instant(max(filter(None, (job.created_at, job.started_at, job.completed_at, failed_at)))),
        "next_run_at": _instant(job.scheduled_at) or max(_instant(job.created_at) or "", _asked_for(job) or ""),
        "last_error": job.last_error if attempts > 0 or state == "dead" else None,
        "worker_id": job.worker_id if job.state == ACTIVE else None,
        "queue": job.queue.removeprefix(QUEUE_PREFIX),
        "timeout": _seconds(payload.get("timeout")),
        "run_at": _asked_for(job),
        "idempotency_key": job.unique_key,
        "exit_code": None if ended_at is None else _exit_code(job),
        "started_at": None if state == "pending" else _instant(job.started_at),
        "finished_at": _instant(ended_at),
    }


def _asked_for(job: Job) -> str | None:
    return _text((job.tags or {}).get(RUN_AT))


def _exit_code(job: Job) -> int | None:
    told = job.result if job.state == COMPLETED else job.progress
    code = told.get(EXIT_CODE) if isinstance(told, dict) else None
    return code if isinstance(code, int) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _seconds(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _instant(at: datetime | None) -> str | None:
    return None if at is None else format_instant(parse_instant(at.isoformat()))
