"""The store's file: made when it is new, and refused unharmed when it is not one of ours."""

import sqlite3
from pathlib import Path

import apsw
import pytest

from rookery.engine import Machine
from rookery.engine.ops import Enqueue, Enqueued, EnqueuedJob, IdempotencyKey, NewJob
from rookery.store import migrations
from rookery.store.connections import open_reader
from rookery.store.migrations import APPLICATION_ID, UnusableStore
from rookery.store.search import JobFilter, Order, search
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


OLD_JOB = {
    "seq": 1,
    "id": "job_1",
    "queue": 1,
    "state": "pending",
    "rank": 2,
    "order_key": 0,
    "on_lost_lease": "requeue",
    "backoff": "none",
    "created_at": 1,
    "namespace": "default",
    "payload": '{"to":"Ann"}',
    **dict.fromkeys(("order_by_due", "waiting_on", "attempt", "failures", "lost_leases", "max_retries"), 0),
    **dict.fromkeys(("max_lost_leases", "base_delay", "max_delay", "batch_open", "has_dependents", "was_completed"), 0),
}


def test_a_store_of_the_first_schema_is_brought_up_to_date_and_can_be_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.db"
    first, newest = migrations._steps()[:1], len(migrations._steps())
    with monkeypatch.context() as then:
        then.setattr(migrations, "_steps", lambda: first)
        db = apsw.Connection(str(path))
        migrations.migrate(db)
        db.execute("INSERT INTO queue (namespace, name, created_at, pending) VALUES ('default', 'q', 0, 2)")
        for seq, tags, others in (
            (1, '{"t":"x","n":1,"b":true,"z":null,"r":2.0}', '["job_0","job_2"]'),
            (2, None, None),
        ):
            job = {**OLD_JOB, "seq": seq, "id": f"job_{seq}", "tags": tags, "depends_on": others}
            db.execute(f"INSERT INTO job ({', '.join(job)}) VALUES ({', '.join('?' * len(job))})", tuple(job.values()))
        db.execute("UPDATE machine SET job_seq = 2")
        db.close()
    assert pragma(path, "user_version") == 1

    bench = Workbench(str(path))
    assert pragma(path, "user_version") == newest
    for wanted in (
        JobFilter(tags='{"t":"x","n":1,"b":true,"z":null,"r":2}'),
        JobFilter(job_id_prefix="job_1"),
        JobFilter(queue="q", states=("pending",), tags='{"t":"x"}'),
        JobFilter(depends_on="job_0"),
        JobFilter(depends_on="job_2"),
    ):
        assert [id for _, id, _ in search(bench.machine._db, wanted, "default", Order(), 10).rows] == ["job_1"]
    assert search(bench.machine._db, JobFilter(payload_contains="ANN"), "default", Order(), 10).total == 2
    third = bench.add(tags='{"t":"x"}')
    assert search(bench.machine._db, JobFilter(tags='{"t":"x"}'), "default", Order(), 10).total == 2
    assert {bench.take().job_id for _ in range(3)} == {"job_1", "job_2", third}
    bench.machine.close()


def test_the_keys_and_the_figures_of_an_older_store_are_still_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.db"
    older = migrations._steps()[:3]
    answer = '{"jobs":[["job_1","pending"]],"batch_id":null}'
    with monkeypatch.context() as then:
        then.setattr(migrations, "_steps", lambda: older)
        db = apsw.Connection(str(path))
        migrations.migrate(db)
        db.execute("INSERT INTO queue (namespace, name, created_at, pending) VALUES ('default', 'q', 0, 1)")
        job = OLD_JOB
        db.execute(f"INSERT INTO job ({', '.join(job)}) VALUES ({', '.join('?' * len(job))})", tuple(job.values()))
        db.execute("INSERT INTO idempotency_key VALUES ('default', 'k', 'd', ?, ?)", (answer, 90_000_000))
        db.execute("INSERT INTO throughput VALUES (0, 1, 5, 4, 3)")
        db.execute("UPDATE machine SET job_seq = 1")
        db.close()

    bench = Workbench(str(path))
    bench.now = 89_999_999
    again = bench.do(Enqueue(jobs=[NewJob(queue="q")], idempotency=IdempotencyKey("k", "d")))
    assert again == Enqueued([EnqueuedJob("job_1", "pending")], None)
    assert bench.rows("SELECT * FROM throughput WHERE minute = 0") == [(0, 1, 5, 4, 3)]
    bench.machine.close()


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


def test_a_store_that_is_up_to_date_is_opened_while_somebody_writes(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    Machine(path).close()
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")

    with Machine(path) as machine:
        assert machine.connection.execute("SELECT count(*) FROM job").get == 0
    writer.close()


def test_a_reader_cannot_write(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    Machine(path).close()
    reader = open_reader(path)

    with pytest.raises(apsw.ReadOnlyError):
        reader.execute("DELETE FROM job")
    reader.close()
