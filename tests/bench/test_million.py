"""The large store that benchmarks and tests of the web UI use is one that a machine could have written."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from bench.million import fill
from bench.thousand import ERRORS, FATES, QUEUES

from rookery.engine import Batch, Machine
from rookery.engine.ops import Ack, Claim, Completion, Enqueue, NewJob
from rookery.model.job import STATES
from rookery.store.connections import open_reader
from rookery.store.dead import read_dead_groups
from rookery.store.throughput import KEPT, MINUTE

THOUSANDS = 3
NOW = 1_800_000_000_000


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("million") / "rookery.db"
    fill(path, THOUSANDS, until=NOW)
    return path


@pytest.fixture
def db(store: Path) -> Iterator[apsw.Connection]:
    db = open_reader(store)
    yield db
    db.close()


def rows(db: apsw.Connection, sql: str, *values: Any) -> list[Any]:
    return db.execute(sql, values).fetchall()


def test_it_has_jobs_in_every_state_and_queue(db: apsw.Connection) -> None:
    counts = dict(rows(db, "SELECT state, count(*) FROM job GROUP BY state"))
    assert counts == {state: count * THOUSANDS for state, count in FATES.items()}
    assert rows(db, "SELECT name FROM queue ORDER BY name") == [(name,) for name in sorted(QUEUES)]


def test_the_counts_of_its_queues_equal_a_recount(db: apsw.Connection) -> None:
    recount = ", ".join(
        f"(SELECT count(*) FROM job WHERE job.queue = queue.id AND state = '{state}')" for state in STATES
    )
    assert rows(db, f"SELECT {', '.join(STATES)} FROM queue ORDER BY id") == rows(
        db, f"SELECT {recount} FROM queue ORDER BY id"
    )
    assert rows(db, "SELECT sum(enqueued), sum(failed) FROM queue") == rows(
        db, "SELECT (SELECT count(*) FROM job), (SELECT count(*) FROM error)"
    )


def test_its_timeline_has_no_gap_and_tells_of_every_job(db: apsw.Connection) -> None:
    assert rows(db, "SELECT count(*), min(seq), max(seq) FROM event") == rows(
        db, "SELECT event_seq, 1, event_seq FROM machine"
    )
    assert rows(db, "SELECT count(*) FROM event WHERE job_id NOT IN (SELECT id FROM job)") == [(0,)]
    assert rows(db, "SELECT count(*) FROM job WHERE id NOT IN (SELECT job_id FROM event)") == [(0,)]
    assert rows(db, "SELECT count(*) FROM event AS a JOIN event AS b ON b.seq = a.seq + 1 WHERE b.at < a.at") == [(0,)]


def test_its_throughput_is_that_of_its_timeline(db: apsw.Connection) -> None:
    assert rows(db, "SELECT * FROM throughput ORDER BY minute, queue") == rows(
        db,
        f"""
        SELECT at / {MINUTE} * {MINUTE}, queue.id,
               sum(type = 'enqueued'), sum(type = 'completed'), sum(type = 'failed')
          FROM event
          JOIN queue ON queue.name = event.queue
         WHERE at / {MINUTE} * {MINUTE} >= (SELECT now FROM machine) - {KEPT} * {MINUTE}
           AND type IN ('enqueued', 'completed', 'failed')
         GROUP BY 1, 2
         ORDER BY 1, 2
        """,
    )


def test_nothing_in_it_is_shared_by_copies_that_belongs_to_one_job(db: apsw.Connection) -> None:
    for column in ("lease", "unique_key", "payload", "result"):
        assert rows(db, f"SELECT count({column}) - count(DISTINCT {column}) FROM job") == [(0,)], column
    assert rows(db, "SELECT * FROM job_tag") == rows(
        db, "SELECT key, value, job FROM tag_of_job ORDER BY key, value, job"
    )
    assert rows(db, "SELECT count(*) FROM unique_lock WHERE key <> (SELECT unique_key FROM job WHERE seq = job)") == [
        (0,)
    ]
    members = "SELECT count(*) FROM job WHERE batch_id = job_batch.id"
    assert rows(db, f"SELECT count(*) FROM job_batch WHERE total <> ({members})") == [(0,)]


def test_its_dead_jobs_fall_into_groups(db: apsw.Connection) -> None:
    groups = read_dead_groups(db).groups
    assert sum(group.jobs for group in groups) == FATES["dead"] * THOUSANDS
    assert 20 < len(groups) <= len(ERRORS)


def test_a_machine_goes_on_with_it(store: Path) -> None:
    machine = Machine(store)
    added = machine.apply(Batch(NOW, [Enqueue(jobs=[NewJob(queue=QUEUES[0], rank=-1)])], entropy=1))[0]
    (job,) = machine.apply(Batch(NOW, [Claim(queues=(QUEUES[0],), worker_id="w")]))[0].jobs
    assert job.job_id == added.jobs[0].job_id
    assert machine.apply(Batch(NOW, [Ack(items=[Completion(job.job_id, job.lease)])]))[0].outcomes == [None]
    machine.close()
