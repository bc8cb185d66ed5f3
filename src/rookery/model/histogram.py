"""How values are spread: counts by size and their sum. Plain integers, so that counting costs next to nothing."""

from bisect import bisect_left
from decimal import Decimal
from functools import cache
from itertools import accumulate


@cache
def _texts(bounds: tuple[float, ...]) -> list[str]:
    return [*(f"{Decimal(str(bound)):f}" for bound in bounds), "+Inf"]


class Histogram:
    """Counts of values up to each bound, and of those beyond the last."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def add(self, value: float, times: int = 1) -> None:
        """Count a value; one that equals a bound belongs to it."""
        self.counts[bisect_left(self.bounds, value)] += times
        self.sum += value * times

    def add_all(self, other: "Histogram") -> None:
        """Count all that another one with the same bounds has counted."""
        self.counts = [mine + theirs for mine, theirs in zip(self.counts, other.counts, strict=True)]
        self.sum += other.sum

    @property
    def count(self) -> int:
        """How many values there were."""
        return sum(self.counts)

    def cumulative(self) -> list[tuple[str, int]]:
        """Each bound as text, with how many values were not above it; `+Inf` at the end."""
        return list(zip(_texts(self.bounds), accumulate(self.counts), strict=True))

    def quantile(self, share: float) -> float:
        """About the value that this share of all values is not above: even inside a bucket, the last bound at most."""
        counts = list(self.counts)
        wanted, below, lower = share * sum(counts), 0, 0.0
        for bound, count in zip(self.bounds, counts, strict=False):
            if count and below + count >= wanted:
                return lower + (bound - lower) * (wanted - below) / count
            below, lower = below + count, bound
        return lower
