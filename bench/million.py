"""A store with as many thousand jobs as one wants, made over six days; `python -m bench.million data` leaves one there.

What a machine has written while it lived through a thousand jobs is copied again and again, each copy some minutes
later than the one before, so that every table and every count is as the machine would have written it.
"""

import argparse
import sys
import time
from pathlib import Path

import apsw

from bench.thousand import JOBS, NUMBERED_FROM, live
from rookery.model.ids import decode_ulid, encode_ulid
from rookery.model.job import STATES
from rookery.store.connections import open_writer
from rookery.store.fulltext import FullTextIndex
from rookery.store.throughput import KEPT, MINUTE

SPAN = 6 * 86_400_000

_SHIFTED = "{0} + :shift"
_JOB = f"{{0}} + :n * {JOBS}"
_RENAMED = "coalesce((SELECT new FROM renamed WHERE old = thousand.{0}), {0})"
_NUMBERED = f"replace({{0}}, {NUMBERED_FROM} + {{job}}, {NUMBERED_FROM} + {{job}} + :n * {JOBS})"
_TIMES_OF_A_JOB = (
    "order_key created_at scheduled_at started_at completed_at failed_at ended_at held_at lease_until ready_at"
)
_NUMBER_OF_A_JOB = "(SELECT seq FROM thousand.job WHERE id = job_id)"


def _numbered(job: str, *columns: str) -> dict[str, str]:
    """Texts in which the job's number stands."""
    return {column: _NUMBERED.replace("{job}", job) for column in columns}


_COPIED: dict[str, dict[str, str]] = {
    "job": {
        "seq": _JOB,
        **dict.fromkeys(("id", "batch_id"), _RENAMED),
        **dict.fromkeys(_TIMES_OF_A_JOB.split(), _SHIFTED),
        **_numbered("seq", "payload", "unique_key", "result"),
        "lease": f"{{0}} + :n * {JOBS}",
    },
    "job_tag": {"job": _JOB},
    "job_batch": {"id": _RENAMED, "created_at": _SHIFTED},
    "error": {
        "id": "{0} + :n * (SELECT max(id) FROM thousand.error)",
        "job": _JOB,
        "created_at": _SHIFTED,
        **_numbered("job", "error", "backtrace"),
    },
    "event": {
        "seq": "{0} + :n * (SELECT event_seq FROM thousand.machine)",
        "job_id": _RENAMED,
        "at": _SHIFTED,
        **_numbered(_NUMBER_OF_A_JOB, "data"),
    },
    "unique_lock": {"job": _JOB, "expires_at": _SHIFTED, **_numbered("job", "key")},
    "job_log": {"job": _JOB, "at": _SHIFTED, **_numbered("job", "message")},
    "past_throughput": {"minute": _SHIFTED},
}
"""What is copied with each thousand, and how columns that are not the same in every copy are written."""

_END_MINUTES = """
    INSERT INTO thousand.past_throughput
    SELECT minute, id, minute_enqueued, minute_completed, minute_failed FROM thousand.queue WHERE minute > 0;
    UPDATE thousand.queue SET minute = 0, minute_enqueued = 0, minute_completed = 0, minute_failed = 0;
"""
"""What each queue has counted of its last minute is past when the next copy begins."""

_COUNTS = (*STATES, "blocked", "enqueued", "failed", "dead_by_result")


def fill(path: Path, thousands: int = 1000, *, until: int | None = None) -> None:
    """Make the store, with its full-text index. The last job is not older than a few minutes."""
    length = SPAN // thousands // MINUTE * MINUTE
    now = int(time.time() * 1000) if until is None else until
    begin = now // MINUTE * MINUTE - thousands * length
    path.parent.mkdir(parents=True, exist_ok=True)
    template = path.with_name("thousand.db")
    live(template, begin, length)
    db = open_writer(path, durability="relaxed")
    try:
        db.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -500000")
        db.execute("ATTACH ? AS thousand", (str(template),))
        db.execute(_END_MINUTES)
        db.execute("CREATE TEMP TABLE renamed (old TEXT PRIMARY KEY, new TEXT NOT NULL) WITHOUT ROWID")
        with db:
            for n in range(thousands):
                _copy(db, n, n * length)
            _finish(db, thousands, (thousands - 1) * length)
        db.execute("DETACH thousand; PRAGMA journal_mode = WAL")
    finally:
        db.close()
        for file in path.parent.glob("thousand.db*"):
            file.unlink()
    index = FullTextIndex.create(path.with_name("fulltext.db"), path)
    while index.advance():
        pass
    index.close()


def _copy(db: apsw.Connection, n: int, shift: int) -> None:
    """The thousand once more, `shift` milliseconds later."""
    ids = [id for (id,) in db.execute("SELECT id FROM thousand.job UNION ALL SELECT id FROM thousand.job_batch")]
    db.execute("DELETE FROM renamed")
    db.executemany("INSERT INTO renamed VALUES (?, ?)", [(id, _later(id, shift)) for id in ids])
    for table, changed in _COPIED.items():
        columns = [name for _, name, *_ in db.execute(f"PRAGMA table_info({table})")]
        values = [changed.get(name, "{0}").format(f"{table}.{name}") for name in columns]
        db.execute(
            f"INSERT INTO main.{table} SELECT {', '.join(values)} FROM thousand.{table}", {"n": n, "shift": shift}
        )


def _later(id: str, shift: int) -> str:
    """The id that the same job gets later on."""
    prefix, _, ulid = id.rpartition("_")
    return f"{prefix}_{encode_ulid(decode_ulid(ulid) + (shift << 80))}"


def _finish(db: apsw.Connection, thousands: int, shift: int) -> None:
    """What there is once for all copies."""
    for table in ("queue", "worker", "schedule", "webhook"):
        db.execute(f"INSERT INTO main.{table} SELECT * FROM thousand.{table}")
    db.execute(f"UPDATE main.queue SET {', '.join(f'{count} = {count} * :n' for count in _COUNTS)}", {"n": thousands})
    db.execute("UPDATE main.worker SET last_heartbeat = last_heartbeat + ?", (shift,))
    now, last_id, job_seq, event_seq = db.execute("SELECT now, last_id, job_seq, event_seq FROM thousand.machine").get
    last_id = encode_ulid(decode_ulid(last_id) + (shift << 80))
    machine = (now + shift, last_id, job_seq * thousands, event_seq * thousands)
    db.execute("UPDATE main.machine SET now = ?, last_id = ?, job_seq = ?, event_seq = ?", machine)
    db.execute("UPDATE main.webhook SET told = (SELECT event_seq FROM main.machine)")
    db.execute("DELETE FROM main.past_throughput WHERE minute < ?", (now + shift - KEPT * MINUTE,))


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.million", description=__doc__)
    parser.add_argument("directory", type=Path, help="the data directory to make")
    parser.add_argument("--thousands", type=int, default=1000, help="how many thousand jobs")
    options = parser.parse_args()
    fill(options.directory / "rookery.db", options.thousands)
    return 0


if __name__ == "__main__":
    sys.exit(main())
