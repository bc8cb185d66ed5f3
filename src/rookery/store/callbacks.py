"""Reading what waits to be told to the URLs of jobs that have ended."""

from typing import Final

import apsw
import msgspec

KIND: Final = "callback"
"""What such entries of the outbox are called; their target is the host of the URL."""


class Host(msgspec.Struct, frozen=True):
    """Where something is to be told, scheme and host of a URL; and when the first of it is."""

    id: str
    due_at: int


class DueCallback(msgspec.Struct, frozen=True):
    """When something is to be told. What that is, is read when it is: it may be large."""

    outbox_id: int
    due_at: int
    attempts: int
    """How often that was tried in vain."""


def read_waiting_hosts(db: apsw.Connection) -> list[Host]:
    """The hosts for which something waits: two steps in the index for each."""
    rows = db.execute(
        """
        WITH RECURSIVE host (name) AS (
          SELECT min(target) FROM outbox WHERE kind = ?1
           UNION ALL
          SELECT (SELECT min(target) FROM outbox WHERE kind = ?1 AND target > name) FROM host WHERE name IS NOT NULL)
        SELECT name, (SELECT min(due_at) FROM outbox WHERE kind = ?1 AND target = name)
          FROM host
         WHERE name IS NOT NULL
        """,
        (KIND,),
    )
    return [Host(*row) for row in rows]


def read_next_callbacks(db: apsw.Connection, host: str, limit: int) -> list[DueCallback]:
    """What waits for a host, what is due first in front."""
    rows = db.execute(
        "SELECT id, due_at, attempts FROM outbox WHERE kind = ? AND target = ? ORDER BY due_at, id LIMIT ?",
        (KIND, host, limit),
    )
    return [DueCallback(*row) for row in rows]


def read_ending(db: apsw.Connection, outbox_id: int) -> str | None:
    """What is to be told, as JSON; None if that is done."""
    ending: str | None = db.execute("SELECT body FROM outbox WHERE id = ? AND kind = ?", (outbox_id, KIND)).get
    return ending
