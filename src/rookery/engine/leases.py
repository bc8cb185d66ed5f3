"""Who holds a job: the checks that every message about a running attempt must pass."""

from rookery.engine.jobs import Job
from rookery.engine.ops import Refusal
from rookery.model.job import ACTIVE


def fault_of(job: Job, lease: int | None, action: str, holder: str | None = None) -> Refusal | None:
    """Why the bearer of this lease token may not act on the job; no token is taken as the holder's.

    Who comes with a name instead of a token must be the worker who has the job.
    """
    if is_lost(job, lease):
        return Refusal.lease_lost(job.id)
    if is_anothers(job, holder):
        return Refusal.not_holder(job.id)
    if job.state != ACTIVE:
        return Refusal.wrong_state(job.id, job.state, action)
    return None


def is_lost(job: Job, lease: int | None) -> bool:
    """Whether this token is not that of the job's last claim, or that claim was taken back. No token is nobody's."""
    return lease is not None and lease != job.lease


def is_anothers(job: Job, holder: str | None) -> bool:
    """Whether the job is in the hands of another worker than this one. No name is nobody's."""
    return holder is not None and job.state == ACTIVE and holder != job.worker_id


def was_ended_by(job: Job, lease: int | None, outcome: str) -> bool:
    """Whether the bearer has already ended this very attempt in this way, and nobody claimed the job since."""
    return lease is not None and lease == job.lease and job.state != ACTIVE and outcome_kind(job) == outcome


def outcome_kind(job: Job) -> str | None:
    """How the last claim ended: `ack`, `fail`, or None."""
    if job.outcome is None:
        return None
    return "ack" if job.outcome == "ack" else "fail"
