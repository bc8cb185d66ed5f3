"""Counts that outlive the processes that count."""

from rookery.engine.ledger import Ledger
from rookery.engine.ops import AddToTally, Done


def add(ledger: Ledger, op: AddToTally) -> Done:
    """Let counts grow; one that is new begins at nothing."""
    ledger.executemany(
        "INSERT INTO tally VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = value + excluded.value",
        [(count.name, count.label, count.value) for count in op.counts],
    )
    return Done("counted")
