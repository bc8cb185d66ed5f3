"""What `rookery top` shows: queues, workers, throughput and the jobs that failed last, read from a server at one go."""

import time
from typing import Any, Final, NamedTuple

from rookery.cli.remote import Remote

MOST_FAILURES: Final = 50
LONGEST_KEPT: Final = 30.0
"""Seconds after which failures are read again even if no count has changed."""

Row = dict[str, Any]


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
    queues = remote.call("GET", "/queues")
    workers = remote.call("GET", "/workers")
    throughput = remote.call("GET", "/metrics/throughput")
    now = time.time()
    counts = tuple(sum(queue[name] for queue in queues) for name in ("dead", "retrying", "failed", "enqueued"))
    if before is not None and before.counts == counts and now - before.failures_at < LONGEST_KEPT:
        failures, read_at = before.failures, before.failures_at
    else:
        failures, read_at = _read_failures(remote) if counts[0] or counts[1] else [], now
    return Overview(now, queues, workers, throughput, failures, counts, read_at)


def _read_failures(remote: Remote) -> list[Row]:
    """Of the newest jobs that are dead or wait for another attempt, the one that failed last first."""
    found = remote.call("POST", "/jobs/search", {"state": ["dead", "retrying"], "limit": MOST_FAILURES})
    return sorted(found["jobs"], key=lambda job: job["failed_at"] or job["created_at"], reverse=True)


def last_minute(throughput: list[Row], name: str) -> int:
    """What was counted in the last whole minute."""
    return int(throughput[-2][name]) if len(throughput) > 1 else 0
