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

from rookery.model.job import COMPLETED, STATES, TERMINAL
from rookery.model.names import DEFAULT_NAMESPACE
from rookery.store.filters import Condition, Sql, all_of, conditions_of
from rookery.store.filters import JobFilter as JobFilter

FEW: Final = 10_000
"""So many jobs are looked at one by one; of more than these, only those that are shown."""
SCATTERED: Final = 6
"""So many times as much does it cost to find a job by an index as to come by it while going through all of them."""
RARE: Final = 100
"""A walk along an index finds what it looks for soon enough if one in so many entries is of the right kind."""
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


class _ByEnd(Order):
    """By the time at which jobs ended, as their index is."""

    @property
    def columns(self) -> tuple[str, str, str]:
        return "ended_at", "id", "seq"


class Found(NamedTuple):
    """A page: the jobs' places in the order, and how many match in all; `is_partial`: more do than were counted."""

    rows: list[Row]
    total: int
    is_partial: bool = False


def search(
    db: apsw.Connection,
    wanted: JobFilter,
    namespace: str,
    order: Order,
    limit: int,
    after: Position | None = None,
    up_to: int | None = None,
) -> Found:
    """The first `limit` jobs behind a position. Runs in one view of the store, so that page and total agree.

    Jobs that have to be looked at to be counted are counted `up_to` so many.
    """
    matches = _Matches(db, wanted, namespace)
    matches.look_for_few()
    rows = matches.page(order, order.start if after is None else after, limit)
    return Found(rows, *matches.count_up_to(up_to))


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
        # The index of queues and states goes on with the time of creation.
        self._is_within_times = wanted.created_after is not None or wanted.created_before is not None
        self.pairs: list[tuple[int, str]] = []
        self.counts = dict.fromkeys(STATES, 0)
        in_queues = f"queue IN (SELECT id FROM queue WHERE {where}) AND " if values else ""
        in_states = f"state IN ({', '.join('?' * len(states))})"
        self.condition = Condition(Sql(in_queues + in_states, (*values, *states)))
        sums = ", ".join(f"coalesce(sum({state}), 0)" for state in STATES)
        self.stored: dict[str, int] = dict(zip(STATES, db.execute(f"SELECT {sums} FROM queue").get, strict=True))
        if self.is_everything:
            self.counts = self.stored
            return
        for queue, *counts in db.execute(f"SELECT {', '.join(['id', *states])} FROM queue WHERE {where}", values):
            self.pairs += [(queue, state) for state, count in zip(states, counts, strict=True) if count]
            for state, count in zip(states, counts, strict=True):
                self.counts[state] += count

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def is_most(self) -> bool:
        """Whether so many of all jobs are in it that going through all of them is the shorter way."""
        return self.total * SCATTERED > sum(self.stored.values())

    @property
    def is_scanned(self) -> bool:
        """Whether `jobs` are all there are, looked at one after the other."""
        return self.is_everything or (self.is_most and not self._is_within_times)

    @property
    def has_many_completed(self) -> bool:
        """Whether jobs that completed are not rare among those that ended."""
        ended = sum(self.stored[state] for state in TERMINAL)
        return self.counts[COMPLETED] * RARE >= ended > 0

    def jobs(self) -> Sql:
        """The jobs in it, as what stands behind FROM. If they are but a part of all, no other job is looked at."""
        if self.is_everything:
            return Sql("job")
        if self.is_scanned:
            where = self.condition.sql
            return Sql(f"(SELECT * FROM job NOT INDEXED WHERE {where.text}) AS job", where.values)
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
        self._counting: Sql | None = None
        self._is_many = False
        if not self._scope.total:
            self._few = []
        elif not self._conditions:
            self._total = self._scope.total
        else:
            self._ask_indexes()

    def _ask_indexes(self) -> None:
        """Let each index that answers a condition name the jobs that meet it, or else say where they lie."""
        sources = [condition.source for condition in self._conditions if condition.source is not None]
        is_all_there_is_to_it = (
            self._scope.is_everything and len(sources) == len(self._conditions) == 1 and sources[0].is_exact
        )
        for source in sources:
            few = self._at_most_few(source.seqs)
            if few is not None:
                self._few = few if is_all_there_is_to_it else self._matching(few)
                return
        if is_all_there_is_to_it:
            self._counting, self._is_many = sources[0].seqs, True
        for source in sources:
            if source.ends is not None:
                self._conditions.append(Condition(Sql("seq BETWEEN ? AND ?", self._get(source.ends))))

    def look_for_few(self) -> None:
        """Go through the jobs until there are more than a few matches: if they stay few, that is all the work."""
        if self._few is None and self._total is None and not self._is_many:
            jobs = self._select("seq")
            if self._scope.is_scanned and not any(condition.source for condition in self._conditions):
                # What people look for is seldom old.
                jobs = Sql(f"{jobs.text} ORDER BY seq DESC", jobs.values)
            self._few = self._at_most_few(jobs)
            self._is_many = self._few is None

    def count(self) -> int:
        """How many there are."""
        return self.count_up_to(None)[0]

    def count_up_to(self, most: int | None) -> tuple[int, bool]:
        """How many there are, or `most` and that there are more, unless it costs nothing to know how many."""
        if self._few is not None:
            return len(self._few), False
        if self._total is None:
            if most is not None and most <= FEW and self._is_many:
                return most, True
            seqs = self._counting or self._select("seq")
            bound = "" if most is None else f" LIMIT {most + 1}"
            found = self._get(Sql(f"SELECT count(*) FROM ({seqs.text}{bound})", seqs.values))
            if most is not None and found > most:
                return most, True
            self._total = found
        return self._total, False

    def page(self, order: Order, position: Position, limit: int) -> list[Row]:
        """The first `limit` behind a position."""
        if self._few is not None:
            return self._walk(_among(self._few), _ALL, order, position, limit) if self._few else []
        where = all_of(self._conditions)
        if order.sort == "completed_at" and self._scope.has_many_completed:
            return self._page_by_completion(where, order, position, limit)
        if order.sort != DEFAULT_SORT:
            return self._walk(self._scope.jobs(), where, order, position, limit)
        if self._scope.is_everything or (self._scope.is_most and self._conditions):
            everywhere = all_of([Condition(where), self._scope.condition])
            return self._walk(Sql("job INDEXED BY job_by_creation"), everywhere, order, position, limit)
        chunk = limit // len(self._scope.pairs) + 1
        pairs = [self._walk_pair(pair, where, order, position, chunk) for pair in self._scope.pairs]
        return list(islice(heapq.merge(*pairs, reverse=order.is_descending), limit))

    def _page_by_completion(self, where: Sql, order: Order, position: Position, limit: int) -> list[Row]:
        """A completed job has ended when it completed, and there is an index of ends. All others come before it."""
        rows: list[Row] = []
        if not order.is_descending and position[0] < 0:
            return self._walk(self._scope.jobs(), where, order, position, limit)
        if position[0] >= 0:
            everywhere = all_of([Condition(where), self._scope.condition])
            completed = Sql(
                f"ended_at IS NOT NULL AND completed_at IS NOT NULL AND {everywhere.text}", everywhere.values
            )
            ends = _ByEnd(order.sort, order.is_descending)
            rows = self._walk(Sql("job INDEXED BY job_ended"), completed, ends, position, limit)
        if order.is_descending and len(rows) < limit:
            start = position if position[0] < 0 else (0, "")
            rows += self._walk(self._scope.jobs(), where, order, start, limit - len(rows))
        return rows

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
