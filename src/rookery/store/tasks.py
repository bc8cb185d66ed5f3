"""Jobs as tasks of the codeQ face: whole, by their ids, and those that a person or a cleanup looks for."""

from collections.abc import Iterable
from typing import Final

import apsw
import msgspec

from rookery.model.names import is_visible
from rookery.store.changes import LAST_CHANGE


class TaskRow(msgspec.Struct, frozen=True):
    """What there is to say about a job. Times are milliseconds, JSON values are text."""

    id: str
    queue: str
    state: str
    rank: int
    attempt: int
    max_retries: int
    payload: str
    result: str | None
    callback: str | None
    worker_id: str | None
    lease: int | None
    lease_until: int | None
    expire_at: int | None
    created_at: int
    changed_at: int
    completed_at: int | None
    failed_at: int | None
    by_result: int
    face: str | None
    trace: str | None
    error: str | None


_COLUMNS: Final = f"""
    job.id, queue.name, state, rank, attempt, max_retries, payload, result, callback, worker_id, lease, lease_until,
    expire_at, job.created_at, {LAST_CHANGE}, completed_at, failed_at, by_result, face, trace,
    (SELECT error FROM error WHERE error.job = job.seq ORDER BY error.id DESC LIMIT 1)
"""
_IS_TASK: Final = "face IS NOT NULL AND json_extract(face, '$.command') IS NOT NULL"
"""Jobs that were made by this face; the index of all faces' jobs finds them."""


def read_task(db: apsw.Connection, job_id: str, namespace: str) -> TaskRow | None:
    """A job, if the caller may see it."""
    return read_tasks(db, [job_id], namespace).get(job_id)


def read_tasks(db: apsw.Connection, job_ids: Iterable[str], namespace: str) -> dict[str, TaskRow]:
    """Those of these jobs that are there and that the caller may see."""
    ids = tuple([job_id for job_id in job_ids if "\0" not in job_id])
    if not ids:
        return {}
    rows = db.execute(
        f"""
        SELECT {_COLUMNS}
          FROM carray(?) AS given
         CROSS JOIN job ON job.id = given.value
          JOIN queue ON queue.id = job.queue
        """,
        (apsw.carray(ids),),
    )
    tasks = (TaskRow(*row) for row in rows)
    return {task.id: task for task in tasks if is_visible(namespace, task.queue)}


def find_unchanged(db: apsw.Connection, namespace: str, since: int, limit: int) -> list[str]:
    """The ids of tasks that nothing has happened to after `since`, the oldest first."""
    rows = db.execute(
        f"""
        SELECT job.id
          FROM job INDEXED BY job_of_face
          JOIN queue ON queue.id = job.queue
         WHERE {_IS_TASK} AND job.created_at <= ?1 AND {_SEEN} AND {LAST_CHANGE} <= ?1
         ORDER BY job.created_at
         LIMIT ?2
        """,
        (since, limit, namespace),
    )
    return [job_id for (job_id,) in rows]


_SEEN: Final = "(?3 = 'default' OR queue.namespace = ?3)"


def list_tasks(
    db: apsw.Connection, namespace: str, states: tuple[str, ...], queue: str | None, limit: int
) -> list[TaskRow]:
    """Tasks in these states, of one queue or of all, the newest first."""
    rows = db.execute(
        f"""
        SELECT {_COLUMNS}
          FROM job INDEXED BY job_of_face
          JOIN queue ON queue.id = job.queue
         WHERE {_IS_TASK} AND state IN (SELECT value FROM carray(?1)) AND {_SEEN} AND (?4 IS NULL OR queue.name = ?4)
         ORDER BY job.created_at DESC
         LIMIT ?2
        """,
        (apsw.carray(states), limit, namespace, queue),
    )
    return [TaskRow(*row) for row in rows]
