"""The home directory: where the store and the logs are, and how any number of processes share them.

Nothing here stays in memory between commands. Whoever writes takes a turn first, so that of many nobody starves.
"""

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import apsw

from rookery.queuectl.logfiles import log_name
from rookery.store.connections import open_reader
from rookery.store.migrations import UnusableStore, is_up_to_date

if TYPE_CHECKING:
    from rookery.engine.machine import Machine
    from rookery.engine.ops import AnyOperation, Result
    from rookery.queuectl.settings import Settings

VARIABLE: Final = "QUEUECTL_HOME"
PATIENCE: Final = 600
"""Seconds for which a writer waits while somebody who takes no turns keeps the store locked."""
_WITHOUT_LINKS: Final = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


class HomeError(Exception):
    """The home cannot be used; the text says why."""


class Home:
    """One home directory. It comes into being when it is first used."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.database = self.path / "queue.db"
        self.logs = self.path / "logs"
        self._machine: Machine | None = None
        self._reader: apsw.Connection | None = None

    @classmethod
    def from_environment(cls) -> Self:
        """The home that `QUEUECTL_HOME` names, or `~/.queuectl`."""
        named = os.environ.get(VARIABLE)
        try:
            return cls(Path(named).expanduser() if named else Path.home() / ".queuectl")
        except RuntimeError as error:
            raise HomeError(f"cannot tell where the home directory is ({error}); set {VARIABLE}") from None

    def log_path(self, job_id: str) -> Path:
        """Where the output of a job is kept."""
        return self.logs / log_name(job_id, case_matters=not self._is_case_blind())

    def _is_case_blind(self) -> bool:
        """Whether the file system takes `A` and `a` for the same name."""
        with suppress(OSError):
            return os.path.samefile(self.logs, self.path / "LOGS")
        return False

    # --- writing

    def apply(self, *operations: "AnyOperation") -> "list[Result]":
        """Apply operations together, now, and make them durable: one result for each."""
        from rookery.engine.ops import Batch, Enqueue

        machine = self.machine()
        end = time.monotonic() + PATIENCE
        while True:
            with self._turn():
                try:
                    entropy = int.from_bytes(os.urandom(10)) >> 1
                    results = machine.apply(Batch(now_ms(), list(operations), entropy))
                    if any(isinstance(operation, Enqueue) for operation in operations):
                        _see_pass(machine.now)
                    return results
                except apsw.BusyError:
                    if time.monotonic() > end:
                        raise HomeError(f"{self.database} is locked by another program for too long") from None
                except (apsw.FullError, apsw.IOError, apsw.ReadOnlyError) as error:
                    raise HomeError(f"cannot write {self.database}: {error}") from None

    def machine(self) -> "Machine":
        """The engine on the home's store, which is made if there is none."""
        if self._machine is None:
            from rookery.engine.machine import Machine

            self._make()
            with self._problems_told():
                self._machine = Machine(self.database)
        return self._machine

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Wait for those who came before. SQLite has no line: whoever asks at the right moment gets the lock."""
        line = None
        try:
            line = os.open(self.path / "queue.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(line, fcntl.LOCK_EX)
        except OSError:
            pass  # The store's own lock is what keeps it whole; without a line it is merely less fair.
        try:
            yield
        finally:
            if line is not None:
                os.close(line)

    # --- reading

    def reader(self) -> apsw.Connection:
        """A connection that sees every commit and waits for nobody."""
        if self._reader is None:
            self._reader = self.open_reader()
        return self._reader

    def open_reader(self) -> apsw.Connection:
        """Another such connection, for a thread of its own."""
        self._make()
        with self._problems_told():
            reader = open_reader(self.database)
            try:
                is_old = not is_up_to_date(reader)
            except BaseException:
                reader.close()
                raise
        if is_old:
            self.machine()
        return reader

    def settings(self) -> "Settings":
        """What `queuectl config` says at this moment."""
        from rookery.queuectl.settings import read_settings

        return read_settings(self._connection())

    def _connection(self) -> apsw.Connection:
        """Whichever connection there is."""
        return self.reader() if self._machine is None else self._machine.connection

    # --- coming and going

    def make_directory(self) -> None:
        """Make the directory if there is none, readable by its owner alone. Raises OSError."""
        if not self.path.is_dir():
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            _sync(self.path.parent)

    def _make(self) -> None:
        """Make the directory and the store. The store appears whole or not at all, however many want it at once."""
        try:
            if self.database.exists():
                return
            self.make_directory()
            self.logs.mkdir(mode=0o700, exist_ok=True)
            with self._turn():
                if not self.database.exists():
                    self._make_store()
        except OSError as error:
            raise HomeError(f"cannot create {self.path}: {error.strerror or error}") from None

    def _make_store(self) -> None:
        """Make it under another name first; what somebody left behind who was killed while doing so is removed."""
        from rookery.engine.machine import Machine

        for leftover in self.path.glob("queue.db.new*"):
            leftover.unlink(missing_ok=True)
        new = self.path / f"queue.db.new-{os.getpid()}"
        with self._problems_told():
            Machine(new).close()
        new.chmod(0o600)
        _sync(new)
        try:
            os.link(new, self.database)
        except FileExistsError:
            pass
        except OSError as error:
            if error.errno not in _WITHOUT_LINKS:
                raise
            # Then it has to be made in its place, and SQLite's locks alone keep others out meanwhile.
            with self._problems_told():
                Machine(self.database).close()
        new.unlink()
        _sync(self.path)

    @contextmanager
    def _problems_told(self) -> Iterator[None]:
        try:
            yield
        except UnusableStore as error:
            raise HomeError(f"cannot use {self.database}: {error}") from None
        except apsw.NotADBError:
            raise HomeError(f"cannot use {self.database}: it is not an SQLite database") from None
        except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.IOError, apsw.FullError, apsw.CorruptError) as error:
            raise HomeError(f"cannot open {self.database}: {error}") from None

    def close(self) -> None:
        """Close what is open."""
        if self._reader is not None:
            self._reader.close()
        if self._machine is not None:
            self._machine.close()
        self._reader = self._machine = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def now_ms() -> int:
    """The wall clock, in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def _see_pass(moment: int) -> None:
    """Wait until this millisecond is over: no two jobs are equally old then, and their age alone tells their order."""
    while now_ms() == moment:
        time.sleep(0.0002)


def _sync(path: Path) -> None:
    """Make a file, or the names in a directory, survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
