"""Unique keys: while a job holds (queue, key), an equal enqueue finds it instead of adding another."""

from rookery.engine.jobs import Job, change_state, place_in_line, select_jobs
from rookery.engine.ledger import ADD_TAGS, REMOVE_TAGS, Ledger, Queue
from rookery.engine.ops import NewJob
from rookery.model.durations import parse_duration
from rookery.model.job import PENDING, RETRYING, SCHEDULED

REPLACEABLE = frozenset({PENDING, SCHEDULED, RETRYING})


def holder_of(ledger: Ledger, queue: Queue, key: str) -> Job | None:
    """The job that holds the key now."""
    ledger.insert_jobs()
    found = select_jobs(
        ledger,
        "WHERE seq = (SELECT job FROM unique_lock WHERE queue = ? AND key = ? AND expires_at > ?)",
        (queue.id, key, ledger.now),
    )
    return found[0] if found else None


def take_key(ledger: Ledger, queue: Queue, key: str, seq: int, period: int) -> None:
    """Give the key to a job for `period` seconds from now."""
    ledger.execute(
        "INSERT OR REPLACE INTO unique_lock VALUES (?, ?, ?, ?)", (queue.id, key, seq, ledger.now + period * 1000)
    )


def release_key(ledger: Ledger, queue_id: int, key: str, seq: int) -> None:
    """Take the key from the job, if it is the one that holds it."""
    ledger.execute("DELETE FROM unique_lock WHERE queue = ? AND key = ? AND job = ?", (queue_id, key, seq))


def carry_key(ledger: Ledger, source: Queue, target: Queue, key: str, seq: int) -> None:
    """The job moves: its key goes with it, unless another job holds that key over there."""
    if holder_of(ledger, target, key) is None:
        ledger.execute(
            "UPDATE OR REPLACE unique_lock SET queue = ? WHERE queue = ? AND key = ? AND job = ?",
            (target.id, source.id, key, seq),
        )
    else:
        release_key(ledger, source.id, key, seq)


def settle_conflict(ledger: Ledger, queue: Queue, holder: Job, new: NewJob) -> str:
    """What a second enqueue of the same key does to the holder, in a word."""
    if new.on_conflict == "keep" or holder.state not in REPLACEABLE:
        return "duplicate"
    assert new.unique_key is not None
    status = "replaced" if new.on_conflict == "replace" else "rescheduled"
    change_state(
        ledger,
        holder,
        PENDING if new.scheduled_at is None else SCHEDULED,
        scheduled_at=new.scheduled_at,
        order_key=place_in_line(ledger, holder),
    )
    if new.scheduled_at is not None:
        ledger.due(new.scheduled_at)
    if status == "replaced":
        _take_over(ledger, holder, new)
    take_key(ledger, queue, new.unique_key, holder.seq, new.unique_period)
    ledger.emit(status, holder.id, queue.name)
    return status


def _take_over(ledger: Ledger, holder: Job, new: NewJob) -> None:
    expire_at = ledger.now + parse_duration(new.expire_after) if new.expire_after else None
    if expire_at is not None:
        ledger.due(expire_at)
    ledger.execute(REMOVE_TAGS, (holder.seq,))
    ledger.execute(
        """
        UPDATE job
           SET payload = ?, rank = ?, tags = ?, expire_after = ?, expire_at = ?, unique_period = ?
         WHERE seq = ?
        """,
        (new.payload, new.rank, new.tags, new.expire_after, expire_at, new.unique_period, holder.seq),
    )
    ledger.execute(ADD_TAGS, (holder.seq,))
