"""The yardstick for the engine: the same rows in the same schema, written by plain apsw without any rule."""

from array import array
from typing import Any

import apsw

from rookery.store.connections import open_writer

_JOB_COLUMNS = 53


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
        self.db.executemany(f"INSERT INTO job VALUES ({', '.join('?' * _JOB_COLUMNS)})", jobs)
        self._events("enqueued", [job[1] for job in jobs], now, None)
        self._throughput(now, count, 0)
        self._commit("pending = pending + ?, enqueued = enqueued + ?", (count, count), now)

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
        self._commit("pending = pending - ?, active = active + ?", (count, count), now)
        return rows

    def ack(self, job_ids: list[str], now: int) -> None:
        self.db.execute("BEGIN IMMEDIATE")
        self.db.execute(
            "UPDATE job SET state = 'completed', completed_at = ?1, ended_at = ?1, lease_until = NULL, "
            "outcome = 'ack', was_completed = 1 FROM carray(?2) AS given WHERE id = given.value",
            (now, apsw.carray(tuple(job_ids))),
        )
        self._events("completed", job_ids, now, None)
        self._throughput(now, 0, len(job_ids))
        self._commit("active = active - ?, completed = completed + ?", (len(job_ids), len(job_ids)), now)

    def _events(self, type: str, job_ids: list[str], now: int, data: str | None) -> None:
        self.db.execute(
            "INSERT INTO event SELECT ? + given.rowid, ?, given.value, 'bench', ?, ? FROM carray(?) AS given",
            (self.event, type, now, data, apsw.carray(tuple(job_ids))),
        )
        self.event += len(job_ids)

    def _throughput(self, now: int, enqueued: int, completed: int) -> None:
        self.db.execute(
            "INSERT INTO throughput VALUES (?, 1, ?, ?, 0) ON CONFLICT DO UPDATE "
            "SET enqueued = enqueued + excluded.enqueued, completed = completed + excluded.completed",
            (now - now % 60_000, enqueued, completed),
        )

    def _commit(self, counts: str, numbers: tuple[int, int], now: int) -> None:
        self.db.execute(f"UPDATE queue SET {counts} WHERE id = 1", numbers)
        self.db.execute("UPDATE machine SET now = ?, job_seq = ?, event_seq = ?", (now, self.seq, self.event))
        self.db.execute("COMMIT")

    @staticmethod
    def _job(seq: int, payload: str, now: int) -> tuple[Any, ...]:
        job_id = f"job_{seq:026d}"
        policy = (3, 5, "requeue", "exponential", 5000, 600_000)
        head = (seq, job_id, 1, "pending", 2, now, 0, 0, 0, 0, 0, *policy, now)
        return (*head, *(None,) * 17, 0, "default", *(None,) * 3, 0, 0, None, payload, *(None,) * 7, now, None)
