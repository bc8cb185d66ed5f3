"""Idempotency keys: the same request sent twice within a day gets the first answer again."""

from typing import Final

import msgspec

from rookery.engine.jsontext import json_text
from rookery.engine.ledger import Ledger
from rookery.engine.ops import Enqueued, IdempotencyKey, Refusal

LIFETIME: Final = 24 * 3_600_000


def recall(ledger: Ledger, namespace: str, mark: IdempotencyKey) -> Enqueued | Refusal | None:
    """The first answer, or a refusal if the key stood on another request, or None if it is new."""
    row = ledger.execute(
        "SELECT digest, answer FROM idempotency_key WHERE namespace = ? AND key = ? AND expires_at > ?",
        (namespace, mark.key, ledger.now),
    ).fetchone()
    if row is None:
        return None
    digest, answer = row
    if digest != mark.digest:
        return Refusal(Refusal.IDEMPOTENCY_MISMATCH, f"Idempotency-Key {mark.key!r} was used with another request body")
    return msgspec.json.decode(answer, type=Enqueued)


def remember(ledger: Ledger, namespace: str, mark: IdempotencyKey, answer: Enqueued) -> None:
    """Keep the answer for a day."""
    ledger.execute(
        "INSERT OR REPLACE INTO idempotency_key VALUES (?, ?, ?, ?, ?)",
        (namespace, mark.key, mark.digest, json_text(answer), ledger.now + LIFETIME),
    )
