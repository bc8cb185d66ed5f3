"""The last hour, minute by minute."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from tests.api.expectations import bury_job, claim, finish_job, moment, start_job, wait_for_state
from tests.conftest import Api, ServerProcess, wait_for

Figures = tuple[int, int, int]


def minutes(api: Api, **options: Any) -> list[dict[str, Any]]:
    answer = api.get("/metrics/throughput", **options)
    assert answer.status_code == 200, answer.text
    rows: list[dict[str, Any]] = answer.json()
    return rows


def total(api: Api, **options: Any) -> Figures:
    """Enqueued, completed and failed in the hour."""
    rows = minutes(api, **options)
    return (
        sum(row["enqueued"] for row in rows),
        sum(row["completed"] for row in rows),
        sum(row["failed"] for row in rows),
    )


@pytest.fixture
def added(api: Api) -> Callable[[], Figures]:
    """What has been added to the figures since the test began."""
    before = total(api)

    def since() -> Figures:
        now = total(api)
        return now[0] - before[0], now[1] - before[1], now[2] - before[2]

    return since


def test_there_are_sixty_minutes_oldest_first_and_the_last_is_the_current(api: Api) -> None:
    rows = minutes(api)
    assert len(rows) == 60
    assert [set(row) for row in rows] == [{"minute", "enqueued", "completed", "failed"}] * 60
    times = [moment(row["minute"]) for row in rows]
    assert [later - earlier for earlier, later in pairwise(times)] == [timedelta(minutes=1)] * 59
    assert all((time.second, time.microsecond) == (0, 0) for time in times)
    assert timedelta(0) <= datetime.now(UTC) - times[-1] < timedelta(minutes=2)


def test_a_job_counts_in_the_current_minute(start_server: Callable[..., ServerProcess]) -> None:
    api = Api(start_server())
    assert total(api) == (0, 0, 0)
    finish_job(api, "q")
    bury_job(api, "q")
    assert total(api) == (2, 1, 1)
    assert sum(row["enqueued"] for row in minutes(api)[-2:]) == 2


def test_batches_count_every_job(api: Api, queue: str, added: Callable[[], Figures]) -> None:
    api.post("/enqueue/batch", {"jobs": [{"queue": queue}] * 7})
    jobs = api.post("/fetch/batch", {"queues": [queue], "count": 5}).json()["jobs"]
    acks = [{"job_id": job["job_id"]} for job in jobs]
    assert api.post("/ack/batch", {"acks": [*acks, {"job_id": "nobody"}]}).json()["acked"] == 5
    assert added() == (7, 5, 0)


def test_duplicates_do_not_count(api: Api, queue: str, added: Callable[[], Figures]) -> None:
    for _ in range(3):
        api.enqueue(queue, unique_key="k")
    body = {"queue": queue}
    for _ in range(2):
        api.post("/enqueue", body, headers={"Idempotency-Key": queue})
    assert added() == (2, 0, 0)


def test_a_refused_enqueue_does_not_count(api: Api, queue: str, added: Callable[[], Figures]) -> None:
    assert api.post("/enqueue", {"queue": queue, "depends_on": ["nobody"]}).status_code == 400
    assert api.post("/enqueue/batch", {"jobs": [{"queue": queue}, {"queue": ""}]}).status_code == 400
    assert added() == (0, 0, 0)


def test_steps_of_a_chain_and_callbacks_count(api: Api, queue: str, added: Callable[[], Figures]) -> None:
    steps = [{"queue": f"{queue}-{number}"} for number in range(2)]
    api.enqueue(f"{queue}-0", chain={"steps": steps})
    for step in steps:
        api.post(f"/ack/{claim(api, step['queue'])['job_id']}")
    batch = {"jobs": [{"queue": queue}], "batch": {"callback_queue": f"{queue}-done"}}
    api.post("/enqueue/batch", batch)
    api.post(f"/ack/{claim(api, queue)['job_id']}")
    assert added() == (2 + 2, 2 + 1, 0)


def test_every_failed_attempt_counts(api: Api, queue: str, added: Callable[[], Figures]) -> None:
    job_id = start_job(api, queue, retry_backoff="none", max_retries=2)["job_id"]
    for attempt in (1, 2):
        if attempt == 2:
            wait_for_state(api, job_id, "pending")
            claim(api, queue)
        assert api.post(f"/fail/{job_id}", {"error": "boom"}).status_code == 200
    assert api.post(f"/fail/{job_id}", {"error": "boom"}).status_code == 400
    assert added() == (1, 0, 2)


def test_only_real_completions_count(api: Api, queue: str, added: Callable[[], Figures]) -> None:
    job_id = start_job(api, queue)["job_id"]
    api.post(f"/jobs/{job_id}/cancel")
    assert api.post(f"/ack/{job_id}").status_code == 400
    agent = start_job(api, queue, agent={"max_iterations": 5})["job_id"]
    api.post(f"/ack/{agent}", {"agent_status": "continue"})
    assert added() == (2, 0, 0)


def test_deleting_a_queue_does_not_change_the_past(api: Api, queue: str, added: Callable[[], Figures]) -> None:
    finish_job(api, queue)
    assert api.delete(f"/queues/{queue}", params={"confirm": "true"}).status_code == 200
    api.enqueue(queue)
    assert added() == (2, 1, 0)


def test_a_namespace_sees_its_own(api: Api, queue: str) -> None:
    ours, theirs = {"X-Rookery-Namespace": "ours-throughput"}, {"X-Rookery-Namespace": "theirs-throughput"}
    api.post("/enqueue", {"queue": queue}, headers=ours)
    assert total(api, headers=ours) == (1, 0, 0)
    assert total(api, headers=theirs) == (0, 0, 0)


def test_figures_survive_the_server(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server()
    finish_job(Api(server), "q")
    server.kill()
    server.start()
    assert total(Api(server)) == (1, 1, 0)


def test_a_queue_shows_its_completions_of_the_last_minute(api: Api, queue: str) -> None:
    api.enqueue(queue)
    assert api.get(f"/queues/{queue}").json()["throughput_per_min"] == 0
    for _ in range(3):
        api.enqueue(queue)
        api.post(f"/ack/{claim(api, queue)['job_id']}")
    wait_for(lambda: api.get(f"/queues/{queue}").json()["throughput_per_min"] == 3)
    (row,) = [row for row in api.get("/queues").json() if row["name"] == queue]
    assert row["throughput_per_min"] == 3
