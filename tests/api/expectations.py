"""What answers are expected to look like, said once for all API tests."""

import re
from datetime import UTC, datetime
from typing import Any

import httpx

from tests.conftest import Api, wait_for

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3,9}Z")
FAR_FUTURE = "2090-01-01T00:00:00Z"
LONG_AGO = "2001-01-01T00:00:00Z"
LONG = 60
"""Seconds that a call may wait at the server."""
SOON = 10
"""Seconds within which it is answered if it was woken: much less than LONG, much more than a busy machine needs."""


def assert_refused(answer: httpx.Response, status: int, code: str, *words: str) -> None:
    """The answer is an error of that kind, and its text names what is at fault."""
    assert answer.status_code == status, answer.text
    body = answer.json()
    assert body["code"] == code, body
    assert body["error"]
    for word in words:
        assert word in body["error"]


def moment(text: str) -> datetime:
    """A time as the server writes it."""
    assert TIME.fullmatch(text), text
    return datetime.fromisoformat(text).astimezone(UTC)


def seconds_from_now(text: str) -> float:
    """How far in the future a time is."""
    return (moment(text) - datetime.now(UTC)).total_seconds()


def claim(api: Api, queue: str, **fields: Any) -> dict[str, Any]:
    """Fetch a job that must be there."""
    job = api.fetch(queue, **fields)
    assert job is not None, f"nothing to fetch in {queue}"
    return job


def start_job(api: Api, queue: str, payload: Any = None, **fields: Any) -> dict[str, Any]:
    """Enqueue a job and fetch it."""
    job_id = api.enqueue(queue, payload, **fields)
    job = claim(api, queue)
    assert job["job_id"] == job_id
    return job


def is_empty(api: Api, queue: str) -> bool:
    """Whether a fetch gets nothing from a queue."""
    return api.fetch(queue, timeout=0.01) is None


def finish_job(api: Api, queue: str, **fields: Any) -> str:
    """Enqueue a job, fetch it and complete it."""
    job_id: str = start_job(api, queue, **fields)["job_id"]
    assert api.post(f"/ack/{job_id}").status_code == 200
    return job_id


def bury_job(api: Api, queue: str, **fields: Any) -> str:
    """Enqueue a job and let its only attempt fail."""
    job_id: str = start_job(api, queue, max_retries=1, **fields)["job_id"]
    assert api.post(f"/fail/{job_id}", {"error": "boom"}).json()["status"] == "dead"
    return job_id


def job_in_state(api: Api, queue: str, state: str) -> str:
    """A new job that is in that state."""
    match state:
        case "pending":
            return api.enqueue(queue)
        case "scheduled":
            return api.enqueue(queue, scheduled_at=FAR_FUTURE)
        case "active":
            return str(start_job(api, queue)["job_id"])
        case "retrying":
            job_id = str(start_job(api, queue, retry_base_delay="1h", retry_max_delay="1h")["job_id"])
            assert api.post(f"/fail/{job_id}", {"error": "boom"}).json()["status"] == "retrying"
            return job_id
        case "held":
            job_id = api.enqueue(queue)
            assert api.post(f"/jobs/{job_id}/hold", {"reason": "look"}).status_code == 200
            return job_id
        case "completed":
            return finish_job(api, queue)
        case "dead":
            return bury_job(api, queue)
        case "cancelled":
            job_id = api.enqueue(queue)
            assert api.post(f"/jobs/{job_id}/cancel").status_code == 200
            return job_id
    raise AssertionError(state)


def wait_for_state(api: Api, job_id: str, state: str) -> dict[str, Any]:
    """Wait until a job is in a state; the job."""
    job: dict[str, Any] = wait_for(lambda: (job := api.job(job_id))["state"] == state and job)
    return job


def wait_until_parked(api: Api, worker_id: str) -> None:
    """Wait until a worker's fetch has reached the server."""
    wait_for(lambda: worker_id in [worker["id"] for worker in api.get("/workers").json()])
