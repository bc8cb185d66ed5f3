"""Fetches that wait: when they wake, when they give up, and what happens if the caller goes."""

import json
import socket
import time
from collections.abc import Callable
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.api.expectations import LONG, SOON, claim, start_job, wait_until_parked
from tests.conftest import Api, wait_for

Trigger = Callable[[], Any]


def by_enqueue(api: Api, queue: str) -> Trigger:
    return lambda: api.enqueue(queue)


def by_enqueue_batch(api: Api, queue: str) -> Trigger:
    return lambda: api.post("/enqueue/batch", {"jobs": [{"queue": queue}]})


def by_resume(api: Api, queue: str) -> Trigger:
    api.enqueue(queue)
    api.post(f"/queues/{queue}/pause")
    return lambda: api.post(f"/queues/{queue}/resume")


def by_an_ack_that_frees_a_slot(api: Api, queue: str) -> Trigger:
    return _freed_slot(api, queue, "ack/{}")


def by_a_failure_that_frees_a_slot(api: Api, queue: str) -> Trigger:
    return _freed_slot(api, queue, "fail/{}")


def by_a_cancel_that_frees_a_slot(api: Api, queue: str) -> Trigger:
    return _freed_slot(api, queue, "jobs/{}/cancel")


def by_a_hold_that_frees_a_slot(api: Api, queue: str) -> Trigger:
    return _freed_slot(api, queue, "jobs/{}/hold")


def _freed_slot(api: Api, queue: str, path: str) -> Trigger:
    api.post(f"/queues/{queue}/concurrency", {"max": 1})
    job_id = start_job(api, queue)["job_id"]
    api.enqueue(queue)
    return lambda: api.post(f"/{path.format(job_id)}")


def by_a_delete_that_frees_a_slot(api: Api, queue: str) -> Trigger:
    api.post(f"/queues/{queue}/concurrency", {"max": 1})
    job_id = start_job(api, queue)["job_id"]
    api.enqueue(queue)
    return lambda: api.delete(f"/jobs/{job_id}")


def by_more_concurrency(api: Api, queue: str) -> Trigger:
    api.post(f"/queues/{queue}/concurrency", {"max": 1})
    start_job(api, queue)
    api.enqueue(queue)
    return lambda: api.post(f"/queues/{queue}/concurrency", {"max": 2})


def by_the_end_of_a_throttle(api: Api, queue: str) -> Trigger:
    api.post(f"/queues/{queue}/throttle", {"rate": 1, "period": "1h"})
    start_job(api, queue)
    api.enqueue(queue)
    return lambda: api.delete(f"/queues/{queue}/throttle")


def by_a_dependency(api: Api, queue: str) -> Trigger:
    dependency = start_job(api, f"{queue}-a")["job_id"]
    api.enqueue(queue, depends_on=[dependency])
    return lambda: api.post(f"/ack/{dependency}")


def by_approval(api: Api, queue: str) -> Trigger:
    job_id = api.enqueue(queue)
    api.post(f"/jobs/{job_id}/hold")
    return lambda: api.post(f"/jobs/{job_id}/approve")


def by_retry(api: Api, queue: str) -> Trigger:
    job_id = api.enqueue(queue)
    api.post(f"/jobs/{job_id}/cancel")
    return lambda: api.post(f"/jobs/{job_id}/retry")


def by_release(api: Api, queue: str) -> Trigger:
    job_id = start_job(api, queue)["job_id"]
    return lambda: api.post(f"/release/{job_id}")


def by_move(api: Api, queue: str) -> Trigger:
    job_id = api.enqueue(f"{queue}-a")
    return lambda: api.post(f"/jobs/{job_id}/move", {"queue": queue})


def by_the_next_step_of_a_chain(api: Api, queue: str) -> Trigger:
    chain = {"steps": [{"queue": f"{queue}-a"}, {"queue": queue}]}
    job_id = start_job(api, f"{queue}-a", chain=chain)["job_id"]
    return lambda: api.post(f"/ack/{job_id}")


def by_the_callback_of_a_batch(api: Api, queue: str) -> Trigger:
    body = {"jobs": [{"queue": f"{queue}-a"}], "batch": {"callback_queue": queue}}
    api.post("/enqueue/batch", body)
    job_id = claim(api, f"{queue}-a")["job_id"]
    return lambda: api.post(f"/ack/{job_id}")


def by_an_agent_that_continues(api: Api, queue: str) -> Trigger:
    job_id = start_job(api, queue, agent={})["job_id"]
    return lambda: api.post(f"/ack/{job_id}", {"agent_status": "continue"})


WAKERS = [value for name, value in list(globals().items()) if name.startswith("by_")]


@pytest.mark.parametrize("waker", WAKERS, ids=lambda waker: waker.__name__)
def test_a_waiting_fetch_is_woken(
    api: Api, queue: str, background: Callable[..., Future[Any]], waker: Callable[[Api, str], Trigger]
) -> None:
    trigger = waker(api, queue)
    parked = background(api.fetch, queue, timeout=LONG, worker_id=queue)
    wait_until_parked(api, queue)
    assert not parked.done()
    trigger()
    assert parked.result(SOON) is not None


def test_a_waiting_fetch_is_woken_when_a_job_is_due(
    api: Api, queue: str, background: Callable[..., Future[Any]]
) -> None:
    due = datetime.now(UTC) + timedelta(seconds=0.7)
    api.enqueue(queue, scheduled_at=due.isoformat())
    assert background(api.fetch, queue, timeout=LONG).result(SOON) is not None
    assert (datetime.now(UTC) - due).total_seconds() >= -0.001


