"""Workers: registered by asking for work, refreshed by heartbeats, forgotten after a day of silence."""

from pathlib import Path

from rookery.engine.ops import AnnounceWorker, Claim, RegisterWorker, SeeWorker, Sweep
from rookery.model.instants import format_instant
from rookery.store.workers import WorkerView, read_workers
from tests.unit.workbench import Workbench

DAY = 24 * 3_600_000


def workers(bench: Workbench) -> list[WorkerView]:
    return read_workers(bench.machine._db)


def test_a_worker_is_registered_by_asking_for_work(bench: Workbench) -> None:
    bench.claim("a", "b", worker_id="w1", hostname="host")

    (worker,) = workers(bench)
    assert (worker.id, worker.hostname, worker.queues, worker.active_jobs) == ("w1", "host", ["a", "b"], 0)
    assert worker.started_at == worker.last_heartbeat == format_instant(bench.now)


def test_a_worker_that_waits_for_work_is_registered_too(bench: Workbench) -> None:
    bench.do(SeeWorker(worker_id="w1", queues=("a",)))

    assert [worker.id for worker in workers(bench)] == ["w1"]


def test_nobody_is_registered_without_a_name(bench: Workbench) -> None:
    bench.add()
    bench.take()
    bench.claim(worker_id="")

    assert workers(bench) == []


def test_asking_again_refreshes_the_worker(bench: Workbench) -> None:
    bench.claim("a", worker_id="w1", hostname="host")
    started = format_instant(bench.now)
    bench.advance(5000)
    bench.claim("b", worker_id="w1")

    (worker,) = workers(bench)
    assert (worker.queues, worker.hostname) == (["b"], "host")
    assert (worker.started_at, worker.last_heartbeat) == (started, format_instant(bench.now))


def test_a_heartbeat_refreshes_the_worker_that_has_the_job(bench: Workbench) -> None:
    bench.add()
    job = bench.take(worker_id="w1")
    bench.claim("other", worker_id="w2")
    bench.advance(15_000)
    bench.beat(job)

    assert [(worker.id, worker.last_heartbeat) for worker in workers(bench)] == [
        ("w1", format_instant(bench.now)),
        ("w2", format_instant(bench.now - 15_000)),
    ]


def test_the_worker_heard_of_last_comes_first(bench: Workbench) -> None:
    for name in ("w1", "w2", "w3"):
        bench.claim(worker_id=name)
        bench.advance(2000)
    bench.claim(worker_id="w1")

    assert [worker.id for worker in workers(bench)] == ["w1", "w3", "w2"]


def test_a_worker_shows_how_many_jobs_it_has(bench: Workbench) -> None:
    for _ in range(3):
        bench.add()
    jobs = bench.claim(worker_id="w1")
    bench.ack(jobs[0])

    (worker,) = workers(bench)
    assert worker.active_jobs == 2


def test_a_worker_that_is_silent_for_a_day_is_forgotten(bench: Workbench) -> None:
    bench.claim(worker_id="old")
    bench.advance(1000)
    bench.claim(worker_id="young")
    bench.advance(DAY)
    bench.do(Sweep())

    assert [worker.id for worker in workers(bench)] == ["young"]


def test_a_forgotten_worker_may_come_again(bench: Workbench) -> None:
    bench.claim(worker_id="w1")
    bench.advance(DAY + 1)
    bench.do(Sweep(), Claim(queues=("q",), worker_id="w1"))

    (worker,) = workers(bench)
    assert worker.started_at == format_instant(bench.now)


def test_namespaces_do_not_share_workers(bench: Workbench) -> None:
    bench.claim("acme::q", worker_id="w1", namespace="acme")
    bench.claim("q", worker_id="w1")

    assert len(workers(bench)) == 2
    (theirs,) = read_workers(bench.machine._db, "acme")
    assert theirs.queues == ["q"]


# --- what they say of themselves


def said(bench: Workbench) -> tuple[int | None, bool]:
    """How many slots the only worker has, and whether it drains."""
    (worker,) = workers(bench)
    return worker.slots, worker.draining


def test_a_worker_that_has_said_nothing_has_no_slots_and_does_not_drain(bench: Workbench) -> None:
    bench.claim(worker_id="w1")

    assert said(bench) == (None, False)


def test_a_worker_may_say_what_it_is_before_it_asks_for_work(bench: Workbench) -> None:
    bench.do(AnnounceWorker(worker_id="w1", hostname="host", queues=("a",), slots=10))

    (worker,) = workers(bench)
    assert (worker.id, worker.hostname, worker.queues, worker.slots) == ("w1", "host", ["a"], 10)
    assert worker.started_at == worker.last_heartbeat == format_instant(bench.now)


