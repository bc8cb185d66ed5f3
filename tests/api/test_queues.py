"""Queues: looking at them, pausing, clearing, deleting."""

from typing import Any
from urllib.parse import quote

import pytest

from tests.api.expectations import (
    FAR_FUTURE,
    TIME,
    assert_refused,
    bury_job,
    claim,
    finish_job,
    is_empty,
    job_in_state,
    start_job,
)
from tests.conftest import Api

STATES = ("pending", "scheduled", "active", "retrying", "held", "completed", "dead", "cancelled")
FIELDS = {
    "name",
    "paused",
    "max_concurrency",
    "rate_limit",
    "rate_window_ms",
    "created_at",
    "enqueued",
    "failed",
    "oldest_pending_at",
    *STATES,
}


def look(api: Api, queue: str) -> dict[str, Any]:
    """The queue as the list shows it."""
    (found,) = [row for row in api.get("/queues").json() if row["name"] == queue]
    assert api.get(f"/queues/{quote(queue, safe='')}").json() == found
    return dict(found)


def test_a_new_queue_shows_every_field(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue)
    row = look(api, queue)
    assert row.keys() >= FIELDS
    assert TIME.fullmatch(row["created_at"])
    assert row["oldest_pending_at"] == api.job(job_id)["created_at"]
    assert (row["paused"], row["max_concurrency"], row["rate_limit"], row["rate_window_ms"]) == (
        False,
        None,
        None,
        None,
    )
    assert [row[state] for state in STATES] == [1, 0, 0, 0, 0, 0, 0, 0]
    assert (row["enqueued"], row["failed"]) == (1, 0)


def test_queues_are_listed_by_name(api: Api, queue: str) -> None:
    for suffix in ("c", "a", "b"):
        api.enqueue(f"{queue}-{suffix}")
    names = [row["name"] for row in api.get("/queues").json()]
    assert names == sorted(names)
    assert {f"{queue}-a", f"{queue}-b", f"{queue}-c"} <= set(names)


def test_a_queue_counts_its_jobs_by_state(api: Api, queue: str) -> None:
    api.post(f"/queues/{queue}/resume")
    for number, state in enumerate(reversed(STATES), start=1):
        for _ in range(number if state in ("scheduled", "held") else 1):
            job_in_state(api, queue, state)
    row = look(api, queue)
    assert {state: row[state] for state in STATES} == {**dict.fromkeys(STATES, 1), "scheduled": 7, "held": 4}
    assert row["enqueued"] == 17
    assert row["failed"] == 2


def test_counters_since_creation_never_go_down(api: Api, queue: str) -> None:
    api.delete(f"/jobs/{bury_job(api, queue)}")
    api.delete(f"/jobs/{finish_job(api, queue)}")
    row = look(api, queue)
    assert (row["enqueued"], row["failed"]) == (2, 1)
    assert [row[state] for state in STATES] == [0] * 8


def test_the_oldest_pending_job_is_dated(api: Api, queue: str) -> None:
    first, second = api.enqueue(queue), api.enqueue(queue)
    assert look(api, queue)["oldest_pending_at"] == api.job(first)["created_at"]
    claim(api, queue)
    assert look(api, queue)["oldest_pending_at"] == api.job(second)["created_at"]
    claim(api, queue)
    assert look(api, queue)["oldest_pending_at"] is None


def test_an_unknown_queue_is_not_found(api: Api, queue: str) -> None:
    assert_refused(api.get(f"/queues/{queue}"), 404, "NOT_FOUND")


@pytest.mark.parametrize(
    ("call", "body"),
    [
        ("pause", None),
        ("concurrency", {"max": 3}),
        ("throttle", {"rate": 1, "period": "1s"}),
    ],
)
def test_a_queue_comes_into_being_by_its_settings(api: Api, queue: str, call: str, body: Any) -> None:
    assert api.post(f"/queues/{queue}/{call}", body).status_code == 200
    assert look(api, queue)["pending"] == 0


@pytest.mark.parametrize(("action", "status"), [("pause", "paused"), ("drain", "draining")])
def test_a_paused_queue_hands_out_nothing(api: Api, queue: str, action: str, status: str) -> None:
    running = start_job(api, queue)["job_id"]
    api.enqueue(queue)
    for _ in range(2):
        answer = api.post(f"/queues/{queue}/{action}")
        assert answer.status_code == 200
        assert answer.json() == {"status": status}
    assert look(api, queue)["paused"] is True
    assert is_empty(api, queue)
    assert api.post("/heartbeat", {"jobs": {running: {}}}).json()["acked"] == [running]
    assert api.post(f"/ack/{running}").status_code == 200


