"""A job's life over HTTP, from one end to the other."""

from tests.conftest import Api


def test_a_job_is_enqueued_fetched_and_completed(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue, {"to": "a@example.com"})
    job = api.fetch(queue)
    assert job is not None
    assert job["job_id"] == job_id
    assert job["payload"] == {"to": "a@example.com"}
    assert api.post(f"/ack/{job_id}", {"result": {"sent": True}}).json() == {"status": "ok"}
    done = api.job(job_id)
    assert done["state"] == "completed"
    assert done["result"] == {"sent": True}
    assert api.events_of(job_id) == ["enqueued", "started", "completed"]
