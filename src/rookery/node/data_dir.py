"""The data directory: made if missing, and held by one server at a time."""

import fcntl
import os
from pathlib import Path
from typing import Final

STORE: Final = "rookery.db"
FULLTEXT: Final = "fulltext.db"
"""An index that the server makes again from the store."""
LEFTOVER: Final = ".unfinished"
"""How the name of a file ends that means nothing once its maker is gone."""


class DataDirectoryInUse(Exception):
    """Another server has the data directory."""


class DataDirectory:
    """A locked data directory. The lock goes with the process, however that ends."""

    def __init__(self, path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)
        self.store = path / STORE
        self.fulltext = path / FULLTEXT
        self._lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self._lock, 32, 0).decode(errors="replace").strip()
            os.close(self._lock)
            raise DataDirectoryInUse(
                f"the data directory {path} is in use by another server (process {holder or 'unknown'})"
            ) from None
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, f"{os.getpid()}\n".encode(), 0)
        for leftover in path.glob(f"*{LEFTOVER}"):
            leftover.unlink()

    def release(self) -> None:
        """Let go of it."""
        os.close(self._lock)
