"""A worker and a server that is not there, goes away, is busy, or has no stream."""

import json
import socket
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from tests.conftest import Api, ServerProcess, wait_for
from tests.worker.conftest import Jobs, StartWorker, ended

StartServer = Callable[..., ServerProcess]

COUNTER = """
from rookery import App, current_job
app = App()

@app.job
async def count(path: str) -> None:
    with open(path, "a") as file:
        file.write(current_job().id + "\\n")
"""


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def probe(port: int, path: str) -> tuple[int, dict[str, str]]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())
    except OSError:
        return 0, {}


def test_the_stream_is_used_when_the_server_has_it(api: Api, start_worker: StartWorker) -> None:
    assert "by the stream" in start_worker(api.server.url).output
    assert "by long polls" in start_worker(api.server.url, "--transport", "http").output


def test_a_worker_waits_for_a_server_that_is_not_there_yet(
    start_worker: StartWorker, start_server: StartServer, tmp_path: Path
) -> None:
    port, health = free_port(), free_port()
    worker = start_worker(f"http://127.0.0.1:{port}", "--health-bind", f"127.0.0.1:{health}", code=COUNTER, ready=False)
    wait_for(lambda: "no connection to the server" in worker.output, alive=worker.process)
    assert probe(health, "/healthz") == (200, {"status": "ok"})
    assert probe(health, "/readyz") == (503, {"status": "not connected"})

    server = start_server("--bind", f"127.0.0.1:{port}")
    wait_for(lambda: probe(health, "/readyz")[0] == 200)
    path = tmp_path / "count"
    ended(Api(server), Api(server).enqueue("count", {"path": str(path)}))
    assert worker.stop() == 0


def test_probes_of_other_paths_and_methods_are_refused(api: Api, start_worker: StartWorker) -> None:
    health = free_port()
    start_worker(api.server.url, "--health-bind", f"127.0.0.1:{health}")

    assert probe(health, "/elsewhere")[0] == 404
    with socket.create_connection(("127.0.0.1", health)) as connection:
        connection.sendall(b"POST /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
        assert b" 405 " in connection.recv(1000)


def test_handlers_are_not_disturbed_when_the_server_restarts_and_their_outcomes_are_delivered(
    start_worker: StartWorker, start_server: StartServer
) -> None:
    port = free_port()
    server = start_server("--bind", f"127.0.0.1:{port}")
    worker = start_worker(
        server.url,
        code="""
        import asyncio, pathlib
        from rookery import App, current_job
        app = App()

        @app.job
        async def wait_for_file(path: str) -> int:
            current_job().progress("begun")
            while not pathlib.Path(path).exists():
                await asyncio.sleep(0.01)
            return current_job().attempt
        """,
    )
    api = Api(server)
    go = server.data_dir.parent / "go"
    ids = [api.enqueue("wait_for_file", {"path": str(go)}) for _ in range(3)]
    wait_for(lambda: all(api.job(job_id)["progress"] == "begun" for job_id in ids))

    server.kill()
    go.touch()
    wait_for(lambda: "no connection to the server" in worker.output)
    server.start()

    assert [ended(api, job_id)["result"] for job_id in ids] == [1, 1, 1]
    assert all(api.events_of(job_id).count("started") == 1 for job_id in ids)
    assert worker.stop() == 0


def test_a_worker_obeys_a_server_that_is_too_busy(start_worker: StartWorker, start_server: StartServer) -> None:
    flags = ["--rate-limit-write-rps", "50", "--rate-limit-write-burst", "60", "--rate-limit-read-rps", "10000"]
    server = start_server(*flags)
    api = Api(server)
    ids = api.post("/enqueue/batch", {"jobs": [{"queue": "add", "payload": {"a": 1}}] * 60}).json()["job_ids"]
    worker = start_worker(server.url, "--transport", "http")

    assert {ended(api, job_id)["result"] for job_id in ids} == {11}
    assert worker.stop() == 0


def test_a_worker_that_is_not_let_in_says_so_and_ends(start_worker: StartWorker, start_server: StartServer) -> None:
    server = start_server("--admin-password", "secret")
    for transport in ("stream", "http", "auto"):
        worker = start_worker(server.url, "--transport", transport, ready=False)
        assert worker.process.wait(45) == 1
        assert "the server does not let the worker in" in worker.output
    assert start_worker(server.url, env={"ROOKERY_API_KEY": "secret"}).stop() == 0


def test_a_large_result_is_delivered_and_one_that_is_too_large_fails_the_job(
    api: Api, jobs: Jobs, start_worker: StartWorker
) -> None:
    start_worker(
        api.server.url,
        code="""
        from rookery import App
        app = App()

        @app.job(max_retries=1)
        async def large(size: int) -> str:
            return "x" * size
        """,
    )
    ids = [api.enqueue("large", {"size": 200_000}) for _ in range(60)]
    assert {len(ended(api, job_id)["result"]) for job_id in ids} == {200_000}

    job = jobs.run("large", {"size": 70_000_000}, max_retries=1)
    assert job["state"] == "dead"
    assert "the server refused the result" in job["errors"][0]["error"]
