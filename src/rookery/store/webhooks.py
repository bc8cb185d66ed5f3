"""Reading webhooks: as the API shows them, and what the one who delivers needs to know."""

from typing import Any, Final

import apsw
import msgspec

from rookery.model.instants import format_instant, format_known
from rookery.model.names import DEFAULT_NAMESPACE, may_see, shown_name

KIND: Final = "webhook"
"""What their entries in the outbox are called."""


class WebhookView(msgspec.Struct):
    """A webhook; whether it has a secret is said, the secret is not."""

    id: str
    url: str
    events: list[str]
    queues: list[str]
    enabled: bool
    disabled_reason: str | None
    retry_limit: int
    secret_set: bool
    namespace: str
    waiting: int
    dropped: int
    behind: int
    failures: int
    failing_since: str | None
    last_status_code: int | None
    last_error: str | None
    last_delivery_at: str | None
    created_at: str


class DeliveryView(msgspec.Struct):
    """One attempt to deliver an event, and what was answered."""

    event_seq: int
    event_type: str
    attempt: int
    outcome: str
    status_code: int
    error: str | None
    answer: str | None
    duration_ms: float
    at: str


class Recipient(msgspec.Struct, frozen=True):
    """Where to deliver."""

    id: str
    url: str
    secret: str | None
    due_at: int = 0
    """When the first of what waits is to be delivered."""


class DueDelivery(msgspec.Struct, frozen=True):
    """Something to deliver, and when."""

    outbox_id: int
    due_at: int
    event: str


def read_webhooks(db: apsw.Connection, namespace: str = DEFAULT_NAMESPACE) -> list[WebhookView]:
    """The webhooks that the caller may see, the oldest first."""
    if namespace == DEFAULT_NAMESPACE:
        return _views(db, "ORDER BY created_at, rowid", (), namespace)
    return _views(db, "WHERE namespace = ? ORDER BY created_at, rowid", (namespace,), namespace)


def read_webhook(db: apsw.Connection, webhook_id: str, namespace: str = DEFAULT_NAMESPACE) -> WebhookView | None:
    """One webhook, if the caller may see it."""
    found = _views(db, "WHERE id = ?", (webhook_id,), namespace)
    return found[0] if found and may_see(namespace, found[0].namespace) else None


def _views(db: apsw.Connection, clauses: str, parameters: tuple[Any, ...], namespace: str) -> list[WebhookView]:
    rows = db.execute(
        f"""
        SELECT id, url, events, queues, enabled, disabled_reason, retry_limit, secret IS NOT NULL, namespace,
               waiting, dropped, iif(enabled, (SELECT event_seq FROM machine) - told, 0) AS behind,
               failures, failing_since, last_status_code, last_error, last_delivery_at, created_at
          FROM webhook
         {clauses}
        """,
        parameters,
    )
    return [
        WebhookView(
            id=id,
            url=url,
            events=msgspec.json.decode(events),
            queues=[shown_name(namespace, queue) for queue in msgspec.json.decode(queues)],
            enabled=bool(enabled),
            disabled_reason=disabled_reason,
            retry_limit=retry_limit,
            secret_set=bool(secret_set),
            namespace=owner,
            waiting=waiting,
            dropped=dropped,
            behind=behind,
            failures=failures,
            failing_since=format_known(failing_since),
            last_status_code=last_status_code,
            last_error=last_error,
            last_delivery_at=format_known(last_delivery_at),
            created_at=format_instant(created_at),
        )
        for (
            id,
            url,
            events,
            queues,
            enabled,
            disabled_reason,
            retry_limit,
            secret_set,
            owner,
            waiting,
            dropped,
            behind,
            failures,
            failing_since,
            last_status_code,
            last_error,
            last_delivery_at,
            created_at,
        ) in rows
    ]


def read_deliveries(db: apsw.Connection, webhook_id: str) -> list[DeliveryView]:
    """The attempts that are remembered, the newest first."""
    rows = db.execute(
        """
        SELECT event_seq, event_type, attempt, outcome, status_code, error, answer, duration_ms, at
          FROM webhook_delivery
         WHERE webhook = ?
         ORDER BY id DESC
        """,
        (webhook_id,),
    )
    return [
        DeliveryView(seq, type, attempt, outcome, status_code, error, answer, duration_ms, format_instant(at))
        for seq, type, attempt, outcome, status_code, error, answer, duration_ms, at in rows
    ]


def read_recipient(db: apsw.Connection, webhook_id: str) -> Recipient | None:
    """Where a webhook's deliveries go."""
    row = db.execute("SELECT id, url, secret FROM webhook WHERE id = ?", (webhook_id,)).fetchone()
    return None if row is None else Recipient(*row)


def read_waiting_recipients(db: apsw.Connection) -> list[Recipient]:
    """The enabled webhooks for which something waits."""
    rows = db.execute(
        """
        SELECT id, url, secret, (SELECT min(due_at) FROM outbox WHERE kind = ? AND target = webhook.id) AS due_at
          FROM webhook
         WHERE enabled AND waiting > 0 AND due_at IS NOT NULL
         ORDER BY created_at, rowid
        """,
        (KIND,),
    )
    return [Recipient(*row) for row in rows]


def read_next_deliveries(db: apsw.Connection, webhook_id: str, limit: int) -> list[DueDelivery]:
    """What waits for a webhook, what is due first in front."""
    rows = db.execute(
        "SELECT id, due_at, body FROM outbox WHERE kind = ? AND target = ? ORDER BY due_at, id LIMIT ?",
        (KIND, webhook_id, limit),
    )
    return [DueDelivery(*row) for row in rows]
