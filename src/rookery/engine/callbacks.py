"""Telling a job's own URL how the job ended: an entry of the outbox, written by the commit that ends the job.

Whoever delivers it reports every attempt; whether there is to be another is decided here.
"""

from typing import Final

import msgspec

from rookery.engine.jobs import Job
from rookery.engine.jsontext import json_text
from rookery.engine.ledger import Ledger
from rookery.engine.ops import CallbackAttempt, RecordCallbacks, RecordedCallbacks
from rookery.model.origins import origin_of
from rookery.store.callbacks import KIND

NULL: Final = msgspec.Raw(b"null")
EXPIRED: Final = "expired"
DELIVERED: Final = "delivered"
RETRYING: Final = "retrying"
GIVEN_UP: Final = "given up"
POSTPONED: Final = "postponed"
GONE: Final = "gone"
_MOST_DOUBLINGS: Final = 40


class Ending(msgspec.Struct, frozen=True):
    """What is told: all that there is to say, as the job may be gone before it can be said."""

    url: str
    job_id: str
    queue: str
    namespace: str
    state: str
    """completed, cancelled, expired, or dead of anything else."""
    by_result: bool
    error: str
    at: int
    result: msgspec.Raw
    """JSON, as is the face; null if there is none."""
    face: msgspec.Raw
    trace: str | None


def call_back(ledger: Ledger, job: Job, state: str, error: str = "") -> None:
    """The job has ended in this state: if somebody wants to be told, write that down."""
    if job.callback is None:
        return
    result, face, namespace, trace = ledger.execute(
        "SELECT result, face, namespace, trace FROM job WHERE seq = ?", (job.seq,)
    ).fetchone()
    ending = Ending(
        job.callback,
        job.id,
        ledger.queue_of(job.queue).name,
        namespace,
        state,
        bool(job.by_result),
        error,
        ledger.now,
        NULL if result is None else msgspec.Raw(result.encode()),
        NULL if face is None else msgspec.Raw(face.encode()),
        trace,
    )
    ledger.execute(
        "INSERT INTO outbox (kind, target, body, attempts, due_at, created_at) VALUES (?1, ?2, ?3, 0, ?4, ?4)",
        (KIND, origin_of(job.callback), json_text(ending), ledger.now),
    )
    ledger.has_callbacks = True


def record(ledger: Ledger, op: RecordCallbacks) -> RecordedCallbacks:
    """Strike off what was delivered, try the rest again later, give up what was tried often enough."""
    ledger.has_callbacks = True
    return RecordedCallbacks([_record(ledger, op, item) for item in op.items])


def _record(ledger: Ledger, op: RecordCallbacks, item: CallbackAttempt) -> str:
    earlier = ledger.execute("SELECT attempts FROM outbox WHERE id = ? AND kind = ?", (item.outbox_id, KIND)).get
    if earlier is None:
        return GONE
    if item.postponed_to is not None:
        ledger.execute("UPDATE outbox SET due_at = ? WHERE id = ?", (item.postponed_to, item.outbox_id))
        return POSTPONED
    attempts = earlier + 1
    if not item.succeeded and attempts < op.most_attempts:
        due_at = ledger.now + pause_after(op, attempts)
        ledger.execute("UPDATE outbox SET attempts = ?, due_at = ? WHERE id = ?", (attempts, due_at, item.outbox_id))
        return RETRYING
    ledger.execute("DELETE FROM outbox WHERE id = ?", (item.outbox_id,))
    return DELIVERED if item.succeeded else GIVEN_UP


def pause_after(op: RecordCallbacks, attempts: int) -> int:
    """Milliseconds until the next attempt, after so many."""
    return min(op.base_delay << min(attempts - 1, _MOST_DOUBLINGS), op.max_delay)
