"""Figures: how many jobs are given to a system, how fast it did them, and what is known of it in the end."""

import statistics
from dataclasses import dataclass, field
from typing import NamedTuple

from bench.peers.systems import System

BURST = 200
MOST = 100_000


class Counts(NamedTuple):
    """How many jobs to enqueue with the watch running, and how many to process."""

    enqueue: int
    process: int


CALIBRATION = Counts(BURST, BURST)


class Rates(NamedTuple):
    """Jobs a second."""

    enqueue: float
    process: float


class Measured(NamedTuple):
    """One measurement: its rates, and how many jobs were done more than once."""

    rates: Rates
    again: int


@dataclass
class Row:
    """What is known of a system at the end."""

    system: System
    versions: dict[str, str] = field(default_factory=dict)
    rates: list[Rates] = field(default_factory=list)
    counts: Counts = CALIBRATION
    processed: int = 0
    again: int = 0
    """Of those that were processed in all rounds, how many were done more than once."""
    problem: str = ""

    def add(self, measured: Measured) -> None:
        """Another round."""
        self.rates.append(measured.rates)
        self.processed += self.counts.process
        self.again += measured.again

    @property
    def is_measured(self) -> bool:
        return bool(self.rates) and not self.problem

    @property
    def median(self) -> Rates:
        return Rates(*(statistics.median(taken) for taken in zip(*self.rates, strict=True)))

    @property
    def lowest(self) -> Rates:
        return Rates(*(min(taken) for taken in zip(*self.rates, strict=True)))

    @property
    def highest(self) -> Rates:
        return Rates(*(max(taken) for taken in zip(*self.rates, strict=True)))


def counts_for(rates: Rates, seconds: float) -> Counts:
    """As many jobs as take about so long, by the last rates; tens, since some workers take ten at a time.

    Jobs to process must be enqueued first, so there are at most four times as many of them as are timed there.
    """
    enqueue, process = (max(BURST, min(MOST, int(rate * seconds) // 10 * 10)) for rate in rates)
    return Counts(enqueue, min(process, 4 * enqueue))
