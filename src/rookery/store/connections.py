"""Opening the SQLite file: one connection that writes, any number that only read."""

import time
from pathlib import Path

import apsw

from rookery.store.migrations import migrate, version_of

WRITER_CACHE_KIB = 8 * 1024
"""Enough for what is written all day. More would cost: a commit often looks at every page that is kept."""
READER_CACHE_KIB = 8 * 1024
CHECKPOINT_PAGES = 4000
BUSY_TIMEOUT_MS = 60_000
STATEMENT_CACHE = 200

SYNCHRONOUS = {"full": "FULL", "relaxed": "NORMAL"}


def open_writer(path: str | Path, *, durability: str = "full", busy_timeout: int = BUSY_TIMEOUT_MS) -> apsw.Connection:
    """Open (or create) a store for writing and bring its schema up to date."""
    db = apsw.Connection(str(path), statementcachesize=STATEMENT_CACHE)
    try:
        db.set_busy_timeout(BUSY_TIMEOUT_MS)
        version_of(db)
        _use_wal(db)
        db.execute(f"PRAGMA synchronous = {SYNCHRONOUS[durability]}")
        db.execute(f"PRAGMA cache_size = -{WRITER_CACHE_KIB}")
        db.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
        db.execute("PRAGMA journal_size_limit = 67108864")
        # Otherwise a plan may depend on the values it is given (a LIMIT), and is made anew for every execution.
        db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, True)
        migrate(db)
        db.set_busy_timeout(busy_timeout)
    except BaseException:
        db.close()
        raise
    return db


def _use_wal(db: apsw.Connection) -> None:
    """Write ahead. While another process makes the file, SQLite says busy at once instead of waiting, so we wait."""
    end = time.monotonic() + BUSY_TIMEOUT_MS / 1000
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except apsw.BusyError:
            if time.monotonic() > end:
                raise
            time.sleep(0.01)
        else:
            return


def open_reader(path: str | Path) -> apsw.Connection:
    """Open an existing store for reading; it sees every commit and never waits for one."""
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY, statementcachesize=STATEMENT_CACHE)
    db.set_busy_timeout(BUSY_TIMEOUT_MS)
    db.execute("PRAGMA query_only = ON")
    db.execute(f"PRAGMA cache_size = -{READER_CACHE_KIB}")
    return db
