"""Telling webhooks of events: what each is to get is written to the outbox, chunk by chunk, after the events are there.

Each webhook has a position in the timeline that moves by the same commit, so that everything is told exactly once.
"""

from collections.abc import Iterator
from typing import Final

from rookery.engine.jsontext import json_text
from rookery.engine.ledger import Event, Ledger
from rookery.engine.ops import TellWebhooks, Told
from rookery.engine.subscriptions import Subscription
from rookery.store.events import event_view
from rookery.store.webhooks import KIND

MOST_EVENTS: Final = 2000
MOST_PAIRS: Final = 2000
"""About how many events, each with a webhook that may want it, are looked at in one go."""
MOST_TEXT: Final = 4 << 20
"""About how many characters are written in one go."""
MOST_WAITING: Final = 10_000
"""Deliveries that may wait for one webhook; what comes on top is dropped and counted."""
_DROPPING: Final = f"events are dropped: {MOST_WAITING} deliveries wait already"


class _Chunk:
    """What is to be told in one go."""

    def __init__(self, webhooks: list[Subscription], now: int) -> None:
        self.deliveries: list[tuple[str, str, str, int, int]] = []
        self.taken = {hook.id: 0 for hook in webhooks}
        self.dropped = {hook.id: 0 for hook in webhooks}
        self._webhooks = webhooks
        self._now = now
        self._audiences: dict[tuple[str, str], list[Subscription]] = {}
        self._pairs = 0
        self._text = 0

    @property
    def is_full(self) -> bool:
        return self._pairs >= MOST_PAIRS or self._text >= MOST_TEXT

    def add(self, event: Event) -> None:
        bodies: dict[str, str] = {}
        for hook in self._audience(event[1], event[3]):
            if hook.told >= event[0]:
                continue
            self._pairs += 1
            if hook.waiting >= MOST_WAITING:
                self.dropped[hook.id] += 1
                continue
            body = bodies.get(hook.namespace)
            if body is None:
                body = bodies[hook.namespace] = json_text(event_view(hook.namespace, *event))
            self._text += len(body)
            self.deliveries.append((KIND, hook.id, body, self._now, self._now))
            self.taken[hook.id] += 1
            hook.waiting += 1

    def _audience(self, type: str, queue: str) -> list[Subscription]:
        """Who wants such events; many are alike, so that those whom nobody wants cost next to nothing."""
        audience = self._audiences.get((type, queue))
        if audience is None:
            audience = self._audiences[type, queue] = [hook for hook in self._webhooks if hook.wants(type, queue)]
            self._pairs += len(self._webhooks)
        return audience


def tell(ledger: Ledger, _: TellWebhooks) -> Told:
    """Tell one chunk of events, the oldest first: nobody hears of the next ones before all have heard of these."""
    behind = ledger.untold()
    if not behind:
        return Told(more=False)
    ledger.insert_events()
    chunk, up_to = _Chunk(behind, ledger.now), ledger.event_seq
    for event in _events_after(ledger, min(hook.told for hook in behind)):
        chunk.add(event)
        up_to = event[0]
        if chunk.is_full:
            break
    _write(ledger, chunk)
    for hook in behind:
        if hook.told < up_to:
            hook.told = up_to
            taken, dropped = chunk.taken[hook.id], chunk.dropped[hook.id]
            ledger.execute(
                """
                UPDATE webhook
                   SET told = ?, waiting = waiting + ?, dropped = dropped + ?, last_error = iif(?, ?, last_error)
                 WHERE id = ?
                """,
                (up_to, taken, dropped, dropped, _DROPPING, hook.id),
            )
    return Told(more=ledger.has_untold())


def _events_after(ledger: Ledger, position: int) -> Iterator[Event]:
    """The next events; those that are no longer kept are passed by."""
    rows: Iterator[Event] = ledger.execute(
        "SELECT seq, type, job_id, queue, at, data FROM event WHERE seq > ? ORDER BY seq LIMIT ?",
        (position, MOST_EVENTS),
    )
    return rows


def _write(ledger: Ledger, chunk: _Chunk) -> None:
    if chunk.deliveries:
        ledger.has_deliveries = True
        ledger.executemany(
            "INSERT INTO outbox (kind, target, body, attempts, due_at, created_at) VALUES (?, ?, ?, 0, ?, ?)",
            chunk.deliveries,
        )
