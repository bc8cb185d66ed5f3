"""Finding jobs: a page of those that somebody wants, how many there are, and a walk over all of them.

A page is found by its place in the order, never by counting rows, so that no page costs more than the first.
"""

import heapq
from array import array
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, NamedTuple

import apsw
import msgspec

from rookery.model.job import STATES
from rookery.model.names import DEFAULT_NAMESPACE
from rookery.store.filters import Condition, Sql, all_of, conditions_of
from rookery.store.filters import JobFilter as JobFilter

FEW: Final = 5000
"""So many jobs are looked at one by one; of more than these, only those that are shown."""
SORTS: Final = {
    "created_at": "created_at",
    "priority": "rank",
    "started_at": "coalesce(started_at, -1)",
    "completed_at": "coalesce(completed_at, -1)",
    "attempt": "attempt",
}
DEFAULT_SORT: Final = "created_at"
_BY_CREATION: Final = SORTS[DEFAULT_SORT]

Position = tuple[int, str]
"""Where a job stands in an order: the value it is sorted by, and its id."""
Row = tuple[int, str, int]
"""A position, and the job's seq."""


class Order(NamedTuple):
    """What jobs are sorted by, ties by id in the same direction."""

    sort: str = DEFAULT_SORT
    is_descending: bool = True

    @property
    def start(self) -> Position:
        """Before the first job."""
        return ((1 << 63) - 1, "") if self.is_descending else (-2, "")

    def is_behind(self, row: Row, position: Position) -> bool:
        """Whether a job comes after a position."""
        return row[:2] < position if self.is_descending else row[:2] > position

    def behind(self, position: Position) -> Sql:
        """The same as SQL."""
        return Sql(f"({SORTS[self.sort]}, id) {'<' if self.is_descending else '>'} (?, ?)", position)

    @property
    def sql(self) -> str:
        """The clause that sorts."""
        direction = "DESC" if self.is_descending else "ASC"
        return f"ORDER BY {SORTS[self.sort]} {direction}, id {direction}"


class Found(NamedTuple):
    """A page: the jobs' places in the order, and how many match in all."""

    rows: list[Row]
    total: int


def search(
    db: apsw.Connection, wanted: JobFilter, namespace: str, order: Order, limit: int, after: Position | None = None
) -> Found:
    """The first `limit` jobs behind a position. Runs in one view of the store, so that page and total agree."""
    scope, conditions = _Scope(db, wanted, namespace), conditions_of(wanted)
    position = order.start if after is None else after
    if not scope.total:
        return Found([], 0)
    if not conditions:
        return Found(_page(db, scope, [], order, position, limit), scope.total)
    few = _few(db, scope, conditions)
    if few is not None:
        rows = _rows_among(db, few, scope, conditions, order)
        rows.sort(reverse=order.is_descending)
        return Found(list(islice((row for row in rows if order.is_behind(row, position)), limit)), len(rows))
    return Found(_page(db, scope, conditions, order, position, limit), _count(db, scope, conditions))


def count_jobs(db: apsw.Connection, wanted: JobFilter, namespace: str) -> int:
    """How many jobs match."""
    scope, conditions = _Scope(db, wanted, namespace), conditions_of(wanted)
    if not conditions or not scope.total:
        return scope.total
    few = _few_by_index(db, conditions)
    if few is not None:
        return len(_rows_among(db, few, scope, conditions, Order()))
    return _count(db, scope, conditions)


def find_ids(
    db: apsw.Connection, wanted: JobFilter, namespace: str, *, up_to: int, after: str | None, limit: int
) -> tuple[list[str], str | None]:
    """The ids of matching jobs that came no later than the seq `up_to`, oldest first, and where the last one stands.

    Goes on behind the position `after` of an earlier call. Jobs that change between two calls, so that they match
    no longer, do not disturb the walk.
    """
    order = Order(is_descending=False)
    scope = _Scope(db, wanted, namespace)
    conditions = [Condition(Sql("seq <= ?", (up_to,))), *conditions_of(wanted)]
    position = order.start if after is None else msgspec.json.decode(after, type=Position)
    few = _few_by_index(db, conditions) if scope.total else []
    if few is None:
        rows = _page(db, scope, conditions, order, position, limit)
    else:
        found = _rows_among(db, few, scope, conditions, order)
        rows = sorted(row for row in found if order.is_behind(row, position))[:limit]
    return [id for _, id, _ in rows], msgspec.json.encode(rows[-1][:2]).decode() if rows else None


