"""Records of actions on many jobs: how far they are, and which jobs are next. Nothing here writes."""

from typing import Annotated, Final

import apsw
import msgspec

from rookery.model.instants import format_instant
from rookery.model.names import DEFAULT_NAMESPACE, may_see
from rookery.store.filters import JobFilter
from rookery.store.search import find_ids


class BulkFailure(msgspec.Struct):
    """A job that a bulk operation could not change."""

    job_id: str
    error: Annotated[str, msgspec.Meta(description="Why, in words for people")]


class BulkView(msgspec.Struct):
    """How far a bulk operation is."""

    id: str
    status: str
    action: str
    total: int
    processed: int
    affected: int
    errors: int
    error: str | None
    created_at: str
    updated_at: str
    finished_at: str | None
    failures: Annotated[
        list[BulkFailure],
        msgspec.Meta(description="The first 100 jobs that could not be changed: of all, `processed` minus `affected`"),
    ]


class BulkRecord(msgspec.Struct):
    """A bulk operation as it is kept. Times are milliseconds."""

    id: str
    namespace: str
    action: str
    filter: str | None
    up_to: int
    position: str | None
    status: str
    total: int
    listed: int
    processed: int
    affected: int
    errors: int
    error: str | None
    not_done: str | None
    created_at: int
    updated_at: int
    finished_at: int | None

    @property
    def is_ready(self) -> bool:
        """Whether it is known which jobs are meant."""
        return self.filter is not None or self.listed == self.total

    def view(self) -> BulkView:
        """The record as callers see it."""
        return BulkView(
            self.id,
            self.status,
            self.action,
            self.total,
            self.processed,
            self.affected,
            self.errors,
            self.error,
            format_instant(self.created_at),
            format_instant(self.updated_at),
            None if self.finished_at is None else format_instant(self.finished_at),
            [BulkFailure(*one) for one in msgspec.json.decode(self.not_done or "[]")],
        )


class Targets(msgspec.Struct, frozen=True):
    """The jobs that are next, where the record stands behind them, and whether they are the last."""

    job_ids: list[str]
    position: str | None
    is_last: bool


_COLUMNS: Final = ", ".join(BulkRecord.__struct_fields__)


def read_bulk(db: apsw.Connection, bulk_id: str, namespace: str = DEFAULT_NAMESPACE) -> BulkRecord | None:
    """One record, if it is the caller's."""
    row = db.execute(f"SELECT {_COLUMNS} FROM bulk WHERE id = ?", (bulk_id,)).fetchone()
    if row is None or not may_see(namespace, row[1]):
        return None
    return BulkRecord(*row)


def read_open_bulks(db: apsw.Connection) -> list[BulkRecord]:
    """The records that have not ended, oldest first."""
    rows = db.execute(f"SELECT {_COLUMNS} FROM bulk WHERE finished_at IS NULL ORDER BY created_at, id")
    return [BulkRecord(*row) for row in rows]


def next_targets(db: apsw.Connection, record: BulkRecord, limit: int) -> Targets:
    """Up to `limit` jobs behind the place where the record stands."""
    if record.filter is None:
        return _listed_targets(db, record, limit)
    wanted = msgspec.json.decode(record.filter, type=JobFilter)
    job_ids, position = find_ids(db, wanted, record.namespace, up_to=record.up_to, after=record.position, limit=limit)
    return Targets(job_ids, position, is_last=len(job_ids) < limit)


def _listed_targets(db: apsw.Connection, record: BulkRecord, limit: int) -> Targets:
    """A place is the number of a list and how many of its jobs are done."""
    n, done = (int(part) for part in (record.position or "0:0").split(":"))
    row = db.execute(
        """
        SELECT job_ids, n = (SELECT max(n) FROM bulk_target WHERE bulk = ?1)
          FROM bulk_target
         WHERE bulk = ?1 AND n = ?2
        """,
        (record.id, n),
    ).fetchone()
    if row is None:
        return Targets([], record.position, is_last=True)
    listed: list[str] = msgspec.json.decode(row[0])
    end = done + limit
    if end < len(listed):
        return Targets(listed[done:end], f"{n}:{end}", is_last=False)
    return Targets(listed[done:], f"{n + 1}:0", is_last=bool(row[1]))
