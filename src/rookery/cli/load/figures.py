"""What comes of a phase: how many jobs a second, and how long its operations took."""

from collections.abc import Sequence
from statistics import fmean, median, pstdev

import msgspec


class Phase(msgspec.Struct):
    """One phase, measured: seconds as they were taken."""

    jobs: int
    seconds: float
    latencies: list[float]


class Figures(msgspec.Struct, frozen=True):
    """A phase in figures, as it is saved."""

    ops_per_sec: float
    p50_us: float
    p90_us: float
    p99_us: float
    min_us: float
    max_us: float
    stddev_us: float
    completed: int


def figures_of(phases: Sequence[Phase]) -> Figures:
    """The same phase, measured once or several times: the median rate, and the latencies of all."""
    latencies = sorted(latency * 1e6 for phase in phases for latency in phase.latencies)
    return Figures(
        ops_per_sec=round(median(phase.jobs / phase.seconds for phase in phases), 1),
        p50_us=_percentile(latencies, 50),
        p90_us=_percentile(latencies, 90),
        p99_us=_percentile(latencies, 99),
        min_us=round(latencies[0], 1),
        max_us=round(latencies[-1], 1),
        stddev_us=round(pstdev(latencies), 1),
        completed=sum(phase.jobs for phase in phases),
    )


def average_us(phases: Sequence[Phase]) -> float:
    """The average latency."""
    return fmean(latency * 1e6 for phase in phases for latency in phase.latencies)


def _percentile(ordered: Sequence[float], percent: int) -> float:
    """The smallest latency that so many percent of all do not exceed."""
    return round(ordered[-(-len(ordered) * percent // 100) - 1], 1)
