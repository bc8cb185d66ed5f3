"""`rookery why`: what keeps a job from running, in words."""

import json
import re

import pytest

from rookery.cli.why import explained, in_words
from rookery.model.instants import parse_instant
from tests.api.expectations import FAR_FUTURE, finish_job, job_in_state, start_job
from tests.cli.conftest import Do, assert_failed, said
from tests.conftest import Api

NOON = parse_instant("2026-02-10T12:00:00Z") / 1000


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ({"code": "finished", "at": "2026-02-10T11:57:00Z"}, "finished: at 2026-02-10T11:57:00Z (3m ago)"),
        (
            {"code": "running", "worker_id": "w1", "since": "2026-02-10T11:59:50Z"},
            "running: on worker w1, since 2026-02-10T11:59:50Z (10s ago)",
        ),
        (
            {"code": "running", "worker_id": None, "since": "2026-02-10T11:59:50Z"},
            "running: since 2026-02-10T11:59:50Z (10s ago)",
        ),
        (
            {"code": "held", "hold_reason": "too much", "since": "2026-02-10T10:00:00Z"},
            "held: too much, since 2026-02-10T10:00:00Z (2h ago) (rookery approve or rookery reject)",
        ),
        (
            {"code": "scheduled", "at": "2026-02-10T12:01:30Z", "in": "1m30s"},
            "scheduled: until 2026-02-10T12:01:30Z (in 1m30s)",
        ),
        (
            {"code": "retry_backoff", "at": "2026-02-10T12:00:05Z", "in": "5s"},
            "retry backoff: until 2026-02-10T12:00:05Z (in 5s)",
        ),
        (
            {
                "code": "waiting_for_dependencies",
                "job_ids": ["a", "b"],
                "dependencies": [{"job_id": "a", "state": "dead"}, {"job_id": "b", "state": "deleted"}],
            },
            "waiting for dependencies: a (dead), b (deleted)",
        ),
        (
            {"code": "queue_paused", "since": "2026-02-10T11:59:00Z"},
            "queue paused: since 2026-02-10T11:59:00Z (1m ago)",
        ),
        ({"code": "queue_at_concurrency", "active": 3, "max": 3}, "queue at concurrency: 3 of 3 at a time run already"),
        (
            {"code": "rate_limited", "rate": 10, "period": "1m", "next_slot_at": "2026-02-10T12:00:03.200Z"},
            "rate limited: 10 per 1m, next slot in 4s",
        ),
        (
            {"code": "rate_limited", "rate": 10, "period": "1m", "next_slot_at": "2026-02-10T11:59:59Z"},
            "rate limited: 10 per 1m, next slot now",
        ),
        (
            {"code": "over_budget", "scope": "queue", "spent_usd": 5.25, "limit_usd": 5},
            "over budget: queue: 5.25 of 5.00 USD are spent",
        ),
        (
            {"code": "no_workers", "last_seen": "2026-02-10T11:50:00Z"},
            "no workers: nobody has asked for its queue in the last minute, the last one was seen 10m ago",
        ),
        (
            {"code": "no_workers", "last_seen": None},
            "no workers: nobody has asked for its queue in the last minute, none is known",
        ),
        ({"code": "behind_others", "ahead": 0, "eta": None}, "behind others: next in line"),
        (
            {"code": "behind_others", "ahead": 1200, "eta": "2026-02-10T12:02:00Z"},
            "behind others: 1,200 ahead of it, its turn comes in 2m",
        ),
        (
            {"code": "behind_others", "ahead": 12, "eta": None},
            "behind others: 12 ahead of it, when its turn comes is not known",
        ),
        (
            {"code": "of_a_newer_server", "detail": "The moon\x1b[2J is full."},
            "of a newer server: The moon [2J is full.",
        ),
    ],
    ids=lambda value: value["code"] if isinstance(value, dict) else "",
)
def test_every_reason_has_words(reason: dict[str, object], words: str) -> None:
    assert in_words(reason, NOON) == words


def test_the_binding_reason_comes_first_and_is_marked() -> None:
    reasons = [
        {"code": "queue_at_concurrency", "active": 1, "max": 1},
        {"code": "behind_others", "ahead": 3, "eta": None},
    ]
    answer = {"job_id": "j", "state": "pending", "runnable": False, "reasons": reasons, "position": 4, "ahead": 3}
    assert explained(answer, NOON) == [
        "j: pending, cannot run yet",
        "",
        "  * queue at concurrency: 1 of 1 at a time run already",
        "    behind others: 3 ahead of it, when its turn comes is not known",
        "",
        "Position 4 in line",
    ]


def test_a_job_in_a_paused_queue(api: Api, do: Do, queue: str) -> None:
    api.enqueue(queue)
    job_id = api.enqueue(queue)
    assert api.post(f"/queues/{queue}/pause").status_code == 200

    first, _, reason, *rest = said(do("why", job_id)).splitlines()

    assert first == f"{job_id}: pending, cannot run yet"
    assert re.fullmatch(r"  \* queue paused: since \S+Z \(\d+s ago\)", reason)
    assert rest[-1] == "Position 2 in line"


def test_a_job_that_runs_and_one_that_has_ended(api: Api, do: Do, queue: str) -> None:
    ended, running = finish_job(api, queue), start_job(api, queue)["job_id"]
    assert said(do("why", running)).startswith(f"{running}: active\n\n  * running: on worker w1, since ")
    assert said(do("why", ended)).startswith(f"{ended}: completed\n\n  * finished: at ")


def test_a_dead_job_is_explained_by_its_last_error(do: Do, api: Api, queue: str) -> None:
    job = start_job(api, queue, max_retries=3)
    job_id = job["job_id"]
    api.post(f"/fail/{job_id}", {"error": "InvalidPayload: no\nfield", "end": "dead"})

    assert said(do("why", job_id)).endswith(" ago)\n    dead after attempt 1 of 3: InvalidPayload: no field\n")
    assert "dead after" not in said(do("why", job_id, "--output", "json"))


@pytest.mark.parametrize(
    "state", ["pending", "scheduled", "active", "retrying", "held", "completed", "dead", "cancelled"]
)
def test_there_is_an_answer_in_every_state(api: Api, do: Do, queue: str, state: str) -> None:
    job_id = job_in_state(api, queue, state)
    assert said(do("why", job_id)).startswith(f"{job_id}: {state}")


def test_json_is_the_servers_answer(api: Api, do: Do, queue: str) -> None:
    job_id = api.enqueue(queue, scheduled_at=FAR_FUTURE)
    shown = json.loads(said(do("why", job_id, "-o", "json")))
    asked = api.get(f"/jobs/{job_id}/why").json()
    assert [reason["code"] for reason in shown["reasons"]] == [reason["code"] for reason in asked["reasons"]]
    assert list(shown) == list(asked)


def test_an_unknown_job_is_an_error(do: Do) -> None:
    assert_failed(do("why", "job_nope"), "job job_nope not found")
    assert_failed(do("why", "../queues"), "not found")
