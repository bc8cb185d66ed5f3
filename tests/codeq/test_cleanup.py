"""Forgetting tasks, by the time of their last change."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.codeq.conftest import Codeq, StartCodeq, assert_error
from tests.codeq.steps import claim, complete, create, take, task
from tests.conftest import Api

DAY = timedelta(days=1)


@pytest.fixture
def codeq(start_codeq: StartCodeq) -> Codeq:
    return start_codeq({})


def clean_up(codeq: Codeq, body: Any = None) -> dict[str, Any]:
    answer = codeq.post("/admin/tasks/cleanup", body)
    assert answer.status_code == 200, answer.text
    report: dict[str, Any] = answer.json()
    assert report.keys() == {"deleted", "before", "limit"}
    return report


def in_(delta: timedelta) -> str:
    return (datetime.now(UTC) + delta).isoformat()


def test_nothing_younger_than_a_day_goes_unless_told_so(codeq: Codeq) -> None:
    create(codeq, "c")

    report = clean_up(codeq)
    assert (report["deleted"], report["limit"]) == (0, 0)
    assert abs(datetime.fromisoformat(report["before"]) - datetime.now(UTC)) < timedelta(minutes=1)
    assert clean_up(codeq, {"before": in_(DAY - timedelta(minutes=5))})["deleted"] == 0
    assert clean_up(codeq, {"before": in_(DAY + timedelta(minutes=5)), "limit": 7})["deleted"] == 1


def test_tasks_go_whatever_their_status_with_all_that_belongs_to_them(codeq: Codeq) -> None:
    api = Api(codeq.server)
    ids = {word: create(codeq, word, maxAttempts=1, idempotencyKey=word)["id"] for word in ("ready", "active", "done")}
    ids |= {word: create(codeq, word, maxAttempts=1)["id"] for word in ("failed", "dead", "cancelled", "held")}
    ids["delayed"] = create(codeq, "delayed", delaySeconds=600)["id"]
    for word in ("active", "done", "failed", "dead"):
        take(codeq, word)
    complete(codeq, ids["done"])
    codeq.post(f"/tasks/{ids['failed']}/result", {"status": "FAILED", "error": "no"})
    codeq.post(f"/tasks/{ids['dead']}/nack", {})
    api.post(f"/jobs/{ids['cancelled']}/cancel")
    api.post(f"/jobs/{ids['held']}/hold")
    native = api.enqueue("ready")

    assert clean_up(codeq, {"before": in_(DAY + timedelta(minutes=1))})["deleted"] == len(ids)

    for word, task_id in ids.items():
        assert_error(codeq.get(f"/tasks/{task_id}"), 404, "not found")
        assert_error(codeq.get(f"/tasks/{task_id}/result"), 404, "task not found")
        ready = 1 if word == "ready" else 0
        assert codeq.stats(word) == {"command": word, "ready": ready, "delayed": 0, "inProgress": 0, "dlq": 0}
    assert_error(codeq.post(f"/tasks/{ids['active']}/heartbeat", {}), 404, "not-found")
    assert api.job(native)["state"] == "pending"
    assert create(codeq, "ready", idempotencyKey="ready")["id"] != ids["ready"]


def test_every_change_of_a_task_begins_its_day_anew(codeq: Codeq) -> None:
    task_id = create(codeq, "c", delaySeconds=1)["id"]

    def can_go(moment: str) -> bool:
        before = datetime.fromisoformat(moment) + DAY - timedelta(milliseconds=1)
        return bool(clean_up(codeq, {"before": before.isoformat()})["deleted"])

    seen = [task(codeq, task_id)["updatedAt"]]
    for change in ("due", "claim", "heartbeat", "nack", "claim", "abandon", "claim", "result"):
        match change:
            case "due":
                take(codeq, "c")
                codeq.post(f"/tasks/{task_id}/abandon")
            case "claim":
                take(codeq, "c")
            case "nack":
                codeq.post(f"/tasks/{task_id}/nack", {"delaySeconds": 1})
            case "result":
                complete(codeq, task_id)
            case _:
                codeq.post(f"/tasks/{task_id}/{change}", {})
        seen.append(task(codeq, task_id)["updatedAt"])
        assert seen[-1] > seen[-2], change
        assert not can_go(seen[-1]), change

    exactly = datetime.fromisoformat(seen[-1]) + DAY
    assert clean_up(codeq, {"before": exactly.isoformat()})["deleted"] == 1


def test_no_more_go_than_are_wanted_and_the_oldest_first(codeq: Codeq) -> None:
    ids = [create(codeq, "c")["id"] for _ in range(5)]
    before = in_(DAY + timedelta(minutes=1))

    assert clean_up(codeq, {"before": before, "limit": 2}) | {"before": ""} == {"deleted": 2, "before": "", "limit": 2}
    claimed = claim(codeq, "c")
    assert claimed is not None
    assert claimed["id"] == ids[2]
    assert clean_up(codeq, {"before": before, "limit": -3}) | {"before": ""} == {
        "deleted": 3,
        "before": "",
        "limit": -3,
    }


def test_a_thousand_go_by_default_in_chunks(codeq: Codeq) -> None:
    for _ in range(11):
        codeq.post("/tasks/batch", {"tasks": [{"command": "c", "payload": 1}] * 100})
    before = in_(DAY + timedelta(minutes=1))

    assert clean_up(codeq, {"before": before})["deleted"] == 1000
    assert clean_up(codeq, {"before": before})["deleted"] == 100
    assert codeq.stats("c")["ready"] == 0


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("{", "invalid body"),
        ('{"limit":"x"}', "invalid body"),
        ('{"before":"yesterday"}', "invalid 'before' (use RFC3339)"),
        ('{"before":"2026-01-01"}', "invalid 'before' (use RFC3339)"),
    ],
)
def test_a_bad_request_says_what_is_wrong(codeq: Codeq, body: str, text: str) -> None:
    assert_error(codeq.call("POST", "/admin/tasks/cleanup", content=body), 400, text)
