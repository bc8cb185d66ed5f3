"""Bringing a store's schema up to date: numbered SQL files, forward only, each in a transaction.

The version is kept in the file (`user_version`), and so is the mark that it is ours (`application_id`).
"""

from importlib.resources import files
from typing import Final

import apsw

APPLICATION_ID: Final = 0x526F6F6B  # "Rook"


class UnusableStore(Exception):
    """The file is not a store of ours, or one that only a newer program can read."""


def migrate(db: apsw.Connection) -> None:
    """Apply what is missing, step by step."""
    steps = _steps()
    while True:
        db.execute("BEGIN IMMEDIATE")
        try:
            version = check_usable(db)
            if version == len(steps):
                db.execute("ROLLBACK")
                return
            db.execute(steps[version])
            db.execute(f"PRAGMA user_version = {version + 1}")
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise


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


def _steps() -> list[str]:
    folder = files(__package__)
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return [(folder / name).read_text() for name in names]
