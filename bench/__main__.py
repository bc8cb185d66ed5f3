"""Every figure beside its yardstick, both taken in this run: `python -m bench` (or `make bench`).

Small machines are noisy, so rounds of the two sides alternate, and a ratio is the median of the rounds' own ratios.
"""

import argparse
import platform
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import apsw
import uvloop

from bench import api
from bench.engine import BareLife, EngineLife
from bench.filled import fill
from bench.lives import lives
from bench.server import raw_asgi, rookery
from rookery import __version__

Row = tuple[str, str, str, str, bool]


class Table:
    """Prints each row as soon as it is known."""

    def __init__(self) -> None:
        self.has_missed = False
        print(f"{'what':58} {'figure':>14} {'yardstick':>26} {'target':>12}")

    def add(self, what: str, figure: str, yardstick: str, target: str, is_met: bool) -> None:
        self.has_missed |= not is_met
        print(f"{what:58} {figure:>14} {yardstick:>26} {target:>12} {'ok' if is_met else 'MISSED'}", flush=True)

    def ratio(self, what: str, ours: list[float], theirs: list[float], name: str, target: float) -> None:
        ratio = statistics.median(mine / other for mine, other in zip(ours, theirs, strict=True))
        yardstick = f"{ratio:.2f} of {name} {statistics.median(theirs):,.0f}"
        self.add(what, f"{statistics.median(ours):,.0f}/s", yardstick, f">= {target}", ratio >= target)


def alternate(rounds: int, *sides: Callable[[], float]) -> list[list[float]]:
    """The figures of each side, their rounds taken in turn."""
    figures: list[list[float]] = [[] for _ in sides]
    for _ in range(rounds):
        for side, taken in zip(sides, figures, strict=True):
            taken.append(side())
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="rounds of each measurement")
    parser.add_argument("--each", type=int, default=1_000_000, help="finished, scheduled and pending jobs in the file")
    options = parser.parse_args()
    if shutil.which("wrk") is None:
        print("bench: wrk is not installed (Debian: apt-get install wrk)", file=sys.stderr)
        return 2
    sqlite = apsw.sqlite_lib_version()
    print(f"Rookery {__version__}, Python {platform.python_version()}, SQLite {sqlite}, durability full")
    table = Table()
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        _measure(table, Path(name), options.rounds, options.each)
    return int(table.has_missed)


def _measure(table: Table, place: Path, rounds: int, each: int) -> None:
    full = api.new_directory(place, "full")
    fill(full / "rookery.db", each)
    _engine(table, place, full, rounds)
    with rookery(api.new_directory(place, "idle")) as idle:
        memory = idle.memory_mb()
        table.add("memory, idle server", f"{memory:.0f} MB", "", "< 100 MB", memory < 100)
        latency = uvloop.run(api.wake_latency(idle, 200))
        table.add("enqueue reaches a waiting fetch (median)", f"{latency:.1f} ms", "", "< 5 ms", latency < 5)
        delay, worst = uvloop.run(api.schedule_delay(idle, 50))
        table.add(
            "scheduled job is fetched after its time (9 of 10)",
            f"{delay:.1f} ms",
            f"worst {worst:.1f} ms",
            "< 25 ms",
            delay < 25,
        )
    _http(table, place, full, rounds, each)
    _stream(table, place, rounds)
    with rookery(api.new_directory(place, "polls")) as server:
        _polls(table, server)


def _engine(table: Table, place: Path, full: Path, rounds: int) -> None:
    ours, bare, filled = EngineLife(place / "ours.db"), BareLife(place / "bare.db"), EngineLife(full / "rookery.db")
    for life in (ours, bare, filled):
        life.run(4)
    figure, yardstick, on_full = alternate(4 * rounds, lambda: ours.run(5), lambda: bare.run(5), lambda: filled.run(5))
    filled.machine.close()
    table.ratio("engine: enqueue, claim, ack in batches of 500", figure, yardstick, "bare", 0.7)
    table.ratio("  the same with 3 million jobs in the file", on_full, figure, "empty", 0.8)


def _http(table: Table, place: Path, full: Path, rounds: int, each: int) -> None:
    with (
        rookery(api.new_directory(place, "http")) as empty,
        rookery(full) as filled,
        raw_asgi() as raw,
    ):
        figure, yardstick, on_full = alternate(
            rounds, *(lambda server=server: api.single_enqueues(server, 2) for server in (empty, raw, filled))
        )
        table.ratio("HTTP: single enqueues, 64 connections", figure, yardstick, "raw ASGI", 0.5)
        table.ratio("  the same with 3 million jobs in the file", on_full, figure, "empty", 0.8)
    with rookery(api.new_directory(place, "lives")) as empty, rookery(full) as filled:
        figure, on_full = alternate(
            rounds, *(lambda server=server: uvloop.run(api.lives(server, 20_000)) for server in (empty, filled))
        )
        lives = statistics.median(figure)
        table.add("HTTP: whole lives in batches of 100", f"{lives:,.0f}/s", "", ">= 10,000/s", lives >= 10_000)
        table.ratio("  the same with 3 million jobs in the file", on_full, figure, "empty", 0.8)
        memory = filled.memory_mb()
        table.add(
            f"memory, {3 * each / 1e6:g} million jobs in the file", f"{memory:.0f} MB", "", "< 250 MB", memory < 250
        )


def _stream(table: Table, place: Path, rounds: int) -> None:
    with rookery(api.new_directory(place, "stream")) as server:
        figure, yardstick = alternate(
            rounds,
            *(lambda protocol=protocol: lives(server, protocol, 20_000) for protocol in ("stream", "http-batch")),
        )
    for what, each, least in (("stream", figure, 15_000), ("http-batch", yardstick, 10_000)):
        rate = statistics.median(each)
        table.add(f"{what}: whole lives in batches of 64", f"{rate:,.0f}/s", "", f">= {least:,}/s", rate >= least)
    table.ratio("  the stream beside HTTP", figure, yardstick, "http-batch", 0.8)


def _polls(table: Table, server: api.Running) -> None:
    report = uvloop.run(api.many_polls(server, polls=2000, rate=200, seconds=20))
    growth = report.memory_late - report.memory_early
    table.add(
        "2,000 open polls, 200 jobs/s: errors", f"{report.errors}", f"{report.done} jobs done", "0", report.errors == 0
    )
    table.add("  memory from 5 s to 20 s", f"{growth:+.1f} MB", f"{report.memory_late:.0f} MB", "< 15 MB", growth < 15)


if __name__ == "__main__":
    sys.exit(main())
