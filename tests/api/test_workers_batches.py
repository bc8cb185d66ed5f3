"""Looking at workers and at batches."""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

from tests.api.expectations import assert_refused, claim, is_empty, moment, seconds_from_now
from tests.conftest import Api, ServerProcess, wait_for


def worker(api: Api, worker_id: str) -> dict[str, Any] | None:
    return next((row for row in api.get("/workers").json() if row["id"] == worker_id), None)


def test_a_fetch_registers_its_worker(api: Api, queue: str) -> None:
    api.enqueue(queue)
    claim(api, queue, worker_id=queue, hostname="host1")
    row = worker(api, queue)
    assert row is not None
    assert row.keys() >= {"id", "hostname", "queues", "last_heartbeat", "started_at", "active_jobs"}
    assert (row["hostname"], row["queues"], row["active_jobs"]) == ("host1", [queue], 1)
    assert abs(seconds_from_now(row["started_at"])) < 10
    assert moment(row["last_heartbeat"]) >= moment(row["started_at"])


def test_a_fetch_without_result_registers_its_worker_too(api: Api, queue: str) -> None:
    assert api.fetch(queue, f"{queue}-b", worker_id=queue, timeout=0.05) is None
    row = worker(api, queue)
    assert row is not None
    assert sorted(row["queues"]) == sorted([queue, f"{queue}-b"])
    assert (row["hostname"], row["active_jobs"]) == (None, 0)


def test_a_batch_fetch_registers_its_worker_too(api: Api, queue: str) -> None:
    api.post("/fetch/batch", {"queues": [queue], "worker_id": queue, "timeout": 0.05})
    assert worker(api, queue) is not None


def test_a_blank_id_registers_nobody(api: Api, queue: str) -> None:
    before = len(api.get("/workers").json())
    for worker_id in ("", "  ", None):
        api.fetch(queue, worker_id=worker_id, timeout=0.05)
    assert len(api.get("/workers").json()) == before


def test_the_active_jobs_of_a_worker_are_counted(api: Api, queue: str) -> None:
    for _ in range(3):
        api.enqueue(queue)
        claim(api, queue, worker_id=queue)
    job_id = api.enqueue(queue)
    claim(api, queue, worker_id=queue)
    api.post(f"/ack/{job_id}")
    row = worker(api, queue)
    assert row is not None
    assert row["active_jobs"] == 3


def test_the_newest_heartbeat_comes_first(api: Api, queue: str) -> None:
    def order() -> list[str]:
        return [row["id"] for row in api.get("/workers").json() if row["id"].startswith(queue)]

    for name in ("a", "b"):
        is_empty(api, queue)
        api.fetch(queue, worker_id=f"{queue}-{name}", timeout=0.05)
    wait_for(lambda: api.fetch(queue, worker_id=f"{queue}-a", timeout=0.05) or order()[0] == f"{queue}-a")
    wait_for(lambda: api.fetch(queue, worker_id=f"{queue}-b", timeout=0.05) or order()[0] == f"{queue}-b")
    beats = [moment(row["last_heartbeat"]) for row in api.get("/workers").json()]
    assert beats == sorted(beats, reverse=True)


# --- what workers say of themselves


def announce(api: Api, worker_id: str, **said: Any) -> None:
    answer = api.post(f"/workers/{worker_id}", said)
    assert (answer.status_code, answer.json()) == (200, {"status": "ok", "id": worker_id})


def test_a_worker_that_has_only_fetched_has_said_nothing(api: Api, queue: str) -> None:
    api.fetch(queue, worker_id=queue, timeout=0.05)
    row = worker(api, queue)
    assert row is not None
    assert (row["slots"], row["draining"]) == (None, False)


def test_a_worker_says_its_slots_and_that_it_drains(api: Api, queue: str) -> None:
    announce(api, queue, hostname="host1", queues=[queue], slots=10)
    row = worker(api, queue)
    assert row is not None
    assert (row["hostname"], row["queues"], row["slots"], row["draining"]) == ("host1", [queue], 10, False)
    api.enqueue(queue)
    claim(api, queue, worker_id=queue)
    announce(api, queue, draining=True)
    row = worker(api, queue)
    assert row is not None
    assert (row["hostname"], row["slots"], row["draining"], row["active_jobs"]) == ("host1", 10, True, 1)
    announce(api, queue, draining=False, slots=5)
    row = worker(api, queue)
    assert row is not None
    assert (row["slots"], row["draining"]) == (5, False)


