"""A server for a while: started on an empty directory, and gone with it in the end, whatever happens."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

import click

from rookery.cli.ready import ready_url

LONGEST_START: Final = 60.0
LONGEST_STOP: Final = 10.0
TERMINATED: Final = 128 + signal.SIGTERM


@contextmanager
def throwaway_server(*flags: str) -> Iterator[str]:
    """The URL of a server on a free port of loopback."""
    old = signal.signal(signal.SIGTERM, _end_by_exception)
    try:
        with tempfile.TemporaryDirectory(prefix="rookery-") as name:
            directory = Path(name)
            log = directory / "server.log"
            command = (sys.executable, "-m", "rookery", "server", "--bind", "127.0.0.1:0")
            process = _start([*command, "--data-dir", str(directory / "data"), *flags], log)
            try:
                yield _wait_until_ready(process, log)
            finally:
                _stop(process)
    finally:
        signal.signal(signal.SIGTERM, old)


def is_in_memory(directory: str) -> bool:
    """Whether files of a directory are never on a disk, as far as that can be known."""
    try:
        mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    except OSError:
        return False
    path = Path(directory).resolve()
    here = [mount for mount in mounts if path.is_relative_to(mount[1])]
    return bool(here) and max(here, key=lambda mount: len(mount[1]))[2] in ("tmpfs", "ramfs")


def _start(command: Sequence[str], log: Path) -> "subprocess.Popen[bytes]":
    """In a session of its own, so that Ctrl-C is ours alone; settings of other servers are not for this one."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("ROOKERY_", "CORVO_"))}
    with log.open("wb") as output:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment, start_new_session=True
        )


def _wait_until_ready(process: "subprocess.Popen[bytes]", log: Path) -> str:
    end = time.monotonic() + LONGEST_START
    while time.monotonic() < end:
        url = ready_url(log.read_text())
        if url is not None:
            return url
        if process.poll() is not None:
            break
        time.sleep(0.01)
    raise click.ClickException(f"cannot start a server: {log.read_text().strip() or 'it says nothing'}")


def _stop(process: "subprocess.Popen[bytes]") -> None:
    """Stop it, and let nothing interrupt that."""
    old = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        process.terminate()
        try:
            process.wait(LONGEST_STOP)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


def _end_by_exception(_: int, __: FrameType | None) -> None:
    raise SystemExit(TERMINATED)
