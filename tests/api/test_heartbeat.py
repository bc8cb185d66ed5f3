"""Heartbeats: keeping a lease, reporting progress, hearing of a cancel."""

from typing import Any

import pytest

from tests.api.expectations import assert_refused, claim, job_in_state, moment, seconds_from_now, start_job
from tests.conftest import Api, wait_for


@pytest.mark.parametrize(("lease", "renewed"), [(10, 60), (60, 60), (300, 300)])
def test_a_heartbeat_renews_the_lease(api: Api, queue: str, lease: int, renewed: int) -> None:
    job_id = api.enqueue(queue)
    claim(api, queue, lease_duration=lease)
    before = moment(api.job(job_id)["lease_expires_at"])

    def renewed_lease() -> str | None:
        assert api.post("/heartbeat", {"jobs": {job_id: {}}}).json()["acked"] == [job_id]
        lease_end = str(api.job(job_id)["lease_expires_at"])
        return lease_end if moment(lease_end) > before else None

    after = wait_for(renewed_lease)
    assert renewed - 20 < seconds_from_now(after) <= renewed + 1


def test_a_short_lease_that_is_renewed_stays_short_if_the_worker_says_so(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue)
    api.fetch(queue, lease_duration=600)
    api.post("/heartbeat", {"jobs": {job_id: {"lease_duration": 1}}})

    wait_for(lambda: "reclaimed" in api.events_of(job_id))


@pytest.mark.parametrize("lease", [0, -1, 86_401])
def test_a_lease_out_of_bounds_is_refused(api: Api, queue: str, lease: int) -> None:
    job_id = api.enqueue(queue)
    api.fetch(queue)
    answer = api.post("/heartbeat", {"jobs": {job_id: {"lease_duration": lease, "progress": 1}}})

    assert answer.status_code == 400
    assert f"jobs.{job_id}.lease_duration" in answer.json()["error"]
    assert api.job(job_id)["progress"] is None


def test_the_answer_sorts_the_jobs(api: Api, queue: str) -> None:
    active, pending = start_job(api, queue)["job_id"], api.enqueue(queue)
    answer = api.post("/heartbeat", {"jobs": {active: {}, pending: {}, "job_of_nobody": {}}})
    assert answer.status_code == 200
    assert answer.json() == {
        "jobs": {
            active: {"status": "ok"},
            pending: {"status": "cancel"},
            "job_of_nobody": {"status": "cancel"},
        },
        "acked": [active],
        "unknown": ["job_of_nobody"],
        "canceled": [pending],
    }


@pytest.mark.parametrize("state", ["pending", "scheduled", "retrying", "held", "completed", "dead", "cancelled"])
def test_whoever_works_on_a_job_that_is_not_active_is_told_to_stop(api: Api, queue: str, state: str) -> None:
    job_id = job_in_state(api, queue, state)
    before = api.job(job_id)
    answer = api.post("/heartbeat", {"jobs": {job_id: {"progress": 1, "checkpoint": 2}}}).json()
    assert answer["jobs"] == {job_id: {"status": "cancel"}}
    assert answer["canceled"] == [job_id]
    assert api.job(job_id) == before


def test_a_deleted_job_is_cancelled_for_its_worker(api: Api, queue: str) -> None:
    job_id = start_job(api, queue)["job_id"]
    api.delete(f"/jobs/{job_id}")
    answer = api.post("/heartbeat", {"jobs": {job_id: {}}}).json()
    assert (answer["jobs"][job_id]["status"], answer["unknown"]) == ("cancel", [job_id])


@pytest.mark.parametrize("body", [None, {}, {"jobs": {}}, {"jobs": None}])
def test_a_heartbeat_without_jobs_is_fine(api: Api, body: Any) -> None:
    answer = api.post("/heartbeat", body)
    assert answer.status_code == 200
    assert answer.json() == {"jobs": {}, "acked": [], "unknown": [], "canceled": []}


@pytest.mark.parametrize("progress", [50, {"percent": 50, "message": "half"}, "half", [1, 2]])
def test_progress_is_kept_and_told(api: Api, queue: str, progress: Any) -> None:
    job_id = start_job(api, queue)["job_id"]
    api.post("/heartbeat", {"jobs": {job_id: {"progress": progress}}})
    assert api.job(job_id)["progress"] == progress
    events = api.get("/cluster/events", params={"job_ids": job_id, "types": "progress"}).json()["events"]
    assert [event["data"] for event in events] == [progress]


@pytest.mark.parametrize("beat", [{}, {"progress": None}, {"checkpoint": 1}, {"stream_delta": "x"}, None])
def test_a_heartbeat_without_progress_tells_nothing(api: Api, queue: str, beat: Any) -> None:
    job_id = start_job(api, queue)["job_id"]
    assert api.post("/heartbeat", {"jobs": {job_id: beat}}).json()["acked"] == [job_id]
    assert api.events_of(job_id) == ["enqueued", "started"]


def test_null_leaves_progress_and_checkpoint_as_they_were(api: Api, queue: str) -> None:
    job_id = start_job(api, queue)["job_id"]
    api.post("/heartbeat", {"jobs": {job_id: {"progress": 1, "checkpoint": {"at": 5}}}})
    api.post("/heartbeat", {"jobs": {job_id: {"progress": None, "checkpoint": None}}})
    job = api.job(job_id)
    assert (job["progress"], job["checkpoint"]) == (1, {"at": 5})


def test_a_checkpoint_is_handed_to_the_next_attempt(api: Api, queue: str) -> None:
    job_id = start_job(api, queue, retry_backoff="none")["job_id"]
    api.post("/heartbeat", {"jobs": {job_id: {"checkpoint": {"at": 5}}}})
    api.post(f"/fail/{job_id}")
    assert claim(api, queue, timeout=3)["checkpoint"] == {"at": 5}


def test_a_heartbeat_shows_that_the_worker_lives(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue)
    claim(api, queue, worker_id=queue)

    def last_heartbeat() -> str:
        return next(str(worker["last_heartbeat"]) for worker in api.get("/workers").json() if worker["id"] == queue)

    before = last_heartbeat()
    wait_for(lambda: api.post("/heartbeat", {"jobs": {job_id: {}}}) and moment(last_heartbeat()) > moment(before))


@pytest.mark.parametrize("jobs", [[], "text", {"job_x": 1}, {"job_x": []}])
def test_a_heartbeat_of_the_wrong_shape_cannot_be_parsed(api: Api, jobs: Any) -> None:
    assert_refused(api.post("/heartbeat", {"jobs": jobs}), 400, "PARSE_ERROR", "jobs")


def test_many_jobs_beat_at_once(api: Api, queue: str) -> None:
    api.post("/enqueue/batch", {"jobs": [{"queue": queue}] * 100})
    jobs = api.post("/fetch/batch", {"queues": [queue], "count": 100}).json()["jobs"]
    ids = [job["job_id"] for job in jobs]
    answer = api.post("/heartbeat", {"jobs": {job_id: {"progress": 1} for job_id in ids}}).json()
    assert answer["acked"] == ids


def test_usage_may_be_reported_with_a_heartbeat(api: Api, queue: str) -> None:
    job_id = start_job(api, queue)["job_id"]
    beat = {"usage": {"input_tokens": 5, "cost_usd": 0.01}}
    assert api.post("/heartbeat", {"jobs": {job_id: beat}}).json()["acked"] == [job_id]
