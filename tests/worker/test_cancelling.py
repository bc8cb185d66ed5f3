"""Jobs that are no longer wanted while they run."""

import signal
from pathlib import Path

import pytest

from tests.conftest import Api, wait_for
from tests.worker.conftest import Jobs, StartWorker, WorkerProcess


def begin(api: Api, queue: str, payload: object = None) -> str:
    """Enqueue a job, and wait until its handler has begun."""
    job_id = api.enqueue(queue, payload or {})
    wait_for(lambda: api.job(job_id)["progress"] == "begun")
    return job_id


@pytest.fixture
def beating_worker(start_worker: StartWorker, api: Api) -> WorkerProcess:
    """A worker that sends heartbeats every third of a second."""
    return start_worker(api.server.url, "--lease", "1s")


@pytest.mark.usefixtures("beating_worker")
def test_a_cancelled_job_is_told_and_its_outcome_dropped(api: Api, jobs: Jobs) -> None:
    job_id = begin(api, "waits_for_cancel")
    api.post(f"/jobs/{job_id}/cancel")

    wait_for(lambda: [line["message"] for line in jobs.logs(job_id)] == ["told: cancelled"])
    assert api.job(job_id)["state"] == "cancelled"


def test_a_thread_is_told_too(api: Api, beating_worker: WorkerProcess) -> None:
    job_id = begin(api, "thread_waits_for_cancel")
    api.post(f"/jobs/{job_id}/cancel")

    wait_for(lambda: f"job {job_id} of thread_waits_for_cancel: its outcome is dropped" in beating_worker.output)
    assert api.job(job_id)["errors"] == []


@pytest.mark.usefixtures("beating_worker")
def test_a_process_is_told_too(api: Api, tmp_path: Path) -> None:
    path = tmp_path / "told"
    job_id = begin(api, "process_waits_for_cancel", {"path": str(path)})
    api.post(f"/jobs/{job_id}/cancel")

    assert wait_for(lambda: path.exists() and path.read_text()) == "cancelled"


@pytest.mark.usefixtures("beating_worker")
def test_one_that_does_not_look_is_cancelled_after_its_grace(api: Api, tmp_path: Path) -> None:
    path = tmp_path / "told"
    job_id = begin(api, "ignores_cancel", {"path": str(path)})
    api.post(f"/jobs/{job_id}/cancel")

    assert wait_for(lambda: path.exists() and path.read_text()) == "cancelled by force"


def test_a_job_that_was_given_to_somebody_else_is_told_that_its_lease_is_lost(
    api: Api, beating_worker: WorkerProcess, tmp_path: Path
) -> None:
    path = tmp_path / "told"
    job_id = begin(api, "process_waits_for_cancel", {"path": str(path)})
    beating_worker.signal(signal.SIGSTOP)
    for action, body in (("cancel", None), ("move", {"queue": "elsewhere"}), ("retry", None)):
        assert api.post(f"/jobs/{job_id}/{action}", body).status_code == 200
    taken = api.fetch("elsewhere")
    beating_worker.signal(signal.SIGCONT)

    assert wait_for(lambda: path.exists() and path.read_text()) == "lease lost"
    wait_for(lambda: "its outcome is dropped (lease lost)" in beating_worker.output)
    assert taken is not None
    assert taken["job_id"] == job_id
    assert api.job(job_id)["state"] == "active"


def test_heartbeats_go_on_while_the_loop_is_blocked(api: Api, start_worker: StartWorker) -> None:
    start_worker(
        api.server.url,
        "--lease",
        "1s",
        code="""
        import time
        from rookery import App, current_job
        app = App()

        @app.job
        async def blocks_the_loop() -> int:
            time.sleep(4)
            return current_job().attempt
        """,
    )
    job_id = api.enqueue("blocks_the_loop")
    wait_for(lambda: api.job(job_id)["state"] == "completed")

    assert api.job(job_id)["result"] == 1
    assert "reclaimed" not in api.events_of(job_id)


def test_jobs_that_came_while_the_loop_was_blocked_longer_than_their_lease_are_not_begun(
    api: Api, start_worker: StartWorker, tmp_path: Path
) -> None:
    path = tmp_path / "ran"
    worker = start_worker(
        api.server.url,
        *("--lease", "2s", "--concurrency", "2", "--transport", "stream"),
        code="""
        import time
        from rookery import App, current_job
        app = App()

        @app.job
        async def block(seconds: float, path: str) -> None:
            with open(path, "a") as file:
                file.write(current_job().id + "\\n")
            time.sleep(seconds)
        """,
    )
    payloads = [{"seconds": seconds, "path": str(path)} for seconds in (0.3, 6, 0)]
    ids = api.post("/enqueue/batch", {"jobs": [{"queue": "block", "payload": one} for one in payloads]}).json()

    wait_for(lambda: all(api.job(job_id)["state"] == "completed" for job_id in ids["job_ids"]))
    assert f"job {ids['job_ids'][1]} (block) has blocked the event loop for " in worker.output
    assert "use def instead of async def, or asyncio.to_thread" in worker.output
    assert sorted(path.read_text().split()) == sorted(ids["job_ids"])


def test_jobs_in_hand_behind_something_long_are_handed_back(api: Api, start_worker: StartWorker) -> None:
    code = """
        import asyncio
        from rookery import App
        app = App()

        @app.job
        async def hold_up(seconds: float) -> None:
            await asyncio.sleep(seconds)
        """
    queue = "hold_up"
    api.post("/enqueue/batch", {"jobs": [{"queue": queue, "payload": {"seconds": 0}}] * 2000})
    waiting = [{"queue": queue, "payload": {"seconds": seconds}} for seconds in (60, 60, *[0] * 20)]
    ids = api.post("/enqueue/batch", {"jobs": waiting}).json()["job_ids"]
    first = start_worker(api.server.url, "--concurrency", "2", "--transport", "stream", code=code)
    wait_for(lambda: [api.job(job_id)["state"] for job_id in ids[:2]] == ["active"] * 2)
    start_worker(api.server.url, code=code)

    wait_for(lambda: all(api.job(job_id)["state"] == "completed" for job_id in ids[2:]))
    assert [api.job(job_id)["state"] for job_id in ids[:2]] == ["active"] * 2
    assert {api.job(job_id)["attempt"] for job_id in ids} == {1}
    assert any("released" in api.events_of(job_id) for job_id in ids[2:])
    first.kill()
