"""The past is free: what is live is found by its own index, whatever else the store holds."""

from collections.abc import Callable
from typing import Any

import apsw
import pytest

from rookery.engine.ops import (
    Ack,
    AnyOperation,
    AppendLogs,
    Beat,
    Cancel,
    Claim,
    ClearQueue,
    Completion,
    Delete,
    Enqueue,
    Fail,
    Failure,
    Heartbeat,
    Hold,
    LogLine,
    NewJob,
    NewJobBatch,
    Purge,
    Release,
    Retry,
    Return,
    Sweep,
    Tick,
)
from tests.conftest import START
from tests.unit.workbench import Workbench

SMALL = {"CONSTANT", "given", "job_log_left", "machine", "queue", "tag", "unblocking", "worker"}


def one_of_each(bench: Workbench) -> None:
    """Jobs for every live set."""
    bench.do(
        Enqueue(
            jobs=[
                NewJob(queue="q", id="ready"),
                NewJob(queue="q", id="next"),
                NewJob(queue="q", id="spare"),
                NewJob(queue="q", id="expiring", expire_after="1s"),
                NewJob(queue="q", id="due", scheduled_at=START + 1),
                NewJob(queue="q", id="unique", unique_key="k"),
            ],
            batch=NewJobBatch("done"),
        ),
        Enqueue(jobs=[NewJob(queue="q", id="waiting", depends_on=["ready"])]),
    )


OPERATIONS: dict[str, AnyOperation] = {
    "enqueue": Enqueue(jobs=[NewJob(queue="q", id="new", unique_key="n", depends_on=["ready"], tags='{"a":"b"}')]),
    "claim": Claim(queues=("q", "other"), count=1, worker_id="w1"),
    "ack": Ack(items=[Completion("ready")]),
    "fail": Fail(items=[Failure("ready")]),
    "release": Release(items=[Return("ready")]),
    "heartbeat": Heartbeat(items=[Beat("ready", progress="1")]),
    "cancel": Cancel(job_id="ready"),
    "hold": Hold(job_id="ready"),
    "append logs": AppendLogs(job_id="ready", lines=[LogLine("hello")]),
    "delete": Delete(job_id="ready"),
    "retry": Retry(job_id="due"),
    "clear": ClearQueue(queue="q"),
    "tick": Tick(),
    "sweep": Sweep(),
    "purge": Purge(before=START + 10**9),
}


def plans(bench: Workbench, *ops: AnyOperation) -> list[tuple[str, str]]:
    """Every statement these operations run, with each step of its plan."""
    return steps_of(bench.machine._db, lambda: bench.do(*ops))


def steps_of(db: apsw.Connection, work: Callable[[], object]) -> list[tuple[str, str]]:
    """Every statement that some work runs on a connection, with each step of its plan."""
    run: list[tuple[str, Any]] = []

    def note(_cursor: apsw.Cursor, sql: str, bindings: Any) -> bool:
        run.append((sql, bindings))
        return True

    db.exec_trace = note
    work()
    db.exec_trace = None
    steps = []
    for sql, bindings in run:
        if sql.lstrip().partition(" ")[0].strip().upper() in ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH"):
            plan = db.execute(f"EXPLAIN QUERY PLAN {sql}", bindings)
            steps += [(" ".join(sql.split()), detail) for _, _, _, detail in plan]
    return steps


@pytest.mark.parametrize("name", OPERATIONS)
def test_no_operation_reads_a_table_from_end_to_end_or_sorts(bench: Workbench, name: str) -> None:
    one_of_each(bench)
    if name in ("ack", "fail", "release", "heartbeat", "tick"):
        bench.take(lease=1000)
    if name == "purge":
        bench.run()
    bench.advance(100_000)

    steps = plans(bench, OPERATIONS[name])

    assert steps
    scans = [(sql, step) for sql, step in steps if step.startswith("SCAN") and step.split()[1] not in SMALL]
    sorts = [(sql, step) for sql, step in steps if "TEMP B-TREE" in step and "LAST TERM" not in step]
    assert scans == []
    assert sorts == []


@pytest.mark.parametrize(
    ("operation", "column", "index"),
    [
        ("claim", "waiting_on = 0", "job_ready"),
        ("tick", "scheduled_at <= ?", "job_due"),
        ("tick", "lease_until < ?", "job_leased"),
        ("tick", "expire_at <= ?", "job_expiring"),
        ("purge", "ended_at < ?", "job_ended"),
        ("purge", "pending = 0", "job_batch_done"),
        ("sweep", "FROM unique_lock", "unique_lock_by_end"),
    ],
)
def test_each_live_set_is_found_by_its_own_index(bench: Workbench, operation: str, column: str, index: str) -> None:
    one_of_each(bench)
    steps = plans(bench, OPERATIONS[operation])

    looked = [step for sql, step in steps if column in sql and f"INDEX {index}" in step]
    assert looked


def cost(bench: Workbench, work: Callable[[], object]) -> int:
    """How many steps SQLite's own machine takes for some work."""
    steps = 0

    def add_up(event: dict[str, Any]) -> None:
        nonlocal steps
        steps += event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"]

    db = bench.machine._db
    db.trace_v2(apsw.SQLITE_TRACE_PROFILE, add_up)
    work()
    db.trace_v2(0, None)
    return steps


def live(bench: Workbench) -> None:
    """The daily round of twenty jobs."""
    bench.do(Enqueue(jobs=[NewJob(queue="q") for _ in range(20)]))
    jobs = bench.claim(count=20)
    bench.do(Heartbeat(items=[Beat(job.job_id, job.lease) for job in jobs]))
    bench.do(Ack(items=[Completion(job.job_id, job.lease) for job in jobs]))
    bench.tick()


def test_a_long_past_costs_nothing(bench: Workbench) -> None:
    live(bench)
    before = cost(bench, lambda: live(bench))
    for _ in range(6):
        bench.do(Enqueue(jobs=[NewJob(queue="q", max_retries=1) for _ in range(1000)]))
        jobs = bench.claim(count=1000)
        bench.do(
            Ack(items=[Completion(job.job_id) for job in jobs[:500]]),
            Fail(items=[Failure(job.job_id) for job in jobs[500:]]),
        )
        bench.do(Enqueue(jobs=[NewJob(queue="q", scheduled_at=START + 10**9) for _ in range(1000)]))
        bench.do(Enqueue(jobs=[NewJob(queue="other", expire_after="1000h") for _ in range(1000)]))

    after = cost(bench, lambda: live(bench))

    assert after <= before * 1.05
