"""Webhooks: who wants to hear of events, and what came of each attempt to deliver one.

What is to be delivered is in the outbox, see `outbox.py`.
"""

from typing import Final

import msgspec

from rookery.engine.jsontext import json_text
from rookery.engine.ledger import Ledger
from rookery.engine.ops import (
    CHUNK,
    DeleteWebhook,
    Delivery,
    Done,
    RecordDeliveries,
    Refusal,
    SavedWebhook,
    SaveWebhook,
)
from rookery.engine.subscriptions import ALL, load_subscriptions
from rookery.model.instants import format_instant
from rookery.model.names import may_see
from rookery.store.webhooks import KIND

MOST_WEBHOOKS: Final = 256
MOST_OF_NAMESPACE: Final = 64
DEFAULT_RETRY_LIMIT: Final = 3
LOG_LENGTH: Final = 100
"""Deliveries of one webhook that are remembered."""
PATIENCE: Final = 24 * 3_600_000
LEAST_FAILURES: Final = 20
"""A webhook is disabled when nothing has succeeded for so long and so many deliveries were given up."""
_PAUSE: Final = 200


class Webhook(msgspec.Struct):
    """A webhook's row."""

    id: str
    namespace: str
    url: str
    events: str
    queues: str
    secret: str | None
    enabled: int
    retry_limit: int
    waiting: int
    dropped: int
    told: int
    failures: int
    failing_since: int | None
    disabled_reason: str | None
    last_status_code: int | None
    last_error: str | None
    last_delivery_at: int | None
    created_at: int


_COLUMNS: Final = Webhook.__struct_fields__
_SELECT: Final = f"SELECT {', '.join(_COLUMNS)} FROM webhook WHERE id = ?"
_INSERT: Final = f"INSERT INTO webhook ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"
_UPDATE: Final = f"UPDATE webhook SET {', '.join(f'{column} = ?' for column in _COLUMNS[1:])} WHERE id = ?"


# --- the webhooks themselves


def save(ledger: Ledger, op: SaveWebhook) -> SavedWebhook | Refusal:
    """Make a webhook, or change the one of that id."""
    hook = None if op.webhook_id is None else _find(ledger, op.webhook_id)
    if hook is not None and not _is_theirs(hook, op.namespace):
        return Refusal(Refusal.CONFLICT, f"the webhook id {hook.id} is taken")
    if hook is None:
        if op.url is None:
            return Refusal.invalid("url is required")
        fault = _room_fault(ledger, op.namespace)
        if fault is not None:
            return Refusal.invalid(fault)
        hook = _new(ledger, op)
        _change(ledger, hook, op)
        ledger.execute(_INSERT, msgspec.structs.astuple(hook))
    else:
        _change(ledger, hook, op)
        _write(ledger, hook)
    _reload(ledger)
    return SavedWebhook(hook.id)


def delete(ledger: Ledger, op: DeleteWebhook) -> Done:
    """Stop it and forget one chunk of what waits; with the last of that, forget the webhook itself."""
    hook = _find(ledger, op.webhook_id)
    if hook is None or not _is_theirs(hook, op.namespace):
        return Done("deleted")
    gone = ledger.execute(
        """
        DELETE FROM outbox WHERE id IN (
          SELECT id FROM outbox WHERE kind = ? AND target = ? ORDER BY id LIMIT ?)
        RETURNING 1
        """,
        (KIND, hook.id, CHUNK),
    ).fetchall()
    if len(gone) == CHUNK:
        ledger.execute("UPDATE webhook SET enabled = 0, waiting = waiting - ? WHERE id = ?", (CHUNK, hook.id))
    else:
        ledger.execute("DELETE FROM webhook_delivery WHERE webhook = ?", (hook.id,))
        ledger.execute("DELETE FROM webhook WHERE id = ?", (hook.id,))
    _reload(ledger)
    return Done("deleting" if len(gone) == CHUNK else "deleted")


def _room_fault(ledger: Ledger, namespace: str) -> str | None:
    """Why there can be no other webhook, or None."""
    if ledger.execute("SELECT count(*) FROM webhook").get >= MOST_WEBHOOKS:
        return f"there are {MOST_WEBHOOKS} webhooks already, which is the limit"
    if ledger.execute("SELECT count(*) FROM webhook WHERE namespace = ?", (namespace,)).get >= MOST_OF_NAMESPACE:
        return f"this namespace has {MOST_OF_NAMESPACE} webhooks already, which is the limit"
    return None


def _new(ledger: Ledger, op: SaveWebhook) -> Webhook:
    return Webhook(
        id=op.webhook_id or f"wh_{ledger.ids.text()}",
        namespace=op.namespace,
        url="",
        events=json_text([ALL]),
        queues="[]",
        secret=None,
        enabled=1,
        retry_limit=DEFAULT_RETRY_LIMIT,
        waiting=0,
        dropped=0,
        told=ledger.event_seq,
        failures=0,
        failing_since=None,
        disabled_reason=None,
        last_status_code=None,
        last_error=None,
        last_delivery_at=None,
        created_at=ledger.now,
    )


