"""What the passing of time does: expire, reclaim, promote, and sweep up. One chunk at a time."""

from rookery.engine import dependencies, endings, limits, workers
from rookery.engine.fail import attempt_failed
from rookery.engine.jobs import COLUMNS, Job, change_state, place_in_line
from rookery.engine.ledger import Ledger
from rookery.engine.ops import CHUNK, Sweep, Tick, Ticked
from rookery.model.job import PENDING, RETRYING

POISONED = "lease lost {} times: the worker died or stopped heartbeating"


def tick(ledger: Ledger, op: Tick) -> Ticked:
    """Do what is due, then look up when the next thing is."""
    expired = _expire(ledger)
    reclaimed = _reclaim(ledger)
    promoted = _promote(ledger)
    unblocked = dependencies.unblock_some(ledger, CHUNK)
    ledger.find_next_due()
    return Ticked(promoted, reclaimed, expired, more=CHUNK in (expired, reclaimed, promoted, unblocked))


def _expire(ledger: Ledger) -> int:
    rows = ledger.execute(
        f"""
        SELECT {COLUMNS} FROM job
         WHERE expire_at IS NOT NULL AND state IN ('pending', 'scheduled', 'retrying', 'held') AND expire_at <= ?
         ORDER BY expire_at, seq
         LIMIT ?
        """,
        (ledger.now, CHUNK),
    ).fetchall()
    for row in rows:
        endings.expire(ledger, Job(*row))
    return len(rows)


def _reclaim(ledger: Ledger) -> int:
    rows = ledger.execute(
        f"SELECT {COLUMNS} FROM job WHERE lease_until IS NOT NULL AND lease_until < ? ORDER BY lease_until, seq LIMIT ?",
        (ledger.now, CHUNK),
    ).fetchall()
    for row in rows:
        lease_ran_out(ledger, Job(*row))
    return len(rows)


def lease_ran_out(ledger: Ledger, job: Job) -> None:
    """The worker went silent: the job goes back to the pool, unless that has happened too often."""
    lost = job.lost_leases + 1
    queue = ledger.queue_of(job.queue)
    is_poison = 0 < job.max_lost_leases <= lost
    if not is_poison and job.on_lost_lease != "back_off":
        retry_now = job.on_lost_lease == "retry_now"
        if not endings.is_expired(ledger, job):
            change_state(
                ledger,
                job,
                RETRYING if retry_now else PENDING,
                scheduled_at=ledger.now if retry_now else None,
                attempt=job.attempt - retry_now,
                order_key=place_in_line(ledger, job),
                **_lease_lost(lost),
            )
            ledger.emit("reclaimed", job.id, queue.name)
            if retry_now:
                ledger.due(ledger.now)
            return
    ledger.emit("reclaimed", job.id, queue.name)
    if endings.is_expired(ledger, job):
        _take_back(ledger, job, lost)
        endings.expire(ledger, job)
    elif job.on_lost_lease == "requeue":
        error = POISONED.format(lost)
        _take_back(ledger, job, lost)
        endings.record_error(ledger, job, error)
        endings.bury(ledger, job, error)
    else:
        attempt_failed(ledger, job, POISONED.format(lost) if job.on_lost_lease == "retry_now" else "LEASE_EXPIRED")
        _take_back(ledger, job, 0)


def _take_back(ledger: Ledger, job: Job, lost: int) -> None:
    """End the claim, so that its token is worth nothing any more."""
    columns = _lease_lost(lost)
    assignments = ", ".join(f"{column} = ?" for column in columns)
    ledger.execute(f"UPDATE job SET {assignments} WHERE seq = ?", (*columns.values(), job.seq))


def _lease_lost(lost: int) -> dict[str, int | None]:
    return {"lost_leases": lost, "lease": None, "lease_until": None, "worker_id": None, "hostname": None}


def _promote(ledger: Ledger) -> int:
    rows = ledger.execute(
        f"""
        SELECT {COLUMNS} FROM job
         WHERE scheduled_at IS NOT NULL AND scheduled_at <= ?
         ORDER BY scheduled_at, seq
         LIMIT ?
        """,
        (ledger.now, CHUNK),
    ).fetchall()
    for row in rows:
        job = Job(*row)
        order_key = job.scheduled_at if job.order_by_due else job.order_key
        queue = change_state(ledger, job, PENDING, scheduled_at=None, order_key=order_key)
        ledger.emit("promoted", job.id, queue.name)
    return len(rows)


def sweep(ledger: Ledger, op: Sweep) -> Ticked:
    """Delete one chunk each of the locks, keys, claims and workers whose time is over, and note the time."""
    ledger.execute("UPDATE machine SET now = ?", (ledger.now,))
    locks = ledger.execute(
        """
        DELETE FROM unique_lock WHERE (queue, key) IN (
          SELECT queue, key FROM unique_lock WHERE expires_at <= ? LIMIT ?)
        RETURNING 1
        """,
        (ledger.now, CHUNK),
    ).fetchall()
    keys = ledger.execute(
        """
        DELETE FROM idempotency_key WHERE (namespace, key) IN (
          SELECT namespace, key FROM idempotency_key WHERE expires_at <= ? LIMIT ?)
        RETURNING 1
        """,
        (ledger.now, CHUNK),
    ).fetchall()
    claims = limits.forget_old_claims(ledger, CHUNK)
    silent = workers.forget_silent(ledger, CHUNK)
    return Ticked(more=CHUNK in (len(locks), len(keys), claims, silent))
