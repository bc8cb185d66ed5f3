"""Searches on a store with a million jobs, through the real server: `python -m bench.search`.

Each figure is the median of several calls, as the client sees them. The jobs were made over six days, in ten queues.
"""

import argparse
import asyncio
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from bench.client import Connection
from bench.server import Running, rookery
from rookery.model.ids import encode_ulid
from rookery.model.instants import format_instant
from rookery.model.job import STATES
from rookery.store.connections import open_writer

NOW = int(time.time() * 1000)
DAY = 86_400_000
SPAN = 6 * DAY
QUEUES = [f"queue-{n}" for n in range(10)]
SHARES = {
    "completed": 70,
    "dead": 8,
    "pending": 8,
    "scheduled": 6,
    "cancelled": 4,
    "retrying": 2,
    "held": 1,
    "active": 1,
}
FAST_MS = 20
RANGE_MS = 100
SLOW_MS = 1500

_ZEROS = ("order_by_due", "waiting_on", "failures", "lost_leases", "batch_open", "has_dependents")
_FIXED: dict[str, Any] = {
    "rank": 2,
    "max_retries": 3,
    "max_lost_leases": 5,
    "on_lost_lease": "requeue",
    "backoff": "exponential",
    "base_delay": 5000,
    "max_delay": 600_000,
    "namespace": "default",
    **dict.fromkeys(_ZEROS, 0),
}
_COLUMNS = (
    "seq",
    "id",
    "queue",
    "state",
    "order_key",
    "created_at",
    "scheduled_at",
    "started_at",
    "completed_at",
    "failed_at",
    "ended_at",
    "attempt",
    "was_completed",
    "worker_id",
    "payload",
    "tags",
    "unique_key",
)


class Search(NamedTuple):
    """What is asked for, and how long the answer may take."""

    what: str
    body: dict[str, Any]
    target: float


def fill(path: Path, jobs: int) -> None:
    """Write the jobs, with tags and errors, straight into the tables."""
    db = open_writer(path, durability="relaxed")
    db.execute("PRAGMA synchronous = OFF")
    db.execute("BEGIN")
    columns = (*_COLUMNS, *_FIXED)
    db.executemany(
        f"INSERT INTO job ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})",
        _jobs(jobs, random.Random(1)),
    )
    db.execute("INSERT INTO job_tag SELECT key, value, job FROM tag_of_job")
    db.execute(
        "INSERT INTO error (job, attempt, error, created_at) "
        "SELECT seq, 3, printf('could not connect to host-%d: timed out', seq % 500), failed_at "
        "FROM job WHERE failed_at IS NOT NULL"
    )
    for number, name in enumerate(QUEUES, 1):
        db.execute(
            "INSERT INTO queue (id, namespace, name, created_at, enqueued) VALUES (?, 'default', ?, ?, 1)",
            (number, name, NOW - SPAN),
        )
    for state in STATES:
        count = f"(SELECT count(*) FROM job WHERE job.queue = queue.id AND job.state = '{state}')"
        db.execute(f"UPDATE queue SET {state} = {count}")
    db.execute("UPDATE machine SET now = ?, job_seq = ?", (NOW, jobs))
    db.execute("COMMIT")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()


def _jobs(count: int, chance: random.Random) -> Iterator[tuple[Any, ...]]:
    states = [state for state, share in SHARES.items() for _ in range(share)]
    fixed = tuple(_FIXED.values())
    for seq in range(1, count + 1):
        created = NOW - SPAN + seq * SPAN // (count + 1)
        state = chance.choice(states)
        ended = created + chance.randrange(60_000) if state in ("completed", "dead", "cancelled") else None
        has_run = state in ("completed", "dead", "retrying", "active")
        yield (
            seq,
            "job_" + encode_ulid(created << 80 | chance.getrandbits(79)),
            chance.randrange(len(QUEUES)) + 1,
            state,
            created,
            created,
            NOW + 10 * DAY + seq if state in ("scheduled", "retrying") else None,
            created + 500 if has_run else None,
            ended if state == "completed" else None,
            created + 1000 if state in ("dead", "retrying") else None,
            ended,
            3 if state == "dead" else int(has_run),
            state == "completed",
            f"worker-{seq % 40}" if has_run else None,
            f'{{"to":"user{seq}@example.com","template":"welcome","user":{{"id":{seq},"age":{chance.randrange(100)},'
            f'"plan":"{chance.choice(("free", "pro", "team"))}"}},"items":[{seq % 7},"a","b"],"urgent":false}}',
            f'{{"tenant":"tenant-{chance.randrange(2000)}","env":"{chance.choice(("prod", "test"))}"}}'
            if seq % 3 == 0
            else None,
            f"order-{seq}" if seq % 10 == 0 else None,
            *fixed,
        )


