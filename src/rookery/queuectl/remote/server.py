"""Jobs at a Rookery server, reached by its API. What this machine's home says still counts for what is begun here."""

import re
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from heapq import merge
from itertools import islice
from typing import Any, Final

from rookery.client.client import Client
from rookery.client.errors import (
    Conflict,
    InvalidRequest,
    NotFound,
    PayloadTooLarge,
    RookeryError,
    ServerUnreachable,
    Unauthorized,
)
from rookery.client.newjobs import Backoff, Priority
from rookery.client.records import JobSummary
from rookery.client.reports import Queue
from rookery.model.instants import format_instant
from rookery.model.job import ACTIVE, CANCELLED, COMPLETED, DEAD, RETRYING
from rookery.model.names import is_job_id
from rookery.queuectl.home import Home
from rookery.queuectl.jobs import DEFAULT_QUEUE, MOST_RECOVERIES, QUEUE_PREFIX, STATES, JobRequest
from rookery.queuectl.newjobs import BadInput
from rookery.queuectl.place import Added, IdTaken, Place, PlaceError, Row
from rookery.queuectl.remote.register import Register
from rookery.queuectl.remote.rows import RUN_AT, WAITING, row_of
from rookery.queuectl.settings import read_texts

LONGEST_PERIOD: Final = 2**31 - 1
"""Seconds for which a server holds a unique key at the most."""
HEARD_WITHIN: Final = timedelta(seconds=60)
"""A worker that only waits is noted by the server every half a minute."""
_PAGE: Final = 500
_USER: Final = re.compile(r"(?<=://)[^/@\s]*@")
_STATES: Final[dict[str, dict[str, Any]]] = {
    "pending": {"state": WAITING, "attempt_max": 0},
    "processing": {"state": [ACTIVE]},
    "completed": {"state": [COMPLETED]},
    "failed": {"state": [*WAITING, RETRYING], "attempt_min": 1},
    "dead": {"state": [DEAD, CANCELLED]},
}
"""The states of `queuectl` in the words of a search."""


