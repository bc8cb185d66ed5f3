"""Requests that go too far are refused, and harm nobody else."""

from typing import Any

import pytest

from tests.api.test_fast_lane import Wire, post, wire
from tests.conftest import Api

__all__ = ["wire"]


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("depth", [201, 900])
def test_values_that_are_nested_too_deeply_are_refused(api: Api, queue: str, depth: int) -> None:
    answer = api.post("/enqueue", {"queue": queue, "payload": nested(depth)})
    assert answer.status_code == 400
    assert "payload" in answer.json()["error"]
    batch = {"callback_queue": queue, "callback_payload": nested(depth)}
    assert api.post("/enqueue/batch", {"jobs": [{"queue": queue}], "batch": batch}).status_code == 400
    assert api.get(f"/queues/{queue}").status_code == 404


def test_depth_is_what_counts_and_not_the_number_of_brackets(api: Api, queue: str) -> None:
    payload = {"deep": nested(190), "wide": [[n] for n in range(1000)], "text": "[[[[" * 100, "quote": '"[\\"['}
    job_id = api.enqueue(queue, payload)
    assert api.job(job_id)["payload"] == payload


def test_a_nul_in_an_id_is_no_job(api: Api) -> None:
    assert api.post("/ack/a%00b", {}).status_code == 404
    assert api.post("/ack/batch", {"acks": [{"job_id": "a\0b"}]}).json() == {"acked": 0, "lost": []}


def test_an_agents_cost_stays_a_number(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue, agent={})
    for _ in range(3):
        assert api.fetch(queue) is not None
        body = {"agent_status": "continue", "usage": {"cost_usd": 1e308}}
        assert api.post(f"/ack/{job_id}", body).status_code == 200
    assert api.job(job_id)["agent"]["total_cost_usd"] == 1e15


def test_a_usage_report_beyond_all_measure_is_taken_as_far_as_it_goes(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue)
    assert api.fetch(queue) is not None
    usage = {"input_tokens": -5, "output_tokens": 10**30, "cost_usd": -1e308, "model": None}
    assert api.post("/heartbeat", {"jobs": {job_id: {"usage": usage}}}).json()["acked"] == [job_id]
    assert api.post(f"/ack/{job_id}", {"usage": usage}).status_code == 200


@pytest.mark.parametrize("job_id", ["batch", ".", ".."])
def test_an_id_that_means_something_else_in_a_path_is_refused(api: Api, queue: str, job_id: str) -> None:
    answer = api.post("/enqueue", {"queue": queue, "job_id": job_id})
    assert (answer.status_code, answer.json()["code"]) == (400, "VALIDATION_ERROR")


def test_one_call_takes_only_so_many_jobs_and_queues(api: Api, queue: str) -> None:
    assert api.post("/enqueue/batch", {"jobs": [{"queue": queue}] * 20_001}).status_code == 400
    assert api.post("/fetch", {"queues": [f"{queue}{n}" for n in range(1001)]}).status_code == 400
    assert api.get(f"/queues/{queue}").status_code == 404


def test_many_small_pipelined_requests_are_no_long_head(wire: Wire) -> None:
    wire.send(*(post("/api/v1/heartbeat", {}) for _ in range(3000)))
    assert {wire.answer()[0] for _ in range(3000)} == {200}


def test_a_poll_with_a_request_behind_it_waits_no_longer(wire: Wire, queue: str) -> None:
    wire.send(post("/api/v1/fetch", {"queues": [queue], "timeout": 60}), post("/api/v1/heartbeat", {}))
    assert [wire.answer()[0] for _ in range(2)] == [204, 200]


def test_a_replaced_job_shows_the_period_that_is_in_force(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue, unique_key="k", unique_period=10)
    api.enqueue(queue, unique_key="k", unique_period=100, unique_on_conflict="replace")
    assert api.job(job_id)["unique_period"] == 100


def test_a_stream_that_reconnects_goes_on_where_it_was(api: Api, queue: str) -> None:
    ids = [api.enqueue(queue) for _ in range(2)]
    first = api.get("/cluster/events", params={"job_ids": ids[0]}).json()["events"][0]["seq"]
    headers = {"Last-Event-ID": str(first)}
    with api.server.http.stream("GET", f"/api/v1/events?queues={queue}&last_event_id=0", headers=headers) as stream:
        data = next(line for line in stream.iter_lines() if line.startswith("data: "))
    assert ids[1] in data
