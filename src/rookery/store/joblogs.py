"""Reading the logs of jobs, at most a megabyte or so at a time."""

from typing import Any

import apsw
import msgspec

from rookery.model.instants import format_instant
from rookery.model.names import DEFAULT_NAMESPACE, is_visible
from rookery.store.events import LARGEST_READ


class LogLineView(msgspec.Struct):
    """One line of a job's log. Lines are numbered from 1, without gaps."""

    n: int
    at: str
    level: str
    message: str
    attempt: int


class LogPage(msgspec.Struct):
    """Lines of a job's log, oldest first."""

    job_id: str
    lines: list[LogLineView]
    dropped: int
    has_more: bool
    next_after: int | None


def find_log(db: apsw.Connection, job_id: str, namespace: str = DEFAULT_NAMESPACE) -> tuple[int, str] | None:
    """The seq and the state of a job that the caller may see."""
    row: Any = db.execute(
        "SELECT job.seq, job.state, queue.name FROM job JOIN queue ON queue.id = job.queue WHERE job.id = ?", (job_id,)
    ).fetchone()
    return None if row is None or not is_visible(namespace, row[2]) else (row[0], row[1])


def read_lines(db: apsw.Connection, seq: int, after: int, limit: int) -> list[LogLineView]:
    """The lines behind `after`: as many as are wanted, or fewer if they are long."""
    lines, size = [], 0
    for n, at, level, message, attempt in db.execute(
        "SELECT n, at, level, message, attempt FROM job_log WHERE job = ? AND n > ? ORDER BY n LIMIT ?",
        (seq, after, limit),
    ):
        lines.append(LogLineView(n, format_instant(at), level, message, attempt))
        size += len(message)
        if size > LARGEST_READ:
            break
    return lines


def read_log(
    db: apsw.Connection, job_id: str, after: int, limit: int, namespace: str = DEFAULT_NAMESPACE
) -> LogPage | None:
    """A page of a job's log, if the caller may see the job."""
    found = find_log(db, job_id, namespace)
    if found is None:
        return None
    seq = found[0]
    lines = read_lines(db, seq, after, limit)
    first = db.execute("SELECT min(n) FROM job_log WHERE job = ?", (seq,)).get or 1
    last = db.execute("SELECT max(n) FROM job_log WHERE job = ?", (seq,)).get or 0
    has_more = bool(lines) and lines[-1].n < last
    return LogPage(job_id, lines, first - 1, has_more, lines[-1].n if has_more else None)
