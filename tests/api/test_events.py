"""Events: the timeline as pages and as a stream."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.api.expectations import claim, finish_job, start_job, wait_for_state
from tests.api.streams import EventStream
from tests.conftest import Api, ServerProcess, wait_for


def events(api: Api, **params: Any) -> list[dict[str, Any]]:
    answer = api.get("/cluster/events", params=params)
    assert answer.status_code == 200, answer.text
    assert answer.json().keys() == {"events"}
    found: list[dict[str, Any]] = answer.json()["events"]
    return found


def newest(api: Api) -> int:
    """The number of the newest event."""
    job_id = api.enqueue("newest")
    return int(events(api, job_ids=job_id)[-1]["seq"])


@contextmanager
def listening(api: Api, headers: dict[str, str] | None = None, **params: Any) -> Iterator[EventStream]:
    with EventStream(api, "/events", headers, **params) as stream:
        yield stream


def test_an_event_tells_what_when_and_where(api: Api, queue: str) -> None:
    before = time.time_ns()
    job_id = api.enqueue(queue)
    (event,) = events(api, job_ids=job_id)
    assert event.keys() >= {"seq", "type", "job_id", "queue", "at_ns"}
    assert (event["type"], event["job_id"], event["queue"]) == ("enqueued", job_id, queue)
    assert abs(event["at_ns"] - before) < 10e9


def test_numbers_begin_at_one_and_have_no_gaps(start_server: Callable[..., ServerProcess]) -> None:
    api = Api(start_server())
    for _ in range(3):
        finish_job(api, "q")
    assert [event["seq"] for event in events(api)] == list(range(1, 10))


def test_numbers_go_on_after_a_restart(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server()
    api = Api(server)
    api.enqueue("q")
    finish_job(api, "r")
    server.kill()
    server.start()
    api.enqueue("q")
    assert [event["seq"] for event in events(api)] == [1, 2, 3, 4, 5]


def test_a_life_is_told_in_order(api: Api, queue: str) -> None:
    job_id = start_job(api, queue, retry_backoff="none", max_retries=2)["job_id"]
    api.post("/heartbeat", {"jobs": {job_id: {"progress": 1}}})
    api.post(f"/fail/{job_id}")
    wait_for_state(api, job_id, "pending")
    api.post(f"/jobs/{job_id}/hold")
    api.post(f"/jobs/{job_id}/approve")
    api.post(f"/jobs/{job_id}/move", {"queue": f"{queue}-2"})
    claim(api, f"{queue}-2")
    api.post(f"/fail/{job_id}")
    api.post(f"/jobs/{job_id}/retry")
    api.post(f"/jobs/{job_id}/cancel")
    api.delete(f"/jobs/{job_id}")
    assert api.events_of(job_id) == [
        "enqueued",
        "started",
        "progress",
        "failed",
        "promoted",
        "held",
        "approved",
        "moved",
        "started",
        "failed",
        "dead",
        "retried",
        "cancelled",
        "deleted",
    ]


def test_pages_follow_each_other(api: Api, queue: str) -> None:
    start = newest(api)
    for _ in range(5):
        api.enqueue(queue)
    first = events(api, after_seq=start, limit=2)
    rest = events(api, after_seq=first[-1]["seq"])
    assert [event["seq"] for event in first + rest] == list(range(start + 1, start + 6))


def test_a_page_has_100_events_by_default_and_1000_at_the_most(api: Api, queue: str) -> None:
    api.post("/enqueue/batch", {"jobs": [{"queue": queue}] * 1100})
    assert len(events(api, queues=queue)) == 100
    assert len(events(api, queues=queue, limit=1000)) == 1000
    assert len(events(api, queues=queue, limit=5000)) == 1000


@pytest.mark.parametrize(
    ("name", "value"),
    [("limit", "0"), ("limit", "-1"), ("limit", "many"), ("limit", "1.5"), ("after_seq", "x"), ("after_seq", "-1")],
)
def test_a_page_with_a_bad_number_is_refused(api: Api, name: str, value: str) -> None:
    answer = api.get("/cluster/events", params={name: value})
    assert answer.status_code == 400
    assert name in answer.json()["error"]


def test_a_page_behind_the_newest_event_is_empty(api: Api) -> None:
    assert events(api, after_seq=newest(api) + 1000) == []


def two_lives(api: Api, queue: str) -> tuple[str, str]:
    return finish_job(api, f"{queue}-1"), finish_job(api, f"{queue}-2")


FILTERS: list[tuple[dict[str, str], list[tuple[int, str]]]] = [
    ({"queues": "{queue}-1"}, [(0, "enqueued"), (0, "started"), (0, "completed")]),
    ({"queues": " {queue}-1 , {queue}-2 ,", "types": "completed"}, [(0, "completed"), (1, "completed")]),
    ({"job_ids": "{second}"}, [(1, "enqueued"), (1, "started"), (1, "completed")]),
    ({"job_ids": "{first},{second}", "types": "enqueued, dead"}, [(0, "enqueued"), (1, "enqueued")]),
    ({"queues": "", "job_ids": "{first}", "types": ""}, [(0, "enqueued"), (0, "started"), (0, "completed")]),
    ({"queues": "{queue}-1", "job_ids": "{second}"}, []),
    ({"queues": "{queue}-1,{queue}-2", "types": "dead"}, []),
]


def filled_in(filters: dict[str, str], queue: str, ids: tuple[str, str]) -> dict[str, str]:
    return {name: text.format(queue=queue, first=ids[0], second=ids[1]) for name, text in filters.items()}


@pytest.mark.parametrize(("filters", "expected"), FILTERS, ids=range(len(FILTERS)))
def test_pages_can_be_filtered(api: Api, queue: str, filters: dict[str, str], expected: list[tuple[int, str]]) -> None:
    ids = two_lives(api, queue)
    params = filled_in(filters, queue, ids)
    assert [(ids.index(event["job_id"]), event["type"]) for event in events(api, **params)] == expected


def test_a_stream_begins_at_once_and_in_chunks(api: Api) -> None:
    with listening(api) as stream:
        assert stream.status == "HTTP/1.1 200 OK"
        assert stream.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert stream.headers["cache-control"] == "no-cache"
        assert stream.headers["transfer-encoding"] == "chunked"
        assert stream.headers["access-control-allow-origin"] == "*"


def test_a_stream_tells_what_happens_from_now_on(api: Api, queue: str) -> None:
    api.enqueue(queue, "before")
    with listening(api, queues=queue) as stream:
        job_id = api.enqueue(queue, "after")
        assert stream.event() == events(api, job_ids=job_id)[0]


@pytest.mark.parametrize("way", ["query", "header"])
def test_a_stream_goes_on_behind_the_event_a_reader_knows(api: Api, queue: str, way: str) -> None:
    start = newest(api)
    old = [api.enqueue(queue) for _ in range(3)]
    after = start + 1
    headers = {"Last-Event-ID": str(after)} if way == "header" else {}
    params = {"last_event_id": after} if way == "query" else {}
    with listening(api, headers, queues=queue, **params) as stream:
        new = api.enqueue(queue)
        seen = [stream.event() for _ in range(3)]
        assert [event["job_id"] for event in seen] == [*old[1:], new]
        assert [event["seq"] for event in seen] == [start + 2, start + 3, start + 4]


def test_a_stream_from_zero_replays_everything(api: Api, queue: str) -> None:
    job_id = finish_job(api, queue)
    with listening(api, queues=queue, last_event_id=0) as stream:
        assert [stream.event()["type"] for _ in range(3)] == ["enqueued", "started", "completed"]
        later = finish_job(api, queue)
        assert [stream.event()["job_id"] for _ in range(3)] == [later] * 3
    assert job_id != later


def test_a_stream_tells_every_event_once_and_in_order(api: Api, queue: str) -> None:
    api.post("/enqueue/batch", {"jobs": [{"queue": queue}] * 500})
    with listening(api, queues=queue, last_event_id=0) as stream:
        seen = []
        for _ in range(10):
            api.post("/enqueue/batch", {"jobs": [{"queue": queue}] * 50})
            seen += [stream.event() for _ in range(60)]
        seen += [stream.event() for _ in range(1000 - len(seen))]
    numbers = [event["seq"] for event in seen]
    assert numbers == sorted(set(numbers))
    assert len({event["job_id"] for event in seen}) == 1000


@pytest.mark.parametrize(("filters", "expected"), FILTERS, ids=range(len(FILTERS)))
def test_a_stream_can_be_filtered(
    api: Api, queue: str, filters: dict[str, str], expected: list[tuple[int, str]]
) -> None:
    ids = two_lives(api, queue)
    with listening(api, last_event_id=0, **filled_in(filters, queue, ids)) as stream:
        seen = [stream.event() for _ in expected]
        assert [(ids.index(event["job_id"]), event["type"]) for event in seen] == expected
        assert stream.is_silent()


def test_data_of_any_shape_stays_on_one_line(api: Api, queue: str) -> None:
    job_id = start_job(api, queue)["job_id"]
    progress = {"text": "line\nline\r\n\u2028 日本", "list": [1, {"a": None}]}
    with listening(api, job_ids=job_id, types="progress") as stream:
        api.post("/heartbeat", {"jobs": {job_id: {"progress": progress}}})
        assert stream.event()["data"] == progress


@pytest.mark.parametrize("way", ["query", "header"])
def test_a_stream_behind_a_bad_number_is_refused(api: Api, way: str) -> None:
    if way == "query":
        answer = api.get("/events", params={"last_event_id": "x"})
    else:
        answer = api.get("/events", headers={"Last-Event-ID": "x"})
    assert answer.status_code == 400
    assert "last_event_id" in answer.json()["error"]


def test_a_reader_who_goes_leaves_nothing_behind(api: Api, queue: str) -> None:
    for _ in range(20):
        with listening(api, queues=queue):
            pass
    api.enqueue(queue)
    with listening(api, queues=queue, last_event_id=0) as stream:
        assert stream.event()["queue"] == queue


def test_at_least_the_newest_ten_thousand_are_kept(api: Api, queue: str) -> None:
    start = newest(api)
    for _ in range(10):
        api.post("/enqueue/batch", {"jobs": [{"queue": queue}] * 1000})
    after, seen = start, 0
    while page := events(api, after_seq=after, limit=1000):
        assert page[0]["seq"] == after + 1
        after, seen = page[-1]["seq"], seen + len(page)
    assert seen == 10_000


def test_a_stream_is_kept_alive_although_nothing_concerns_its_reader(
    start_server: Callable[..., ServerProcess], queue: str
) -> None:
    api = Api(start_server("--stream-keepalive", "1s"))

    def has_spoken() -> bool:
        api.enqueue(queue)
        return not stream.is_silent()

    with listening(api, queues=f"{queue}-silent") as stream:
        wait_for(has_spoken)
        assert stream.chunk() == ":keepalive\n\n"
