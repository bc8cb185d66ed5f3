"""codeQ's priorities, 0 to 9 and higher first, as ranks, which go the other way; 0 is what we call normal."""

from typing import Final

from rookery.model.job import NORMAL_RANK

HIGHEST: Final = 9
PRIORITIES: Final = range(HIGHEST + 1)


def rank_for(priority: int) -> int:
    """The rank of a priority; what is out of range counts as the nearest."""
    return NORMAL_RANK - min(max(priority, 0), HIGHEST)


def priority_of(rank: int) -> int:
    """The priority of a rank; those of other faces take the nearest."""
    return min(max(NORMAL_RANK - rank, 0), HIGHEST)
