"""What a worker says of itself: its slots when it begins, that it drains when it is told to stop."""

import asyncio
import json
import logging
import signal
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from rookery import App, Worker
from tests.client.bad_server import BadServer, Behaviour, answer, forward, hang_up, silence
from tests.conftest import Api, wait_for
from tests.worker.conftest import StartWorker
from tests.worker.fake_wire import until

WAITER = """
import asyncio
from pathlib import Path
from rookery import App, current_job
app = App()

@app.job(queue="{queue}")
async def waiter(file: str) -> str:
    current_job().save_checkpoint("begun")
    while not Path(file).exists():
        await asyncio.sleep(0.01)
    return "done"
"""
ANNOUNCEMENT = b"POST /api/v1/workers/"


def workers(api: Api, prefix: str) -> list[dict[str, Any]]:
    return [row for row in api.get("/workers").json() if row["id"].startswith(prefix)]


def begin(api: Api, queue: str, file: Path) -> str:
    job_id = api.enqueue(queue, {"file": str(file)})
    wait_for(lambda: api.job(job_id)["checkpoint"] == "begun")
    return job_id


@pytest.mark.parametrize("transport", ["stream", "http"])
def test_a_worker_says_its_slots_and_that_it_drains_while_it_finishes(
    api: Api, start_worker: StartWorker, queue: str, tmp_path: Path, transport: str
) -> None:
    flags = ("--transport", transport, "--concurrency", "3", "--worker-id", queue)
    worker = start_worker(api.server.url, *flags, code=WAITER.format(queue=queue))
    (row,) = wait_for(lambda: [row for row in workers(api, queue) if row["slots"]])
    assert (row["slots"], row["draining"], row["queues"]) == (3, False, [queue])
    job_id = begin(api, queue, tmp_path / "go")
    worker.signal(signal.SIGTERM)

    (row,) = wait_for(lambda: [row for row in workers(api, queue) if row["draining"]])
    assert (row["slots"], row["active_jobs"]) == (3, 1)
    assert worker.process.poll() is None
    (tmp_path / "go").touch()
    assert worker.process.wait(20) == 0, worker.output
    assert api.job(job_id)["result"] == "done"
    assert [row["draining"] for row in workers(api, queue)] == [True]

    start_worker(api.server.url, *flags, code=WAITER.format(queue=queue))
    (again,) = wait_for(lambda: [row for row in workers(api, queue) if not row["draining"]])
    assert again["started_at"] > row["started_at"]


def test_each_of_several_processes_speaks_for_itself(
    api: Api, start_worker: StartWorker, queue: str, tmp_path: Path
) -> None:
    flags = ("--processes", "2", "--concurrency", "1", "--worker-id", queue)
    worker = start_worker(api.server.url, *flags, code=WAITER.format(queue=queue))
    wait_for(lambda: [row["slots"] for row in workers(api, queue)] == [1, 1])
    jobs = [begin(api, queue, tmp_path / "go") for _ in range(2)]
    worker.signal(signal.SIGTERM)

    wait_for(lambda: [(row["draining"], row["active_jobs"]) for row in workers(api, queue)] == [(True, 1)] * 2)
    (tmp_path / "go").touch()
    assert worker.process.wait(20) == 0, worker.output
    assert [api.job(job_id)["result"] for job_id in jobs] == ["done", "done"]


@pytest.mark.parametrize(
    "reaction",
    [
        answer(404, {"error": "not found", "code": "NOT_FOUND"}),
        answer(405, {"error": "method not allowed", "code": "METHOD_NOT_ALLOWED"}),
        answer(400, {"error": "no", "code": "VALIDATION_ERROR"}),
        answer(501, {"error": "no", "code": "NOT_IMPLEMENTED"}),
        answer(200),
        hang_up,
        silence,
    ],
    ids=["404", "405", "400", "501", "another 200", "hangs up", "silence"],
)
def test_a_server_that_does_not_know_of_it_is_worked_for_all_the_same(
    api: Api, queue: str, caplog: pytest.LogCaptureFixture, reaction: Behaviour
) -> None:
    app = App()

    @app.job(queue=queue)
    async def work(n: int) -> int:
        worker.stop()
        await until(lambda: worker.is_stopping)
        return n + 1

    job_id = api.enqueue(queue, {"n": 1})
    real = forward(int(api.server.url.rpartition(":")[2]))
    with closing(BadServer(real, aside={ANNOUNCEMENT: reaction})) as server, caplog.at_level(logging.INFO):
        app.url = server.url
        worker = Worker(app, transport="http", concurrency=1)
        assert asyncio.run(worker.run()) == 0
        assert server.set_aside

    assert api.job(job_id)["result"] == 2
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_the_last_that_a_worker_says_is_the_last_that_the_server_hears(api: Api, queue: str) -> None:
    app = App()
    goes_on = asyncio.Event()

    @app.job(queue=queue)
    async def work() -> None:
        worker.stop()
        await goes_on.wait()

    api.enqueue(queue)
    real = forward(int(api.server.url.rpartition(":")[2]))
    held: list[Any] = []

    def hold(connection: Any, request: bytes) -> None:
        """Let what is said first wait until the worker drains."""
        if held:
            answer(200)(connection, request)
        else:
            held.append((connection, request))

    async def main(server: BadServer) -> int:
        running = asyncio.create_task(worker.run())
        await until(lambda: worker.is_stopping and held)
        assert len(server.set_aside) == 1
        answer(200)(*held[0])
        await until(lambda: len(server.set_aside) == 2)
        goes_on.set()
        return await running

    with closing(BadServer(real, aside={ANNOUNCEMENT: hold})) as server:
        app.url = server.url
        worker = Worker(app, transport="http", concurrency=1)
        assert asyncio.run(main(server)) == 0
        said = [json.loads(request.partition(b"\r\n\r\n")[2]) for request in server.set_aside]

    assert [(one["slots"], one["draining"]) for one in said] == [(1, False), (1, True)]


def test_a_worker_without_jobs_ends_without_saying_that_it_drains(
    api: Api, start_worker: StartWorker, queue: str
) -> None:
    worker = start_worker(api.server.url, "--worker-id", queue, code=WAITER.format(queue=queue))
    wait_for(lambda: [row for row in workers(api, queue) if row["slots"]])

    assert worker.stop() == 0
    assert [row["draining"] for row in workers(api, queue)] == [False]
