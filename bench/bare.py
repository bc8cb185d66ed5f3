"""The yardstick for the engine: the same rows in the same schema, written by plain apsw without any rule."""

from array import array
from typing import Any

import apsw

from rookery.engine.columns import ADD_JOB, NEW_JOB_COLUMNS
from rookery.store.connections import open_writer

_NEW_JOB: dict[str, Any] = {
    **dict.fromkeys(NEW_JOB_COLUMNS),
    "queue": 1,
    "state": "pending",
    "rank": 2,
    "order_by_due": 0,
    "waiting_on": 0,
    "max_retries": 3,
    "max_lost_leases": 5,
    "on_lost_lease": "requeue",
    "backoff": "exponential",
    "base_delay": 5000,
    "max_delay": 600_000,
    "batch_open": 0,
    "namespace": "default",
}


class BareStore:
    """Writes what a job's life writes, knowing beforehand that nothing can go wrong."""

    def __init__(self, path: str) -> None:
        self.db: apsw.Connection = open_writer(path)
        self.db.execute("INSERT INTO queue (namespace, name, created_at) VALUES ('default', 'bench', 0)")
        self.seq = 0
        self.event = 0

    def enqueue(self, count: int, payload: str, now: int) -> None:
        jobs = [self._job(self.seq + n + 1, payload, now) for n in range(count)]
        self.seq += count
        self.db.execute("BEGIN IMMEDIATE")
        self.db.executemany(ADD_JOB, jobs)
        self._events("enqueued", [job[1] for job in jobs], now, None)
        counted = "pending = pending + ?1, enqueued = enqueued + ?1, minute_enqueued = minute_enqueued + ?1"
        self._commit(counted, count, now)

    def claim(self, count: int, now: int) -> list[tuple[Any, ...]]:
        self.db.execute("BEGIN IMMEDIATE")
        rows = self.db.execute(
            "SELECT seq, id, payload FROM job WHERE state = 'pending' AND waiting_on = 0 AND queue = 1 "
            "ORDER BY rank, order_key, seq LIMIT ?",
            (count,),
        ).fetchall()
        self.db.execute(
            "UPDATE job SET state = 'active', attempt = 1, started_at = ?, lease = seq, lease_length = 60000, "
            "lease_until = ?, worker_id = 'w', outcome = NULL FROM carray(?) AS given WHERE seq = given.value",
            (now, now + 60_000, apsw.carray(array("q", [row[0] for row in rows]))),
        )
        self._events("started", [row[1] for row in rows], now, '{"attempt":1,"worker_id":"w"}')
        self._commit("pending = pending - ?1, active = active + ?1", count, now)
        return rows

    def ack(self, job_ids: list[str], now: int) -> None:
        self.db.execute("BEGIN IMMEDIATE")
        self.db.execute(
            "UPDATE job SET state = 'completed', completed_at = ?1, ended_at = ?1, lease_until = NULL, "
            "outcome = 'ack', was_completed = 1 FROM carray(?2) AS given WHERE id = given.value",
            (now, apsw.carray(tuple(job_ids))),
        )
        self._events("completed", job_ids, now, None)
        counted = "active = active - ?1, completed = completed + ?1, minute_completed = minute_completed + ?1"
        self._commit(counted, len(job_ids), now)

    def _events(self, type: str, job_ids: list[str], now: int, data: str | None) -> None:
        self.db.execute(
            "INSERT INTO event SELECT ? + given.rowid, ?, given.value, 'bench', ?, ? FROM carray(?) AS given",
            (self.event, type, now, data, apsw.carray(tuple(job_ids))),
        )
        self.event += len(job_ids)

    def _commit(self, counted: str, count: int, now: int) -> None:
        self.db.execute(f"UPDATE queue SET {counted}, minute = ?2 WHERE id = 1", (count, now - now % 60_000))
        self.db.execute("UPDATE machine SET now = ?, job_seq = ?, event_seq = ?", (now, self.seq, self.event))
        self.db.execute("COMMIT")

    @staticmethod
    def _job(seq: int, payload: str, now: int) -> tuple[Any, ...]:
        own = {"seq": seq, "id": f"job_{seq:026d}", "payload": payload}
        return tuple({**_NEW_JOB, **own, **dict.fromkeys(("order_key", "created_at", "ready_at"), now)}.values())
