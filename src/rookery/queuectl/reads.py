"""What is read of a home's store: jobs as they are shown, and how many there are. None of it walks through the past."""

from collections.abc import Iterator
from typing import Any, Final

import apsw

from rookery.queuectl.jobs import COLUMNS, DEFAULT_QUEUE, QUEUE_PREFIX, STATES
from rookery.queuectl.settings import LARGEST_INT

Row = dict[str, Any]

_TRIED: Final = "(failures > 0 OR lost_leases > 0)"
_CONDITIONS: Final = {
    "pending": f"job.state IN ('pending', 'scheduled', 'held') AND NOT {_TRIED}",
    "processing": "job.state = 'active'",
    "completed": "job.state = 'completed'",
    "failed": f"job.ended_at IS NULL AND {_TRIED} AND job.state IN ('pending', 'scheduled', 'held', 'retrying')",
    "dead": "job.state IN ('dead', 'cancelled')",
}
"""What the view `jobs` says of the states, as the indexes of `job` can answer it."""
_OURS: Final = f"job.queue IN (SELECT id FROM queue WHERE name GLOB '{QUEUE_PREFIX}*')"
_OF_QUEUE: Final = "job.queue = (SELECT id FROM queue WHERE name = ?)"
_SELECT: Final = f"SELECT {', '.join(f'jobs.{column}' for column in COLUMNS)} FROM"

_COUNTS: Final = f"""
    SELECT substr(name, {len(QUEUE_PREFIX) + 1}), pending + scheduled + held - tried, active, completed,
           retrying + tried, dead + cancelled
      FROM (SELECT queue.*,
                   (SELECT count(*) FROM job INDEXED BY job_tried
                     WHERE job.queue = queue.id AND job.ended_at IS NULL AND {_TRIED}
                       AND job.state IN ('pending', 'scheduled', 'held')) AS tried
              FROM queue
             WHERE name GLOB '{QUEUE_PREFIX}*')
     ORDER BY name
"""


def find_job(db: apsw.Connection, job_id: str) -> Row | None:
    """One job, if it is there."""
    row = db.execute(f"{_SELECT} jobs WHERE jobs.id = ?", (_storable(job_id),)).fetchone()
    return None if row is None else dict(zip(COLUMNS, row, strict=True))


def find_jobs(
    db: apsw.Connection,
    state: str | None = None,
    queue: str | None = None,
    limit: int | None = None,
    *,
    newest_first: bool = False,
) -> Iterator[Row]:
    """Jobs by their age, the oldest first unless told otherwise."""
    conditions = [_OURS if queue is None else _OF_QUEUE]
    if state is not None:
        conditions.append(_CONDITIONS[state])
    elif queue is None:
        conditions = [f"+{_OURS}"]  # The index of all jobs by age, not those of the queues one after the other.
    direction = "DESC" if newest_first else "ASC"
    rows = db.execute(
        f"""
        {_SELECT} (SELECT job.id AS wanted
                     FROM job
                    WHERE {" AND ".join(conditions)}
                    ORDER BY job.created_at {direction}, job.seq {direction}
                    LIMIT ?)
         CROSS JOIN jobs ON jobs.id = wanted
        """,
        (*_queue_value(queue), -1 if limit is None else min(limit, LARGEST_INT)),
    )
    for row in rows:
        yield dict(zip(COLUMNS, row, strict=True))


def dead_ids(db: apsw.Connection, queue: str | None = None) -> list[str]:
    """The ids of all dead jobs."""
    sql = f"SELECT job.id FROM job WHERE {_OURS if queue is None else _OF_QUEUE} AND {_CONDITIONS['dead']}"
    return [job_id for (job_id,) in db.execute(sql, _queue_value(queue))]


def _queue_value(queue: str | None) -> tuple[str, ...]:
    return () if queue is None else (QUEUE_PREFIX + _storable(queue),)


def _storable(text: str) -> str:
    """Bytes on the command line that are no text name nothing; SQLite must not see them."""
    return text.encode(errors="replace").decode()


def count_by_queue(db: apsw.Connection) -> dict[str, dict[str, int]]:
    """How many jobs of each queue are in each state."""
    counts = {queue: dict(zip(STATES, numbers, strict=True)) for queue, *numbers in db.execute(_COUNTS)}
    return counts or {DEFAULT_QUEUE: dict.fromkeys(STATES, 0)}


def count_all(db: apsw.Connection) -> dict[str, int]:
    """How many jobs are in each state."""
    queues = count_by_queue(db).values()
    return {state: sum(queue[state] for queue in queues) for state in STATES}