def test_a_worker_without_anything_to_say_is_registered_too(api: Api, queue: str) -> None:
    announce(api, queue)
    row = worker(api, queue)
    assert row is not None
    assert (row["hostname"], row["queues"], row["slots"], row["draining"]) == (None, [], None, False)


def test_any_name_that_a_fetch_takes_can_say_something(api: Api, queue: str) -> None:
    name = f"{queue}/a b-ü:1"
    api.fetch(queue, worker_id=name, timeout=0.05)
    answer = api.post(f"/workers/{quote(name, safe='')}", {"slots": 2})
    assert answer.json() == {"status": "ok", "id": name}
    row = worker(api, name)
    assert row is not None
    assert (row["queues"], row["slots"]) == ([queue], 2)


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"slots": 0}, "slots"),
        ({"slots": -1}, "slots"),
        ({"slots": 1_000_001}, "slots"),
        ({"hostname": "h" * 513}, "hostname"),
        ({"queues": ["no such\nname"]}, "queues"),
        ({"queues": [f"q{number}" for number in range(1001)]}, "queues"),
        ({"slots": "10"}, "slots"),
        ({"slots": 1.5}, "slots"),
        ({"draining": "yes"}, "draining"),
        ({"draining": 1}, "draining"),
        ({"hostname": 7}, "hostname"),
        ({"queues": "q"}, "queues"),
    ],
)
def test_what_makes_no_sense_is_refused_and_changes_nothing(api: Api, queue: str, said: Any, field: str) -> None:
    announce(api, queue, slots=3)
    before = worker(api, queue)
    answer = api.post(f"/workers/{queue}", {"draining": True, **said})
    assert_refused(answer, 400, "PARSE_ERROR" if "invalid request" in answer.text else "VALIDATION_ERROR")
    assert field in answer.json()["error"]
    assert worker(api, queue) == before


def test_an_id_that_names_nobody_is_refused(api: Api) -> None:
    before = len(api.get("/workers").json())
    for worker_id in ("%20", "x" * 513):
        answer = api.post(f"/workers/{worker_id}", {"slots": 1})
        assert_refused(answer, 400, "VALIDATION_ERROR")
        assert answer.json()["error"].startswith("id ")
    assert len(api.get("/workers").json()) == before


def test_a_restarted_server_knows_what_workers_have_said(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server()
    announce(Api(server), "w1", slots=7, draining=True)
    server.stop()
    server.start()
    row = worker(Api(server), "w1")
    assert row is not None
    assert (row["slots"], row["draining"]) == (7, True)


def test_a_batch_shows_how_far_it_is(api: Api, queue: str) -> None:
    batch = {"callback_queue": f"{queue}-done", "callback_payload": {"a": [1]}}
    answer = api.post("/enqueue/batch", {"jobs": [{"queue": queue}] * 3, "batch": batch}).json()
    shown = api.get(f"/batches/{answer['batch_id']}").json()
    assert abs(seconds_from_now(shown.pop("created_at"))) < 10
    assert shown == {
        "id": answer["batch_id"],
        "total": 3,
        "pending": 3,
        "succeeded": 0,
        "failed": 0,
        "callback_queue": f"{queue}-done",
        "callback_payload": {"a": [1]},
    }
    api.post(f"/ack/{claim(api, queue)['job_id']}")
    shown = api.get(f"/batches/{answer['batch_id']}").json()
    assert (shown["total"], shown["pending"], shown["succeeded"]) == (3, 2, 1)


def test_a_batch_without_callback_has_none(api: Api, queue: str) -> None:
    answer = api.post("/enqueue/batch", {"jobs": [{"queue": queue}], "batch": {}}).json()
    shown = api.get(f"/batches/{answer['batch_id']}").json()
    assert shown["callback_queue"] is None


def test_an_unknown_batch_is_not_found(api: Api) -> None:
    assert_refused(api.get("/batches/batch_of_nobody"), 404, "NOT_FOUND")
