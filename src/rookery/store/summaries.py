"""Jobs as rows of a list: what a search shows of each."""

from array import array
from typing import Any, Final

import apsw
import msgspec

from rookery.model.instants import format_known
from rookery.model.job import priority_name
from rookery.model.names import shown_name

Raw = msgspec.Raw


class JobSummary(msgspec.Struct):
    """A job in a list; `last_error` is the newest of its errors."""

    id: str
    queue: str
    state: str
    payload: Raw
    priority: int
    priority_name: str
    attempt: int
    max_retries: int
    unique_key: str | None
    batch_id: str | None
    worker_id: str | None
    tags: Raw | None
    parent_id: str | None
    chain_id: str | None
    chain_step: int | None
    scheduled_at: str | None
    created_at: str
    started_at: str | None
    completed_at: str | None
    failed_at: str | None
    expire_at: str | None
    hold_reason: str | None
    last_error: str | None


_COLUMNS: Final = (
    "seq",
    "id",
    "state",
    "payload",
    "rank",
    "attempt",
    "max_retries",
    "unique_key",
    "batch_id",
    "worker_id",
    "tags",
    "parent_id",
    "chain_id",
    "chain_step",
    "scheduled_at",
    "created_at",
    "started_at",
    "completed_at",
    "failed_at",
    "expire_at",
    "hold_reason",
)
_TIMES: Final = tuple(column for column in _COLUMNS if column.endswith("_at"))
_SELECT: Final = f"""
    SELECT queue.name,
           (SELECT error FROM error WHERE error.job = seq ORDER BY error.id DESC LIMIT 1),
           {", ".join("job." + column for column in _COLUMNS)}
      FROM carray(?) AS listed
     CROSS JOIN job ON seq = listed.value
      JOIN queue ON queue.id = job.queue
"""


def read_summaries(db: apsw.Connection, seqs: list[int], namespace: str) -> list[JobSummary]:
    """The jobs of these seqs, in this order."""
    if not seqs:
        return []
    rows = {row[2]: row for row in db.execute(_SELECT, (apsw.carray(array("q", seqs)),))}
    return [_summary(rows[seq], namespace) for seq in seqs]


def _summary(row: tuple[Any, ...], namespace: str) -> JobSummary:
    job = dict(zip(_COLUMNS, row[2:], strict=True))
    times: dict[str, Any] = {column: format_known(job[column]) for column in _TIMES}
    return JobSummary(
        id=job["id"],
        queue=shown_name(namespace, row[0]),
        state=job["state"],
        payload=Raw(job["payload"]),
        priority=job["rank"],
        priority_name=priority_name(job["rank"]),
        attempt=job["attempt"],
        max_retries=job["max_retries"],
        unique_key=job["unique_key"],
        batch_id=job["batch_id"],
        worker_id=job["worker_id"],
        tags=None if job["tags"] is None else Raw(job["tags"]),
        parent_id=job["parent_id"],
        chain_id=job["chain_id"],
        chain_step=job["chain_step"],
        hold_reason=job["hold_reason"],
        last_error=row[1],
        **times,
    )