class ServerPlace(Place):
    """The jobs of the queues `shell.…` of a server. Raises ValueError if the URL is none."""

    def __init__(self, home: Home, url: str, api_key: str | None, namespace: str | None) -> None:
        super().__init__(home)
        self.url: str = _USER.sub("***@", url.rstrip("/"))
        self.address, self.api_key, self.namespace = url, api_key, namespace
        self.client = Client(url, api_key=api_key, namespace=namespace, retries=1)
        self.register = Register(home)

    def close(self) -> None:
        """Close the connections, and the store of the home."""
        self.client.close()
        self.home.close()

    @contextmanager
    def problems_told(self) -> Iterator[None]:
        """What goes wrong with the server is told in a line."""
        try:
            yield
        except Unauthorized as error:
            raise PlaceError(f"{self.url} does not let you in: {error}; is --api-key right?") from None
        except ServerUnreachable as error:
            raise PlaceError(_USER.sub("***@", f"cannot reach {self.url}: {error}")) from None
        except RookeryError as error:
            raise PlaceError(f"{self.url}: {error}") from None

    # --- settings

    def setting_texts(self) -> dict[str, str]:
        """Those of the home, or the defaults: a home is not made for that."""
        if self.home.database.exists():
            return read_texts(self.home.reader())
        from rookery.engine.machine import Machine

        machine = Machine(":memory:")
        try:
            return read_texts(machine.connection)
        finally:
            machine.close()

    # --- jobs

    def add(self, job: JobRequest, backoff_base: float, now: int) -> Added:
        """Add a job; a server has three priorities, and other ids are refused."""
        if job.id is not None and not is_job_id(job.id):
            raise BadInput(
                "id: at a server it must be made of letters, digits and . _ : -, and not be `batch`, . or .."
            )
        policy, base_delay = _backoff(backoff_base)
        is_later = job.run_at is not None and job.run_at > now
        run_at = None if job.run_at is None else format_instant(job.run_at)
        with self.problems_told():
            if job.idempotency_key is not None:
                known = self._find_key(job.idempotency_key)
                if known is not None:
                    return Added(known, False)
            try:
                added = self.client.enqueue(
                    QUEUE_PREFIX + job.queue,
                    {"command": job.command, "timeout": job.timeout},
                    job_id=job.id,
                    priority=_priority(job.priority),
                    max_retries=job.max_retries,
                    retry_backoff=policy,
                    retry_base_delay=base_delay,
                    retry_max_delay="0s",
                    max_lost_leases=MOST_RECOVERIES,
                    scheduled_at=run_at if is_later else None,
                    tags=None if run_at is None else {RUN_AT: run_at},
                    unique_key=job.idempotency_key,
                    unique_period=None if job.idempotency_key is None else LONGEST_PERIOD,
                )
            except Conflict:
                raise IdTaken from None
            except (InvalidRequest, PayloadTooLarge) as error:
                raise BadInput(str(error)) from None
        return Added(added.job_id, not added.unique_existing)

    def _find_key(self, key: str) -> str | None:
        """The oldest job with this key, ended or not and in whatever queue; a server itself knows only the queue's."""
        for job in self.client.search(unique_key=key, sort="created_at", order="asc"):
            if job.queue.startswith(QUEUE_PREFIX):
                return job.id
        return None

    def find_job(self, job_id: str) -> Row | None:
        """One job, if it is there and one of ours."""
        if not is_job_id(job_id):
            return None
        with self.problems_told():
            try:
                job = self.client.get(job_id)
            except NotFound:
                return None
        return row_of(job) if job.queue.startswith(QUEUE_PREFIX) else None

    def find_jobs(self, state: str | None, queue: str | None, limit: int | None) -> Iterator[Row]:
        """Jobs by their age, the oldest first, fetched as they are looked at."""
        with self.problems_told():
            found = islice(self._summaries(state, queue, limit), limit)
            while part := list(islice(found, _PAGE)):
                for job in self.client.get_many([summary.id for summary in part]):
                    yield row_of(job)

    def _summaries(self, state: str | None, queue: str | None, limit: int | None) -> Iterator[JobSummary]:
        """The same, shortly: what each queue has, merged by age."""
        wanted = {} if state is None else _STATES[state]
        names = [name for name in self.queue_names() if queue is None or name == QUEUE_PREFIX + queue]
        searches = [
            self.client.search(queue=name, sort="created_at", order="asc", limit=limit, **wanted) for name in names
        ]
        return merge(*searches, key=lambda job: job.created_at)

    def queue_names(self) -> list[str]:
        """The queues of shell commands, by the names that the server has for them."""
        return [queue.name for queue in self._queues()]

    def _queues(self) -> list[Queue]:
        return [queue for queue in self.client.queues() if queue.name.startswith(QUEUE_PREFIX)]

    def dead_ids(self, queue: str | None) -> list[str]:
        """The ids of all dead jobs."""
        with self.problems_told():
            return [job.id for job in self._summaries("dead", queue, None)]

    def retry_dead(self, job_ids: list[str]) -> int:
        """Let those of these jobs run again that are dead; how many they were."""
        with self.problems_told():
            dead = [job.id for job in self.client.get_many(job_ids) if job.state in (DEAD, CANCELLED)]
            return self.client.bulk("retry", jobs=dead).affected if dead else 0

    def read_log(self, job_id: str, tail: int | None) -> Iterator[bytes]:
        """The job's log at the server, or the last lines of it."""
        with self.problems_told():
            lines = self.client.logs(job_id)
            for line in lines if tail is None else deque(lines, maxlen=tail):
                yield f"{line.message}\n".encode()

    def log_path(self, job_id: str) -> str | None:
        """It is no file."""
        return None

    # --- figures

    def status(self) -> dict[str, Any]:
        """Counts, workers that the server has heard of lately; nobody tells them all to stop."""
        with self.problems_told():
            counts = self._counts().values()
            return {
                "jobs": {state: sum(queue[state] for queue in counts) for state in STATES},
                "workers": self.workers(),
                "shutdown": False,
            }

    def figures(self) -> dict[str, Any]:
        """Jobs and workers; runs are not counted at a server as they are in a home."""
        with self.problems_told():
            counts = self._counts() or {DEFAULT_QUEUE: dict.fromkeys(STATES, 0)}
            return {"queuectl_jobs": counts, "queuectl_workers": len(self.workers())}

    def _counts(self) -> dict[str, dict[str, int]]:
        return {queue.name.removeprefix(QUEUE_PREFIX): self._count(queue) for queue in self._queues()}

    def _count(self, queue: Queue) -> dict[str, int]:
        waiting = queue.pending + queue.scheduled + queue.held
        tried = self.client.count(queue=queue.name, state=WAITING, attempt_min=1) if waiting else 0
        counts = (waiting - tried, queue.active, queue.completed, queue.retrying + tried, queue.dead + queue.cancelled)
        return dict(zip(STATES, counts, strict=True))

    def workers(self) -> list[dict[str, Any]]:
        """Who works on shell commands there. The pid is known of those that were started from this home."""
        ours = self.register.read()
        since = datetime.now(UTC) - HEARD_WITHIN
        shown = []
        for worker in self.client.workers():
            known = ours.get(worker.id)
            is_gone = worker.last_heartbeat < since if known is None else not known.is_running
            if is_gone or not any(name.startswith(QUEUE_PREFIX) for name in worker.queues):
                continue
            started_at = format_instant(int(worker.started_at.timestamp() * 1000))
            job = (
                next(self.client.search(worker_id=worker.id, state=ACTIVE, limit=1), None)
                if worker.active_jobs
                else None
            )
            pid = None if known is None else known.pid
            shown.append(
                {
                    "worker_id": worker.id,
                    "pid": pid,
                    "started_at": started_at,
                    "job_id": None if job is None else job.id,
                }
            )
        return sorted(shown, key=lambda worker: (worker["started_at"], worker["worker_id"]))


def _priority(priority: int) -> Priority:
    """The nearest of the three priorities of a server."""
    if priority <= 0:
        return "normal"
    return "high" if priority == 1 else "critical"


def _backoff(base: float) -> tuple[Backoff, str]:
    """How a server itself comes nearest to `base ** attempts` seconds: exactly so for 0, 1 and 2.

    It counts where a worker that is not ours says nothing of it.
    """
    if base == 0:
        return "none", "0s"
    if base == 1:
        return "fixed", "1s"
    return "exponential", f"{max(1, min(round(base * 1000), 86_400_000))}ms"
