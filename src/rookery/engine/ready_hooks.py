"""Who wants to hear that a queue, which was empty, has jobs again: for as long as they say so, and no longer."""

from typing import Final

from rookery.engine.jsontext import json_text
from rookery.engine.ledger import Ledger
from rookery.engine.ops import ReadyHookLives, Refusal, RenewReadyHook, SubscribeToReady
from rookery.model.names import may_see

MOST_HOOKS: Final = 10_000


def subscribe(ledger: Ledger, op: SubscribeToReady) -> ReadyHookLives | Refusal:
    """Take a subscription in."""
    if _find_alive(ledger, op.hook_id) is not None:
        return Refusal(Refusal.CONFLICT, f"the subscription id {op.hook_id} is taken")
    if ledger.execute("SELECT count(*) FROM ready_hook WHERE expires_at > ?", (ledger.now,)).get >= MOST_HOOKS:
        return Refusal.invalid(f"there are {MOST_HOOKS} subscriptions already, which is the limit")
    expires_at = ledger.now + op.lifetime
    ledger.execute(
        """
        INSERT OR REPLACE INTO ready_hook
          (id, namespace, url, queues, mode, group_id, min_interval, expires_at, created_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        (
            op.hook_id,
            op.namespace,
            op.url,
            json_text(op.queues),
            op.mode,
            op.group_id,
            op.min_interval,
            expires_at,
            ledger.now,
        ),
    )
    ledger.has_new_hooks = True
    return ReadyHookLives(op.hook_id, expires_at)


def renew(ledger: Ledger, op: RenewReadyHook) -> ReadyHookLives | Refusal:
    """Let a subscription live on; one that has run out is gone, whether it was swept up or not."""
    alive = _find_alive(ledger, op.hook_id)
    if alive is None or not may_see(op.namespace, alive[0]):
        return Refusal(Refusal.NOT_FOUND, f"subscription {op.hook_id} not found")
    expires_at = ledger.now + op.lifetime
    ledger.execute("UPDATE ready_hook SET expires_at = ? WHERE id = ?", (expires_at, op.hook_id))
    if expires_at < alive[1]:  # who lives longer than expected is found out about when the expected end has come
        ledger.has_new_hooks = True
    return ReadyHookLives(op.hook_id, expires_at)


def _find_alive(ledger: Ledger, hook_id: str) -> tuple[str, int] | None:
    """The namespace and the end of a subscription that has not run out."""
    alive: tuple[str, int] | None = ledger.execute(
        "SELECT namespace, expires_at FROM ready_hook WHERE id = ? AND expires_at > ?", (hook_id, ledger.now)
    ).fetchone()
    return alive


def forget_expired(ledger: Ledger, most: int) -> int:
    """Forget one chunk of those that have run out; how many went."""
    gone = ledger.execute(
        """
        DELETE FROM ready_hook WHERE id IN (
          SELECT id FROM ready_hook WHERE expires_at <= ? ORDER BY expires_at, id LIMIT ?)
        RETURNING 1
        """,
        (ledger.now, most),
    ).fetchall()
    if gone:
        ledger.has_new_hooks = True
    return len(gone)
