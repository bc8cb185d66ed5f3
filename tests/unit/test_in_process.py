"""Several processes on one file at once: nothing lost, nothing twice, nobody turned away."""

import multiprocessing
import secrets
import time
from pathlib import Path

from rookery.engine import Batch, Machine
from rookery.engine.ops import Ack, AnyOperation, Claim, Claimed, Completion, Enqueue, NewJob, Result

PROCESSES = 8
JOBS = 100


def work(path: str, name: str) -> list[str]:
    """Add a job, run whichever is next, again and again; the ids of those that were run."""
    finished = []
    with Machine(path, durability="relaxed") as machine:
        for number in range(JOBS):
            apply(machine, Enqueue(jobs=[NewJob(queue="q", id=f"{name}-{number}")]))
            claimed = apply(machine, Claim(queues=("q",), worker_id=name))
            assert isinstance(claimed, Claimed)
            (job,) = claimed.jobs
            apply(machine, Ack(items=[Completion(job.job_id, job.lease)]))
            finished.append(job.job_id)
    return finished


def apply(machine: Machine, op: AnyOperation) -> Result:
    return machine.apply(Batch(time.time_ns() // 1_000_000, [op], secrets.randbits(80)))[0]


def test_many_processes_share_one_file(tmp_path: Path) -> None:
    path = str(tmp_path / "store.db")
    names = [f"w{number}" for number in range(PROCESSES)]
    with multiprocessing.get_context("spawn").Pool(PROCESSES) as pool:
        finished = pool.starmap(work, [(path, name) for name in names], chunksize=1)

    run = sorted(job_id for ids in finished for job_id in ids)
    assert run == sorted(f"{name}-{number}" for name in names for number in range(JOBS))
    with Machine(path) as machine:
        db = machine._db
        total = PROCESSES * JOBS
        assert db.execute("SELECT state, count(*) FROM job GROUP BY state").fetchall() == [("completed", total)]
        assert db.execute("SELECT pending, active, completed, enqueued FROM queue").get == (0, 0, total, total)
        assert db.execute("SELECT count(*), min(seq), max(seq) FROM event").get == (3 * total, 1, 3 * total)
        assert db.execute("PRAGMA integrity_check").get == "ok"


def test_two_machines_on_one_file_see_each_others_work(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with Machine(path) as first, Machine(path) as second:
        apply(first, Enqueue(jobs=[NewJob(queue="q", id="a")]))
        apply(second, Enqueue(jobs=[NewJob(queue="q", id="b")]))
        claimed = apply(first, Claim(queues=("q",), count=5))
        assert isinstance(claimed, Claimed)
        assert [job.job_id for job in claimed.jobs] == ["a", "b"]
        for job in claimed.jobs:
            apply(second, Ack(items=[Completion(job.job_id, job.lease)]))
        apply(first, Enqueue(jobs=[NewJob(queue="q", id="c")]))

        assert first._db.execute("SELECT pending, active, completed FROM queue").get == (1, 0, 2)
        assert first._db.execute("SELECT max(seq) = count(*) FROM event").get == 1


def test_a_machine_hears_of_what_another_one_scheduled(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with Machine(path) as first, Machine(path) as second:
        due = time.time_ns() // 1_000_000 + 3_600_000
        apply(first, Enqueue(jobs=[NewJob(queue="q", scheduled_at=due)]))
        apply(second, Claim(queues=("q",)))

        assert second.next_due == due
