"""What a server tells of jobs, queues, workers and the rest, as typed records.

Fields that a server leaves out are None; fields that it adds are ignored, so that client and server need not be of one
version. Times are datetimes in UTC.
"""

from datetime import datetime
from typing import Any, TypeVar

import msgspec

from rookery.model.job import COMPLETED, TERMINAL

T = TypeVar("T")


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """Something that the server has told."""


class Enqueued(Record, frozen=True, kw_only=True):
    """What became of a job: `status` is `pending` or `scheduled`, or how it met the holder of its unique key."""

    job_id: str
    status: str
    unique_existing: bool = False


class EnqueuedMany(Record, frozen=True, kw_only=True):
    """The ids of the jobs in the order they were given, and of their batch if they are one."""

    job_ids: list[str]
    batch_id: str | None = None


class FetchedJob(Record, frozen=True, kw_only=True):
    """A job to work on. `ack`, `fail`, `release` and `progress` take it as it is."""

    job_id: str
    queue: str
    payload: Any = None
    attempt: int = 1
    max_retries: int = 3
    lease_duration: int = 60
    lease_token: str | None = None
    checkpoint: Any = None
    tags: dict[str, Any] | None = None
    agent: dict[str, Any] | None = None
    priority: int = 2
    traceparent: str | None = None

    def payload_as(self, kind: type[T]) -> T:
        """The payload as this type: `job.payload_as(Email)`."""
        return msgspec.convert(self.payload, kind)


class FetchedJobs(Record, frozen=True, kw_only=True):
    """Jobs to work on."""

    jobs: list[FetchedJob]


class AckedMany(Record, frozen=True, kw_only=True):
    """How many jobs were finished, and the ids of those whose lease was lost."""

    acked: int
    lost: list[str] = []


class Failed(Record, frozen=True, kw_only=True):
    """What becomes of a job whose attempt failed: `retrying` or `dead`, or as the worker wanted it."""

    status: str
    next_attempt_at: datetime | None = None
    attempts_remaining: int = 0
    attempt: int = 0


class Pulse(Record, frozen=True, kw_only=True):
    """What a worker is to do with a job: go on (`ok`), stop (`cancel`), or drop it (`lost`)."""

    status: str
    budget_exceeded: bool = False


class Heartbeat(Record, frozen=True, kw_only=True):
    """What a worker is to do with each of its jobs."""

    jobs: dict[str, Pulse] = {}
    acked: list[str] = []
    unknown: list[str] = []
    canceled: list[str] = []

    @property
    def to_stop(self) -> dict[str, str]:
        """The jobs that are no longer to be worked on, each with `cancel` or `lost`."""
        return {job_id: pulse.status for job_id, pulse in self.jobs.items() if pulse.status != "ok"}


class JobError(Record, frozen=True, kw_only=True):
    """One failed attempt."""

    attempt: int
    error: str
    backtrace: str | None = None
    created_at: datetime


class WorkerRef(Record, frozen=True, kw_only=True):
    """The worker that has, or had, a job."""

    id: str
    hostname: str | None = None


class Listed(Record, frozen=True, kw_only=True):
    """What every view of a job has."""

    id: str
    queue: str
    state: str
    payload: Any = None
    priority: int = 2
    priority_name: str = "normal"
    attempt: int = 0
    max_retries: int = 3
    unique_key: str | None = None
    batch_id: str | None = None
    worker_id: str | None = None
    tags: dict[str, Any] | None = None
    parent_id: str | None = None
    chain_id: str | None = None
    chain_step: int | None = None
    created_at: datetime
    scheduled_at: datetime | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None
    failed_at: datetime | None = None
    expire_at: datetime | None = None
    hold_reason: str | None = None

    @property
    def has_ended(self) -> bool:
        """Whether it is completed, dead or cancelled."""
        return self.state in TERMINAL

    @property
    def is_completed(self) -> bool:
        """Whether it has done what it was to do."""
        return self.state == COMPLETED

    def payload_as(self, kind: type[T]) -> T:
        """The payload as this type: `job.payload_as(Email)`."""
        return msgspec.convert(self.payload, kind)


class JobSummary(Listed, frozen=True, kw_only=True):
    """A job in a list; `last_error` is the newest of its errors."""

    last_error: str | None = None


class Job(Listed, frozen=True, kw_only=True):
    """A job, whole."""

    retry_backoff: str = "exponential"
    retry_base_delay: str | None = None
    retry_max_delay: str | None = None
    max_lost_leases: int | None = None
    unique_period: int | None = None
    hostname: str | None = None
    worker: WorkerRef | None = None
    progress: Any = None
    checkpoint: Any = None
    result: Any = None
    lease_expires_at: datetime | None = None
    expire_after: str | None = None
    chain_config: dict[str, Any] | None = None
    depends_on: list[str] | None = None
    agent: dict[str, Any] | None = None
    traceparent: str | None = None
    errors: list[JobError] = []

    @property
    def last_error(self) -> str | None:
        """The newest of its errors."""
        return self.errors[-1].error if self.errors else None

    def result_as(self, kind: type[T]) -> T:
        """The result as this type: `job.result_as(Receipt)`."""
        return msgspec.convert(self.result, kind)


class LogsAdded(Record, frozen=True, kw_only=True):
    """How many lines were added to a job's log, and the number of the last."""

    appended: int
    last: int
