"""Servers to measure: Rookery on some data directory, and the raw ASGI yardstick."""

import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple


class Running(NamedTuple):
    """A server that runs."""

    port: int
    pid: int

    def memory_mb(self) -> float:
        """Resident memory."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1024

    def processor_seconds(self) -> tuple[float, float]:
        """The processor time of the main thread, and of all others together."""
        times = {}
        for task in Path(f"/proc/{self.pid}/task").iterdir():
            times[task.name] = int((task / "schedstat").read_text().split()[0]) / 1e9
        main = times.pop(str(self.pid))
        return main, sum(times.values())


@contextmanager
def rookery(data_dir: Path, *flags: str) -> Iterator[Running]:
    """A Rookery server, durability full, no rate limits."""
    with process(
        [sys.executable, "-m", "rookery", "server", "--data-dir", str(data_dir), "--rate-limit-enabled=false", *flags],
        "--bind",
        "127.0.0.1:{port}",
    ) as running:
        yield running


@contextmanager
def raw_asgi() -> Iterator[Running]:
    """The yardstick on the same uvicorn."""
    options = [
        "--loop",
        "uvloop",
        "--http",
        "httptools",
        "--no-access-log",
        "--log-level",
        "error",
        "--lifespan",
        "off",
    ]
    with process([sys.executable, "-m", "uvicorn", "bench.raw_asgi:app", *options], "--port", "{port}") as running:
        yield running


@contextmanager
def process(command: list[str], address_flag: str, address: str, user: str | None = None) -> Iterator[Running]:
    """A server that listens on a free port of loopback until the block ends."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryFile() as log:
        server = subprocess.Popen(
            [*command, address_flag, address.format(port=port)], stdout=log, stderr=log, user=user, group=user
        )
        try:
            if not _is_listening(server, port):
                log.seek(0)
                raise RuntimeError(f"the server did not start: {log.read()[-1000:].decode(errors='replace')}")
            yield Running(port, server.pid)
        finally:
            _stop(server)


def _stop(server: subprocess.Popen[bytes]) -> None:
    server.terminate()
    try:
        server.wait(30)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
        raise


def _is_listening(server: subprocess.Popen[bytes], port: int) -> bool:
    """Wait until it is, or is not going to be."""
    end = time.monotonic() + 60
    while time.monotonic() < end and server.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return True
        time.sleep(0.05)
    return False
