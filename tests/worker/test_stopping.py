"""How a worker stops, what becomes of its jobs, and what its exit codes say."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from rookery import App, Worker
from tests.conftest import Api, wait_for
from tests.worker.conftest import StartWorker

SLEEPER = """
import asyncio
import time
from rookery import App, current_job
app = App()

@app.job(queue="{queue}")
{kind}def sleeper(seconds: float) -> str:
    current_job().save_checkpoint("begun")
    {sleep}(seconds)
    return "slept"
"""
KINDS = {
    "async": {"kind": "async ", "sleep": "await asyncio.sleep"},
    "thread": {"kind": "", "sleep": "time.sleep"},
}


def sleeper(queue: str, kind: str) -> str:
    return SLEEPER.format(queue=queue, **KINDS[kind])


def begin(api: Api, queue: str, seconds: float) -> str:
    job_id = api.enqueue(queue, {"seconds": seconds})
    wait_for(lambda: api.job(job_id)["checkpoint"] == "begun")
    return job_id


@pytest.mark.parametrize("transport", ["stream", "http"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_what_runs_is_finished_and_nothing_new_is_taken(
    api: Api, start_worker: StartWorker, queue: str, transport: str, number: int
) -> None:
    worker = start_worker(api.server.url, "--transport", transport, "--concurrency", "1", code=sleeper(queue, "async"))
    running = begin(api, queue, 1.0)
    worker.signal(number)
    wait_for(lambda: "stopping" in worker.output)
    waiting = api.enqueue(queue, {"seconds": 0})

    assert worker.process.wait(45) == 0, worker.output
    assert api.job(running)["result"] == "slept"
    assert (api.job(waiting)["state"], api.job(waiting)["attempt"]) == ("pending", 0)


@pytest.mark.parametrize("transport", ["stream", "http"])
@pytest.mark.parametrize("kind", ["async", "thread"])
def test_what_does_not_end_in_time_is_handed_back_without_burning_an_attempt(
    api: Api, start_worker: StartWorker, queue: str, transport: str, kind: str
) -> None:
    worker = start_worker(
        api.server.url, "--transport", transport, "--shutdown-timeout", "100ms", code=sleeper(queue, kind)
    )
    job_id = begin(api, queue, 60)
    worker.signal(signal.SIGTERM)

    assert worker.process.wait(45) == 3, worker.output
    job = api.job(job_id)
    assert (job["state"], job["attempt"], job["errors"], job["checkpoint"]) == ("pending", 0, [], "begun")
    assert "released" in api.events_of(job_id)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_second_signal_ends_at_once_and_hands_the_jobs_back(
    api: Api, start_worker: StartWorker, queue: str, number: int, code: int
) -> None:
    worker = start_worker(api.server.url, code=sleeper(queue, "async"))
    job_id = begin(api, queue, 60)
    worker.signal(number)
    wait_for(lambda: "stopping" in worker.output)
    worker.signal(number)

    assert worker.process.wait(45) == code, worker.output
    assert (api.job(job_id)["state"], api.job(job_id)["attempt"]) == ("pending", 0)


STUBBORN = """
import asyncio
import threading
import time
from contextlib import asynccontextmanager
from rookery import App, current_job

@asynccontextmanager
async def lifespan(app):
    yield
    await asyncio.sleep({at_end})

app = App(lifespan=lifespan)

@app.job(queue="{queue}")
async def stubborn() -> None:
    current_job().save_checkpoint("begun")
    await asyncio.sleep(0)
    {body}
