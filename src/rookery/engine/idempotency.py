"""Idempotency keys: the same request sent twice within a day gets the first answer again.

A key can also stand for a job: then a second request, whatever is in it, finds that job for as long as it is there.
"""

import msgspec

from rookery.engine.jsontext import json_text
from rookery.engine.ledger import NEVER, Ledger
from rookery.engine.ops import Enqueued, EnqueuedJob, IdempotencyKey, Refusal


def recall(ledger: Ledger, namespace: str, mark: IdempotencyKey) -> Enqueued | Refusal | None:
    """The first answer, or a refusal if the key stood on another request, or None if it is new."""
    if mark.names_job:
        ledger.insert_jobs()
    row = ledger.execute(
        "SELECT digest, answer FROM idempotency_key WHERE namespace = ? AND key = ? AND expires_at > ?",
        (namespace, mark.key, ledger.now),
    ).fetchone()
    if row is None:
        return None
    digest, answer = row
    if mark.names_job:
        return _named_jobs(ledger, msgspec.json.decode(answer, type=Enqueued))
    if digest != mark.digest:
        return Refusal(Refusal.IDEMPOTENCY_MISMATCH, f"Idempotency-Key {mark.key!r} was used with another request body")
    return msgspec.json.decode(answer, type=Enqueued)


def remember(ledger: Ledger, namespace: str, mark: IdempotencyKey, answer: Enqueued) -> None:
    """Keep the answer for as long as the key is to be known."""
    until = NEVER if mark.lifetime is None else ledger.now + mark.lifetime
    ledger.execute(
        "INSERT OR REPLACE INTO idempotency_key VALUES (?, ?, ?, ?, ?)",
        (namespace, mark.key, mark.digest, json_text(answer), until),
    )


def _named_jobs(ledger: Ledger, first: Enqueued) -> Enqueued | None:
    """The jobs as duplicates, or None if one of them is gone."""
    ids = [job.job_id for job in first.jobs]
    if not all(ledger.execute("SELECT 1 FROM job WHERE id = ?", (job_id,)).fetchone() for job_id in ids):
        return None
    return Enqueued([EnqueuedJob(job_id, "duplicate") for job_id in ids], first.batch_id)
