"""How full the queues are: how many jobs are ready at which rank, how many wait for their time, run or are dead."""

from typing import Any, Final

import apsw
import msgspec


class Depth(msgspec.Struct, frozen=True):
    """One queue by its stored name. Those that are dead by their result do not count as dead."""

    id: int
    name: str
    ready: int
    delayed: int
    active: int
    dead: int
    spelling: str | None = None
    """The name as the callers of a face write it, if any did."""


_SELECT: Final = """
    SELECT id, name, pending - blocked, scheduled + retrying, active, dead - dead_by_result, spelling
      FROM queue
"""


def read_depths(db: apsw.Connection, namespace: str | None) -> list[Depth]:
    """The queues of exactly one namespace, or of all, by name."""
    where, parameters = ("", ()) if namespace is None else ("WHERE namespace = ?", (namespace,))
    rows: list[Any] = db.execute(f"{_SELECT} {where} ORDER BY name", parameters).fetchall()
    return [Depth(*row) for row in rows]


def read_depth(db: apsw.Connection, queue: str) -> Depth:
    """One queue; one that there is not is empty."""
    row = db.execute(f"{_SELECT} WHERE name = ?", (queue,)).fetchone()
    return Depth(0, queue, 0, 0, 0, 0) if row is None else Depth(*row)


def count_by_rank(db: apsw.Connection, queue_id: int) -> dict[int, int]:
    """How many jobs of a queue are ready, by their rank."""
    rows: list[Any] = db.execute(
        """
        SELECT rank, count(*)
          FROM job
         WHERE state = 'pending' AND waiting_on = 0 AND queue = ?
         GROUP BY rank
        """,
        (queue_id,),
    ).fetchall()
    return dict(rows)