def test_a_waiting_fetch_is_woken_when_the_throttle_window_moves_on(
    api: Api, queue: str, background: Callable[..., Future[Any]]
) -> None:
    api.post(f"/queues/{queue}/throttle", {"rate": 1, "period": "500ms"})
    start_job(api, queue)
    start = time.monotonic()
    api.enqueue(queue)
    assert background(api.fetch, queue, timeout=LONG).result(SOON) is not None
    assert time.monotonic() - start > 0.3


def test_a_waiting_batch_is_woken_by_the_first_job(
    api: Api, queue: str, background: Callable[..., Future[Any]]
) -> None:
    body = {"queues": [queue], "count": 5, "timeout": LONG, "worker_id": queue}
    parked = background(api.post, "/fetch/batch", body)
    wait_until_parked(api, queue)
    job_id = api.enqueue(queue)
    assert [job["job_id"] for job in parked.result(SOON).json()["jobs"]] == [job_id]


def test_every_queue_of_a_waiting_fetch_can_wake_it(
    api: Api, queue: str, background: Callable[..., Future[Any]]
) -> None:
    parked = background(api.fetch, f"{queue}-a", f"{queue}-b", timeout=LONG, worker_id=queue)
    wait_until_parked(api, queue)
    job_id = api.enqueue(f"{queue}-b")
    assert parked.result(SOON)["job_id"] == job_id


def test_each_of_many_waiting_fetches_gets_one_job(
    api: Api, queue: str, background: Callable[..., Future[Any]]
) -> None:
    parked = [background(api.fetch, queue, timeout=LONG, worker_id=f"{queue}-{number}") for number in range(20)]
    for number in range(20):
        wait_until_parked(api, f"{queue}-{number}")
    ids = api.post("/enqueue/batch", {"jobs": [{"queue": queue}] * 20}).json()["job_ids"]
    assert sorted(fetch.result(SOON)["job_id"] for fetch in parked) == ids


def test_who_came_first_is_served_first(api: Api, queue: str, background: Callable[..., Future[Any]]) -> None:
    parked = []
    for number in range(3):
        parked.append(background(api.fetch, queue, timeout=LONG, worker_id=f"{queue}-{number}"))
        wait_until_parked(api, f"{queue}-{number}")
    for fetch in parked:
        job_id = api.enqueue(queue)
        assert fetch.result(SOON)["job_id"] == job_id


@pytest.mark.parametrize("timeout", [1, 1.5])
def test_an_empty_fetch_is_answered_just_before_its_time_is_up(api: Api, queue: str, timeout: float) -> None:
    def is_answered_in_time() -> bool:
        start = time.monotonic()
        answer = api.post("/fetch", {"queues": [queue], "timeout": timeout})
        took = time.monotonic() - start
        assert answer.status_code == 204
        assert answer.content == b""
        assert took > timeout - 0.55
        return took <= timeout + 0.05

    # On a busy machine the answer may come late now and then.
    wait_for(is_answered_in_time)


@pytest.mark.parametrize("timeout", [0, -3, None, 1000])
def test_a_fetch_without_a_sensible_time_waits_all_the_same(
    api: Api, queue: str, background: Callable[..., Future[Any]], timeout: float | None
) -> None:
    parked = background(api.fetch, queue, timeout=timeout, worker_id=queue)
    wait_until_parked(api, queue)
    with pytest.raises(TimeoutError):
        parked.result(0.3)
    job_id = api.enqueue(queue)
    assert parked.result(SOON)["job_id"] == job_id


class RawFetch:
    """A fetch over a socket of its own, that can be cut off at any moment."""

    def __init__(self, api: Api, queue: str, worker_id: str) -> None:
        address = urlsplit(api.server.url)
        self.socket = socket.create_connection((address.hostname, address.port))
        body = json.dumps({"queues": [queue], "timeout": 20, "worker_id": worker_id}).encode()
        head = f"POST /api/v1/fetch HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
        self.socket.sendall(head.encode() + body)

    def hang_up(self) -> None:
        self.socket.close()


def test_nothing_is_claimed_for_a_caller_who_has_gone(api: Api, queue: str) -> None:
    gone = RawFetch(api, queue, queue)
    wait_until_parked(api, queue)
    gone.hang_up()
    job_id = api.enqueue(queue)
    job = claim(api, queue, timeout=SOON)
    assert (job["job_id"], job["attempt"]) == (job_id, 1)


def test_no_attempt_is_lost_however_callers_come_and_go(api: Api, queue: str) -> None:
    for round in range(20):
        gone = [RawFetch(api, queue, f"{queue}-{round}-{number}") for number in range(3)]
        for number in range(3):
            wait_until_parked(api, f"{queue}-{round}-{number}")
        for fetch in gone:
            fetch.hang_up()
        job_id = api.enqueue(queue)
        job = claim(api, queue, timeout=SOON)
        assert (job["job_id"], job["attempt"]) == (job_id, 1)
        api.post(f"/ack/{job_id}")


def test_a_caller_who_goes_does_not_take_the_turn_of_another(
    api: Api, queue: str, background: Callable[..., Future[Any]]
) -> None:
    gone = RawFetch(api, queue, f"{queue}-gone")
    wait_until_parked(api, f"{queue}-gone")
    parked = background(api.fetch, queue, timeout=LONG, worker_id=queue)
    wait_until_parked(api, queue)
    gone.hang_up()
    job_id = api.enqueue(queue)
    assert parked.result(SOON)["job_id"] == job_id
