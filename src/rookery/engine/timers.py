"""What the passing of time does: expire, reclaim, promote, and sweep up. One chunk at a time."""

from rookery.engine import bulk, dependencies, endings, idempotency, joblogs, limits, ready_hooks, throughput, workers
from rookery.engine.fail import attempt_failed
from rookery.engine.jobs import Job, change_state, find_job, note_fate, place_in_line, select_jobs
from rookery.engine.ledger import LEASE_LOST, Ledger
from rookery.engine.ops import CHUNK, Done, LoseLeases, Purged, Refusal, Sweep, Tick, Ticked
from rookery.model.job import ACTIVE, PENDING, RETRYING

POISONED = "lease lost {} times: the worker died or stopped heartbeating"


def tick(ledger: Ledger, op: Tick) -> Ticked:
    """Do what is due, then look up when the next thing is."""
    expired = _expire(ledger)
    reclaimed = _reclaim(ledger)
    promoted = _promote(ledger)
    unblocked = dependencies.unblock_more(ledger)
    ledger.find_next_due()
    return Ticked(promoted, reclaimed, expired, more=CHUNK in (expired, reclaimed, promoted, unblocked))


def _expire(ledger: Ledger) -> int:
    jobs = select_jobs(
        ledger,
        """
         WHERE expire_at IS NOT NULL AND state IN ('pending', 'scheduled', 'retrying', 'held') AND expire_at <= ?
         ORDER BY expire_at, seq
         LIMIT ?
        """,
        (ledger.now, CHUNK),
    )
    for job in jobs:
        endings.expire(ledger, job)
    return len(jobs)


def _reclaim(ledger: Ledger) -> int:
    jobs = select_jobs(
        ledger,
        "WHERE lease_until IS NOT NULL AND lease_until < ? ORDER BY lease_until, seq LIMIT ?",
        (ledger.now, CHUNK),
    )
    for job in jobs:
        lease_ran_out(ledger, job)
    return len(jobs)


def lease_ran_out(ledger: Ledger, job: Job) -> None:
    """The worker went silent: the job goes back to the pool, or is buried if that is over or too often the case."""
    lost = job.lost_leases + 1
    is_poison = 0 < job.max_lost_leases <= lost
    ledger.emit("reclaimed", job.id, ledger.queue_of(job.queue).name)
    note_fate(ledger, job, LEASE_LOST)
    _end_claim(ledger, job, lost)
    if endings.is_expired(ledger, job):
        endings.expire(ledger, job)
    elif job.on_lost_lease == "back_off":
        attempt_failed(ledger, job, "LEASE_EXPIRED")
    elif job.on_lost_lease == "requeue":
        if is_poison:
            endings.record_error(ledger, job, POISONED.format(lost))
            endings.bury(ledger, job, POISONED.format(lost))
        else:
            change_state(ledger, job, PENDING, order_key=place_in_line(ledger, job))
    elif is_poison:
        attempt_failed(ledger, job, POISONED.format(lost))
    else:
        ledger.due(ledger.now)
        change_state(ledger, job, RETRYING, scheduled_at=ledger.now, attempt=job.attempt - 1)


def lose_leases(ledger: Ledger, op: LoseLeases) -> Done:
    """Workers are gone before their time: their jobs go back as if the leases had run out."""
    lost = 0
    for item in op.items:
        job = find_job(ledger, item.job_id, op.namespace)
        if not isinstance(job, Refusal) and job.state == ACTIVE and job.lease == item.lease:
            lease_ran_out(ledger, job)
            lost += 1
    return Done(f"{lost} lost")


def _end_claim(ledger: Ledger, job: Job, lost: int) -> None:
    """Take the job from its worker, so that its token is worth nothing any more."""
    ledger.execute(
        """
        UPDATE job
           SET lost_leases = ?, lease = NULL, lease_until = NULL, worker_id = NULL, hostname = NULL
         WHERE seq = ?
        """,
        (lost, job.seq),
    )


def _promote(ledger: Ledger) -> int:
    jobs = select_jobs(
        ledger,
        "WHERE scheduled_at IS NOT NULL AND scheduled_at <= ? ORDER BY scheduled_at, seq LIMIT ?",
        (ledger.now, CHUNK),
    )
    for job in jobs:
        order_key = job.scheduled_at if job.order_by_due else job.order_key
        queue = change_state(ledger, job, PENDING, scheduled_at=None, order_key=order_key)
        ledger.emit("promoted", job.id, queue.name)
    return len(jobs)


def sweep(ledger: Ledger, op: Sweep) -> Purged:
    """Delete one chunk of each kind of thing that nobody needs any more, and note the time."""
    ledger.execute("UPDATE machine SET now = ?", (ledger.now,))
    locks = ledger.execute(
        """
        DELETE FROM unique_lock WHERE (queue, key) IN (
          SELECT queue, key FROM unique_lock WHERE expires_at <= ? ORDER BY expires_at, queue, key LIMIT ?)
        RETURNING 1
        """,
        (ledger.now, CHUNK),
    ).fetchall()
    keys = idempotency.forget_expired(ledger, CHUNK)
    claims = limits.forget_old_claims(ledger, CHUNK)
    silent = workers.forget_silent(ledger, CHUNK)
    minutes = throughput.forget_old(ledger, CHUNK)
    lines = joblogs.forget_lines(ledger, CHUNK)
    hooks = ready_hooks.forget_expired(ledger, CHUNK)
    more_bulks = bulk.forget_old(ledger, CHUNK)
    return Purged(0, more=more_bulks or CHUNK in (len(locks), keys, claims, silent, minutes, lines, hooks))
