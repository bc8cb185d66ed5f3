"""Why a job is not running: what keeps it, the binding reason first, and its place in line. Nothing here writes."""

from typing import Any, Final

import apsw
import msgspec

from rookery.model.durations import format_duration
from rookery.model.instants import LATEST, format_instant
from rookery.model.job import ACTIVE, CANCELLED, COMPLETED, HELD, PENDING, RETRYING, SCHEDULED, TERMINAL
from rookery.model.names import DEFAULT_NAMESPACE, is_visible, shown_name
from rookery.store import rates
from rookery.store.reasons import (
    BehindOthers,
    DependencyState,
    Finished,
    Held,
    NoWorkers,
    QueueAtConcurrency,
    QueuePaused,
    RateLimited,
    Reason,
    RetryBackoff,
    Running,
    Scheduled,
    WaitingForDependencies,
    WhyView,
)

SILENCE: Final = 60_000
"""A queue that no worker has asked for in so many milliseconds has no workers."""
MINUTE: Final = 60_000
RECENT_MINUTES: Final = 5
"""The rate of a queue is taken from so many full minutes and the one that has begun."""
MOST_NAMED: Final = 3
"""How many dependencies the sentence names; the list has them all."""


class _Facts(msgspec.Struct):
    """What is known of the job and its queue."""

    seq: int
    id: str
    state: str
    rank: int
    order_key: int
    waiting_on: int
    attempt: int
    max_retries: int
    scheduled_at: int | None
    started_at: int | None
    completed_at: int | None
    failed_at: int | None
    ended_at: int | None
    held_at: int | None
    hold_reason: str | None
    worker_id: str | None
    expire_at: int | None
    depends_on: str | None
    queue_id: int
    stored_name: str
    queue_created_at: int
    paused_at: int | None
    active: int
    max_concurrency: int | None
    rate: int | None
    window: int | None
    queue: str = ""


_SELECT: Final = """
    SELECT job.seq, job.id, job.state, job.rank, job.order_key, job.waiting_on, job.attempt, job.max_retries,
           job.scheduled_at, job.started_at, job.completed_at, job.failed_at, job.ended_at, job.held_at,
           job.hold_reason, job.worker_id, job.expire_at, job.depends_on,
           queue.id, queue.name, queue.created_at, queue.paused_at, queue.active, queue.max_concurrency,
           queue.rate, queue.window
      FROM job
      JOIN queue ON queue.id = job.queue
     WHERE job.id = ?
"""


def queue_of(db: apsw.Connection, job_id: str) -> str | None:
    """The stored name of the queue that a job is in."""
    name: str | None = db.execute(
        "SELECT queue.name FROM job JOIN queue ON queue.id = job.queue WHERE job.id = ?", (job_id,)
    ).get
    return name


def explain(
    db: apsw.Connection, job_id: str, now: int, last_asked: int | None, namespace: str = DEFAULT_NAMESPACE
) -> WhyView | None:
    """Why the job is not running, if the caller may see it. `last_asked`: when somebody last asked for its queue."""
    row: Any = db.execute(_SELECT, (job_id,)).fetchone()
    if row is None:
        return None
    job = _Facts(*row)
    if not is_visible(namespace, job.stored_name):
        return None
    job.queue = shown_name(namespace, job.stored_name)
    if job.state in TERMINAL:
        return WhyView(job.id, job.state, False, [_finished(db, job)])
    if job.state == ACTIVE:
        return WhyView(job.id, job.state, False, [_running(job)])
    own = [*_own_state(job, now), *_dependencies(db, job)]
    limits = _limits(db, job, now)
    silence = _no_workers(db, job, now, last_asked)
    why = WhyView(job.id, job.state, False, [*own, *limits, *silence])
    if not own and not _is_expired(job, now):
        why.runnable = not limits
        why.ahead = _ahead(db, job, now)
        why.position = why.ahead + 1
        if why.ahead or not why.reasons:
            stands_still = job.paused_at is not None or bool(silence)
            why.reasons.append(_behind_others(db, job, now, why.ahead, stands_still))
    return why


