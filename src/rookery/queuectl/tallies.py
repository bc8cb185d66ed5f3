"""What is counted over all runs of all workers, and kept in the store: how runs ended, and how long they took."""

from bisect import bisect_left
from typing import Final

import apsw
import msgspec

from rookery.engine.ops import AddToTally, Count

OUTCOMES: Final = ("success", "failure", "timeout")
BOUNDS: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0)
"""Upper ends of the classes of durations, in seconds; behind the last comes one without an end."""
ENDLESS: Final = "+Inf"
_LABELS: Final = (*(f"{bound:g}" for bound in BOUNDS), ENDLESS)


class Tallies(msgspec.Struct):
    """Everything counted so far."""

    runs: dict[str, int]
    retries: int
    durations: dict[str, int]
    """How many runs took no longer than each of the bounds."""
    seconds: float


def run_ended(outcome: str, seconds: float, *, is_retried: bool) -> AddToTally:
    """Count one run that came to an end."""
    counts = [
        Count("runs", outcome, 1),
        Count("duration_class", _LABELS[bisect_left(BOUNDS, seconds)], 1),
        Count("duration_seconds", "", seconds),
    ]
    if is_retried:
        counts.append(Count("retries", "", 1))
    return AddToTally(counts=counts)


def read_tallies(db: apsw.Connection) -> Tallies:
    """What the store has."""
    kept: dict[tuple[str, str], float] = {
        (name, label): value for name, label, value in db.execute("SELECT name, label, value FROM tally")
    }
    total, durations = 0, {}
    for label in _LABELS:
        total += int(kept.get(("duration_class", label), 0))
        durations[label] = total
    return Tallies(
        runs={outcome: int(kept.get(("runs", outcome), 0)) for outcome in OUTCOMES},
        retries=int(kept.get(("retries", ""), 0)),
        durations=durations,
        seconds=kept.get(("duration_seconds", ""), 0.0),
    )