def test_a_paused_queue_does_not_stand_in_the_way_of_others(api: Api, queue: str) -> None:
    api.enqueue(f"{queue}-paused")
    api.post(f"/queues/{queue}-paused/pause")
    job_id = api.enqueue(queue)
    job = api.fetch(f"{queue}-paused", queue)
    assert job is not None
    assert job["job_id"] == job_id


@pytest.mark.parametrize("action", ["pause", "drain"])
def test_a_resumed_queue_hands_out_jobs_again(api: Api, queue: str, action: str) -> None:
    job_id = api.enqueue(queue)
    api.post(f"/queues/{queue}/{action}")
    for _ in range(2):
        assert api.post(f"/queues/{queue}/resume").json() == {"status": "resumed"}
    assert look(api, queue)["paused"] is False
    assert claim(api, queue)["job_id"] == job_id


def test_clear_deletes_what_has_not_run(api: Api, queue: str) -> None:
    ids = {state: job_in_state(api, queue, state) for state in reversed(STATES)}
    for priority in ("critical", "high"):
        api.enqueue(queue, priority=priority)
    api.enqueue(queue, scheduled_at=FAR_FUTURE, priority="high")
    answer = api.post(f"/queues/{queue}/clear")
    assert answer.status_code == 200
    assert answer.json() == {"status": "cleared", "deleted": 5}
    for state, job_id in ids.items():
        assert api.get(f"/jobs/{job_id}").status_code == (404 if state in ("pending", "scheduled") else 200)
    row = look(api, queue)
    assert (row["pending"], row["scheduled"], row["active"], row["held"]) == (0, 0, 1, 1)
    assert is_empty(api, queue)


def test_clear_works_on_many_jobs(api: Api, queue: str) -> None:
    for _ in range(3):
        api.post("/enqueue/batch", {"jobs": [{"queue": queue}] * 1000})
    assert api.post(f"/queues/{queue}/clear").json()["deleted"] == 3000
    assert look(api, queue)["pending"] == 0
    assert api.post(f"/queues/{queue}/clear").json()["deleted"] == 0


def test_a_deleted_queue_takes_everything_with_it(api: Api, queue: str) -> None:
    ids = [job_in_state(api, queue, state) for state in reversed(STATES)]
    locked = api.enqueue(queue, unique_key="k")
    api.post(f"/queues/{queue}/concurrency", {"max": 1})
    api.post(f"/queues/{queue}/throttle", {"rate": 1, "period": "1h"})
    api.post(f"/queues/{queue}/pause")
    for _ in range(2):
        answer = api.delete(f"/queues/{queue}?confirm=true")
        assert answer.status_code == 200
        assert answer.json() == {"status": "deleted"}
    for job_id in [*ids, locked]:
        assert api.get(f"/jobs/{job_id}").status_code == 404
    assert api.get(f"/queues/{queue}").status_code == 404
    first = api.post("/enqueue", {"queue": queue, "unique_key": "k"})
    api.enqueue(queue)
    assert first.status_code == 201
    assert claim(api, queue)["job_id"] == first.json()["job_id"]
    assert claim(api, queue)
    row = look(api, queue)
    assert (row["paused"], row["max_concurrency"], row["rate_limit"], row["enqueued"]) == (False, None, None, 2)


@pytest.mark.parametrize("query", ["", "?confirm=false", "?confirm=", "?confirm=yes"])
def test_a_queue_is_not_deleted_without_confirmation(api: Api, queue: str, query: str) -> None:
    api.enqueue(queue)
    assert_refused(api.delete(f"/queues/{queue}{query}"), 400, "VALIDATION_ERROR", "confirm")
    assert look(api, queue)["pending"] == 1


@pytest.mark.parametrize("action", ["pause", "resume", "drain", "clear", "concurrency", "throttle"])
def test_a_queue_that_cannot_be_has_no_settings(api: Api, action: str) -> None:
    body = {"rate": 1, "period": "1s"} if action == "throttle" else None
    assert_refused(api.post(f"/queues/{'x' * 256}/{action}", body), 400, "VALIDATION_ERROR", "queue")