# --- what the job is or was about


def _finished(db: apsw.Connection, job: _Facts) -> Finished:
    at = {COMPLETED: job.completed_at, CANCELLED: _cancelled_at(db, job)}.get(job.state, job.failed_at)
    said = {COMPLETED: "It completed", CANCELLED: "It was cancelled"}.get(job.state, "It died")
    if at is None:
        # It was restored from a document that does not say.
        text = format_instant(job.ended_at or 0)
        return Finished(f"{said}, and nobody wrote down when; its retention counts from {text}.", text)
    text = format_instant(at)
    return Finished(f"{said} at {text}.", text)


def _cancelled_at(db: apsw.Connection, job: _Facts) -> int | None:
    """Only the timeline tells when a job was cancelled."""
    at: int | None = db.execute(
        "SELECT at FROM event WHERE job_id = ? AND type = 'cancelled' ORDER BY seq DESC LIMIT 1", (job.id,)
    ).get
    return at


def _running(job: _Facts) -> Running:
    since = format_instant(job.started_at or 0)
    who = f"Worker {job.worker_id}" if job.worker_id else "A worker"
    return Running(f"{who} has been working on it since {since}.", job.worker_id, since)


# --- what is in the job's own way


def _own_state(job: _Facts, now: int) -> list[Reason]:
    if job.state == HELD:
        since = format_instant(job.held_at or 0)
        why = f": {job.hold_reason}" if job.hold_reason else "."
        return [
            Held(f"It has been held since {since}, for somebody to approve or reject it{why}", job.hold_reason, since)
        ]
    at, wait = format_instant(job.scheduled_at or 0), format_duration(max(0, (job.scheduled_at or 0) - now))
    if job.state == SCHEDULED:
        return [Scheduled(f"It is scheduled for {at}, in {wait}.", at, wait)]
    if job.state == RETRYING:
        tried = f"{job.attempt} of {job.max_retries} attempts are used up"
        return [RetryBackoff(f"{tried}; the next one is due at {at}, in {wait}.", at, wait)]
    return []


def _dependencies(db: apsw.Connection, job: _Facts) -> list[Reason]:
    if not job.waiting_on:
        return []
    rows: Any = db.execute(_DEPENDENCIES, (job.depends_on, job.seq)).fetchall()
    waits_for = [DependencyState(job_id, state) for job_id, state in rows if state is not None]
    if len(waits_for) < job.waiting_on:
        waits_for = [DependencyState(job_id, state or "deleted") for job_id, state in rows]
    named = [f"{other.job_id} is {other.state}" for other in waits_for[:MOST_NAMED]]
    if len(waits_for) > MOST_NAMED:
        named.append(f"and {len(waits_for) - MOST_NAMED} more")
    detail = f"It waits for {_jobs(job.waiting_on)} to complete: {', '.join(named)}."
    return [WaitingForDependencies(detail, [other.job_id for other in waits_for], waits_for)]


_DEPENDENCIES: Final = """
    SELECT given.value, iif(dependency.dependent IS NULL, NULL, job.state)
      FROM json_each(?1) AS given
      LEFT JOIN job ON job.id = given.value
      LEFT JOIN dependency ON dependency.dependency = job.seq AND dependency.dependent = ?2
     WHERE dependency.dependent IS NOT NULL
        OR (coalesce(job.was_completed, 0) = 0
            AND NOT EXISTS (SELECT 1 FROM event WHERE job_id = given.value AND type = 'completed'))
     ORDER BY given.key
"""
"""Those that are still waited for, with their state, and those that are gone and not known to have completed before.
A job that is neither waited for nor was ever completed is another one of the same id."""


def _is_expired(job: _Facts, now: int) -> bool:
    """Whether its time is over and it is only yet to be buried: nobody can claim it any more."""
    return job.state == PENDING and job.expire_at is not None and job.expire_at <= now


# --- what is in the way of its queue