class _Scope:
    """The queues and states that are wanted; the queues' counts tell which pairs of them have jobs at all."""

    def __init__(self, db: apsw.Connection, wanted: JobFilter, namespace: str) -> None:
        conditions, values = ["TRUE"], []
        if wanted.queue is not None:
            conditions.append("name = ?")
            values.append(wanted.queue)
        if namespace != DEFAULT_NAMESPACE:
            conditions.append("namespace = ?")
            values.append(namespace)
        self.is_everything = not values and not wanted.states
        states = [state for state in STATES if not wanted.states or state in wanted.states]
        where = " AND ".join(conditions)
        self.queues = Sql(f"SELECT id FROM queue WHERE {where}", tuple(values))
        self.states = states
        self.pairs: list[tuple[int, str]] = []
        self.total: int = 0
        if self.is_everything:
            self.total = db.execute(f"SELECT coalesce(sum({' + '.join(STATES)}), 0) FROM queue").get
            return
        for queue, *counts in db.execute(f"SELECT {', '.join(['id', *states])} FROM queue WHERE {where}", values):
            self.pairs += [(queue, state) for state, count in zip(states, counts, strict=True) if count]
            self.total += sum(counts)

    def jobs(self) -> Sql:
        """The jobs in it, as what stands behind FROM: no other job is looked at."""
        if self.is_everything:
            return Sql("job")
        return Sql(
            "json_each(?) AS pair CROSS JOIN job INDEXED BY job_of_queue "
            "ON job.queue = pair.value ->> 0 AND job.state = pair.value ->> 1",
            (msgspec.json.encode(self.pairs).decode(),),
        )

    def condition(self) -> Condition:
        """That a job is in it."""
        marks = ", ".join("?" * len(self.states))
        return Condition(
            Sql(f"queue IN ({self.queues.text}) AND state IN ({marks})", (*self.queues.values, *self.states))
        )


def _few(db: apsw.Connection, scope: _Scope, conditions: list[Condition]) -> list[int] | None:
    """The seqs of a few jobs among which all that match are, or None if there are not few."""
    few = _few_by_index(db, conditions)
    if few is None and not (len(conditions) == 1 and conditions[0].source is not None):
        jobs, where = scope.jobs(), all_of(conditions)
        few = _at_most_few(db, Sql(f"SELECT seq FROM {jobs.text} WHERE {where.text}", (*jobs.values, *where.values)))
    return few


def _few_by_index(db: apsw.Connection, conditions: list[Condition]) -> list[int] | None:
    """The same, where an index answers one of the conditions."""
    for condition in conditions:
        if condition.source is not None:
            few = _at_most_few(db, condition.source)
            if few is not None:
                return few
    return None


def _at_most_few(db: apsw.Connection, source: Sql) -> list[int] | None:
    found: list[Any] = db.execute(f"SELECT seq FROM ({source.text}) LIMIT ?", (*source.values, FEW + 1)).fetchall()
    return None if len(found) > FEW else [seq for (seq,) in found]


def _rows_among(
    db: apsw.Connection, seqs: list[int], scope: _Scope, conditions: list[Condition], order: Order
) -> list[Row]:
    """Those of a few jobs that match."""
    if not seqs:
        return []
    where = all_of([*conditions, scope.condition()])
    rows: list[Any] = db.execute(
        f"""
        SELECT {SORTS[order.sort]}, id, seq
          FROM carray(?) AS few
         CROSS JOIN job ON seq = few.value
         WHERE {where.text}
        """,
        (apsw.carray(array("q", seqs)), *where.values),
    ).fetchall()
    return rows


def _count(db: apsw.Connection, scope: _Scope, conditions: list[Condition]) -> int:
    if scope.is_everything and len(conditions) == 1 and conditions[0].source is not None:
        text, values = conditions[0].source
        matching = Sql(f"({text})", values)
    else:
        jobs, where = scope.jobs(), all_of(conditions)
        matching = Sql(f"{jobs.text} WHERE {where.text}", (*jobs.values, *where.values))
    count: int = db.execute(f"SELECT count(*) FROM {matching.text}", matching.values).get
    return count


def _page(
    db: apsw.Connection, scope: _Scope, conditions: list[Condition], order: Order, position: Position, limit: int
) -> list[Row]:
    """The first `limit` matches behind a position."""
    if order.sort != DEFAULT_SORT:
        return _sorted_page(db, scope, conditions, order, position, limit)
    where = all_of(conditions)
    if scope.is_everything:
        return _walk(db, "job INDEXED BY job_by_creation", where, order, position, limit)
    pairs = [_walk_pair(db, pair, where, order, position, limit // len(scope.pairs) + 1) for pair in scope.pairs]
    return list(islice(heapq.merge(*pairs, reverse=order.is_descending), limit))


def _sorted_page(
    db: apsw.Connection, scope: _Scope, conditions: list[Condition], order: Order, position: Position, limit: int
) -> list[Row]:
    """The same for an order that has no index: all matches are looked at, the first are kept."""
    jobs, where = scope.jobs(), all_of(conditions)
    return _walk(db, jobs.text, Sql(where.text, (*jobs.values, *where.values)), order, position, limit)


def _walk_pair(
    db: apsw.Connection, pair: tuple[int, str], where: Sql, order: Order, position: Position, chunk: int
) -> Iterator[Row]:
    """The matches in one state of one queue, a chunk at a time."""
    matching = Sql(f"queue = ? AND state = ? AND {where.text}", (*pair, *where.values))
    while True:
        rows = _walk(db, "job INDEXED BY job_of_queue", matching, order, position, chunk)
        yield from rows
        if len(rows) < chunk:
            return
        position = rows[-1][:2]


def _walk(db: apsw.Connection, jobs: str, where: Sql, order: Order, position: Position, limit: int) -> list[Row]:
    behind = order.behind(position)
    rows: list[Any] = db.execute(
        f"SELECT {SORTS[order.sort]}, id, seq FROM {jobs} WHERE {where.text} AND {behind.text} {order.sql} LIMIT ?",
        (*where.values, *behind.values, limit),
    ).fetchall()
    return rows
