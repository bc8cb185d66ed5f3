"""Limits of a queue: how many jobs run at a time, and how many begin in a period."""

import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from tests.api.expectations import assert_refused, claim, is_empty, start_job
from tests.conftest import Api


def fetch_many(api: Api, *queues: str) -> list[dict[str, Any]]:
    body = {"queues": queues, "count": 50, "timeout": 0.05, "worker_id": "w1"}
    jobs: list[dict[str, Any]] = api.post("/fetch/batch", body).json()["jobs"]
    return jobs


def fill(api: Api, queue: str, count: int) -> None:
    api.post("/enqueue/batch", {"jobs": [{"queue": queue}] * count})


@pytest.mark.parametrize("limit", [1, 3])
def test_no_more_jobs_run_than_the_limit(api: Api, queue: str, limit: int) -> None:
    fill(api, queue, 5)
    assert api.post(f"/queues/{queue}/concurrency", {"max": limit}).json() == {"status": "ok"}
    assert api.get(f"/queues/{queue}").json()["max_concurrency"] == limit
    jobs = [claim(api, queue) for _ in range(limit)]
    assert is_empty(api, queue)
    api.post(f"/ack/{jobs[0]['job_id']}")
    assert claim(api, queue)
    assert is_empty(api, queue)


def test_the_limit_holds_inside_a_batch(api: Api, queue: str) -> None:
    fill(api, queue, 10)
    api.post(f"/queues/{queue}/concurrency", {"max": 4})
    assert len(fetch_many(api, queue)) == 4
    assert fetch_many(api, queue) == []


def test_the_limit_holds_among_many_callers(api: Api, queue: str, background: Callable[..., Future[Any]]) -> None:
    fill(api, queue, 20)
    api.post(f"/queues/{queue}/concurrency", {"max": 3})
    calls = [background(api.fetch, queue, timeout=0.3) for _ in range(20)]
    assert sum(call.result() is not None for call in calls) == 3


def test_a_full_queue_does_not_stand_in_the_way_of_others(api: Api, queue: str) -> None:
    fill(api, f"{queue}-full", 5)
    fill(api, queue, 2)
    api.post(f"/queues/{queue}-full/concurrency", {"max": 1})
    assert sorted(job["queue"] for job in fetch_many(api, f"{queue}-full", queue)) == [queue, queue, f"{queue}-full"]


@pytest.mark.parametrize("body", [{"max": 0}, {"max": -1}, {"max": None}, {}, None])
def test_no_limit_lifts_the_limit(api: Api, queue: str, body: Any) -> None:
    fill(api, queue, 3)
    api.post(f"/queues/{queue}/concurrency", {"max": 1})
    assert api.post(f"/queues/{queue}/concurrency", body).json() == {"status": "ok"}
    assert api.get(f"/queues/{queue}").json()["max_concurrency"] is None
    assert len(fetch_many(api, queue)) == 3


def test_a_lowered_limit_does_not_stop_running_jobs(api: Api, queue: str) -> None:
    running = [start_job(api, queue)["job_id"] for _ in range(3)]
    fill(api, queue, 2)
    api.post(f"/queues/{queue}/concurrency", {"max": 2})
    assert [api.job(job_id)["state"] for job_id in running] == ["active"] * 3
    api.post(f"/ack/{running[0]}")
    assert is_empty(api, queue)
    api.post(f"/ack/{running[1]}")
    assert claim(api, queue)


@pytest.mark.parametrize("most", ["3", 1.5, []])
def test_a_limit_of_the_wrong_type_cannot_be_parsed(api: Api, queue: str, most: Any) -> None:
    assert_refused(api.post(f"/queues/{queue}/concurrency", {"max": most}), 400, "PARSE_ERROR", "max")


@pytest.mark.parametrize(
    ("body", "window"),
    [
        ({"rate": 2, "period": "1m"}, 60_000),
        ({"rate": 2, "period": "1h30m"}, 5_400_000),
        ({"rate": 2, "window_ms": 90_000}, 90_000),
    ],
)
def test_no_more_jobs_begin_than_the_rate(api: Api, queue: str, body: Any, window: int) -> None:
    fill(api, queue, 5)
    answer = api.post(f"/queues/{queue}/throttle", body)
    assert answer.status_code == 200
    assert answer.json() == {"status": "ok"}
    row = api.get(f"/queues/{queue}").json()
    assert (row["rate_limit"], row["rate_window_ms"]) == (2, window)
    for _ in range(2):
        api.post(f"/ack/{claim(api, queue)['job_id']}")
    assert is_empty(api, queue)


