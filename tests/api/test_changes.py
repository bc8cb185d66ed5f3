"""Changes: the timeline summed up, so that a dashboard hears of much at the price of little."""

from typing import Any

import pytest

from tests.api.expectations import assert_refused, finish_job
from tests.api.streams import EventStream
from tests.conftest import Api


def watch(api: Api, **options: Any) -> EventStream:
    """A stream of changes that has said where the timeline stands."""
    stream = EventStream(api, "/changes", **{"every": "100ms", **options})
    assert stream.status == "HTTP/1.1 200 OK"
    assert stream.headers["content-type"] == "text/event-stream; charset=utf-8"
    type, seq, position = stream.frame()
    assert (type, position) == ("position", {"seq": seq})
    return stream


def changes_until(stream: EventStream, events: int) -> list[dict[str, Any]]:
    """Changes until they have told of so many events."""
    found: list[dict[str, Any]] = []
    while sum(sum(change["events"].values()) for change in found) < events:
        type, seq, change = stream.frame()
        assert (type, seq) == ("change", change["seq"])
        found.append(change)
    return found


def test_a_change_says_what_happened_and_where(api: Api, queue: str) -> None:
    with watch(api) as stream:
        job_id = finish_job(api, queue)
        changes = changes_until(stream, 3)
    assert {type for change in changes for type in change["events"]} == {"enqueued", "started", "completed"}
    assert all(change["queues"] == [queue] and change["job_ids"] == [job_id] for change in changes)
    assert [change["is_partial"] for change in changes] == [False] * len(changes)


def test_much_is_told_in_little(api: Api, queue: str) -> None:
    with watch(api, every="1s") as stream:
        api.post("/enqueue/batch", {"jobs": [{"queue": queue}] * 1000})
        (change,) = changes_until(stream, 1000)
    assert change["events"] == {"enqueued": 1000}
    assert (change["queues"], len(change["job_ids"]), change["is_partial"]) == ([queue], 200, True)


def test_what_was_before_is_not_told(api: Api, queue: str) -> None:
    api.enqueue(f"{queue}.before")
    with watch(api) as stream:
        api.enqueue(queue)
        (change,) = changes_until(stream, 1)
    assert change["queues"] == [queue]


def test_a_namespace_hears_of_its_own_changes_only(api: Api, queue: str) -> None:
    with watch(api, headers={"X-Rookery-Namespace": "changes"}) as stream:
        api.enqueue(queue)
        api.post("/enqueue", {"queue": queue}, headers={"X-Rookery-Namespace": "changes"})
        (change,) = changes_until(stream, 1)
    assert (change["events"], change["queues"]) == ({"enqueued": 1}, [queue])


@pytest.mark.parametrize("every", ["10ms", "2m", "soon"])
def test_a_time_between_changes_that_makes_no_sense_is_refused(api: Api, every: str) -> None:
    assert_refused(api.get("/changes", params={"every": every}), 400, "VALIDATION_ERROR", "every")
