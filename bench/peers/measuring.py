"""One measurement of one system: enqueue jobs one by one, then let one worker process do jobs that wait already.

Every job leaves a mark with its time (programs/stopwatch.py), so the worker's own start does not count, and jobs that
were left out or done twice are found. The end is when the system itself says that nothing is left: not before the last
acknowledgement.
"""

import os
import signal
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from bench.peers.figures import Counts, Measured, Rates
from bench.peers.installing import PROGRAMS
from bench.peers.systems import System

PATIENCE = 60.0
"""Seconds without any progress after which a measurement is given up."""


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


def measure(installed: Installed, counts: Counts, place: Path) -> Measured:
    """Both figures, on servers that start empty in new directories under the place."""
    with _server(installed, place / "server") as server:
        seconds = _enqueue(installed, server, 0, counts.enqueue)
        if counts.process >= counts.enqueue:
            _fill(installed, server, counts.enqueue, counts.process)
            rate, again = _process(installed, server, counts.process, place)
            return Measured(Rates(counts.enqueue / seconds, rate), again)
    with _server(installed, place / "second") as server:
        _fill(installed, server, 0, counts.process)
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


def _fill(installed: Installed, server: str, first: int, end: int) -> None:
    """Enqueue jobs of these numbers, by a few clients at a time since nobody looks at the watch."""
    starts = range(first, end, -(-(end - first) // 4) or 1)
    with ThreadPoolExecutor() as clients:
        list(clients.map(lambda n: _enqueue(installed, server, n, min(starts.step, end - n)), starts))


def _process(installed: Installed, server: str, count: int, place: Path) -> tuple[float, int]:
    """Let a worker do the jobs that wait, while another process watches for the end."""
    marks = place / "marks"
    marks.write_bytes(bytes(9 * count))
    environment = _environment(installed, server, count, marks)
    with tempfile.TemporaryFile() as log:
        try:
            with _started(installed, installed.command("watch"), environment, subprocess.PIPE, log) as watch:
                assert watch.stdout is not None
                watch.stdout.readline()
                with _started(installed, installed.worker_command(server), environment, log, log) as worker:
                    _wait_for(worker, marks, count)
                    end = _end_told_by(watch)
        except Failure as failure:
            log.seek(0)
            raise Failure(f"{failure} {_last_lines(log.read())}".strip()) from None
    return rate_in(marks.read_bytes(), end)


@contextmanager
def _started(
    installed: Installed, command: list[str], environment: dict[str, str], output: int | IO[bytes], log: IO[bytes]
) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is asked to end afterwards; if it does not, it is ended with those it has started."""
    process = subprocess.Popen(
        command,
        cwd=installed.directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=log,
        bufsize=0,
        start_new_session=True,
    )
    with process:
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)


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


def _end_told_by(watch: subprocess.Popen[bytes]) -> int:
    """When the system itself said that nothing is left."""
    try:
        told, _ = watch.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        raise Failure(f"all jobs ran, but {PATIENCE:.0f} s later the system still listed some:") from None
    if watch.returncode != 0:
        raise Failure("the watch failed:")
    return int(told)


def rate_in(marks: bytes, end: int) -> tuple[float, int]:
    """Jobs a second from the first mark to the end, and how many were done more than once; none may be left out."""
    count = len(marks) // 9
    times: tuple[int, ...] = struct.unpack(f"<{count}q", marks[count:])
    missing, once = marks[:count].count(0), marks[:count].count(1)
    if missing:
        raise Failure(f"{missing} of {count} jobs were not done")
    return (count - 1) / ((end - min(times)) / 1e9), count - once


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
