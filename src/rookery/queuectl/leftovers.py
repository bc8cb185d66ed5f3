"""What a lost run has left behind: its worker was killed, but the command may still run.

Every command carries a mark of its run in its environment, and so does all that it starts. Before a job is run
again, whatever has the mark of the lost run is killed, as far as it did not leave the command's session. Where
processes cannot be looked at like that (anywhere but on Linux), nothing is done.
"""

import os
import select
import signal
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from rookery.queuectl.home import Home
from rookery.queuectl.notices import say

MARK: Final = "QUEUECTL_RUN"
"""The variable that has it."""
_PROCESSES: Final = Path("/proc")
_MOST_ROUNDS: Final = 20
_DIES_WITHIN: Final = 5.0
"""Seconds for which a killed process is waited for; a disk that does not answer may hold it."""


class _Process(NamedTuple):
    """The oldest sorts first."""

    started: int
    pid: int
    session: int


def mark(home: Home, job_id: str, attempt: int) -> str:
    """The mark of a run: nothing else can have it by chance, nor can a run of the same job in another home."""
    return sha256(f"{_real_path(home.path)}\0{job_id}\0{attempt}".encode(errors="backslashreplace")).hexdigest()[:32]


@cache
def _real_path(path: Path) -> Path:
    return path.resolve()


def end(home: Home, job_id: str, attempt: int) -> None:
    """Kill what is left of a run that is known to be lost."""
    entry = f"{MARK}={mark(home, job_id, attempt)}".encode()
    found = _marked(entry)
    if not found:
        return
    # The command itself was there first; who has a session of his own went his own way.
    session = min(found).session
    killed = []
    for _ in range(_MOST_ROUNDS):
        members = [process for process in found if process.session == session]
        if not members:
            break
        killed += [process.pid for process in members if _kill(process, entry)]
        # Those who were killed last may have started others since they were seen.
        found = _marked(entry)
    if killed:
        say(f"{job_id}: its worker was lost; killed what still ran of it: {', '.join(map(str, killed))}")


def _marked(entry: bytes) -> list[_Process]:
    return [process for pid in _pids() if (process := _look(pid, entry)) is not None]


def _pids() -> list[int]:
    with suppress(OSError):
        own = (os.getpid(), os.getppid())
        return [int(name) for name in os.listdir(_PROCESSES) if name.isdecimal() and int(name) not in own]
    return []


def _look(pid: int, entry: bytes) -> _Process | None:
    """A process, if it has this entry in its environment. Those of others cannot be looked at, and are not ours."""
    try:
        if entry not in (_PROCESSES / str(pid) / "environ").read_bytes().split(b"\0"):
            return None
        fields = (_PROCESSES / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return _Process(started=int(fields[19]), pid=pid, session=int(fields[3]))


def _kill(process: _Process, entry: bytes) -> bool:
    """Kill it and see it gone, if the pid is still that process's."""
    with suppress(OSError):
        handle = os.pidfd_open(process.pid)
        try:
            if _look(process.pid, entry) == process:
                signal.pidfd_send_signal(handle, signal.SIGKILL)
                select.select([handle], [], [], _DIES_WITHIN)
                return True
        finally:
            os.close(handle)
    return False