"""
SWALLOWS = """
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            pass
"""
STUBBORN_BODIES = {
    "executor": "await asyncio.to_thread(time.sleep, 60)",
    "non-daemon thread": "threading.Thread(target=time.sleep, args=[60]).start(); await asyncio.sleep(60)",
    "swallows": SWALLOWS,
    "lifespan": "await asyncio.sleep(60)",
}


@pytest.mark.parametrize("kind", STUBBORN_BODIES)
def test_a_second_signal_ends_what_does_not_want_to_end_and_hands_it_back(
    api: Api, start_worker: StartWorker, queue: str, kind: str
) -> None:
    at_end = 60 if kind == "lifespan" else 0
    worker = start_worker(api.server.url, code=STUBBORN.format(queue=queue, body=STUBBORN_BODIES[kind], at_end=at_end))
    job_id = api.enqueue(queue)
    wait_for(lambda: api.job(job_id)["checkpoint"] == "begun")
    worker.signal(signal.SIGTERM)
    wait_for(lambda: "stopping" in worker.output)
    worker.signal(signal.SIGTERM)

    assert worker.process.wait(45) == 143, worker.output
    assert (api.job(job_id)["state"], api.job(job_id)["attempt"]) == ("pending", 0)


def test_a_second_signal_ends_a_worker_whose_loop_is_blocked(api: Api, start_worker: StartWorker, queue: str) -> None:
    worker = start_worker(api.server.url, code=STUBBORN.format(queue=queue, body="time.sleep(60)", at_end=0))
    job_id = api.enqueue(queue)
    wait_for(lambda: api.job(job_id)["checkpoint"] == "begun")

    def ended() -> bool:
        # Signals that come at the same moment may be one, or be heard only after the sleep: keep at it.
        worker.signal(signal.SIGTERM)
        return worker.process.poll() is not None

    wait_for(ended)
    assert worker.process.returncode == 143, worker.output


def test_a_process_job_that_does_not_end_in_time_is_killed_and_handed_back(api: Api, start_worker: StartWorker) -> None:
    worker = start_worker(
        api.server.url,
        "--shutdown-timeout",
        "100ms",
        code="""
        import os, time
        from rookery import App, current_job
        app = App()

        @app.job(process=True)
        def sleeps_in_a_process() -> None:
            current_job().progress(os.getpid())
            time.sleep(60)
        """,
    )
    job_id = api.enqueue("sleeps_in_a_process")
    pid = wait_for(lambda: api.job(job_id)["progress"])
    worker.signal(signal.SIGTERM)

    assert worker.process.wait(45) == 3
    assert (api.job(job_id)["state"], api.job(job_id)["attempt"]) == ("pending", 0)
    wait_for(lambda: not Path(f"/proc/{pid}").exists())


def test_the_lifespan_is_left_when_the_worker_stops(api: Api, start_worker: StartWorker) -> None:
    worker = start_worker(
        api.server.url,
        code="""
        from contextlib import asynccontextmanager
        from rookery import App, current_job

        @asynccontextmanager
        async def lifespan(app):
            print("entered", flush=True)
            yield "state"
            print("left", flush=True)

        app = App(lifespan=lifespan)

        @app.job
        async def in_a_lifespan() -> str:
            return current_job().state + "," + app.state
        """,
    )
    job_id = api.enqueue("in_a_lifespan")
    wait_for(lambda: api.job(job_id)["state"] == "completed")

    assert worker.stop() == 0
    assert api.job(job_id)["result"] == "state,state"
    assert (worker.output.count("entered"), worker.output.count("left")) == (1, 1)


def test_a_worker_in_a_program_of_ones_own_runs_until_it_is_told_to_stop(api: Api, queue: str) -> None:
    app = App(api.server.url)
    done = asyncio.Event()

    @app.job(queue=queue)
    async def work(n: int) -> int:
        done.set()
        return n + 1

    async def main() -> tuple[int, str]:
        worker = Worker(app, concurrency=2)
        running = asyncio.create_task(worker.run())
        enqueued = await work.enqueue(1)
        await done.wait()
        worker.stop()
        return await running, enqueued.job_id

    code, job_id = asyncio.run(main())
    assert code == 0
    assert api.job(job_id)["result"] == 2


def test_a_program_of_ones_own_runs_a_worker_until_a_signal(api: Api, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent("""
        import logging, sys, time
        from rookery import App, Worker

        app = App()

        @app.job
        def own_program(n: int) -> int:
            time.sleep(0.3)
            return n + 1

        if __name__ == "__main__":
            logging.basicConfig(level=logging.INFO)
            sys.exit(Worker(app, queues=["own_program"], concurrency=2).run_sync())
        """)
    )
    job_id = api.enqueue("own_program", {"n": 1})
    env = {**os.environ, "ROOKERY_URL": api.server.url}
    with subprocess.Popen([sys.executable, str(program)], env=env, stderr=subprocess.PIPE, text=True) as process:
        try:
            wait_for(lambda: api.job(job_id)["state"] == "active", alive=process)
            process.send_signal(signal.SIGTERM)
            _, said = process.communicate(timeout=20)
        finally:
            process.kill()

    assert process.returncode == 0, said
    assert api.job(job_id)["result"] == 2
