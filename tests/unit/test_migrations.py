"""The store's file: made when it is new, and refused unharmed when it is not one of ours."""

import sqlite3
from pathlib import Path

import apsw
import pytest

from rookery.engine import Machine
from rookery.store.connections import open_reader
from rookery.store.migrations import APPLICATION_ID, UnusableStore
from tests.unit.workbench import Workbench


def make(path: Path, *statements: str) -> None:
    """An SQLite file made by somebody else."""
    db = sqlite3.connect(path)
    for statement in statements:
        db.execute(statement)
    db.commit()
    db.close()


def pragma(path: Path, name: str) -> int:
    db = sqlite3.connect(path)
    value: int = db.execute(f"PRAGMA {name}").fetchone()[0]
    db.close()
    return value


def test_a_fresh_file_becomes_a_store_that_knows_its_version(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    Machine(path).close()

    assert pragma(path, "user_version") >= 1
    assert pragma(path, "application_id") == APPLICATION_ID


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.touch()

    Machine(path).close()
    assert pragma(path, "application_id") == APPLICATION_ID


def test_a_store_keeps_its_jobs_when_it_is_opened_again(tmp_path: Path) -> None:
    path = str(tmp_path / "store.db")
    first = Workbench(path)
    job_id = first.add(payload='{"n":1}')
    first.machine.close()

    second = Workbench(path)
    assert second.queue().pending == 1
    assert second.take().job_id == job_id
    second.machine.close()


def test_ids_and_tokens_go_on_after_a_restart(tmp_path: Path) -> None:
    path = str(tmp_path / "store.db")
    first = Workbench(path)
    ids = [first.add() for _ in range(3)]
    token = first.take().lease
    first.machine.close()

    second = Workbench(path)
    ids += [second.add() for _ in range(3)]
    assert sorted(set(ids)) == ids
    assert second.take().lease != token
    second.machine.close()


def test_a_store_of_a_newer_program_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    Machine(path).close()
    make(path, "PRAGMA user_version = 9999")
    before = path.read_bytes()

    with pytest.raises(UnusableStore, match=r"version 9999.*newer version"):
        Machine(path)
    assert path.read_bytes() == before


def test_a_foreign_database_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "theirs.db"
    make(path, "CREATE TABLE precious (value TEXT)", "INSERT INTO precious VALUES ('gold')")
    before = path.read_bytes()

    with pytest.raises(UnusableStore, match="not a store of Rookery"):
        Machine(path)
    assert path.read_bytes() == before


def test_a_foreign_database_with_a_version_of_its_own_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "theirs.db"
    make(path, "CREATE TABLE job (value TEXT)", "PRAGMA user_version = 1")

    with pytest.raises(UnusableStore):
        Machine(path)


def test_a_file_that_is_no_database_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("buy milk\n" * 200)

    with pytest.raises((UnusableStore, apsw.NotADBError)):
        Machine(path)
    assert path.read_text() == "buy milk\n" * 200


def test_a_migration_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "half.db"
    make(path, f"PRAGMA application_id = {APPLICATION_ID}", "CREATE TABLE job (value TEXT)")
    tables = "SELECT name FROM sqlite_schema"

    with pytest.raises(apsw.SQLError, match="job already exists"):
        Machine(path)

    db = sqlite3.connect(path)
    assert db.execute(tables).fetchall() == [("job",)]
    db.close()
    assert pragma(path, "user_version") == 0


def test_two_programs_may_make_the_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with Machine(path), Machine(path):
        pass

    assert pragma(path, "user_version") >= 1


def test_a_reader_cannot_write(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    Machine(path).close()
    reader = open_reader(path)

    with pytest.raises(apsw.ReadOnlyError):
        reader.execute("DELETE FROM job")
    reader.close()
