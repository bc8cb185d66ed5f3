"""A worker gave up on an attempt: retry it later, bury it, or cancel the job if the worker says so."""

from typing import Final

import msgspec

from rookery.engine import endings, leases
from rookery.engine.jobs import Job, change_state, find_job, keep_for_face, note_run
from rookery.engine.jsontext import json_text
from rookery.engine.ledger import Ledger
from rookery.engine.ops import Fail, Failed, FailedJob, Failure, Refusal
from rookery.model.backoff import retry_delay
from rookery.model.instants import format_instant
from rookery.model.job import CANCELLED, DEAD, RETRYING

BY_RESULT: Final = "result"
_GOLDEN: Final = 0x9E3779B97F4A7C15


def fail(ledger: Ledger, op: Fail) -> Failed:
    """Take note of failed attempts; each item stands alone."""
    return Failed([_fail_one(ledger, item, op.namespace) for item in op.items], ledger.now)


def _fail_one(ledger: Ledger, item: Failure, namespace: str) -> FailedJob | Refusal:
    job = find_job(ledger, item.job_id, namespace)
    if isinstance(job, Refusal):
        return job
    if leases.was_ended_by(job, item.lease, "fail"):
        assert job.outcome is not None
        return msgspec.json.decode(job.outcome, type=FailedJob)
    refusal = leases.fault_of(job, item.lease, "fail", item.holder)
    if refusal is not None:
        return refusal
    note_run(ledger, job)
    keep_for_face(ledger, job, item.face)
    if item.result is not None:
        ledger.execute("UPDATE job SET result = ? WHERE seq = ?", (item.result, job.seq))
    if item.end == CANCELLED:
        return _cancel(ledger, job, item)
    job.by_result = int(item.end == BY_RESULT)
    is_last = item.end in (DEAD, BY_RESULT)
    return attempt_failed(
        ledger,
        job,
        item.error,
        item.backtrace,
        retry_after=item.retry_after,
        is_last=is_last,
        last_error=item.last_error,
    )


def attempt_failed(
    ledger: Ledger,
    job: Job,
    error: str,
    backtrace: str | None = None,
    *,
    retry_after: int | None = None,
    is_last: bool = False,
    last_error: str | None = None,
) -> FailedJob:
    """Record the error, then retry later if attempts are left and the job has not expired, else bury it."""
    job.failures += 1
    remaining = max(0, job.max_retries - job.attempt)
    if is_last or endings.is_expired(ledger, job):
        remaining = 0
    due = None
    if remaining:
        due = ledger.now + (_delay(job) if retry_after is None else retry_after)
    elif last_error is not None:
        error = last_error
    answer = FailedJob(RETRYING if remaining else DEAD, due, remaining, job.attempt)
    job.outcome = json_text(answer)
    endings.record_error(ledger, job, error, backtrace)
    queue = ledger.queue_of(job.queue)
    queue.failed += 1
    data = {
        "error": error,
        "attempt": job.attempt,
        "status": answer.status,
        "next_attempt_at": None if due is None else format_instant(due),
    }
    ledger.emit("failed", job.id, queue.name, json_text(data))
    if due is None:
        ledger.execute(
            "UPDATE job SET failures = ?, lost_leases = 0, by_result = ? WHERE seq = ?",
            (job.failures, job.by_result, job.seq),
        )
        endings.bury(ledger, job, error)
    else:
        ledger.due(due)
        change_state(
            ledger,
            job,
            RETRYING,
            failures=job.failures,
            lost_leases=0,
            failed_at=ledger.now,
            scheduled_at=due,
            lease_until=None,
            worker_id=None,
            hostname=None,
            outcome=job.outcome,
        )
    return answer


def _cancel(ledger: Ledger, job: Job, item: Failure) -> FailedJob:
    """The worker has found that the job is not to be done: that is no failure, but the reason is kept as an error."""
    answer = FailedJob(CANCELLED, None, 0, job.attempt)
    job.outcome = json_text(answer)
    job.failed_at = ledger.now
    if item.error:
        endings.record_error(ledger, job, item.error, item.backtrace)
    ledger.execute("UPDATE job SET failed_at = ?, lost_leases = 0 WHERE seq = ?", (ledger.now, job.seq))
    endings.cancel(ledger, job, item.error)
    return answer


def _delay(job: Job) -> int:
    """The wait before the next attempt; what it has of chance comes from the claim's own random token."""
    jitter = (((job.lease or 0) * _GOLDEN & (1 << 64) - 1) >> 11) / (1 << 53)
    return retry_delay(job.backoff, job.base_delay, job.max_delay, job.attempt, job.failures, jitter)
