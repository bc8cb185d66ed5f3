"""What a worker says of its jobs."""

import logging

import pytest

from rookery.client.worker.outbox import AckMessage, ReleaseMessage
from rookery.client.worker.polling import note_dropped
from tests.conftest import Api, wait_for
from tests.worker.conftest import StartWorker, ended

CODE = """
import logging
from rookery import App
app = App()

@app.job
async def says_fine() -> None: ...

@app.job
async def says_boom() -> None:
    raise ValueError("boom")
"""


@pytest.mark.parametrize("transport", ["stream", "http"])
def test_a_failure_says_what_happens_next(api: Api, start_worker: StartWorker, transport: str) -> None:
    worker = start_worker(api.server.url, "--transport", transport, code=CODE)
    fine = api.enqueue("says_fine", {})
    later = api.enqueue("says_boom", {}, max_retries=3, retry_base_delay="90s", retry_backoff="fixed")
    last = api.enqueue("says_boom", {}, max_retries=1)

    ended(api, fine)
    ended(api, last)
    wait_for(lambda: f"job {later}: again in 90 s" in worker.output or f"job {later}: again in 89 s" in worker.output)
    assert f"job {later} of says_boom, attempt 1 of 3: ValueError: boom\n" in worker.output
    assert f"job {last} of says_boom, attempt 1 of 1: ValueError: boom (dead)\n" in worker.output
    assert "Traceback" not in worker.output
    assert fine not in worker.output
    api.post(f"/jobs/{later}/cancel")


@pytest.mark.parametrize("flags", [("--log-jobs",), ("--log-level", "debug")])
def test_at_debug_level_jobs_that_complete_and_tracebacks_are_shown(
    api: Api, start_worker: StartWorker, flags: tuple[str, ...]
) -> None:
    worker = start_worker(api.server.url, *flags, code=CODE)
    fine = api.enqueue("says_fine", {})
    dead = api.enqueue("says_boom", {}, max_retries=1)

    ended(api, fine)
    ended(api, dead)
    assert f"job {fine} of says_fine: completed in " in worker.output
    assert f"job {dead}: Traceback" in worker.output
    assert 'raise ValueError("boom")' in worker.output
    assert "DEBUG > TEXT" not in worker.output, "the frames of the stream are nobody's business"


def test_a_job_that_was_handed_back_has_no_outcome_to_drop(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "rookery.worker"):
        note_dropped(ReleaseMessage("j1", "5"), "lease lost")
        note_dropped(AckMessage("j2", "6"), "lease lost")

    assert caplog.messages == [
        "job j1: it had gone back already (lease lost)",
        "job j2: its outcome is dropped (lease lost)",
    ]
