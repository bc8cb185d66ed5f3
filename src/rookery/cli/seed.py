"""`rookery seed demo`: fill a server with jobs in every state, by the same calls that producers and workers make."""

import json
import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import cycle
from random import Random
from typing import Any, Final, TypedDict

import click

from rookery.cli.demo import (
    BATCHED,
    CHAIN,
    FATES,
    HOLDS,
    PAUSED,
    QUEUES,
    SCHEDULE,
    WORKERS,
    DemoQueue,
    usage,
)
from rookery.cli.flags import DEFAULT_SERVER, SwitchGroup, client_flags
from rookery.cli.remote import Refused, Remote
from rookery.cli.tables import Table

MOST: Final = 1000
LEASE: Final = 3600
"""Seconds for which jobs stay with workers that do not exist."""
TOO_BUSY: Final = 429
MOST_WAITS: Final = 100
"""How often a server may say that before it is taken for its last word."""
_ENDED: Final = ("completed", "dead", "retrying")
_TENANTS: Final = ("acme", "globex", "initech")
_PRIORITIES: Final = ("normal", "normal", "high", "normal", "critical")

Job = dict[str, Any]


class AddedJob(TypedDict):
    """What is needed of the answer to an enqueue."""

    job_id: str


class ClaimedJob(TypedDict):
    """What is needed of a job that a worker got."""

    job_id: str
    lease_token: str


class ClaimedJobs(TypedDict):
    """Some of them."""

    jobs: list[ClaimedJob]


class NamedSchedule(TypedDict):
    """What is needed of a schedule."""

    name: str


@click.group("seed", cls=SwitchGroup)
@client_flags
def command(remote: Remote, is_json: bool) -> None:
    """Fill a server with jobs to look at."""


@command.command("demo", short_help="Add demo jobs in every state.")
@click.option("--count", type=click.IntRange(1, MOST), default=48, show_default=True, help="How many jobs to add.")
@client_flags
def demo(count: int, remote: Remote, is_json: bool) -> None:
    """Add demo jobs in every state, with errors, logs, progress, usage, workers, a batch, a chain and a schedule.

    All of it is in queues whose names begin with `demo.`, so that no other job is touched. It may be run again.
    """
    counts = _Demo(remote, Random(count)).run(count)
    if is_json:
        click.echo(json.dumps(counts, indent=2))
        return
    Table("ADDED", "COUNT").show((name.replace("_", " "), number) for name, number in counts.items())
    where = "" if remote.url.rstrip("/") == DEFAULT_SERVER else f" --server {remote.url}"
    click.echo(f"\nLook at it:  rookery top{where}\n             {remote.url.rstrip('/')}/ui")


