"""Jobs in a home: its store is read and written right here, with nobody else running."""

from collections.abc import Iterator
from typing import Any

import apsw

from rookery.model.instants import format_instant
from rookery.queuectl import reads
from rookery.queuectl.home import Home, HomeError, now_ms
from rookery.queuectl.jobs import JobRequest, enqueue_operation
from rookery.queuectl.logfiles import read_tail
from rookery.queuectl.place import Added, IdTaken, Place, Row
from rookery.queuectl.settings import Settings, read_settings, read_texts
from rookery.queuectl.workers import read_workers


class HomePlace(Place):
    """The jobs of a home."""

    def settings(self) -> Settings:
        """What `queuectl config` says at this moment."""
        self.home.machine()  # Who asks is about to add a job: one connection does for both.
        return self.home.settings()

    def setting_texts(self) -> dict[str, str]:
        """The same as texts, in their order."""
        return read_texts(self.home.reader())

    def add(self, job: JobRequest, backoff_base: float, now: int) -> Added:
        """Add a job; it is on disk then."""
        from rookery.engine.ops import Enqueued, Refusal

        (result,) = self.home.apply(enqueue_operation(job, backoff_base, now))
        if isinstance(result, Refusal):
            raise IdTaken if result.kind == Refusal.CONFLICT else HomeError(result.message)
        assert isinstance(result, Enqueued)
        (added,) = result.jobs
        return Added(added.job_id, added.status != "duplicate")

    def find_job(self, job_id: str) -> Row | None:
        """One job, if it is there."""
        return reads.find_job(self.home.reader(), job_id)

    def find_jobs(self, state: str | None, queue: str | None, limit: int | None) -> Iterator[Row]:
        """Jobs by their age, the oldest first."""
        return reads.find_jobs(self.home.reader(), state, queue, limit)

    def dead_ids(self, queue: str | None) -> list[str]:
        """The ids of all dead jobs."""
        return reads.dead_ids(self.home.reader(), queue)

    def retry_dead(self, job_ids: list[str]) -> int:
        """Let these jobs run again, but for those that are not dead at that very moment; how many they were."""
        return retry_dead(self.home, job_ids)

    def read_log(self, job_id: str, tail: int | None) -> Iterator[bytes]:
        """What a job has written, or the last lines of it."""
        return read_tail(self.home.log_path(job_id), tail)

    def log_path(self, job_id: str) -> str | None:
        """The file that it is in."""
        return str(self.home.log_path(job_id))

    def status(self) -> dict[str, Any]:
        """Counts, workers whose processes are there, and whether they are to stop."""
        return read_status(self.home.reader())

    def figures(self) -> dict[str, Any]:
        """The figures of `queuectl metrics` by their names."""
        return read_figures(self.home.reader())

    def close(self) -> None:
        """Close the store."""
        self.home.close()


def retry_dead(home: Home, job_ids: list[str]) -> int:
    """Let these jobs run again, but for those that are not dead at that very moment; how many they were."""
    from rookery.engine.ops import Bulk, BulkDone
    from rookery.model.job import CANCELLED, DEAD
    from rookery.store.filters import JobFilter

    (result,) = home.apply(Bulk(action="retry", job_ids=job_ids, wanted=JobFilter(states=(DEAD, CANCELLED))))
    assert isinstance(result, BulkDone)
    return result.affected


def read_status(db: apsw.Connection) -> dict[str, Any]:
    """Counts, workers whose processes are there, and whether they are to stop."""
    now = now_ms()
    return {
        "jobs": reads.count_all(db),
        "workers": [
            {
                "worker_id": worker.id,
                "pid": worker.pid,
                "started_at": format_instant(worker.started_at),
                "job_id": worker.job_id,
            }
            for worker in read_workers(db)
            if not worker.is_gone(now)
        ],
        "shutdown": read_settings(db).shutdown,
    }


def read_figures(db: apsw.Connection) -> dict[str, Any]:
    """All figures by their names."""
    from rookery.queuectl.tallies import ENDLESS, read_tallies

    tallies, now = read_tallies(db), now_ms()
    return {
        "queuectl_jobs": reads.count_by_queue(db),
        "queuectl_workers": sum(not worker.is_gone(now) for worker in read_workers(db)),
        "queuectl_job_runs_total": tallies.runs,
        "queuectl_job_retries_total": tallies.retries,
        "queuectl_job_duration_seconds": {
            "buckets": tallies.durations,
            "sum": tallies.seconds,
            "count": tallies.durations[ENDLESS],
        },
    }
