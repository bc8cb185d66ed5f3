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
_ALL: Final = Sql("TRUE")

Position = tuple[int, Any]
"""Where a job stands in an order: the value it is sorted by, and what decides ties."""
Row = tuple[int, Any, Any]
"""A position, and the other of a job's id and seq."""


class Order(NamedTuple):
    """What jobs are sorted by, ties by id in the same direction."""

    sort: str = DEFAULT_SORT
    is_descending: bool = True

    @property
    def start(self) -> Position:
        """Before the first job."""
        return ((1 << 63) - 1, "") if self.is_descending else (-2, "")

    @property
    def columns(self) -> tuple[str, str, str]:
        """What makes a row: the value, what decides ties, and what else tells of the job."""
        return SORTS[self.sort], "id", "seq"

    def behind(self, position: Position) -> Sql:
        """That a job comes after a position."""
        value, tie, _ = self.columns
        return Sql(f"({value}, {tie}) {'<' if self.is_descending else '>'} (?, ?)", position)

    @property
    def sql(self) -> str:
        """The clause that sorts."""
        direction = "DESC" if self.is_descending else "ASC"
        value, tie, _ = self.columns
        return f"ORDER BY {value} {direction}, {tie} {direction}"


class _Arrival(Order):
    """By creation, ties by seq: as the indexes are, so that jobs of one instant need not be sorted."""

    @property
    def columns(self) -> tuple[str, str, str]:
        return SORTS[DEFAULT_SORT], "seq", "id"


class Found(NamedTuple):
    """A page: the jobs' places in the order, and how many match in all."""

    rows: list[Row]
    total: int


def search(
    db: apsw.Connection, wanted: JobFilter, namespace: str, order: Order, limit: int, after: Position | None = None
) -> Found:
    """The first `limit` jobs behind a position. Runs in one view of the store, so that page and total agree."""
    matches = _Matches(db, wanted, namespace)
    matches.look_for_few()
    return Found(matches.page(order, order.start if after is None else after, limit), matches.count())


def count_jobs(db: apsw.Connection, wanted: JobFilter, namespace: str) -> int:
    """How many jobs match."""
    return _Matches(db, wanted, namespace).count()


def find_ids(
    db: apsw.Connection, wanted: JobFilter, namespace: str, *, up_to: int, after: str | None, limit: int
) -> tuple[list[str], str | None]:
    """The ids of matching jobs that came no later than the seq `up_to`, oldest first, and where the last one stands.

    Goes on behind the position `after` of an earlier call. Jobs that change between two calls, so that they match
    no longer, do not disturb the walk.
    """
    order = _Arrival(is_descending=False)
    matches = _Matches(db, wanted, namespace, Condition(Sql("seq <= ?", (up_to,))))
    position = order.start if after is None else msgspec.json.decode(after, type=Position)
    rows = matches.page(order, position, limit)
    return [id for _, _, id in rows], msgspec.json.encode(rows[-1][:2]).decode() if rows else None


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
        where = " AND ".join(conditions)
        states = [state for state in STATES if not wanted.states or state in wanted.states]
        self.is_everything = not values and not wanted.states
        self.pairs: list[tuple[int, str]] = []
        self.total: int = 0
        self.condition = Condition(
            Sql(
                f"queue IN (SELECT id FROM queue WHERE {where}) AND state IN ({', '.join('?' * len(states))})",
                (*values, *states),
            )
        )
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
            """
            (SELECT value ->> 0 AS in_queue, value ->> 1 AS in_state FROM json_each(?)) AS pair
             CROSS JOIN job INDEXED BY job_of_queue ON queue = pair.in_queue AND state = pair.in_state
            """,
            (msgspec.json.encode(self.pairs).decode(),),
        )