def test_what_is_not_said_stays_as_it_is(bench: Workbench) -> None:
    bench.do(AnnounceWorker(worker_id="w1", hostname="host", queues=("a",), slots=10, draining=True))
    started = format_instant(bench.now)
    bench.advance(5000)
    bench.do(AnnounceWorker(worker_id="w1"))

    (worker,) = workers(bench)
    assert (worker.hostname, worker.queues, worker.slots, worker.draining) == ("host", ["a"], 10, True)
    assert (worker.started_at, worker.last_heartbeat) == (started, format_instant(bench.now))


def test_what_is_said_again_counts(bench: Workbench) -> None:
    bench.do(AnnounceWorker(worker_id="w1", hostname="host", queues=("a",), slots=10))
    bench.do(AnnounceWorker(worker_id="w1", hostname="other", queues=("b", "c"), slots=5))

    (worker,) = workers(bench)
    assert (worker.hostname, worker.queues, worker.slots) == ("other", ["b", "c"], 5)


def test_a_fetch_forgets_nothing_that_was_said(bench: Workbench) -> None:
    bench.do(AnnounceWorker(worker_id="w1", slots=10, draining=True))
    bench.advance(5000)
    bench.claim("a", worker_id="w1", hostname="host")

    (worker,) = workers(bench)
    assert (worker.slots, worker.draining, worker.queues, worker.hostname) == (10, True, ["a"], "host")


def test_a_fetch_says_its_queues_again_right_after_the_worker_has_said_others(bench: Workbench) -> None:
    bench.claim("a", worker_id="w1")
    bench.do(AnnounceWorker(worker_id="w1", queues=("b",)))
    bench.claim("a", worker_id="w1")

    (worker,) = workers(bench)
    assert worker.queues == ["a"]


def test_a_heartbeat_does_not_end_draining(bench: Workbench) -> None:
    bench.add()
    job = bench.take(worker_id="w1")
    bench.do(AnnounceWorker(worker_id="w1", draining=True))
    bench.advance(50_000)
    bench.beat(job)
    bench.advance(50_000)
    bench.beat(job)

    assert said(bench) == (None, True)


def test_the_last_poll_of_a_draining_worker_does_not_end_draining(bench: Workbench) -> None:
    bench.do(AnnounceWorker(worker_id="w1", draining=True))
    bench.advance(60_000)
    bench.claim(worker_id="w1")

    assert said(bench) == (None, True)


def test_a_worker_that_asks_for_work_long_after_it_drained_has_begun_again(bench: Workbench) -> None:
    bench.do(AnnounceWorker(worker_id="w1", slots=10, draining=True))
    bench.advance(30_000)
    bench.do(AnnounceWorker(worker_id="w1", draining=True))
    bench.advance(30_001)
    bench.claim(worker_id="w1")

    (worker,) = workers(bench)
    assert (worker.slots, worker.draining, worker.started_at) == (10, False, format_instant(bench.now))


def test_a_worker_that_says_that_it_drains_no_more_has_begun_again(bench: Workbench) -> None:
    bench.do(AnnounceWorker(worker_id="w1", slots=10, draining=True))
    bench.advance(1000)
    bench.do(AnnounceWorker(worker_id="w1", draining=False))

    (worker,) = workers(bench)
    assert (worker.slots, worker.draining, worker.started_at) == (10, False, format_instant(bench.now))


def test_a_worker_that_never_drained_goes_on_since_it_began(bench: Workbench) -> None:
    bench.do(AnnounceWorker(worker_id="w1", draining=False))
    started = format_instant(bench.now)
    bench.advance(1000)
    bench.do(AnnounceWorker(worker_id="w1", draining=False))

    (worker,) = workers(bench)
    assert (worker.draining, worker.started_at) == (False, started)


def test_what_a_worker_says_survives_a_restart(tmp_path: Path) -> None:
    path = str(tmp_path / "store.db")
    bench = Workbench(path)
    bench.do(AnnounceWorker(worker_id="w1", slots=10, draining=True))
    bench.machine.close()

    assert said(Workbench(path)) == (10, True)


def test_a_worker_of_the_store_that_registers_has_said_nothing_yet(bench: Workbench) -> None:
    bench.do(AnnounceWorker(worker_id="w1", slots=10, draining=True))
    bench.do(RegisterWorker(worker_id="w1", pid=7, pid_started="x"))

    assert said(bench) == (None, False)


def test_what_is_said_in_one_namespace_is_not_heard_in_another(bench: Workbench) -> None:
    bench.do(AnnounceWorker(worker_id="w1", slots=10))
    bench.do(AnnounceWorker(worker_id="w1", slots=3, draining=True, namespace="acme"))

    (theirs,) = read_workers(bench.machine._db, "acme")
    assert (theirs.slots, theirs.draining) == (3, True)
    assert sorted((worker.slots, worker.draining) for worker in workers(bench)) == [(3, True), (10, False)]