def _limits(db: apsw.Connection, job: _Facts, now: int) -> list[Reason]:
    reasons: list[Reason] = []
    if job.paused_at is not None:
        since = format_instant(job.paused_at)
        reasons.append(QueuePaused(f"Queue {job.queue} has been paused since {since}.", since))
    most = job.max_concurrency
    if most is not None and job.active >= most:
        detail = f"Queue {job.queue} may run {_jobs(most)} at a time, and {job.active} {_are(job.active)} running."
        reasons.append(QueueAtConcurrency(detail, job.active, most))
    if job.rate is not None and job.window is not None:
        slot = rates.next_slot_at(db, job.queue_id, job.rate, job.window, now)
        if slot is not None:
            period, at = format_duration(job.window), format_instant(slot)
            detail = f"Queue {job.queue} may begin {_jobs(job.rate)} in {period}; the next may begin at {at}."
            reasons.append(RateLimited(detail, job.rate, period, at))
    return reasons


def _no_workers(db: apsw.Connection, job: _Facts, now: int, last_asked: int | None) -> list[Reason]:
    """Workers with an id are in the store; of the others, only those who ask know when they did.

    One that drains still sends heartbeats, but has asked for nothing since it said so.
    """
    last_heard: int | None = db.execute(
        """
        SELECT max(coalesce(draining_at, last_heartbeat))
          FROM worker
         WHERE EXISTS (SELECT 1 FROM json_each(queues) WHERE value = ?)
        """,
        (job.stored_name,),
    ).get
    last_seen = max(last_asked or 0, last_heard or 0)
    if last_seen > now - SILENCE:
        return []
    detail = f"No worker has asked for queue {job.queue} in the last {SILENCE // 1000} s"
    if not last_seen:
        return [NoWorkers(f"{detail}, and none is known.", None)]
    return [NoWorkers(f"{detail}; the last one was seen at {format_instant(last_seen)}.", format_instant(last_seen))]


# --- its place in line


def _ahead(db: apsw.Connection, job: _Facts, now: int) -> int:
    """Jobs that are claimed first. The index alone counts them; those whose time is over are few and taken off."""
    place = (job.queue_id, job.rank, job.order_key, job.seq)
    in_line: int = db.execute(
        """
        SELECT count(*)
          FROM job INDEXED BY job_ready
         WHERE state = 'pending' AND waiting_on = 0 AND queue = ? AND (rank, order_key, seq) < (?, ?, ?)
        """,
        place,
    ).get
    expired: int = db.execute(
        """
        SELECT count(*)
          FROM job INDEXED BY job_expiring
         WHERE expire_at IS NOT NULL AND state IN ('pending', 'scheduled', 'retrying', 'held') AND expire_at <= ?5
           AND state = 'pending' AND waiting_on = 0 AND queue = ?1 AND (rank, order_key, seq) < (?2, ?3, ?4)
        """,
        (*place, now),
    ).get
    return in_line - expired


def _behind_others(db: apsw.Connection, job: _Facts, now: int, ahead: int, stands_still: bool) -> BehindOthers:
    at = None if stands_still else _turn_comes_at(db, job, now, ahead)
    eta = None if at is None else format_instant(at)
    if ahead == 0:
        return BehindOthers(f"It is next in line in queue {job.queue}.", 0, eta)
    detail = f"{_jobs(ahead)} {_are(ahead)} ahead of it in queue {job.queue}"
    return BehindOthers(f"{detail}." if eta is None else f"{detail}; its turn comes at about {eta}.", ahead, eta)


def _turn_comes_at(db: apsw.Connection, job: _Facts, now: int, ahead: int) -> int | None:
    """When those ahead will have gone, at the rate of the last minutes; None if nothing completed in them."""
    start = now - now % MINUTE - RECENT_MINUTES * MINUTE
    completed: int | None = db.execute(
        "SELECT sum(completed) FROM throughput WHERE minute >= ? AND queue = ?", (start, job.queue_id)
    ).get
    if not completed:
        return None
    elapsed = now - max(start, job.queue_created_at)
    at = now + -(-ahead * elapsed // completed)
    return at if at <= LATEST else None


def _jobs(count: int) -> str:
    return "1 job" if count == 1 else f"{count:,} jobs"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
