"""What anybody can read with plain SQLite in `queue.db`: the tables that the contract names."""

import sqlite3
import stat
from datetime import UTC, datetime
from typing import Any

from rookery.engine.ops import Enqueue, NewJob, RegisterWorker, RemoveWorker
from tests.queuectl.desk import Desk

JOB_COLUMNS = [
    *("id", "command", "state", "attempts", "max_retries", "priority", "created_at", "updated_at", "next_run_at"),
    *("last_error", "worker_id", "queue", "timeout", "run_at", "idempotency_key", "exit_code", "started_at"),
    "finished_at",
]


def read(desk: Desk, sql: str) -> list[dict[str, Any]]:
    db = sqlite3.connect(desk.home.database)
    db.row_factory = sqlite3.Row
    rows = [dict(row) for row in db.execute(sql)]
    db.close()
    return rows


def test_jobs_have_the_columns_and_types_of_the_contract(desk: Desk) -> None:
    desk.bury("x", timeout=2, idempotency_key="k", run_at="2020-01-01")

    (row,) = read(desk, "SELECT * FROM jobs")
    assert list(row) == JOB_COLUMNS
    assert row == desk.job("x")
    kinds = read(desk, f"SELECT {', '.join(f'typeof({name}) AS {name}' for name in JOB_COLUMNS)} FROM jobs")[0]
    integers = {"attempts", "max_retries", "priority", "exit_code"}
    assert {name for name, kind in kinds.items() if kind == "integer"} == integers
    assert {name for name, kind in kinds.items() if kind == "real"} == {"timeout"}
    assert {name for name, kind in kinds.items() if kind == "null"} == {"worker_id"}
    for name in ("created_at", "updated_at", "next_run_at", "run_at", "started_at", "finished_at"):
        at = datetime.fromisoformat(row[name])
        assert (at.tzinfo, row[name][-5:-4]) == (UTC, ".")


def test_times_are_exact_to_the_millisecond(desk: Desk) -> None:
    for ms in range(0, 1000, 37):
        desk.home.apply(
            Enqueue(jobs=[NewJob(queue="shell.default", scheduled_at=4_000_000_000_000 + ms, order_by_due=True)])
        )

    shown = [row["next_run_at"] for row in read(desk, "SELECT next_run_at FROM jobs ORDER BY next_run_at")]
    assert shown == [f"2096-10-02T07:06:40.{ms:03d}Z" for ms in range(0, 1000, 37)]


def test_priorities_of_any_size_are_shown_as_they_were_given(desk: Desk) -> None:
    for priority in (3 - (1 << 63), -1, 0, (1 << 63) - 1):
        desk.add(priority=priority)

    rows = read(desk, "SELECT priority FROM jobs ORDER BY priority")
    assert [row["priority"] for row in rows] == [3 - (1 << 63), -1, 0, (1 << 63) - 1]


def test_jobs_of_other_kinds_are_not_shown(desk: Desk) -> None:
    desk.home.apply(Enqueue(jobs=[NewJob(queue="emails", payload="[1]"), NewJob(queue="shell.x", payload="[1]")]))

    (row,) = read(desk, "SELECT * FROM jobs")
    assert (row["queue"], row["command"], row["timeout"], row["state"]) == ("x", None, None, "pending")


def test_workers_and_settings_can_be_read(desk: Desk) -> None:
    desk.home.apply(
        RegisterWorker(worker_id="w-1", pid=7, pid_started="x"), RegisterWorker(worker_id="w-2", pid=8, pid_started="y")
    )
    desk.home.apply(RemoveWorker(worker_id="w-2"))
    desk.ok("config", "set", "max_retries", "6")

    (worker,) = read(desk, "SELECT * FROM workers")
    assert (worker["id"], worker["pid"]) == ("w-1", 7)
    assert worker["started_at"] == worker["heartbeat_at"]
    assert read(desk, "SELECT key, value FROM config WHERE key IN ('max_retries', 'shutdown')") == [
        {"key": "max_retries", "value": "6"},
        {"key": "shutdown", "value": "false"},
    ]


def test_the_store_is_in_wal_mode_and_nobody_elses_business(desk: Desk) -> None:
    desk.add()

    assert read(desk, "PRAGMA journal_mode")[0]["journal_mode"] == "wal"
    assert stat.S_IMODE(desk.home.path.stat().st_mode) == 0o700
    assert stat.S_IMODE(desk.home.database.stat().st_mode) == 0o600
    assert sorted(path.name for path in desk.home.path.iterdir() if "-" not in path.name) == [
        *("logs", "queue.db", "queue.lock"),
    ]
