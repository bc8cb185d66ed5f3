"""A command in a real terminal of its own."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Any


class Terminal:
    """Runs `rookery` in a pseudo terminal, reads what it shows and types into it."""

    def __init__(
        self, *arguments: object, size: tuple[int, int] = (100, 30), env: dict[str, str] | None = None
    ) -> None:
        self._ours, self._theirs = pty.openpty()
        fcntl.ioctl(self._theirs, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self.settings = termios.tcgetattr(self._theirs)
        self.output = ""
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("ROOKERY_", "CORVO_"))}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "rookery", *map(str, arguments)],
            stdin=self._theirs,
            stdout=self._theirs,
            stderr=self._theirs,
            start_new_session=True,
            preexec_fn=self._take_terminal,
            env={**clean, "TERM": "xterm-256color", **(env or {})},
            cwd=Path.cwd(),
        )

    def _take_terminal(self) -> None:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(45)
        os.close(self._ours)
        os.close(self._theirs)

    def see(self, *words: str, timeout: float = 30) -> str:
        """Read until these words have come; all that has come."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            if all(word in self.output for word in words):
                return self.output
            self._read(0.05)
        raise AssertionError(f"{words} did not come in:\n{self.output}")

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def end(self, timeout: float = 30) -> int:
        """Read until it has ended; its exit code."""
        limit = time.monotonic() + timeout
        while self.process.poll() is None and time.monotonic() < limit:
            self._read(0.05)
        self._read(0.05)
        return self.process.wait(0.1)

    @property
    def settings_now(self) -> list[Any]:
        return termios.tcgetattr(self._theirs)

    def _read(self, timeout: float) -> None:
        while select.select([self._ours], [], [], timeout)[0]:
            self.output += os.read(self._ours, 65536).decode(errors="replace")
            timeout = 0
