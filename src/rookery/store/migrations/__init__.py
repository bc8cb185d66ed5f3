"""Bringing a store's schema up to date: numbered SQL files, forward only, each in a transaction.

The version is kept in the file (`user_version`), and so is the mark that it is ours (`application_id`).
"""

from functools import cache
from pathlib import Path
from typing import Final

import apsw

APPLICATION_ID: Final = 0x526F6F6B  # "Rook"


class UnusableStore(Exception):
    """The file is not a store of ours, or one that only a newer program can read."""


def migrate(db: apsw.Connection) -> None:
    """Apply what is missing, step by step. A store that lacks nothing is not locked for that."""
    steps = _steps()
    while version_of(db) < len(steps):
        db.execute("BEGIN IMMEDIATE")
        try:
            version = check_usable(db)
            if version < len(steps):
                db.execute(steps[version])
                db.execute(f"PRAGMA user_version = {version + 1}")
                db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise


def version_of(db: apsw.Connection) -> int:
    """The version of the store's schema at this moment; refuses what `check_usable` refuses."""
    db.execute("BEGIN")
    try:
        return check_usable(db)
    finally:
        db.execute("ROLLBACK")


def is_up_to_date(db: apsw.Connection) -> bool:
    """Whether there is nothing to apply."""
    return version_of(db) == len(_steps())


def check_usable(db: apsw.Connection) -> int:
    """The version of the store's schema; refuses a file that is not ours, or newer than this program.

    Called inside a transaction: another process may be making the file at this moment.
    """
    is_ours = db.pragma("application_id") == APPLICATION_ID
    if not is_ours:
        if db.execute("SELECT count(*) FROM sqlite_schema").get:
            raise UnusableStore("the file is an SQLite database, but not a store of Rookery")
        return 0
    version, newest = int(db.pragma("user_version")), len(_steps())
    if version > newest:
        raise UnusableStore(
            f"the store has schema version {version}, this program knows up to {newest}: "
            "run the newer version of Rookery that wrote it"
        )
    return version


@cache
def _steps() -> list[str]:
    return [path.read_text() for path in sorted(Path(__file__).parent.glob("*.sql"))]
