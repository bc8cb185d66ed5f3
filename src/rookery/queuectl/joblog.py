"""The log of a job: what each of its runs was, said, and came to, one run after the other."""

import os
from pathlib import Path

from rookery.model.instants import format_instant
from rookery.queuectl.notices import say


def first_line(now: int, attempt: int, command: str) -> str:
    """Says which run begins, in one line whatever the command looks like."""
    line = command.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r") if "\n" in command else command
    return f"--- {format_instant(now)} attempt {attempt}: {line}"


def last_line(result: str, duration: float) -> str:
    """Says what a run came to."""
    return f"--- {result}, {duration:.3f} s"


class JobLog:
    """The file of one job while one of its runs is added to it. A disk that is full costs the log, not the job."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None
        self._at_line_start = True

    def begin(self, now: int, attempt: int, command: str) -> None:
        """Say which run begins."""
        try:
            self._file = self._open()
        except OSError as error:
            self._give_up(error)
        self.write(f"{first_line(now, attempt, command)}\n".encode(errors="backslashreplace"))

    def _open(self) -> int:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        try:
            return os.open(self._path, flags, 0o600)
        except FileNotFoundError:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            return os.open(self._path, flags, 0o600)

    def write(self, data: bytes) -> None:
        """Add what the command says."""
        if self._file is None:
            return
        self._at_line_start = data.endswith(b"\n")
        try:
            while data:
                data = data[os.write(self._file, data) :]
        except OSError as error:
            self._give_up(error)

    def end(self, result: str, duration: float) -> None:
        """Say what the run came to, and close the file."""
        line_end = "" if self._at_line_start else "\n"
        self.write(f"{line_end}{last_line(result, duration)}\n".encode(errors="backslashreplace"))
        self.close()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _give_up(self, error: OSError) -> None:
        say(f"cannot write {self._path}: {error.strerror}; this run goes on without a log")
        self.close()
