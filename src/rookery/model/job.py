"""The words of a job's life: its states and its priorities."""

from typing import Final

SCHEDULED: Final = "scheduled"
PENDING: Final = "pending"
ACTIVE: Final = "active"
RETRYING: Final = "retrying"
HELD: Final = "held"
COMPLETED: Final = "completed"
DEAD: Final = "dead"
CANCELLED: Final = "cancelled"

STATES: Final = (PENDING, ACTIVE, HELD, COMPLETED, DEAD, SCHEDULED, RETRYING, CANCELLED)
WAITING: Final = frozenset({PENDING, SCHEDULED, RETRYING, HELD})
TERMINAL: Final = frozenset({COMPLETED, DEAD, CANCELLED})

PRIORITY_RANKS: Final = {"critical": 0, "high": 1, "normal": 2}
NORMAL_RANK: Final = 2
_RANK_NAMES: Final = {rank: name for name, rank in PRIORITY_RANKS.items()}


def rank_of(priority: str | None) -> int:
    """The rank of a priority's name; a name nobody knows means normal."""
    return PRIORITY_RANKS.get(priority or "normal", NORMAL_RANK)


def priority_name(rank: int) -> str:
    """The name of a rank; ranks of other faces take the nearest native name."""
    return _RANK_NAMES[min(max(rank, 0), NORMAL_RANK)]
