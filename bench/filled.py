"""A store with a past and a future: a million finished, a million scheduled and a million pending jobs."""

from pathlib import Path

import apsw

from rookery.store.connections import open_writer
from rookery.store.fulltext import FullTextIndex

QUEUE = "bench"
_LONG_AGO = 1_700_000_000_000
_FAR_AHEAD = 4_000_000_000_000


def fill(path: Path, each: int) -> None:
    """Write the jobs, with their timelines, straight into the tables, and index them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    db = open_writer(path, durability="relaxed")
    db.execute("PRAGMA synchronous = OFF")
    db.execute("BEGIN")
    db.execute(
        "INSERT INTO queue (namespace, name, created_at, pending, scheduled, completed, enqueued) "
        "VALUES ('default', ?, ?, ?, ?, ?, ?)",
        (QUEUE, _LONG_AGO, each, each, each, 3 * each),
    )
    for number, state in enumerate(("completed", "scheduled", "pending")):
        _jobs(db, state, number * each, each)
    _events(db, "enqueued", 0, 3 * each, 0)
    _events(db, "started", 0, each, 3 * each)
    _events(db, "completed", 0, each, 4 * each)
    db.execute("UPDATE machine SET now = ?, job_seq = ?, event_seq = ?", (_LONG_AGO, 3 * each, 5 * each))
    db.execute("COMMIT")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    index = FullTextIndex.create(path.with_name("fulltext.db"), path)
    while index.advance():
        pass
    index.close()


_NUMBERS = "WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < :count)"


def _jobs(db: apsw.Connection, state: str, offset: int, count: int) -> None:
    columns = {
        "seq": ":offset + n",
        "id": "printf('job_%026d', :offset + n)",
        "queue": "1",
        "namespace": "'default'",
        "state": ":state",
        "rank": "2",
        "order_key": ":created",
        "payload": """printf('{"to":"someone@example.com","template":"welcome","n":%d}', n)""",
        "max_retries": "3",
        "max_lost_leases": "5",
        "on_lost_lease": "'requeue'",
        "backoff": "'exponential'",
        "base_delay": "5000",
        "max_delay": "600000",
        "created_at": ":created + n / 500",
        "scheduled_at": "iif(:state = 'scheduled', :ahead + n, NULL)",
        "completed_at": "iif(:state = 'completed', :created, NULL)",
        "ended_at": f"iif(:state = 'completed', {_FAR_AHEAD}, NULL)",
        "attempt": ":state = 'completed'",
        "was_completed": ":state = 'completed'",
        **dict.fromkeys(("order_by_due", "waiting_on", "failures", "lost_leases", "batch_open", "has_dependents"), "0"),
    }
    db.execute(
        f"INSERT INTO job ({', '.join(columns)}) {_NUMBERS} SELECT {', '.join(columns.values())} FROM number",
        {"count": count, "offset": offset, "state": state, "created": _LONG_AGO, "ahead": _FAR_AHEAD},
    )


def _events(db: apsw.Connection, type: str, offset: int, count: int, before: int) -> None:
    db.execute(
        f"INSERT INTO event {_NUMBERS} SELECT :before + n, :type, printf('job_%026d', :offset + n), :queue, :at, NULL "
        "FROM number",
        {"count": count, "offset": offset, "before": before, "type": type, "queue": QUEUE, "at": _FAR_AHEAD},
    )
