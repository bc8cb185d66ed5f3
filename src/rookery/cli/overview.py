"""What `rookery top` shows: queues, workers, throughput and the jobs that failed last, read from a server at one go."""

import time
from typing import Any, Final, NamedTuple, NotRequired, TypedDict

from rookery.cli.remote import Remote

MOST_FAILURES: Final = 50
LONGEST_KEPT: Final = 30.0
"""Seconds after which failures are read again even if no count has changed."""

Row = dict[str, Any]


class QueueRow(TypedDict):
    """What is needed of a queue."""

    name: str
    pending: int
    active: int
    held: int
    retrying: int
    dead: int
    completed: int
    failed: int
    enqueued: int
    oldest_pending_at: str | None
    paused: bool


class WorkerRow(TypedDict):
    """What is needed of a worker."""

    id: str
    hostname: str | None
    active_jobs: int
    last_heartbeat: str | None
    queues: list[str]
    slots: NotRequired[int | None]
    draining: NotRequired[bool]


class MinuteRow(TypedDict):
    """What happened in a minute."""

    enqueued: int
    completed: int
    failed: int


class FailedRow(TypedDict):
    """What is needed of a job that has failed."""

    id: str
    queue: str
    state: str
    attempt: int
    max_retries: int
    created_at: str
    failed_at: str | None
    last_error: str | None


class FailedRows(TypedDict):
    """Some of them."""

    jobs: list[FailedRow]


class Overview(NamedTuple):
    """A server at a moment. `counts` is what the failures went by, `failures_at` when they were read."""

    at: float
    queues: list[Row]
    workers: list[Row]
    throughput: list[Row]
    failures: list[Row]
    counts: tuple[int, ...]
    failures_at: float

    def total(self, state: str) -> int:
        """How many jobs are in a state, in all queues."""
        return sum(queue[state] for queue in self.queues)


def read_overview(remote: Remote, before: Overview | None = None) -> Overview:
    """How a server is now. Failures carry their payloads, so they are only read when there may be new ones."""
    queues = remote.call("GET", "/queues", shape=list[QueueRow])
    workers = remote.call("GET", "/workers", shape=list[WorkerRow])
    throughput = remote.call("GET", "/metrics/throughput", shape=list[MinuteRow])
    now = time.time()
    counts = tuple(sum(queue[name] for queue in queues) for name in ("dead", "retrying", "failed", "enqueued"))
    if before is not None and before.counts == counts and now - before.failures_at < LONGEST_KEPT:
        failures, read_at = before.failures, before.failures_at
    else:
        failures, read_at = _read_failures(remote) if counts[0] or counts[1] else [], now
    return Overview(now, queues, workers, throughput, failures, counts, read_at)


def _read_failures(remote: Remote) -> list[Row]:
    """Of the newest jobs that are dead or wait for another attempt, the one that failed last first."""
    wanted = {"state": ["dead", "retrying"], "limit": MOST_FAILURES}
    found = remote.call("POST", "/jobs/search", wanted, shape=FailedRows)
    return sorted(found["jobs"], key=lambda job: job["failed_at"] or job["created_at"], reverse=True)


def last_minute(throughput: list[Row], name: str) -> int:
    """What was counted in the last whole minute."""
    return int(throughput[-2][name]) if len(throughput) > 1 else 0
