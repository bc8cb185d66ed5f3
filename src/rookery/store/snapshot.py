"""A physical copy of a store: made page by page from one view of it, while others go on writing."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

import apsw

from rookery.model.job import STATES
from rookery.store.migrations import APPLICATION_ID, UnusableStore

STEP_PAGES: Final = 1024

OnStep = Callable[[int, int], None]
"""Told after each step how many pages are copied, and of how many."""


def copy_store(source: apsw.Connection, target: Path, on_step: OnStep) -> None:
    """Copy a store into a new file and make that durable. What `on_step` raises ends it, and the file is removed."""
    try:
        copy = apsw.Connection(str(target))
        try:
            copy.execute("PRAGMA journal_mode = OFF").fetchall()
            copy.execute("PRAGMA synchronous = OFF")
            _copy_pages(source, copy, on_step)
        finally:
            copy.close()
        with target.open("rb") as file:
            os.fsync(file.fileno())
    except BaseException:
        target.unlink(missing_ok=True)
        raise


def _copy_pages(source: apsw.Connection, copy: apsw.Connection, on_step: OnStep) -> None:
    """In one read transaction: without it, every write of somebody else would make us begin again."""
    source.execute("BEGIN")
    try:
        source.execute("SELECT count(*) FROM machine").fetchall()
        with copy.backup("main", source, "main") as backup:
            while not backup.done:
                backup.step(STEP_PAGES)
                on_step(backup.page_count - backup.remaining, backup.page_count)
    finally:
        source.execute("ROLLBACK")


def open_copy(path: Path) -> apsw.Connection:
    """Open a copy for reading. Nobody writes to it, and nothing is left beside it."""
    return apsw.Connection(f"file:{_quoted(path)}?immutable=1", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)


def _quoted(path: Path) -> str:
    return "".join(f"%{ord(letter):02X}" if letter in "%?#" else letter for letter in str(path.absolute()))


def count_jobs(copy: apsw.Connection) -> int:
    """How many jobs a copy holds. Refuses a file that is not a store of ours."""
    try:
        if copy.pragma("application_id") != APPLICATION_ID:
            raise UnusableStore("the file is not a store of Rookery")
        return int(copy.execute(f"SELECT coalesce(sum({' + '.join(STATES)}), 0) FROM queue").get)
    except (apsw.NotADBError, apsw.SQLError):
        raise UnusableStore("the file is not a store of Rookery") from None


def check_whole(copy: apsw.Connection) -> None:
    """Refuse a copy that is damaged."""
    try:
        verdict = copy.pragma("quick_check")
    except apsw.CorruptError as error:
        verdict = str(error)
    if verdict != "ok":
        raise UnusableStore(f"the store is damaged: {verdict}")