class _Demo:
    """One round of demo jobs."""

    def __init__(self, remote: Remote, random: Random) -> None:
        self._remote, self._random = remote, random
        self._priorities, self._tenants = cycle(_PRIORITIES), cycle(_TENANTS)
        self._counts: Counter[str] = Counter()

    def run(self, count: int) -> dict[str, int]:
        """Add the jobs and let happen to them what is to happen; how many of what there are now."""
        fates = [fate for fate, _ in zip(cycle(FATES), range(count), strict=False)]
        by_queue = {queue: fates[number :: len(QUEUES)] for number, queue in enumerate(QUEUES)}
        # An earlier round has paused it, and its jobs could not be claimed.
        self._post(f"/queues/{PAUSED}/resume")
        for queue, wanted in by_queue.items():
            self._work_off(queue, [fate for fate in wanted if fate in _ENDED])
        for queue, wanted in by_queue.items():
            self._begin(queue, wanted.count("active"))
        for queue, wanted in by_queue.items():
            self._leave(queue, [fate for fate in wanted if fate != "active" and fate not in _ENDED])
        self._post(f"/queues/{PAUSED}/pause")
        self._add_schedule()
        parts = ("queues", "workers", "batches", "chains", "schedules", "log_lines", "usage_reports")
        self._counts["queues"] = sum(map(bool, by_queue.values()))
        return {"jobs": count, **{name: self._counts[name] for name in (*dict.fromkeys(FATES), *parts)}}

    def _post(self, path: str, body: Any = None, shape: Any = Any) -> Any:
        return self._call("POST", path, body, shape)

    def _call(self, method: str, path: str, body: Any, shape: Any) -> Any:
        """Ask, and wait as long as a server that is too busy wants it."""
        for _ in range(MOST_WAITS):
            try:
                return self._remote.call(method, path, body, shape=shape)
            except Refused as error:
                if error.status != TOO_BUSY:
                    raise
                time.sleep(error.retry_after)
        return self._remote.call(method, path, body, shape=shape)

    def _new(self, queue: DemoQueue, **fields: Any) -> Job:
        return {
            "queue": queue.name,
            "payload": queue.payload(self._random),
            "priority": next(self._priorities),
            "tags": {"tenant": next(self._tenants), "demo": "true"},
            **fields,
        }

    def _work_off(self, queue: DemoQueue, fates: Sequence[str]) -> None:
        """Add jobs, claim as many, and end them as it is their fate."""
        if not fates:
            return
        body: Job = {"jobs": [self._new(queue, max_retries=5) for _ in fates]}
        if queue.name == BATCHED:
            # Without a callback, which would be a job more than was asked for.
            body["batch"] = {}
            self._counts["batches"] += 1
        self._post("/enqueue/batch", body)
        acks: list[Job] = []
        for job, fate in zip(self._claim([queue.name], len(fates), _worker_of(queue)), fates, strict=False):
            self._counts[fate] += 1
            self._log(job, queue, fate)
            if fate == "completed":
                acks.append({**_lease(job), "result": {"ok": True}, **self._usage(queue)})
            else:
                self._fail(job, queue, fate)
        if acks:
            self._post("/ack/batch", {"acks": acks})

    def _begin(self, queue: DemoQueue, count: int) -> None:
        """Add jobs that are being worked on, by a worker that serves other queues too."""
        if not count:
            return
        self._post("/enqueue/batch", {"jobs": [self._new(queue, max_retries=5) for _ in range(count)]})
        worker = _worker_of(queue)
        served = [other.name for other in QUEUES if _worker_of(other) == worker]
        for job in self._claim(served, count, worker):
            self._counts["active"] += 1
            self._log(job, queue, "active")
            progress = {"current": self._random.randrange(1, 90), "total": 90, "message": queue.lines[1][1]}
            self._post("/heartbeat", {"jobs": {job["job_id"]: {"progress": progress}}})

    def _claim(self, queues: Sequence[str], count: int, worker: tuple[str, str]) -> list[Job]:
        worker_id, hostname = worker
        body = {
            "queues": queues,
            "worker_id": worker_id,
            "hostname": hostname,
            "count": count,
            "timeout": 1,
            "lease_duration": LEASE,
        }
        self._counts["workers"] += not self._counts[worker_id]
        self._counts[worker_id] += 1
        claimed: list[Job] = self._post("/fetch/batch", body, ClaimedJobs)["jobs"]
        return claimed

    def _fail(self, job: Job, queue: DemoQueue, fate: str) -> None:
        error, backtrace = self._random.choice(queue.errors)
        what_next = {"end": "dead"} if fate == "dead" else {"retry_after": f"{self._random.randrange(5, 50)}m"}
        body = {"lease_token": job["lease_token"], "error": error, "backtrace": backtrace, **what_next}
        self._post(f"/fail/{job['job_id']}", body)

    def _log(self, job: Job, queue: DemoQueue, fate: str) -> None:
        lines = [{"level": level, "message": message} for level, message in queue.lines]
        if fate in ("dead", "retrying"):
            lines[-1] = {"level": "error", "message": "giving up on this attempt"}
        self._post(f"/jobs/{job['job_id']}/logs", {"lease_token": job["lease_token"], "lines": lines})
        self._counts["log_lines"] += len(lines)

    def _usage(self, queue: DemoQueue) -> Job:
        if not queue.has_usage:
            return {}
        self._counts["usage_reports"] += 1
        return {"usage": usage(self._random)}

    def _leave(self, queue: DemoQueue, fates: Sequence[str]) -> None:
        """Add jobs that nobody claims."""
        for fate in fates:
            self._counts[fate] += 1
            job = self._new(queue)
            if fate == "scheduled":
                delay = timedelta(minutes=self._random.randrange(10, 600))
                job["scheduled_at"] = (datetime.now(UTC) + delay).isoformat(timespec="seconds")
            elif fate == "pending" and queue.name == CHAIN[0] and not self._counts["chains"]:
                job["chain"] = {"steps": [{"queue": step} for step in CHAIN]}
                self._counts["chains"] = 1
            job_id = self._post("/enqueue", job, AddedJob)["job_id"]
            if fate == "held":
                self._post(f"/jobs/{job_id}/hold", {"reason": self._random.choice(HOLDS)})
            elif fate == "cancelled":
                self._post(f"/jobs/{job_id}/cancel")

    def _add_schedule(self) -> None:
        schedules = self._call("GET", "/schedules", None, list[NamedSchedule])
        if SCHEDULE["name"] not in [schedule["name"] for schedule in schedules]:
            self._post("/schedules", SCHEDULE)
            self._counts["schedules"] += 1


def _worker_of(queue: DemoQueue) -> tuple[str, str]:
    return WORKERS[QUEUES.index(queue) % len(WORKERS)]


def _lease(job: Job) -> Job:
    return {"job_id": job["job_id"], "lease_token": job["lease_token"]}
