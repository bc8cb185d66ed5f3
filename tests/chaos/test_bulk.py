"""A server that is killed in the middle of a bulk operation goes on with it, and counts only what was done."""

import random
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import apsw
import httpx
import pytest

from tests.conftest import Api, ServerProcess, wait_for

JOBS = 25_000
SHORT_ROUNDS = 3
LONG_ROUNDS = 40


@pytest.fixture
def api(start_server: Callable[..., ServerProcess]) -> Api:
    return Api(start_server("--rate-limit-enabled=false"))


def enqueue_many(api: Api, count: int) -> list[str]:
    ids: list[str] = []
    for _ in range(0, count, 5000):
        answer = api.post("/enqueue/batch", {"jobs": [{"queue": "q"}] * 5000})
        assert answer.status_code == 201, answer.text
        ids += answer.json()["job_ids"]
    return ids


def begin(api: Api, action: str, **fields: Any) -> str:
    answer = api.post("/jobs/bulk", {"action": action, "async": True, **fields})
    assert answer.status_code == 202, answer.text
    return str(answer.json()["bulk_operation_id"])


def view(api: Api, bulk_id: str) -> dict[str, Any]:
    found: dict[str, Any] = api.get(f"/bulk/{bulk_id}").json()
    return found


def kill_in_the_middle(api: Api, bulk_id: str, threshold: int) -> dict[str, Any]:
    """Kill the server once it has come so far; what it had last said."""
    said: dict[str, Any] = wait_for(lambda: (seen := view(api, bulk_id))["processed"] >= threshold and seen)
    api.server.kill()
    return said


def kill_when(server: ServerProcess, condition: Callable[[], bool]) -> threading.Thread:
    """Kill the server as soon as a condition holds, while somebody waits for its answer."""

    def watch() -> None:
        wait_for(condition)
        server.kill()

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


def look(api: Api) -> tuple[dict[str, Any], Counter[str], Counter[str]]:
    """The store of a server that is gone: the record, the jobs by state, and the events that are not of enqueuing."""
    store = apsw.Connection(str(api.server.data_dir / "rookery.db"))
    assert store.pragma("integrity_check") == "ok"
    columns = ("status", "processed", "affected", "errors", "total")
    row = store.execute(f"SELECT {', '.join(columns)} FROM bulk").fetchone()
    states: Counter[str] = Counter(dict(store.execute("SELECT state, count(*) FROM job GROUP BY state")))
    told = store.execute("SELECT job_id, count(*) FROM event WHERE type != 'enqueued' GROUP BY job_id")
    events: Counter[str] = Counter(dict(told))
    store.close()
    return dict(zip(columns, row, strict=True)), states, events


@pytest.mark.parametrize("by", ["ids", "filter"])
def test_a_bulk_that_was_killed_goes_on_and_counts_what_it_did(api: Api, by: str, is_long: bool) -> None:
    ids = enqueue_many(api, JOBS)
    targets = {"job_ids": ids} if by == "ids" else {"filter": {"queue": "q", "state": ["pending"]}}
    bulk_id = begin(api, "cancel", **targets)
    rounds = LONG_ROUNDS if is_long else SHORT_ROUNDS
    for number in range(rounds):
        said = kill_in_the_middle(api, bulk_id, threshold=number * JOBS // (2 * rounds) + random.randint(1, 500))
        record, states, events = look(api)
        assert record["affected"] >= said["affected"]
        assert record["affected"] == record["processed"] == states["cancelled"] == len(events)
        assert states["cancelled"] + states["pending"] == JOBS
        api.server.start()
    assert states["pending"] > 0

    done = wait_for(lambda: (seen := view(api, bulk_id))["finished_at"] and seen, timeout=60)
    assert (done["status"], done["total"], done["processed"]) == ("completed", JOBS, JOBS)
    assert (done["affected"], done["errors"]) == (JOBS, 0)
    api.server.kill()
    _, states, events = look(api)
    assert states == {"cancelled": JOBS}
    assert events == dict.fromkeys(ids, 1)


def test_a_bulk_whose_jobs_were_not_all_listed_does_nothing_and_says_so(api: Api) -> None:
    """The caller of such a bulk has never had an answer."""
    ids = enqueue_many(api, 5000)
    body = {"action": "cancel", "async": True, "job_ids": [*ids, *(f"job_{number}" for number in range(800_000))]}
    store = api.server.data_dir / "rookery.db"

    def listed() -> bool:
        db = apsw.Connection(str(store), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            return bool(db.execute("SELECT sum(listed) > 0 FROM bulk").get)
        finally:
            db.close()

    with httpx.Client(base_url=api.server.url, timeout=60) as caller:
        request = caller.build_request("POST", "/api/v1/jobs/bulk", json=body)
        killed = kill_when(api.server, listed)
        with pytest.raises(httpx.TransportError):
            caller.send(request)
        killed.join()
    record, states, _ = look(api)
    assert record["status"] == "queued"
    assert states == {"pending": 5000}

    api.server.start()
    db = apsw.Connection(str(store), flags=apsw.SQLITE_OPEN_READONLY)
    bulk_id = db.execute("SELECT id FROM bulk").get
    db.close()
    done = wait_for(lambda: (seen := view(api, bulk_id))["finished_at"] and seen)

    assert (done["status"], done["error"], done["processed"], done["affected"]) == ("failed", "interrupted", 0, 0)
    assert api.get("/queues/q").json()["pending"] == 5000
