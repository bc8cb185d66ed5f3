"""Schedules as they are stored, and how they are found."""

from typing import Any, Final

import apsw
import msgspec

from rookery.model.names import DEFAULT_NAMESPACE, may_see


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """A job that is enqueued again and again. Times are milliseconds."""

    id: str
    namespace: str
    name: str
    queue: str
    cron: str
    timezone: str
    payload: str
    unique_key: str | None
    max_retries: int
    enabled: bool
    overlap: str
    missed: str
    last_run: int | None
    next_run: int | None
    last_job: int | None
    created_at: int


_COLUMNS: Final = Schedule.__struct_fields__
_SELECT: Final = f"SELECT {', '.join(_COLUMNS)} FROM schedule"
REPLACE: Final = (
    f"INSERT OR REPLACE INTO schedule ({', '.join(_COLUMNS)}) VALUES ({', '.join(':' + name for name in _COLUMNS)})"
)


def read_schedule(db: apsw.Connection, schedule_id: str, namespace: str = DEFAULT_NAMESPACE) -> Schedule | None:
    """One schedule, if the caller may see it."""
    found = _select(db, "WHERE id = ?", schedule_id)
    return found[0] if found and may_see(namespace, found[0].namespace) else None


def read_schedules(db: apsw.Connection, namespace: str = DEFAULT_NAMESPACE) -> list[Schedule]:
    """The schedules that the caller may see, by name."""
    if namespace == DEFAULT_NAMESPACE:
        return _select(db, "ORDER BY name, namespace")
    return _select(db, "WHERE namespace = ? ORDER BY name", namespace)


def named_schedule(db: apsw.Connection, namespace: str, name: str) -> Schedule | None:
    """The schedule of that name in that namespace."""
    found = _select(db, "WHERE namespace = ? AND name = ?", namespace, name)
    return found[0] if found else None


def due_schedules(db: apsw.Connection, now: int, limit: int) -> list[Schedule]:
    """Schedules that are to be run by now, the longest due first."""
    return _select(db, "WHERE next_run IS NOT NULL AND next_run <= ? ORDER BY next_run, id LIMIT ?", now, limit)


def _select(db: apsw.Connection, clauses: str, *parameters: Any) -> list[Schedule]:
    rows = [dict(zip(_COLUMNS, row, strict=True)) for row in db.execute(f"{_SELECT} {clauses}", parameters)]
    return [Schedule(**{**row, "enabled": bool(row["enabled"])}) for row in rows]
