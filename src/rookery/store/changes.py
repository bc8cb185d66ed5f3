"""What changed between two points of the timeline, summed up, for those who only want to know where to look again."""

from typing import Final

import apsw
import msgspec

from rookery.model.names import DEFAULT_NAMESPACE, is_visible, shown_name

LOOKED_AT: Final = 5_000
"""Of more events than these only the newest are looked at."""
MOST_JOBS: Final = 200


class ChangeView(msgspec.Struct):
    """What changed up to the event `seq`; `is_partial`: there was more than is named."""

    seq: int
    events: dict[str, int]
    queues: list[str]
    job_ids: list[str]
    is_partial: bool


def read_change(db: apsw.Connection, after: int, until: int, namespace: str = DEFAULT_NAMESPACE) -> ChangeView:
    """The events behind `after` and up to `until` as one change."""
    first = max(after, until - LOOKED_AT)
    events: dict[str, int] = {}
    queues: dict[str, None] = {}
    for type, queue, count in db.execute(
        "SELECT type, queue, count(*) FROM event WHERE seq > ? AND seq <= ? GROUP BY type, queue ORDER BY type, queue",
        (first, until),
    ):
        if is_visible(namespace, queue):
            events[type] = events.get(type, 0) + count
            queues[shown_name(namespace, queue)] = None
    jobs: dict[str, None] = {}
    for job_id, queue in db.execute(
        "SELECT job_id, queue FROM event WHERE seq > ? AND seq <= ? ORDER BY seq DESC LIMIT ?",
        (first, until, MOST_JOBS),
    ):
        if is_visible(namespace, queue):
            jobs[job_id] = None
    return ChangeView(until, events, list(queues), list(jobs), until - after > MOST_JOBS)
