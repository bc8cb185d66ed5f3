"""The timeline as the API shows it. Nothing here writes."""

from typing import Final

import apsw
import msgspec

from rookery.model.names import DEFAULT_NAMESPACE, NAMESPACE_MARK, is_visible, shown_name

Raw = msgspec.Raw

LARGEST_READ: Final = 1 << 20
"""A read of many texts ends with the one that goes over so many characters."""


class EventView(msgspec.Struct, omit_defaults=True):
    """Something that happened to a job."""

    seq: int
    type: str
    at_ns: int
    job_id: str | None = None
    queue: str | None = None
    data: Raw | None = None


class EventFilter(msgspec.Struct, frozen=True):
    """Which events somebody wants; an empty list means all."""

    queues: tuple[str, ...] = ()
    job_ids: tuple[str, ...] = ()
    types: tuple[str, ...] = ()


def read_events(
    db: apsw.Connection,
    after: int,
    until: int,
    limit: int,
    wanted: EventFilter | None = None,
    namespace: str = DEFAULT_NAMESPACE,
) -> list[EventView]:
    """Events behind `after` and up to `until`, oldest first: as many as are wanted, or fewer if they are long."""
    clauses: list[str] = ["seq > ?", "seq <= ?"]
    parameters: list[int | str] = [after, until]
    wanted = wanted or EventFilter()
    for column, values in (("queue", wanted.queues), ("job_id", wanted.job_ids), ("type", wanted.types)):
        if values:
            clauses.append(f"{column} IN ({', '.join('?' * len(values))})")
            parameters.extend(values)
    if namespace != DEFAULT_NAMESPACE:
        clauses.append("substr(queue, 1, ?) = ?")
        mark = namespace + NAMESPACE_MARK
        parameters.extend((len(mark), mark))
    rows = db.execute(
        f"SELECT seq, type, job_id, queue, at, data FROM event WHERE {' AND '.join(clauses)} ORDER BY seq LIMIT ?",
        (*parameters, limit),
    )
    events, size = [], 0
    for row in rows:
        events.append(event_view(namespace, *row))
        size += len(row[5] or "")
        if size > LARGEST_READ:
            break
    return events


def event_view(namespace: str, seq: int, type: str, job_id: str, queue: str, at: int, data: str | None) -> EventView:
    """An event's row as somebody of that namespace sees it."""
    if type == "moved" and data is not None:
        data = _shown_move(data, namespace)
    return EventView(
        seq, type, at * 1_000_000, job_id, shown_name(namespace, queue), None if data is None else Raw(data)
    )


def _shown_move(data: str, namespace: str) -> str:
    """From where to where, as far as somebody of that namespace may know."""
    move: dict[str, str] = msgspec.json.decode(data)
    shown = {end: shown_name(namespace, queue) for end, queue in move.items() if is_visible(namespace, queue)}
    return msgspec.json.encode(shown).decode()


def first_event(db: apsw.Connection) -> int:
    """The number of the oldest event that is kept."""
    return db.execute("SELECT min(seq) FROM event").get or 1


def last_event(db: apsw.Connection) -> int:
    """The number of the newest event."""
    return db.execute("SELECT max(seq) FROM event").get or 0
