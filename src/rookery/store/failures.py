"""Failed attempts that say the same, taken together. Nothing here writes."""

import re
from typing import Any, Final

import apsw
import msgspec

from rookery.model.instants import format_instant
from rookery.model.names import DEFAULT_NAMESPACE, is_visible, shown_name
from rookery.store.filters import BLANKS, ERROR_LINE

LOOKED_AT: Final = 2_000
"""Of more failed attempts than these only the newest are looked at."""
MOST_GROUPS: Final = 50
_VARYING: Final = re.compile(
    r"\b0x[0-9a-fA-F]+\b|\b[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}\b|\b(?:job|batch|chn)_[0-9A-Z]{26}\b|\d+(?:\.\d+)*"
)
_PLACE: Final = "\0"
_PLACES: Final = re.compile(f"{_PLACE}+")


class FailureGroup(msgspec.Struct):
    """Attempts whose errors differ in numbers only. All of them contain the text `contains`."""

    error: str
    pattern: str
    contains: str
    attempts: int
    jobs: int
    dead: int
    queues: list[str]
    first_at: str
    last_at: str
    last_job_id: str
    last_queue: str
    last_attempt: int
    max_retries: int


class FailuresView(msgspec.Struct):
    """Groups, the largest first; `is_partial`: there were more failures than were looked at."""

    groups: list[FailureGroup]
    attempts: int
    is_partial: bool


def pattern_of(error: str) -> str:
    """What is the same in errors of one kind: the first line, with a place where a number or an id stands.

    A line of numbers alone stays as it is: with places only, it would be like any other.
    """
    line = error.strip(BLANKS).partition("\n")[0][:ERROR_LINE].strip(BLANKS)
    if not any(letter.isalpha() for letter in _VARYING.sub("", line)):
        return line
    return _VARYING.sub(_PLACE, line)


def glob_of(pattern: str) -> str:
    """The pattern as a search for `error_matches` takes it."""
    return _PLACES.sub("*", pattern)


def read_failures(
    db: apsw.Connection, since: int, namespace: str = DEFAULT_NAMESPACE, queue: str | None = None
) -> FailuresView:
    """Failures since then, of all queues that the caller may see or of one by its stored name."""
    rows: list[Any] = db.execute(
        """
        SELECT error.error, error.created_at, error.attempt, job.seq, job.id, job.state, job.max_retries, queue.name
          FROM (SELECT * FROM error ORDER BY id DESC LIMIT ?) AS error
          JOIN job ON job.seq = error.job
          JOIN queue ON queue.id = job.queue
         WHERE error.created_at >= ?
         ORDER BY error.id DESC
        """,
        (LOOKED_AT, since),
    ).fetchall()
    wanted = [row for row in rows if is_visible(namespace, row[7]) and queue in (None, row[7])]
    by_pattern: dict[str, list[Any]] = {}
    for row in wanted:
        by_pattern.setdefault(pattern_of(row[0]), []).append(row)
    groups = [_group(pattern, members, namespace) for pattern, members in by_pattern.items()]
    groups.sort(key=lambda group: -group.attempts)
    return FailuresView(groups[:MOST_GROUPS], len(wanted), len(rows) == LOOKED_AT)


def _group(pattern: str, rows: list[Any], namespace: str) -> FailureGroup:
    """Rows of one pattern, newest first."""
    error, last_at, attempt, _, job_id, _, max_retries, queue = rows[0]
    return FailureGroup(
        error=error[:ERROR_LINE],
        pattern=pattern.replace(_PLACE, "…"),
        contains=max(pattern.split(_PLACE), key=len).strip(),
        attempts=len(rows),
        jobs=len({row[3] for row in rows}),
        dead=len({row[3] for row in rows if row[5] == "dead"}),
        queues=sorted({shown_name(namespace, row[7]) for row in rows}),
        first_at=format_instant(rows[-1][1]),
        last_at=format_instant(last_at),
        last_job_id=job_id,
        last_queue=shown_name(namespace, queue),
        last_attempt=attempt,
        max_retries=max_retries,
    )
