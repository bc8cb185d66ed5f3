"""Counts that outlive the processes that count."""

from rookery.engine.ledger import Ledger
from rookery.engine.ops import AddToTally, Done
from rookery.model.job import ACTIVE


def add(ledger: Ledger, op: AddToTally) -> Done:
    """Let counts grow; one that is new begins at nothing. What a worker says of a job it has lost does not count."""
    if op.job_id is not None and not _is_held(ledger, op):
        return Done("lost")
    ledger.executemany(
        "INSERT INTO tally VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = value + excluded.value",
        [(count.name, count.label, count.value) for count in op.counts],
    )
    return Done("counted")


def _is_held(ledger: Ledger, op: AddToTally) -> bool:
    row = ledger.execute("SELECT 1 FROM job WHERE id = ? AND lease = ? AND state = ?", (op.job_id, op.lease, ACTIVE))
    return row.get is not None
