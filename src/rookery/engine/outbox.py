"""Telling webhooks of events: what each is to get is written to the outbox, chunk by chunk, after the events are there.

Each webhook has a position in the timeline that moves by the same commit, so that everything is told exactly once.
"""

from typing import Final

from rookery.engine.jsontext import json_text
from rookery.engine.ledger import Event, Ledger
from rookery.engine.ops import TellWebhooks, Told
from rookery.store.views import event_view
from rookery.store.webhooks import KIND

MOST_PAIRS: Final = 2000
"""How many events, times the webhooks that may want them, are looked at in one go."""
MOST_TEXT: Final = 4 << 20
"""About how many characters are written in one go."""
MOST_WAITING: Final = 10_000
"""Deliveries that may wait for one webhook; what comes on top is dropped and counted."""
_DROPPING: Final = f"events are dropped: {MOST_WAITING} deliveries wait already"


def tell(ledger: Ledger, _: TellWebhooks) -> Told:
    """Tell one chunk of events, the oldest first: nobody hears of the next ones before all have heard of these."""
    behind = ledger.untold()
    if not behind:
        return Told(more=False)
    ledger.insert_events()
    events = _events_after(ledger, min(hook.told for hook in behind), len(behind))
    up_to = events[-1][0] if events else ledger.event_seq
    bodies: dict[tuple[str, int], str] = {}
    deliveries: list[tuple[str, str, str, int, int]] = []
    tallies: list[tuple[int, int, int, int, str, str]] = []
    for hook in behind:
        if hook.told >= up_to:
            continue
        wanted = [event for event in events if event[0] > hook.told and hook.wants(event[1], event[3])]
        taken = wanted[: max(0, MOST_WAITING - hook.waiting)]
        for event in taken:
            key = (hook.namespace, event[0])
            if key not in bodies:
                bodies[key] = json_text(event_view(hook.namespace, *event))
            deliveries.append((KIND, hook.id, bodies[key], ledger.now, ledger.now))
        dropped = len(wanted) - len(taken)
        tallies.append((up_to, len(taken), dropped, dropped, _DROPPING, hook.id))
        hook.told = up_to
        hook.waiting += len(taken)
    if deliveries:
        ledger.has_deliveries = True
        ledger.executemany(
            "INSERT INTO outbox (kind, target, body, attempts, due_at, created_at) VALUES (?, ?, ?, 0, ?, ?)",
            deliveries,
        )
    ledger.executemany(
        """
        UPDATE webhook
           SET told = ?, waiting = waiting + ?, dropped = dropped + ?, last_error = iif(?, ?, last_error)
         WHERE id = ?
        """,
        tallies,
    )
    return Told(more=ledger.has_untold())


def _events_after(ledger: Ledger, position: int, webhooks: int) -> list[Event]:
    """The next events, as many as may be looked at for so many webhooks; those no longer kept are passed by."""
    rows = ledger.execute(
        "SELECT seq, type, job_id, queue, at, data FROM event WHERE seq > ? ORDER BY seq LIMIT ?",
        (position, max(1, MOST_PAIRS // webhooks)),
    )
    events: list[Event] = []
    text = 0
    for event in rows:
        events.append(event)
        text += len(event[5] or "")
        if text * webhooks >= MOST_TEXT:
            break
    return events
