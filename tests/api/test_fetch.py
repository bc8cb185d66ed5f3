"""Fetching: who gets which job, one at a time or many."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from tests.api.expectations import assert_refused, claim, is_empty, seconds_from_now, start_job, wait_for_state
from tests.conftest import Api


def fetch_batch(api: Api, *queues: str, **fields: Any) -> list[dict[str, Any]]:
    answer = api.post("/fetch/batch", {"queues": queues, "timeout": 0.5, "worker_id": "w1", **fields})
    assert answer.status_code == 200, answer.text
    assert answer.json().keys() == {"jobs"}
    jobs: list[dict[str, Any]] = answer.json()["jobs"]
    return jobs


def test_a_fetched_job_carries_what_a_worker_needs(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue, {"a": 1}, max_retries=4, tags={"t": "v"}, checkpoint=[1], priority="high")
    job = claim(api, queue)
    token = job.pop("lease_token")
    assert isinstance(token, str)
    assert token
    assert job == {
        "job_id": job_id,
        "queue": queue,
        "payload": {"a": 1},
        "attempt": 1,
        "max_retries": 4,
        "lease_duration": 60,
        "checkpoint": [1],
        "tags": {"t": "v"},
        "agent": None,
        "priority": 1,
    }
    assert api.events_of(job_id) == ["enqueued", "started"]


def test_what_a_job_does_not_have_is_null(api: Api, queue: str) -> None:
    api.enqueue(queue)
    job = claim(api, queue)
    assert (job["checkpoint"], job["tags"], job["agent"]) == (None, None, None)


@pytest.mark.parametrize("path", ["/fetch", "/fetch/batch"])
@pytest.mark.parametrize("body", [{}, {"queues": []}, {"queues": None}])
def test_a_fetch_without_queues_is_refused(api: Api, path: str, body: Any) -> None:
    assert_refused(api.post(path, body), 400, "VALIDATION_ERROR", "queues is required")


@pytest.mark.parametrize("path", ["/fetch", "/fetch/batch"])
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("queues", "text"),
        ("queues", [1]),
        ("worker_id", 1),
        ("hostname", []),
        ("timeout", "1s"),
        ("lease_duration", "60"),
        ("lease_duration", 1.5),
    ],
)
def test_a_fetch_with_a_wrong_type_cannot_be_parsed(api: Api, path: str, field: str, value: Any) -> None:
    body = {"queues": ["q"], "timeout": 0.05, field: value}
    assert_refused(api.post(path, body), 400, "PARSE_ERROR", field)


@pytest.mark.parametrize("path", ["/fetch", "/fetch/batch"])
@pytest.mark.parametrize("lease", [0, -1, 86_401, 2**70])
def test_a_lease_outside_its_range_is_refused(api: Api, path: str, lease: int) -> None:
    answer = api.post(path, {"queues": ["q"], "timeout": 0.05, "lease_duration": lease})
    assert answer.status_code == 400
    assert "lease_duration" in answer.json()["error"]


@pytest.mark.parametrize("count", ["2", 1.5, []])
def test_a_count_of_the_wrong_type_cannot_be_parsed(api: Api, count: Any) -> None:
    answer = api.post("/fetch/batch", {"queues": ["q"], "timeout": 0.05, "count": count})
    assert_refused(answer, 400, "PARSE_ERROR", "count")


@pytest.mark.parametrize("lease", [1, 300, 86_400])
def test_the_lease_is_as_long_as_asked_for(api: Api, queue: str, lease: int) -> None:
    job_id = api.enqueue(queue)
    assert claim(api, queue, lease_duration=lease)["lease_duration"] == lease
    assert lease - 2 < seconds_from_now(api.job(job_id)["lease_expires_at"]) <= lease + 1


@pytest.mark.parametrize("timeout", [5, 60])
def test_the_time_to_wait_is_not_the_lease(api: Api, queue: str, timeout: int) -> None:
    job_id = api.enqueue(queue)
    claim(api, queue, timeout=timeout)
    assert 50 < seconds_from_now(api.job(job_id)["lease_expires_at"]) <= 61


def test_jobs_of_one_tier_come_in_the_order_they_were_made(api: Api, queue: str) -> None:
    ids = [api.enqueue(queue) for _ in range(5)]
    assert [claim(api, queue)["job_id"] for _ in range(5)] == ids


def test_jobs_made_by_one_call_come_in_their_order(api: Api, queue: str) -> None:
    ids = api.post("/enqueue/batch", {"jobs": [{"queue": queue}] * 20}).json()["job_ids"]
    assert [job["job_id"] for job in fetch_batch(api, queue, count=20)] == ids


def test_a_higher_priority_comes_first(api: Api, queue: str) -> None:
    normal, high, critical = (api.enqueue(queue, priority=name) for name in ("normal", "high", "critical"))
    assert [claim(api, queue)["job_id"] for _ in range(3)] == [critical, high, normal]


def test_several_queues_share_one_order(api: Api, queue: str) -> None:
    first, second = f"{queue}-1", f"{queue}-2"
    old = api.enqueue(second)
    young = api.enqueue(first)
    urgent = api.enqueue(second, priority="critical")
    fetched = [api.fetch(first, second) for _ in range(3)]
    assert [job["job_id"] for job in fetched if job] == [urgent, old, young]
    assert [job["queue"] for job in fetched if job] == [second, second, first]


def test_a_batch_over_several_queues_has_one_order(api: Api, queue: str) -> None:
    names = [f"{queue}-{number}" for number in (0, 1, 2)]
    ids = [api.enqueue(names[number % 3]) for number in range(9)]
    assert [job["job_id"] for job in fetch_batch(api, *reversed(names), count=9)] == ids


@pytest.mark.parametrize("way", ["fail", "release", "approve", "continue", "retry"])
def test_a_job_that_returns_keeps_its_place(api: Api, queue: str, way: str) -> None:
    job_id = start_job(api, queue, retry_backoff="none", agent={})["job_id"]
    younger = api.enqueue(queue)
    match way:
        case "fail":
            api.post(f"/fail/{job_id}")
            wait_for_state(api, job_id, "pending")
        case "release":
            api.post(f"/release/{job_id}")
        case "approve":
            api.post(f"/jobs/{job_id}/hold")
            api.post(f"/jobs/{job_id}/approve")
        case "continue":
            api.post(f"/ack/{job_id}", {"agent_status": "continue"})
        case _:
            api.post(f"/jobs/{job_id}/cancel")
            api.post(f"/jobs/{job_id}/retry")
    assert [claim(api, queue)["job_id"] for _ in range(2)] == [job_id, younger]


def test_a_job_goes_to_exactly_one_caller(api: Api, queue: str, background: Callable[..., Future[Any]]) -> None:
    ids = api.post("/enqueue/batch", {"jobs": [{"queue": queue}] * 60}).json()["job_ids"]
    calls = [background(api.fetch, queue, worker_id=f"w{number}") for number in range(40)]
    calls += [background(fetch_batch, api, queue, count=5) for _ in range(10)]
    handed_out = Counter[str]()
    for call in calls:
        result = call.result()
        for job in result if isinstance(result, list) else [result] if result else []:
            handed_out[job["job_id"]] += 1
    while (job := api.fetch(queue, timeout=0.05)) is not None:
        handed_out[job["job_id"]] += 1
    assert handed_out == Counter(ids)


def test_a_batch_returns_what_there_is_at_once(api: Api, queue: str) -> None:
    ids = [api.enqueue(queue) for _ in range(3)]
    jobs = fetch_batch(api, queue, count=10, timeout=30)
    assert [job["job_id"] for job in jobs] == ids
    assert len({job["lease_token"] for job in jobs}) == 3


def test_a_batch_has_one_job_unless_more_are_asked_for(api: Api, queue: str) -> None:
    for _ in range(2):
        api.enqueue(queue)
    assert len(fetch_batch(api, queue)) == 1


def test_an_empty_batch_is_an_empty_list(api: Api, queue: str) -> None:
    assert fetch_batch(api, queue, count=3, timeout=0.05) == []


def test_a_batch_has_at_most_512_jobs(api: Api, queue: str) -> None:
    api.post("/enqueue/batch", {"jobs": [{"queue": queue}] * 513})
    assert len(fetch_batch(api, queue, count=100_000)) == 512
    assert len(fetch_batch(api, queue, count=100_000)) == 1


def test_each_job_of_a_batch_is_like_a_fetched_job(api: Api, queue: str) -> None:
    api.enqueue(queue, {"a": 1})
    api.enqueue(queue, {"a": 1})
    single = claim(api, queue)
    (batched,) = fetch_batch(api, queue)
    assert single.keys() == batched.keys()
    assert {**single, "job_id": 0, "lease_token": 0} == {**batched, "job_id": 0, "lease_token": 0}


def test_a_queue_named_twice_is_one_queue(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue)
    assert [job["job_id"] for job in fetch_batch(api, queue, queue, count=5)] == [job_id]


def test_a_queue_that_does_not_exist_is_just_empty(api: Api, queue: str) -> None:
    assert is_empty(api, queue)
    assert api.get(f"/queues/{queue}").status_code == 404


@pytest.mark.parametrize("state", ["held", "cancelled"])
def test_a_job_that_is_out_of_the_pool_is_never_fetched(api: Api, queue: str, state: str) -> None:
    job_id = api.enqueue(queue)
    api.post(f"/jobs/{job_id}/{'hold' if state == 'held' else 'cancel'}")
    assert is_empty(api, queue)
