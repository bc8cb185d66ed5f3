"""Dead jobs taken together by their last error. Only the newest are looked at, so that any number costs the same."""

from array import array
from typing import Any, Final

import apsw
import msgspec

from rookery.model.instants import format_instant
from rookery.model.job import DEAD
from rookery.model.names import DEFAULT_NAMESPACE, shown_name
from rookery.store.failures import LOOKED_AT, MOST_GROUPS, glob_of, pattern_of
from rookery.store.filters import ERROR_LINE
from rookery.store.search import JobFilter, Order, search

EXAMPLES: Final = 5


class DeadGroup(msgspec.Struct):
    """Dead jobs whose last errors differ in numbers and ids only; a search for `error_matches` finds them all."""

    error: str
    error_matches: str
    jobs: int
    queues: list[str]
    first_at: str
    last_at: str
    job_ids: list[str]


class DeadGroupsView(msgspec.Struct):
    """Groups, the largest first, of the newest of all dead jobs; `is_partial`: not all of them were looked at."""

    groups: list[DeadGroup]
    looked_at: int
    total: int
    is_partial: bool


def read_dead_groups(
    db: apsw.Connection, namespace: str = DEFAULT_NAMESPACE, queue: str | None = None
) -> DeadGroupsView:
    """The dead jobs of all queues that the caller may see, or of one by its stored name."""
    found = search(db, JobFilter(queue=queue, states=(DEAD,)), namespace, Order(), LOOKED_AT)
    if not found.rows:
        return DeadGroupsView([], 0, 0, is_partial=False)
    seqs = [seq for _, _, seq in found.rows]
    rows: list[Any] = db.execute(
        """
        SELECT job.id, queue.name, coalesce(job.ended_at, job.failed_at, job.created_at) AS died_at,
               coalesce((SELECT error FROM error WHERE error.job = seq ORDER BY error.id DESC LIMIT 1), '')
          FROM carray(?) AS listed
         CROSS JOIN job ON seq = listed.value
          JOIN queue ON queue.id = job.queue
         ORDER BY died_at DESC, job.seq DESC
        """,
        (apsw.carray(array("q", seqs)),),
    ).fetchall()
    by_pattern: dict[str, list[Any]] = {}
    for row in rows:
        by_pattern.setdefault(pattern_of(row[3]), []).append(row)
    groups = [_group(pattern, members, namespace) for pattern, members in by_pattern.items()]
    groups.sort(key=lambda group: -group.jobs)
    is_partial = found.total > len(rows) or len(groups) > MOST_GROUPS
    return DeadGroupsView(groups[:MOST_GROUPS], len(rows), found.total, is_partial)


def _group(pattern: str, rows: list[Any], namespace: str) -> DeadGroup:
    """Rows of one pattern, newest first."""
    return DeadGroup(
        error=rows[0][3][:ERROR_LINE],
        error_matches=glob_of(pattern),
        jobs=len(rows),
        queues=sorted({shown_name(namespace, row[1]) for row in rows}),
        first_at=format_instant(rows[-1][2]),
        last_at=format_instant(rows[0][2]),
        job_ids=[row[0] for row in rows[:EXAMPLES]],
    )
