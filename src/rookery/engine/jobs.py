"""One job as the rules see it, how it is found, and how a change of its state is written down."""

from typing import Any, Final

import msgspec

from rookery.engine.ledger import Fate, Ledger, Queue
from rookery.engine.ops import Refusal
from rookery.model.job import DEAD, PENDING, WAITING


class Job(msgspec.Struct):
    """The columns that rules decide by."""

    seq: int
    id: str
    queue: int
    state: str
    rank: int
    order_key: int
    order_by_due: int
    waiting_on: int
    attempt: int
    failures: int
    lost_leases: int
    max_retries: int
    max_lost_leases: int
    on_lost_lease: str
    backoff: str
    base_delay: int
    max_delay: int
    created_at: int
    scheduled_at: int | None
    started_at: int | None
    failed_at: int | None
    lease: int | None
    outcome: str | None
    worker_id: str | None
    expire_at: int | None
    expire_after: str | None
    unique_key: str | None
    batch_id: str | None
    batch_open: int
    chain_id: str | None
    chain_step: int | None
    has_dependents: int
    agent: str | None
    face: str | None
    callback: str | None
    by_result: int


COLUMNS: Final = ", ".join(Job.__struct_fields__)


def select_jobs(ledger: Ledger, sql: str, parameters: tuple[Any, ...]) -> list[Job]:
    """The jobs that a query finds; it ends in the clauses behind `FROM job`."""
    return [Job(*row) for row in ledger.execute(f"SELECT {COLUMNS} FROM job {sql}", parameters)]


def find_job(ledger: Ledger, job_id: str, namespace: str) -> Job | Refusal:
    """The job of that id, if there is one that the caller may see."""
    found = select_jobs(ledger, "WHERE id = ?", (job_id,))
    if not found or not ledger.sees(namespace, found[0].queue):
        return Refusal.not_found(job_id)
    return found[0]


def change_state(ledger: Ledger, job: Job, state: str, **columns: Any) -> Queue:
    """Write a job's new state (and whatever columns change with it) and keep the counts."""
    queue = ledger.queue_of(job.queue)
    if state == PENDING and job.state != PENDING and not job.waiting_on:
        columns["ready_at"] = ledger.now
    shift_count(ledger, queue, job, state)
    if job.by_result and state != DEAD:
        job.by_result = columns["by_result"] = 0
    job.state = state
    if job.expire_at is not None and state in WAITING:
        ledger.due(job.expire_at)
    assignments = "".join(f", {column} = ?" for column in columns)
    ledger.execute(f"UPDATE job SET state = ?{assignments} WHERE seq = ?", (state, *columns.values(), job.seq))
    return queue


def shift_count(ledger: Ledger, queue: Queue, job: Job, state: str) -> None:
    """Count a job in another state than before."""
    queue.counts[job.state] -= 1
    queue.counts[state] += 1
    if job.waiting_on:
        queue.blocked += (state == PENDING) - (job.state == PENDING)
    if job.by_result:
        queue.dead_by_result += (state == DEAD) - (job.state == DEAD)
    ledger.touch(queue)


def note_run(ledger: Ledger, job: Job) -> None:
    """The worker of an active job has come to an end with it: note how long that took."""
    if job.started_at is not None:
        ledger.runs.append((ledger.queue_of(job.queue).name, ledger.now - job.started_at))


def note_fate(ledger: Ledger, job: Job, what: str) -> None:
    """Note what became of a job that belongs to another face; of our own, enough is known without."""
    if job.face is not None:
        ledger.fates.append(Fate(ledger.queue_of(job.queue).name, what, ledger.now - job.created_at))


def keep_for_face(ledger: Ledger, job: Job, addition: str | None) -> None:
    """Add to what a face keeps with the job."""
    if addition is not None:
        ledger.execute("UPDATE job SET face = json_patch(coalesce(face, '{}'), ?) WHERE seq = ?", (addition, job.seq))


def place_in_line(ledger: Ledger, job: Job) -> int:
    """The order key of a job that becomes ready now."""
    return ledger.now if job.order_by_due else job.order_key