class _Matches:
    """The jobs that match: all in a scope, or a few that are known by their seqs, or those that meet conditions."""

    def __init__(self, db: apsw.Connection, wanted: JobFilter, namespace: str, *more: Condition) -> None:
        self._db = db
        self._scope = _Scope(db, wanted, namespace)
        self._conditions = [*more, *conditions_of(wanted)]
        self._few: list[int] | None = None
        self._total: int | None = None
        if not self._scope.total:
            self._few = []
        elif not self._conditions:
            self._total = self._scope.total
        else:
            self._ask_indexes()

    def _ask_indexes(self) -> None:
        """Let each index that answers a condition name the jobs that meet it, or else say where they lie."""
        sources = [condition.source for condition in self._conditions if condition.source is not None]
        is_all_there_is_to_it = self._scope.is_everything and len(sources) == len(self._conditions) == 1
        for source in sources:
            few = self._at_most_few(source.seqs)
            if few is not None:
                self._few = few if is_all_there_is_to_it else self._matching(few)
                return
        if is_all_there_is_to_it:
            self._total = self._get(sources[0].counted())
        for source in sources:
            if source.ends is not None:
                self._conditions.append(Condition(Sql("seq BETWEEN ? AND ?", self._get(source.ends))))

    def look_for_few(self) -> None:
        """Go through the jobs until there are more than a few matches: if they stay few, that is all the work."""
        if self._few is None and self._total is None:
            self._few = self._at_most_few(self._select("seq"))

    def count(self) -> int:
        """How many there are."""
        if self._few is not None:
            return len(self._few)
        if self._total is None:
            self._total = self._get(self._select("count(*)"))
        return self._total

    def page(self, order: Order, position: Position, limit: int) -> list[Row]:
        """The first `limit` behind a position."""
        if self._few is not None:
            return self._walk(_among(self._few), _ALL, order, position, limit) if self._few else []
        where = all_of(self._conditions)
        if order.sort != DEFAULT_SORT:
            return self._walk(self._scope.jobs(), where, order, position, limit)
        if self._scope.is_everything:
            return self._walk(Sql("job INDEXED BY job_by_creation"), where, order, position, limit)
        chunk = limit // len(self._scope.pairs) + 1
        pairs = [self._walk_pair(pair, where, order, position, chunk) for pair in self._scope.pairs]
        return list(islice(heapq.merge(*pairs, reverse=order.is_descending), limit))

    def _walk_pair(
        self, pair: tuple[int, str], where: Sql, order: Order, position: Position, chunk: int
    ) -> Iterator[Row]:
        """The matches in one state of one queue, a chunk at a time."""
        matching = Sql(f"queue = ? AND state = ? AND {where.text}", (*pair, *where.values))
        while True:
            rows = self._walk(Sql("job INDEXED BY job_of_queue"), matching, order, position, chunk)
            yield from rows
            if len(rows) < chunk:
                return
            position = rows[-1][:2]

    def _walk(self, jobs: Sql, where: Sql, order: Order, position: Position, limit: int) -> list[Row]:
        behind = order.behind(position)
        rows: list[Any] = self._db.execute(
            f"""
            SELECT {", ".join(order.columns)}
              FROM {jobs.text}
             WHERE {where.text} AND {behind.text}
             {order.sql}
             LIMIT ?
            """,
            (*jobs.values, *where.values, *behind.values, limit),
        ).fetchall()
        return rows

    def _select(self, columns: str) -> Sql:
        jobs, where = self._scope.jobs(), all_of(self._conditions)
        return Sql(f"SELECT {columns} FROM {jobs.text} WHERE {where.text}", (*jobs.values, *where.values))

    def _matching(self, seqs: list[int]) -> list[int]:
        """Those of a few jobs that match."""
        if not seqs:
            return []
        few, where = _among(seqs), all_of([*self._conditions, self._scope.condition])
        return self._seqs(Sql(f"SELECT seq FROM {few.text} WHERE {where.text}", (*few.values, *where.values)))

    def _at_most_few(self, source: Sql) -> list[int] | None:
        seqs = self._seqs(Sql(f"{source.text} LIMIT ?", (*source.values, FEW + 1)))
        return None if len(seqs) > FEW else seqs

    def _seqs(self, source: Sql) -> list[int]:
        """All in one row: every row is a chance for other threads to make this one wait."""
        found = self._get(Sql(f"SELECT json_group_array(seq) FROM ({source.text})", source.values))
        return msgspec.json.decode(found, type=list[int])

    def _get(self, sql: Sql) -> Any:
        """A single value, or row."""
        return self._db.execute(sql.text, sql.values).get


def _among(seqs: list[int]) -> Sql:
    """A few jobs, as what stands behind FROM."""
    return Sql("carray(?) AS few CROSS JOIN job ON seq = few.value", (apsw.carray(array("q", seqs)),))
