"""Telling a job's own URL how the job ended: an entry of the outbox, written by the commit that ends the job."""

from typing import Final

import msgspec

from rookery.engine.jobs import Job
from rookery.engine.jsontext import json_text
from rookery.engine.ledger import Ledger

KIND: Final = "callback"
"""What such entries of the outbox are called; their target is the URL."""


class Ending(msgspec.Struct, frozen=True):
    """What is told: all that there is to say, as the job may be gone before it can be said."""

    job_id: str
    queue: str
    namespace: str
    state: str
    error: str
    at: int
    result: msgspec.Raw | None
    face: msgspec.Raw | None
    trace: str | None


def call_back(ledger: Ledger, job: Job, state: str, error: str = "") -> None:
    """The job has ended in this state: if somebody wants to be told, write that down."""
    if job.callback is None:
        return
    result, face, namespace, trace = ledger.execute(
        "SELECT result, face, namespace, trace FROM job WHERE seq = ?", (job.seq,)
    ).fetchone()
    ending = Ending(
        job.id,
        ledger.queue_of(job.queue).name,
        namespace,
        state,
        error,
        ledger.now,
        None if result is None else msgspec.Raw(result.encode()),
        None if face is None else msgspec.Raw(face.encode()),
        trace,
    )
    ledger.execute(
        "INSERT INTO outbox (kind, target, body, attempts, due_at, created_at) VALUES (?1, ?2, ?3, 0, ?4, ?4)",
        (KIND, job.callback, json_text(ending), ledger.now),
    )
    ledger.has_deliveries = True