def test_the_rate_holds_inside_a_batch(api: Api, queue: str) -> None:
    fill(api, queue, 10)
    api.post(f"/queues/{queue}/throttle", {"rate": 4, "period": "1h"})
    assert len(fetch_many(api, queue)) == 4
    assert fetch_many(api, queue) == []


def test_the_rate_holds_among_many_callers(api: Api, queue: str, background: Callable[..., Future[Any]]) -> None:
    fill(api, queue, 20)
    api.post(f"/queues/{queue}/throttle", {"rate": 5, "period": "1h"})
    calls = [background(api.fetch, queue, timeout=0.3) for _ in range(20)]
    assert sum(call.result() is not None for call in calls) == 5


def test_the_window_of_a_rate_slides(api: Api, queue: str) -> None:
    fill(api, queue, 10)
    api.post(f"/queues/{queue}/throttle", {"rate": 2, "window_ms": 400})
    begun = []
    for _ in range(6):
        claim(api, queue, timeout=5)
        begun.append(time.monotonic())
    gaps = [begun[number + 2] - begun[number] for number in range(4)]
    assert all(0.3 < gap < 0.8 for gap in gaps), gaps


def test_a_throttled_queue_does_not_stand_in_the_way_of_others(api: Api, queue: str) -> None:
    fill(api, f"{queue}-slow", 3)
    fill(api, queue, 1)
    api.post(f"/queues/{queue}-slow/throttle", {"rate": 1, "period": "1h"})
    assert sorted(job["queue"] for job in fetch_many(api, f"{queue}-slow", queue)) == [queue, f"{queue}-slow"]


def test_a_rate_can_be_lifted(api: Api, queue: str) -> None:
    fill(api, queue, 3)
    api.post(f"/queues/{queue}/throttle", {"rate": 1, "period": "1h"})
    claim(api, queue)
    for _ in range(2):
        answer = api.delete(f"/queues/{queue}/throttle")
        assert answer.status_code == 200
        assert answer.json() == {"status": "ok"}
    row = api.get(f"/queues/{queue}").json()
    assert (row["rate_limit"], row["rate_window_ms"]) == (None, None)
    assert len(fetch_many(api, queue)) == 2


@pytest.mark.parametrize(
    ("body", "code", "word"),
    [
        (None, "VALIDATION_ERROR", "rate"),
        ({"period": "1s"}, "VALIDATION_ERROR", "rate"),
        ({"rate": 0, "period": "1s"}, "VALIDATION_ERROR", "rate"),
        ({"rate": -1, "period": "1s"}, "VALIDATION_ERROR", "rate"),
        ({"rate": 1}, "VALIDATION_ERROR", "period"),
        ({"rate": 1, "period": "0s"}, "VALIDATION_ERROR", "period"),
        ({"rate": 1, "period": "-1s"}, "VALIDATION_ERROR", "period"),
        ({"rate": 1, "period": "often"}, "VALIDATION_ERROR", "period"),
        ({"rate": 1, "window_ms": 0}, "VALIDATION_ERROR", "window_ms"),
        ({"rate": 1, "window_ms": -5}, "VALIDATION_ERROR", "window_ms"),
        ({"rate": "1", "period": "1s"}, "PARSE_ERROR", "rate"),
        ({"rate": 1, "period": 5}, "PARSE_ERROR", "period"),
        ({"rate": 1, "window_ms": "5"}, "PARSE_ERROR", "window_ms"),
    ],
)
def test_a_rate_that_cannot_be_is_refused(api: Api, queue: str, body: Any, code: str, word: str) -> None:
    assert_refused(api.post(f"/queues/{queue}/throttle", body), 400, code, word)
    assert api.get(f"/queues/{queue}").status_code == 404


def test_a_fetch_that_finds_a_full_queue_does_not_use_up_the_rate(api: Api, queue: str) -> None:
    fill(api, queue, 3)
    api.post(f"/queues/{queue}/concurrency", {"max": 1})
    api.post(f"/queues/{queue}/throttle", {"rate": 2, "period": "1h"})
    first = claim(api, queue)["job_id"]
    for _ in range(3):
        assert is_empty(api, queue)
    api.post(f"/ack/{first}")
    assert claim(api, queue)
