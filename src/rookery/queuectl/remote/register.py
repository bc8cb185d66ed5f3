"""Workers that were started from this home for a server: a file for each, so that they can be found and told to stop.

A worker looks whether somebody has left it a note; a server has no way to tell a worker to end.
"""

import os
from contextlib import suppress
from pathlib import Path
from time import time
from typing import Final

import msgspec

from rookery.queuectl.home import Home, HomeError
from rookery.queuectl.processes import is_running, own_mark

_KEPT_FOR: Final = 86_400
"""Seconds for which is remembered that a worker has ended: the server lists it for a while."""


class Entry(msgspec.Struct):
    """One worker: its process, and the server it works for."""

    worker_id: str
    pid: int
    pid_started: str
    server: str
    namespace: str | None

    @property
    def is_running(self) -> bool:
        """Whether its process is there."""
        return is_running(self.pid, self.pid_started)


class Register:
    """The files in `<home>/servers`."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._directory = home.path / "servers"

    def enter(self, worker_id: str, server: str, namespace: str | None) -> None:
        """This process is a worker now. Raises HomeError."""
        entry = Entry(worker_id, os.getpid(), own_mark(), server, namespace)
        try:
            self._home.make_directory()
            self._directory.mkdir(mode=0o700, exist_ok=True)
            self._forget_old()
            written = self._directory / f".{worker_id}"
            written.write_bytes(msgspec.json.encode(entry))
            written.replace(self._path(worker_id))
        except OSError as error:
            raise HomeError(f"cannot write {self._directory}: {error.strerror or error}") from None

    def read(self) -> dict[str, Entry]:
        """All workers of late, ended or not, by their ids."""
        entries = {}
        for path in self._directory.glob("w-*.json"):
            with suppress(OSError, msgspec.DecodeError):
                entry = msgspec.json.decode(path.read_bytes(), type=Entry)
                entries[entry.worker_id] = entry
        return entries

    def running(self, server: str, namespace: str | None) -> list[Entry]:
        """Those that work for a server at this moment."""
        wanted = (server, namespace)
        return [
            entry for entry in self.read().values() if (entry.server, entry.namespace) == wanted and entry.is_running
        ]

    def tell_to_stop(self, worker_id: str) -> None:
        """Leave a note for a worker. Raises HomeError."""
        try:
            self._note(worker_id).touch()
        except OSError as error:
            raise HomeError(f"cannot write {self._directory}: {error.strerror or error}") from None

    def is_told_to_stop(self, worker_id: str) -> bool:
        """Whether there is such a note."""
        return self._note(worker_id).exists()

    def _path(self, worker_id: str) -> Path:
        return self._directory / f"{worker_id}.json"

    def _note(self, worker_id: str) -> Path:
        return self._directory / f"{worker_id}.stop"

    def _forget_old(self) -> None:
        for entry in self.read().values():
            path = self._path(entry.worker_id)
            with suppress(OSError):
                if not entry.is_running and time() - path.stat().st_mtime > _KEPT_FOR:
                    path.unlink()
                    self._note(entry.worker_id).unlink(missing_ok=True)
