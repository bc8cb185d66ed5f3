"""A full disk: writes are refused, reads go on, and with room again everything does."""

import resource
from collections.abc import Callable

import apsw
import httpx
import pytest

from rookery.engine import Batch, Machine
from rookery.engine.ops import Enqueue, NewJob
from tests.api.wires import Wire, lease_of
from tests.conftest import START, Api, ServerProcess, wait_for


def enqueue(api: Api) -> httpx.Response:
    return api.post("/enqueue", {"queue": "disk", "payload": "x" * 20_000})


def test_a_full_disk_gives_503_and_keeps_what_was_acknowledged(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server("--rate-limit-enabled=false")
    api = Api(server)
    kept = [enqueue(api).json()["job_id"] for _ in range(5)]

    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
    refused = enqueue(api)
    assert refused.status_code == 503
    assert refused.json()["code"] == "UNHEALTHY"
    assert server.http.get("/healthz").status_code == 503
    count = api.get("/queues").json()[0]["pending"]
    assert api.job(kept[0])["payload"] == "x" * 20_000

    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    wait_for(lambda: server.http.get("/healthz").status_code == 200)
    assert enqueue(api).status_code == 201
    assert api.get("/queues").json()[0]["pending"] == count + 1
    server.kill()
    server.start()
    assert Api(server).get("/queues").json()[0]["pending"] == count + 1


def test_on_a_full_disk_a_frame_is_refused_and_the_stream_goes_on(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server("--rate-limit-enabled=false")
    api = Api(server)
    for _ in range(3):
        enqueue(api)
    with Wire(api) as wire:
        wire.want("disk", count=1)
        (job,) = wire.take(1)
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
        for id in range(12):
            refused = wire.ask(id=id, ack=[lease_of(job)], enqueue=[{"queue": "disk", "payload": "x" * 20_000}])
            assert (refused.keys(), refused["code"]) == ({"id", "error", "code"}, "UNHEALTHY")
        assert api.job(job["job_id"])["state"] == "active"

        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        wait_for(lambda: server.http.get("/healthz").status_code == 200)
        for _ in range(12):
            assert wire.is_silent(), "it still has the job in hand"
        assert wire.ask(ack=[lease_of(job)])["acked"] == [{"job_id": job["job_id"], "status": "ok"}]
        assert len(wire.take(1)) == 1
        assert wire.is_silent()


def test_a_batch_that_does_not_fit_leaves_no_trace() -> None:
    machine = Machine()
    machine.apply(Batch(START, [Enqueue(jobs=[NewJob(queue="q")])], entropy=1))
    pages = machine._db.pragma("page_count")
    machine._db.pragma("max_page_count", pages)
    big = Enqueue(jobs=[NewJob(queue="q", payload='"' + "x" * 100_000 + '"')])
    with pytest.raises(apsw.FullError):
        machine.apply(Batch(START + 1, [big], entropy=2))
    assert machine._db.execute("SELECT count(*), max(seq) FROM job").fetchall() == [(1, 1)]
    machine._db.pragma("max_page_count", 1_000_000)
    machine.apply(Batch(START + 2, [big], entropy=3))
    assert machine._db.execute("SELECT pending, enqueued FROM queue").fetchall() == [(2, 2)]
