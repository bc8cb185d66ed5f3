"""Jobs as tasks of the codeQ face: whole, by their ids, and those that a person or a cleanup looks for.

Who asks sees what is of exactly its namespace, and nothing else.
"""

from collections.abc import Iterable
from typing import Final

import apsw
import msgspec

from rookery.model.names import namespace_of
from rookery.store.last_change import LAST_CHANGE


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
    """A job, if it is there."""
    return read_tasks(db, [job_id], namespace).get(job_id)


def read_tasks(db: apsw.Connection, job_ids: Iterable[str], namespace: str) -> dict[str, TaskRow]:
    """Those of these jobs that are there."""
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
    return {task.id: task for task in tasks if namespace_of(task.queue) == namespace}


def read_task_anywhere(db: apsw.Connection, job_id: str) -> TaskRow | None:
    """A job, whatever its namespace: for whoever has another proof that it is for them."""
    if "\0" in job_id:
        return None
    name = db.execute("SELECT queue.name FROM job JOIN queue ON queue.id = job.queue WHERE job.id = ?", (job_id,)).get
    return None if name is None else read_task(db, job_id, namespace_of(name))


def has_task(db: apsw.Connection, job_id: str, namespace: str) -> bool:
    """Whether there is such a job."""
    if "\0" in job_id:
        return False
    sql = "SELECT 1 FROM job JOIN queue ON queue.id = job.queue WHERE job.id = ? AND queue.namespace = ?"
    return db.execute(sql, (job_id, namespace)).get is not None


def find_unchanged(db: apsw.Connection, namespace: str, since: int, limit: int) -> list[str]:
    """The ids of tasks that nothing has happened to after `since`, the oldest first."""
    rows = db.execute(
        f"""
        SELECT job.id
          FROM job INDEXED BY job_of_face
          JOIN queue ON queue.id = job.queue
         WHERE {_IS_TASK} AND job.created_at <= ?1 AND queue.namespace = ?3 AND {LAST_CHANGE} <= ?1
         ORDER BY job.created_at
         LIMIT ?2
        """,
        (since, limit, namespace),
    )
    return [job_id for (job_id,) in rows]


def list_tasks(
    db: apsw.Connection, namespace: str, states: tuple[str, ...], queue: str | None, limit: int
) -> list[TaskRow]:
    """Tasks in these states, of one queue or of all, the newest first."""
    rows = db.execute(
        f"""
        SELECT {_COLUMNS}
          FROM job INDEXED BY job_of_face
          JOIN queue ON queue.id = job.queue
         WHERE {_IS_TASK} AND state IN (SELECT value FROM carray(?1))
           AND queue.namespace = ?3 AND (?4 IS NULL OR queue.name = ?4)
         ORDER BY job.created_at DESC
         LIMIT ?2
        """,
        (apsw.carray(states), limit, namespace, queue),
    )
    return [TaskRow(*row) for row in rows]
