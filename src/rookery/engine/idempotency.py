"""Idempotency keys: the same request sent twice within a day gets the first answer again.

A key can also stand for a job: then a second request, whatever is in it, finds that job for as long as it is there.
"""

from typing import Final

import msgspec

from rookery.engine.jsontext import json_text
from rookery.engine.ledger import NEVER, Ledger
from rookery.engine.ops import Enqueued, EnqueuedJob, IdempotencyKey, Refusal

DAY: Final = 24 * 3_600_000


def recall(ledger: Ledger, namespace: str, mark: IdempotencyKey) -> Enqueued | Refusal | None:
    """The first answer, or a refusal if the key stood on another request, or None if it is new."""
    if mark.names_job:
        ledger.insert_jobs()
    row = ledger.execute(
        """
        SELECT digest, answer
          FROM idempotency_key
         WHERE day IN (?, ?) AND namespace = ? AND key = ? AND expires_at > ?
        """,
        (*_days(ledger, mark), namespace, mark.key, ledger.now),
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
    if mark.names_job:  # what it stood for before is gone
        ledger.execute(
            "DELETE FROM idempotency_key WHERE day IN (?, ?) AND namespace = ? AND key = ?",
            (*_days(ledger, mark), namespace, mark.key),
        )
    until = _end(ledger, mark)
    ledger.execute(
        "INSERT OR REPLACE INTO idempotency_key VALUES (?, ?, ?, ?, ?, ?)",
        (until // DAY, namespace, mark.key, mark.digest, json_text(answer), until),
    )


def forget_expired(ledger: Ledger, limit: int) -> int:
    """Delete keys that ended on a day that is over."""
    gone = ledger.execute(
        """
        DELETE FROM idempotency_key WHERE (day, namespace, key) IN (
          SELECT day, namespace, key FROM idempotency_key WHERE day < ? ORDER BY day, namespace, key LIMIT ?)
        RETURNING 1
        """,
        (ledger.now // DAY, limit),
    ).fetchall()
    return len(gone)


def _end(ledger: Ledger, mark: IdempotencyKey) -> int:
    return NEVER if mark.lifetime is None else ledger.now + mark.lifetime


def _days(ledger: Ledger, mark: IdempotencyKey) -> tuple[int, int]:
    """The days on which such a key can end that is known now: a lifetime is a day at the most, or has no end."""
    last = _end(ledger, mark) // DAY
    return (last, last) if mark.lifetime is None else (ledger.now // DAY, last)


def _named_jobs(ledger: Ledger, first: Enqueued) -> Enqueued | None:
    """The jobs as duplicates, or None if one of them is gone."""
    ids = [job.job_id for job in first.jobs]
    if not all(ledger.execute("SELECT 1 FROM job WHERE id = ?", (job_id,)).fetchone() for job_id in ids):
        return None
    return Enqueued([EnqueuedJob(job_id, "duplicate") for job_id in ids], first.batch_id)
