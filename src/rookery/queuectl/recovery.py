"""Jobs whose worker is gone: they go back into the queue. A worker that lives keeps its jobs, whatever else happens."""

import socket
from typing import Any, Final, NamedTuple

from rookery.engine.ops import AnyOperation, Done, LoseLeases, LostJob, RemoveWorker, Tick
from rookery.queuectl import leftovers
from rookery.queuectl.home import Home, now_ms
from rookery.queuectl.notices import say
from rookery.queuectl.processes import is_running

_HELD: Final = """
    SELECT job.id, job.lease, job.attempt, job.lease_until, job.worker_id,
           worker.pid, worker.pid_started, worker.hostname, worker.id IS NOT NULL
      FROM job
      JOIN queue ON queue.id = job.queue
      LEFT JOIN worker ON worker.namespace = 'default' AND worker.id = job.worker_id
     WHERE job.lease_until IS NOT NULL AND queue.name GLOB 'shell.*'
"""
_WORKERS: Final = "SELECT id, pid, pid_started FROM worker WHERE pid IS NOT NULL AND hostname = ?"


class _Held(NamedTuple):
    job_id: str
    lease: int
    attempt: int
    lease_until: int
    worker_id: str | None
    pid: int | None
    pid_started: str | None
    hostname: str | None
    is_registered: int


def recover(home: Home) -> None:
    """Give back the jobs of workers that are gone, and forget those workers.

    A worker that lives but has not been heard of in the time of its lease is stopped or stuck: its jobs come back by
    the clock, inside the engine, where it cannot say something at the same moment.
    """
    held = _held(home)
    lost = [job for job in held if _is_gone(job)]
    if lost:
        # Their workers may have recorded an outcome before they ended; now that they have, what we see is final.
        still = {(job.job_id, job.lease) for job in _held(home)}
        lost = [job for job in lost if (job.job_id, job.lease) in still]
    operations: list[AnyOperation] = [RemoveWorker(worker_id=worker_id) for worker_id in _ended_workers(home)]
    if any(job.lease_until < now_ms() for job in held):
        operations.append(Tick())
    for job in lost:
        leftovers.end(home, job.job_id, job.attempt)
        operations.append(LoseLeases(items=[LostJob(job.job_id, job.lease)]))
    if operations:
        results = home.apply(*operations)
        for job, result in zip(reversed(lost), reversed(results), strict=False):
            if result == Done("1 lost"):  # and not by somebody else meanwhile
                say(f"{job.job_id}: its worker {job.worker_id} is gone; the job goes back")


def own_hostname() -> str:
    """The name under which processes of this machine know each other: pids of another one say nothing here."""
    return socket.gethostname()


def _held(home: Home) -> list[_Held]:
    return [_Held(*row) for row in home.machine().connection.execute(_HELD)]


def _is_gone(job: _Held) -> bool:
    if not job.is_registered:
        return True
    return job.pid is not None and job.hostname == own_hostname() and not is_running(job.pid, job.pid_started)


def _ended_workers(home: Home) -> list[str]:
    rows: list[tuple[Any, ...]] = home.machine().connection.execute(_WORKERS, (own_hostname(),)).fetchall()
    return [worker_id for worker_id, pid, mark in rows if not is_running(pid, mark)]