def _searches(jobs: int, some_id: str) -> list[Search]:
    middle = NOW - SPAN // 2
    hour = {"created_after": format_instant(middle), "created_before": format_instant(middle + DAY // 24)}
    completed = {"completed_after": format_instant(middle), "completed_before": format_instant(middle + DAY // 24)}
    return [
        Search("everything, newest first", {}, FAST_MS),
        Search("queue + state", {"queue": QUEUES[0], "state": "dead"}, FAST_MS),
        Search("queue + state, oldest first", {"queue": QUEUES[0], "state": "dead", "order": "asc"}, FAST_MS),
        Search("queue + two states", {"queue": QUEUES[0], "state": ["pending", "completed"]}, FAST_MS),
        Search("state", {"state": ["held"]}, FAST_MS),
        Search("created in an hour", hour, FAST_MS),
        Search("created in the last day", {"created_after": format_instant(NOW - DAY)}, FAST_MS),
        Search("queue + state, created in an hour", {"queue": QUEUES[0], "state": "completed", **hour}, FAST_MS),
        Search("completed in an hour", completed, FAST_MS),
        Search("due after a time", {"scheduled_after": format_instant(NOW + 10 * DAY)}, FAST_MS),
        Search("a job's id", {"job_id_prefix": some_id}, FAST_MS),
        Search("id prefix, half a minute of jobs", {"job_id_prefix": some_id[:11]}, FAST_MS),
        Search("id prefix, nine hours of jobs", {"job_id_prefix": some_id[:9]}, RANGE_MS),
        Search("tag of 170 jobs", {"tags": {"tenant": "tenant-7"}}, FAST_MS),
        Search("tag of 170,000 jobs", {"tags": {"env": "prod"}}, FAST_MS),
        Search("queue + state + tag", {"queue": QUEUES[0], "state": "dead", "tags": {"tenant": "tenant-7"}}, FAST_MS),
        Search("unique key", {"unique_key": f"order-{jobs // 20 * 10}"}, FAST_MS),
        Search("payload_contains, one match", {"payload_contains": f"USER{jobs // 2}@"}, SLOW_MS),
        Search("payload_contains, a third of all", {"payload_contains": '"plan":"pro"'}, SLOW_MS),
        Search("payload_contains in a queue", {"queue": QUEUES[0], "payload_contains": f"user{jobs // 2}@"}, SLOW_MS),
        Search("payload_jq, one match", {"payload_jq": f".user.id == {jobs // 2}"}, SLOW_MS),
        Search("payload_jq, a tenth of all", {"payload_jq": ".user.age >= 90"}, SLOW_MS),
        Search("payload_jq, text", {"payload_jq": '.user.plan == "pro"'}, SLOW_MS),
        Search("payload_jq, contains in an array", {"payload_jq": '.items | contains("3")'}, SLOW_MS),
        Search("payload_jq, length", {"payload_jq": ".items | length > 3"}, SLOW_MS),
        Search("payload_jq of dead jobs", {"state": "dead", "payload_jq": ".user.age >= 90"}, SLOW_MS),
        Search("error_contains", {"error_contains": "HOST-7:"}, SLOW_MS),
        Search("has_errors", {"has_errors": True}, SLOW_MS),
        Search("worker", {"worker_id": "worker-7"}, SLOW_MS),
        Search("sort by completed_at", {"sort": "completed_at"}, SLOW_MS),
        Search("dead, sort by attempt", {"state": "dead", "sort": "attempt"}, SLOW_MS),
    ]


async def _measure(server: Running, jobs: int, rounds: int) -> bool:
    connection = await Connection.open(server.port)

    async def ask(body: dict[str, Any]) -> Any:
        status, answer = await connection.post("/jobs/search", body)
        assert status == 200, answer
        return answer

    async def median(body: dict[str, Any]) -> tuple[float, Any]:
        times = []
        answer = await ask(body)
        for _ in range(rounds):
            started = time.perf_counter()
            answer = await ask(body)
            times.append((time.perf_counter() - started) * 1000)
        return statistics.median(times), answer

    is_met = True
    print(f"{'search':44} {'median':>10} {'matches':>10} {'target':>12}")
    middle = {"created_before": format_instant(NOW - SPAN // 2), "limit": 1}
    some_id = (await ask(middle))["jobs"][0]["id"]
    for what, body, target in _searches(jobs, some_id):
        figure, answer = await median(body)
        is_met &= figure < target
        verdict = "ok" if figure < target else "MISSED"
        print(f"{what:44} {figure:7.1f} ms {answer['total']:10,} {f'< {target:g} ms':>12} {verdict}", flush=True)
    for what, body in (("everything", {}), ("queue + state", {"queue": QUEUES[0], "state": "completed"})):
        first, answer = await median({**body, "limit": 100})
        deep = await _go_deep(ask, body, answer["total"] // 2)
        late, _ = await median({**body, "limit": 100, "cursor": deep})
        verdict = "ok" if late < 2 * first + 2 else "MISSED"
        is_met &= verdict == "ok"
        print(
            f"{f'page in the middle of {what}':44} {late:7.1f} ms {f'first {first:.1f} ms':>23} {verdict}", flush=True
        )
    connection.close()
    return is_met


async def _go_deep(ask: Any, body: dict[str, Any], depth: int) -> str:
    """The cursor of a page that many jobs lie before."""
    cursor, seen = None, 0
    while seen < depth:
        answer = await ask({**body, "limit": 1000, "cursor": cursor})
        cursor, seen = answer["cursor"], seen + len(answer["jobs"])
    assert cursor is not None
    return str(cursor)


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.search", description=__doc__)
    parser.add_argument("--jobs", type=int, default=1_000_000, help="jobs in the store")
    parser.add_argument("--rounds", type=int, default=7, help="calls of each search")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        path = Path(name) / "data"
        path.mkdir()
        fill(path / "rookery.db", options.jobs)
        with rookery(path) as server:
            is_met = asyncio.run(_measure(server, options.jobs, options.rounds))
            print(f"memory of the server: {server.memory_mb():.0f} MB")
    return int(not is_met)


if __name__ == "__main__":
    sys.exit(main())
