"""Workers as the API shows them: where they are, what they have in hand, and what they have said of themselves."""

from typing import Any

import apsw
import msgspec

from rookery.model.instants import format_instant
from rookery.model.names import DEFAULT_NAMESPACE, shown_name


class WorkerView(msgspec.Struct):
    """A worker that was heard of."""

    id: str
    hostname: str | None
    queues: list[str]
    last_heartbeat: str
    started_at: str
    active_jobs: int
    slots: int | None
    draining: bool


def read_workers(db: apsw.Connection, namespace: str = DEFAULT_NAMESPACE) -> list[WorkerView]:
    """Workers, the one heard of last first."""
    everyone = namespace == DEFAULT_NAMESPACE
    rows: list[Any] = db.execute(
        f"""
        SELECT namespace, id, hostname, queues, last_heartbeat, started_at, slots, draining_at
          FROM worker
         {"" if everyone else "WHERE namespace = ?"}
         ORDER BY last_heartbeat DESC, id
        """,
        () if everyone else (namespace,),
    ).fetchall()
    active = {
        (space, worker_id): count
        for space, worker_id, count in db.execute(
            """
            SELECT queue.namespace, worker_id, count(*)
              FROM job
              JOIN queue ON queue.id = job.queue
             WHERE lease_until IS NOT NULL
             GROUP BY queue.namespace, worker_id
            """
        )
    }
    return [
        WorkerView(
            id,
            hostname,
            [shown_name(namespace, queue) for queue in msgspec.json.decode(queues)],
            format_instant(last_heartbeat),
            format_instant(started_at),
            active.get((space, id), 0),
            slots,
            draining_at is not None,
        )
        for space, id, hostname, queues, last_heartbeat, started_at, slots, draining_at in rows
    ]
