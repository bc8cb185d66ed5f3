"""Workers: registered by asking for work, refreshed by heartbeats, forgotten after a day of silence."""

from rookery.engine.ops import Claim, SeeWorker, Sweep
from rookery.model.instants import format_instant
from rookery.store.views import WorkerView, read_workers
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
