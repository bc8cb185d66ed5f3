"""One measurement of one system: enqueue jobs one by one, then let one worker process do jobs that wait already.

Every job leaves a mark with its time (programs/stopwatch.py), so the worker's own start does not count, and jobs that
were left out or done twice are found.
"""

import os
import signal
import statistics
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from bench.peers.installing import PROGRAMS
from bench.peers.systems import System

BURST = 200
MOST = 100_000
PATIENCE = 60.0
"""Seconds without any progress after which a measurement is given up."""


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


class Failure(Exception):
    """A system did not do the work; the message says what happened."""


@dataclass(frozen=True)
class Installed:
    """A system that can be run here."""

    system: System
    programs: Path
    interpreter: str
    directory: Path
    versions: dict[str, str]

    def command(self, *arguments: str) -> list[str]:
        """Our program for the system, with arguments."""
        return [self.interpreter, *self.system.program, *arguments]

    def worker_command(self, server: str) -> list[str]:
        """The worker's command with its placeholders filled in."""
        words = [word.replace("SERVER", server) for word in self.system.worker]
        if words[0] == "BIN/node":
            return [self.interpreter, *words[1:]]
        return [words[0].replace("BIN", str(self.programs)), *words[1:]]


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

    Jobs to process must be enqueued one by one first, so there are at most twice as many of them as are timed.
    """
    enqueue, process = (max(BURST, min(MOST, int(rate * seconds) // 10 * 10)) for rate in rates)
    return Counts(enqueue, min(process, 2 * enqueue))


def measure(installed: Installed, counts: Counts, place: Path) -> Measured:
    """Both figures, on servers that start empty in new directories under the place."""
    with _server(installed, place / "server") as server:
        seconds = _enqueue(installed, server, 0, counts.enqueue)
        if counts.process >= counts.enqueue:
            if counts.process > counts.enqueue:
                _enqueue(installed, server, counts.enqueue, counts.process - counts.enqueue)
            rate, again = _process(installed, server, counts.process, place)
            return Measured(Rates(counts.enqueue / seconds, rate), again)
    with _server(installed, place / "second") as server:
        _enqueue(installed, server, 0, counts.process)
        rate, again = _process(installed, server, counts.process, place)
    return Measured(Rates(counts.enqueue / seconds, rate), again)


@contextmanager
def _server(installed: Installed, place: Path) -> Iterator[str]:
    place.mkdir()
    with installed.system.server.start(place) as server:
        if installed.system.is_prepared:
            _run(installed, server, "prepare")
        yield server


def _enqueue(installed: Installed, server: str, first: int, count: int) -> float:
    return float(_run(installed, server, "enqueue", str(first), str(count)))


def _process(installed: Installed, server: str, count: int, place: Path) -> tuple[float, int]:
    marks = place / "marks"
    marks.write_bytes(bytes(9 * count))
    with tempfile.TemporaryFile() as log:
        worker = subprocess.Popen(
            installed.worker_command(server),
            cwd=installed.directory,
            env=_environment(installed, server, count, marks),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            _wait_for(worker, marks, count)
            _wait_until_settled(installed, server)
        except Failure as failure:
            log.seek(0)
            raise Failure(f"{failure} {_last_lines(log.read())}".strip()) from None
        finally:
            _stop(worker)
    return rate_in(marks.read_bytes())


def _wait_for(worker: subprocess.Popen[bytes], marks: Path, count: int) -> None:
    """Until every job has its mark."""
    done, heard = 0, time.monotonic()
    while done < count:
        if worker.poll() is not None:
            raise Failure(f"the worker ended ({worker.returncode}) after {done} of {count} jobs:")
        time.sleep(0.1)
        with marks.open("rb") as file:
            now_done = count - file.read(count).count(0)
        if now_done > done:
            done, heard = now_done, time.monotonic()
        elif time.monotonic() - heard > PATIENCE:
            raise Failure(f"nothing happened for {PATIENCE:.0f} s after {done} of {count} jobs:")


def _wait_until_settled(installed: Installed, server: str) -> None:
    """Until the system itself says that nothing is left to do."""
    end = time.monotonic() + PATIENCE
    while (left := int(_run(installed, server, "left"))) > 0:
        if time.monotonic() > end:
            raise Failure(f"all jobs ran, but the system still lists {left} of them:")


def _stop(worker: subprocess.Popen[bytes]) -> None:
    """Ask it to end; if it does not, end it with the processes it has started."""
    worker.terminate()
    try:
        worker.wait(15)
    except subprocess.TimeoutExpired:
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()


def rate_in(marks: bytes) -> tuple[float, int]:
    """Jobs a second from the first mark to the last, and how many were done more than once; none may be left out."""
    count = len(marks) // 9
    times: tuple[int, ...] = struct.unpack(f"<{count}q", marks[count:])
    missing, once = marks[:count].count(0), marks[:count].count(1)
    if missing:
        raise Failure(f"{missing} of {count} jobs were not done")
    return (count - 1) / max((max(times) - min(times)) / 1e9, 1e-9), count - once


def _run(installed: Installed, server: str, *arguments: str) -> str:
    """What the system's program prints."""
    try:
        finished = subprocess.run(
            installed.command(*arguments),
            cwd=installed.directory,
            env=_environment(installed, server),
            capture_output=True,
            timeout=5 * PATIENCE,
        )
    except subprocess.TimeoutExpired:
        raise Failure(f"{arguments[0]} took longer than {5 * PATIENCE:.0f} s") from None
    if finished.returncode != 0:
        raise Failure(f"{arguments[0]} failed: {_last_lines(finished.stderr)}")
    return finished.stdout.decode()


def _environment(installed: Installed, server: str, jobs: int = 0, marks: Path | None = None) -> dict[str, str]:
    """Ours, with what the programs need; only Rookery sees the project's own path."""
    environment = {**os.environ, "BENCH_SERVER": server, "BENCH_JOBS": str(jobs), "BENCH_MARKS": str(marks or "")}
    own = environment.get("PYTHONPATH", "") if installed.system.environment == "rookery" else ""
    paths = [PROGRAMS, *(Path(path).absolute() for path in own.split(os.pathsep) if path)]
    environment["PYTHONPATH"] = os.pathsep.join(map(str, paths))
    return environment


def _last_lines(output: bytes) -> str:
    lines = [line.strip() for line in output.decode(errors="replace").splitlines() if line.strip()]
    return " / ".join(lines[-3:])[-400:]
