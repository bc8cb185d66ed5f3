"""Workers of a home: who has registered, what they are at, and who of them is gone."""

from typing import Final

import apsw
import msgspec

from rookery.queuectl.processes import is_running

SILENCE: Final = 30_000
"""Milliseconds without a heartbeat after which a worker counts as gone, whatever its process does."""


class Worker(msgspec.Struct, frozen=True):
    """A registered worker. Times are milliseconds."""

    id: str
    pid: int
    pid_started: str | None
    started_at: int
    last_heartbeat: int
    job_id: str | None
    """What it works on."""

    def is_gone(self, now: int) -> bool:
        """Whether its process has ended or it has been silent for too long."""
        return now - self.last_heartbeat > SILENCE or not is_running(self.pid, self.pid_started)


def read_workers(db: apsw.Connection) -> list[Worker]:
    """All that are registered, gone or not."""
    rows = db.execute(
        """
        SELECT id, pid, pid_started, started_at, last_heartbeat,
               (SELECT min(job.id) FROM job WHERE job.lease_until IS NOT NULL AND job.worker_id = worker.id)
          FROM worker
         WHERE pid IS NOT NULL
         ORDER BY started_at, id
        """
    )
    return [Worker(*row) for row in rows]