def _change(ledger: Ledger, hook: Webhook, op: SaveWebhook) -> None:
    """Take over what is given; being enabled by hand is a new beginning, without what happened in the meantime."""
    if op.url is not None:
        hook.url = op.url
    if op.events is not None:
        hook.events = json_text(op.events or [ALL])
    if op.queues is not None:
        hook.queues = json_text(op.queues)
    if op.secret is not None:
        hook.secret = op.secret or None
    if op.retry_limit is not None:
        hook.retry_limit = op.retry_limit
    if op.enabled is not None:
        if not hook.enabled:
            hook.told = ledger.event_seq
        hook.enabled = int(op.enabled)
        hook.failures, hook.failing_since, hook.disabled_reason = 0, None, None


def _find(ledger: Ledger, webhook_id: str) -> Webhook | None:
    row = ledger.execute(_SELECT, (webhook_id,)).fetchone()
    return None if row is None else Webhook(*row)


def _is_theirs(hook: Webhook, namespace: str) -> bool:
    return may_see(namespace, hook.namespace)


def _write(ledger: Ledger, hook: Webhook) -> None:
    ledger.execute(_UPDATE, (*msgspec.structs.astuple(hook)[1:], hook.id))


def _reload(ledger: Ledger) -> None:
    ledger.subscriptions = load_subscriptions(ledger.execute)
    ledger.has_deliveries = True


# --- what came of it


def record(ledger: Ledger, op: RecordDeliveries) -> Done:
    """Strike off what was delivered, try the rest again later, give up what was tried often enough."""
    for item in op.items:
        _record(ledger, item)
    for webhook_id in dict.fromkeys(item.webhook_id for item in op.items):
        _shorten_log(ledger, webhook_id)
    ledger.has_deliveries = True
    return Done("recorded")


def _record(ledger: Ledger, item: Delivery) -> None:
    hook = _find(ledger, item.webhook_id)
    attempt = _attempt(ledger, item)
    if hook is None or attempt is None:
        return
    if 200 <= item.status_code < 300:
        outcome = "delivered"
        hook.failures, hook.failing_since = 0, None
    elif item.outbox_id is None:
        outcome = "failed"
    elif attempt < hook.retry_limit:
        outcome = "retrying"
    else:
        outcome = "failed"
        hook.failures += 1
        hook.failing_since = ledger.now if hook.failing_since is None else hook.failing_since
    hook.last_status_code, hook.last_error, hook.last_delivery_at = item.status_code, item.error, ledger.now
    if outcome == "retrying":
        due_at = ledger.now + attempt**2 * _PAUSE
        ledger.execute("UPDATE outbox SET attempts = ?, due_at = ? WHERE id = ?", (attempt, due_at, item.outbox_id))
    elif item.outbox_id is not None:
        ledger.execute("DELETE FROM outbox WHERE id = ?", (item.outbox_id,))
        _one_less_waits(ledger, hook)
    if outcome == "failed" and hook.enabled:
        _disable_if_hopeless(ledger, hook)
    _write(ledger, hook)
    ledger.execute(
        """
        INSERT INTO webhook_delivery
          (webhook, event_seq, event_type, attempt, status_code, error, answer, duration_ms, outcome, at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        (
            hook.id,
            item.event_seq,
            item.event_type,
            attempt,
            item.status_code,
            item.error,
            item.answer,
            item.duration_ms,
            outcome,
            ledger.now,
        ),
    )


def _attempt(ledger: Ledger, item: Delivery) -> int | None:
    """Which attempt this was; None if nobody waits for its outcome any more."""
    if item.outbox_id is None:
        return 1
    attempts = ledger.execute(
        "SELECT attempts FROM outbox WHERE id = ? AND kind = ? AND target = ?", (item.outbox_id, KIND, item.webhook_id)
    ).get
    return None if attempts is None else attempts + 1


def _one_less_waits(ledger: Ledger, hook: Webhook) -> None:
    hook.waiting -= 1
    subscription = ledger.subscriptions.get(hook.id)
    if subscription is not None:
        subscription.waiting -= 1


def _disable_if_hopeless(ledger: Ledger, hook: Webhook) -> None:
    """Nothing has succeeded for a day: stop trying until somebody enables it again. What waits is kept."""
    since = hook.failing_since
    if since is None or ledger.now - since < PATIENCE or hook.failures < LEAST_FAILURES:
        return
    hook.enabled = 0
    hook.disabled_reason = hook.last_error = (
        f"disabled: {hook.failures} deliveries were given up since {format_instant(since)} and none succeeded; "
        f"the last error: {hook.last_error}"
    )
    ledger.subscriptions.pop(hook.id, None)


def _shorten_log(ledger: Ledger, webhook_id: str) -> None:
    ledger.execute(
        """
        DELETE FROM webhook_delivery
         WHERE webhook = ?1
           AND id <= (SELECT id FROM webhook_delivery WHERE webhook = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)
        """,
        (webhook_id, LOG_LENGTH),
    )
