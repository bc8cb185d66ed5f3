"""Rookery beside other job systems: `python -m bench.peers` (or `make bench-peers`).

Installs what is missing, does the same work on every system in turn, and writes figures, chart and commands into
docs/benchmarks.md. The first run installs for a few minutes; the measurements take about ten.
"""

import argparse
import shutil
import signal
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from bench.peers import chart, machine, report
from bench.peers.figures import Counts, Row, counts_for
from bench.peers.installing import (
    PROGRAMS,
    install_node,
    install_python,
    install_server,
    node_program,
    node_versions,
    python_versions,
)
from bench.peers.measuring import Installed, measure
from bench.peers.systems import SYSTEMS, System

ROOT = Path(__file__).parent.parent.parent
DOCUMENT = ROOT / "docs" / "benchmarks.md"
CHART = ROOT / "docs" / "benchmarks-peers.svg"


def main() -> int:
    options = _options()
    # So that whatever was started is ended when this is told to end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    rows = [Row(system) for system in SYSTEMS if not options.only or system.key in options.only]
    if not options.no_write:
        # Better now than after ten minutes.
        report.put_into(DOCUMENT.read_text(), "")
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="bench-peers-", dir=options.place) as name:
        place = Path(name)
        # PostgreSQL runs as a user of its own and must get through.
        place.chmod(0o755)
        seen = machine.look(place)
        _say(seen.described())
        if seen.load > seen.cores / 4:
            _say("the machine is not quiet: the figures of this run are not worth much")
        installed = _install(rows, options.cache)
        _measure(rows, installed, options, place)
    run = report.Run(
        machine=seen,
        date=datetime.now(UTC).date(),
        command=" ".join(["python -m bench.peers", *_without_no_write(sys.argv[1:])]),
        rounds=options.rounds,
        seconds=options.seconds,
        jobs=options.jobs,
        minutes=(time.monotonic() - begun) / 60,
        servers=_server_versions(rows),
    )
    print(report.figures(rows))
    if not options.no_write and any(row.is_measured for row in rows):
        CHART.write_text(chart.draw(rows))
        DOCUMENT.write_text(report.put_into(DOCUMENT.read_text(), report.section(run, rows, CHART.name)))
        _say(f"written: {DOCUMENT.relative_to(ROOT)}, {CHART.relative_to(ROOT)}")
    problems = [row for row in rows if row.problem]
    for row in problems:
        _say(f"{row.system.key}: {row.problem}")
    return int(bool(problems))


def _options() -> argparse.Namespace:
    keys = [system.key for system in SYSTEMS]
    parser = argparse.ArgumentParser(
        prog="bench.peers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", metavar="NAMES", default="", help=f"only some, with commas: {', '.join(keys)}")
    parser.add_argument("--jobs", type=int, metavar="N", help="so many jobs for each (default: what fits --seconds)")
    parser.add_argument("--seconds", type=float, default=3.0, help="how long each measurement should take (default 3)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds, the systems in turn in each (default 3)")
    parser.add_argument("--no-write", action="store_true", help="leave the document and the chart as they are")
    parser.add_argument(
        "--cache", type=Path, default=ROOT / ".bench", help="where peers are installed (default .bench)"
    )
    parser.add_argument(
        "--place", type=Path, default=Path("/var/tmp"), help="where all servers keep their files (default /var/tmp)"
    )
    options = parser.parse_args()
    options.only = [key.strip() for key in options.only.split(",") if key.strip()]
    if unknown := [key for key in options.only if key not in keys]:
        parser.error(f"--only: there is no {unknown[0]}; there are {', '.join(keys)}")
    for name, least in (("jobs", 10), ("seconds", 0.1), ("rounds", 1)):
        if getattr(options, name) is not None and getattr(options, name) < least:
            parser.error(f"--{name}: must be at least {least}")
    if not options.place.is_dir():
        parser.error(f"--place: there is no directory {options.place}")
    return options


def _install(rows: list[Row], cache: Path) -> dict[str, Installed]:
    """Each system that can be run here; what cannot be had is noted in its row."""
    done = {}
    for row in rows:
        try:
            done[row.system.key] = installed = _installed(row.system, cache)
            row.versions = installed.versions
        except Exception as error:
            row.problem = f"not run: {_in_a_line(error)}"
            _say(f"{row.system.key}: {row.problem}")
    return done


def _installed(system: System, cache: Path) -> Installed:
    _say(f"setting up {system.key}")
    install_server(system.server)
    if system.environment == "rookery":
        return _in_python(system, Path(sys.executable).parent)
    if system.environment == "node":
        directory = install_node(cache)
        node = node_program(directory)
        return Installed(system, directory, node, directory, node_versions(directory, system.packages))
    return _in_python(system, install_python(system.environment, cache))


def _in_python(system: System, programs: Path) -> Installed:
    versions = python_versions(programs, system.packages)
    return Installed(system, programs, str(programs / "python"), PROGRAMS, versions)


def _measure(rows: list[Row], installed: dict[str, Installed], options: argparse.Namespace, place: Path) -> None:
    """A burst of each to learn how many jobs to give it, then the rounds.

    Whatever goes wrong with a system is told in its row; it takes no further part.
    """
    first_round = 1 if options.jobs else 0
    for number in range(first_round, options.rounds + 1):
        title = f"round {number} of {options.rounds}" if number else "calibration"
        for row in rows:
            if row.problem:
                continue
            if options.jobs:
                row.counts = Counts(options.jobs, options.jobs)
            directory = place / f"{row.system.key}-{number}"
            directory.mkdir()
            try:
                measured = measure(installed[row.system.key], row.counts, directory)
            except Exception as failure:
                row.problem = f"failed: {_in_a_line(failure)}"
                _say(f"{title}: {row.system.key} {row.problem}")
                continue
            finally:
                shutil.rmtree(directory, ignore_errors=True)
            rates = measured.rates
            _say(
                f"{title}: {row.system.key:18} enqueue {rates.enqueue:8,.0f}/s ({row.counts.enqueue:,} jobs)"
                f"   process {rates.process:8,.0f}/s ({row.counts.process:,} jobs)"
            )
            if number:
                row.add(measured)
            if number < options.rounds:
                row.counts = counts_for(rates, options.seconds)


def _server_versions(rows: list[Row]) -> list[str]:
    servers = {row.system.server.package: row.system.server for row in rows if row.is_measured}
    return [server.version() for package, server in servers.items() if package]


def _without_no_write(arguments: list[str]) -> list[str]:
    return [argument for argument in arguments if argument != "--no-write"]


def _in_a_line(error: Exception) -> str:
    """The end of what it says: that is where the reason is."""
    return " ".join(str(error).split())[-400:] or type(error).__name__


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
