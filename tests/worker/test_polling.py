"""A worker that polls, and a server that does as it is told."""

import asyncio
import json
from contextlib import closing

import pytest

from rookery import App, Worker
from rookery.client.worker import polling
from tests.client.bad_server import BadServer, Behaviour, answer, silence
from tests.worker.fake_wire import until

JOB = {"job_id": "job_1", "queue": "q", "payload": {}, "lease_token": "lease_1"}
BEAT = answer(200, {"jobs": {}})
ASIDE = {b"POST /api/v1/workers/": answer(200)}


def both(*answers: Behaviour) -> Behaviour:
    """Answers to all requests that wait."""

    def behave(connection: object, request: bytes) -> None:
        for one in answers:
            one(connection, request)  # type: ignore[arg-type]

    return behave


@pytest.fixture
def app() -> App:
    app = App()

    @app.job(queue="q")
    async def never() -> None:
        raise AssertionError("it does not begin")

    return app


def stop_while_it_polls(app: App, server: BadServer) -> int:
    app.url = server.url

    async def main() -> int:
        worker = Worker(app, transport="http")
        running = asyncio.create_task(worker.run())
        await until(lambda: len(server.requests) == 2)
        worker.stop()
        return await running

    return asyncio.run(main())


def test_a_job_that_comes_while_the_worker_stops_is_handed_back(app: App) -> None:
    answers = both(answer(200, {"jobs": [JOB]}), BEAT)
    with closing(BadServer(BEAT, silence, answers, answer(200, {"status": "pending"}), aside=ASIDE)) as server:
        assert stop_while_it_polls(app, server) == 0
        lines = [request.split(b" HTTP/1.1")[0] for request in server.requests]

    assert lines[-1] == b"POST /api/v1/release/job_1"
    body = json.loads(server.requests[-1].partition(b"\r\n\r\n")[2])
    assert body == {"job_id": "job_1", "lease_token": "lease_1", "reason": "the worker stopped"}


def test_a_poll_that_cannot_be_hurried_does_not_keep_the_worker(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "HURRY_WITHIN", 0.05)
    with closing(BadServer(BEAT, silence, aside=ASIDE)) as server:
        assert stop_while_it_polls(app, server) == 0
