"""What the full-text index costs those who write: the same load with it and without, `python -m bench.fulltext`.

Throughput is compared round by round. On a machine that others use too, the processor time that the server's main
thread takes for a job says more.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import uvloop

from bench import api
from bench.server import Running, rookery

TARGET = 0.97
REST = 1.5
"""Seconds for the index to catch up before the other side has its turn."""


class Round(NamedTuple):
    """What one side did in a round."""

    rate: float
    jobs: int
    main: float
    others: float


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.fulltext", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="rounds of each measurement")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        ratio = _compare("single enqueues, 64 connections", Path(name) / "enqueues", options.rounds, _enqueues)
        _compare("whole lives in batches of 100", Path(name) / "lives", options.rounds, _lives)
    return int(ratio < TARGET)


def _enqueues(server: Running) -> tuple[float, int]:
    rate = api.single_enqueues(server, 2)
    return rate, int(2 * rate)


def _lives(server: Running) -> tuple[float, int]:
    return uvloop.run(api.lives(server, 20_000)), 20_000


def _compare(what: str, place: Path, rounds: int, load: Callable[[Running], tuple[float, int]]) -> float:
    """The median of the rounds' ratios; who goes first changes from round to round."""
    place.mkdir()
    taken: list[tuple[Round, Round]] = []
    with (
        rookery(api.new_directory(place, "with")) as indexed,
        rookery(api.new_directory(place, "without"), "--fulltext-enabled=false") as plain,
    ):
        load(indexed), load(plain)
        for number in range(rounds):
            first, second = (indexed, plain) if number % 2 else (plain, indexed)
            figures = {first: _measured(first, load), second: _measured(second, load)}
            taken.append((figures[indexed], figures[plain]))
    ratios = [ours.rate / theirs.rate for ours, theirs in taken]
    lower, middle, upper = statistics.quantiles(ratios, n=4)
    print(f"{what}: {middle:.3f} of without (quartiles {lower:.3f} to {upper:.3f}, {rounds} rounds)")
    for name, side in zip(("with", "without"), zip(*taken, strict=True), strict=True):
        jobs = sum(round.jobs for round in side)
        main, others = (1e6 * sum(values) / jobs for values in zip(*((r.main, r.others) for r in side), strict=True))
        rate = statistics.median(round.rate for round in side)
        print(
            f"  {name:8} {rate:8,.0f}/s, main thread {main:5.1f} us a job, other threads {others:5.1f} us", flush=True
        )
    return middle


def _measured(server: Running, load: Callable[[Running], tuple[float, int]]) -> Round:
    """A round and the rest behind it, in which the index catches up."""
    main, others = server.processor_seconds()
    rate, jobs = load(server)
    time.sleep(REST)
    main_after, others_after = server.processor_seconds()
    return Round(rate, jobs, main_after - main, others_after - others)


if __name__ == "__main__":
    sys.exit(main())
