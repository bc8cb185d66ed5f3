"""What workers report of their costs, added up."""

from typing import Any
from uuid import uuid4

import pytest

from tests.api.expectations import assert_refused, moment, start_job
from tests.conftest import Api

NOTHING = {
    "input_tokens": 0,
    "output_tokens": 0,
    "cache_creation_tokens": 0,
    "cache_read_tokens": 0,
    "cost_usd": 0,
    "count": 0,
}


@pytest.fixture
def space() -> dict[str, Any]:
    """Headers of a namespace that no other test uses."""
    return {"headers": {"X-Rookery-Namespace": f"ns-{uuid4().hex}"}}


def report(api: Api, queue: str, space: dict[str, Any], **usage: Any) -> None:
    """Have a job done that costs something."""
    assert api.post("/enqueue", {"queue": queue}, **space).status_code == 201
    job = api.post("/fetch", {"queues": [queue], "timeout": 1}, **space).json()
    assert api.post(f"/ack/{job['job_id']}", {"usage": usage}, **space).status_code == 200


def summary(api: Api, space: dict[str, Any], **params: str) -> dict[str, Any]:
    answer = api.get("/usage/summary", params=params, **space)
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


def test_without_reports_everything_is_nothing(api: Api, space: dict[str, Any]) -> None:
    answer = summary(api, space)

    assert answer["period"] == "24h"
    assert (moment(answer["to"]) - moment(answer["from"])).total_seconds() == 24 * 3600
    assert answer["totals"] == NOTHING
    assert "groups" not in answer
    assert summary(api, space, group_by="model")["groups"] == []


def test_reports_of_acks_and_heartbeats_are_added_up(api: Api, queue: str) -> None:
    before = summary(api, {})["totals"]
    job = start_job(api, queue)
    usage = {"input_tokens": 10, "output_tokens": 20, "cache_creation_tokens": 3, "cache_read_tokens": 4}
    api.post("/heartbeat", {"jobs": {job["job_id"]: {"usage": {**usage, "cost_usd": 0.25}}}})
    api.post(f"/ack/{job['job_id']}", {"usage": {**usage, "cost_usd": 0.5}})

    after = summary(api, {}, group_by="none")["totals"]
    added = {name: after[name] - before[name] for name in after}
    doubled = {name: 2 * number for name, number in usage.items()}
    assert added == {**doubled, "cost_usd": pytest.approx(0.75), "count": 2}


@pytest.mark.parametrize("group_by", ["queue", "model", "provider"])
def test_groups_come_dearest_first_and_a_missing_value_has_an_empty_key(
    api: Api, space: dict[str, Any], group_by: str
) -> None:
    report(api, "cheap", space, model="cheap", provider="cheap", cost_usd=0.1, input_tokens=5)
    report(api, "dear", space, model="dear", provider="dear", cost_usd=2, input_tokens=7)
    report(api, "dear", space, model="dear", provider="dear", cost_usd=1, input_tokens=1)
    report(api, "cheap", space, cost_usd=0.01)

    answer = summary(api, space, group_by=group_by)

    groups = [(group["key"], group["count"], group["input_tokens"], group["cost_usd"]) for group in answer["groups"]]
    named = [("dear", 2, 8, 3.0), ("cheap", 1, 5, 0.1), ("", 1, 0, 0.01)]
    queues = [("dear", 2, 8, 3.0), ("cheap", 2, 5, pytest.approx(0.11))]
    assert groups == (queues if group_by == "queue" else named)
    assert answer["totals"]["count"] == 4
    assert answer["totals"]["cost_usd"] == pytest.approx(3.11)


def test_a_namespace_sees_its_own_costs_and_the_default_one_sees_all(api: Api, space: dict[str, Any]) -> None:
    other = {"headers": {"X-Rookery-Namespace": space["headers"]["X-Rookery-Namespace"] + "-2"}}
    before = summary(api, {})["totals"]["count"]
    report(api, "q", space, cost_usd=1)
    report(api, "q", other, cost_usd=2)

    assert [group["key"] for group in summary(api, space, group_by="queue")["groups"]] == ["q"]
    assert summary(api, space)["totals"]["cost_usd"] == 1
    assert summary(api, {})["totals"]["count"] == before + 2
    keys = {group["key"] for group in summary(api, {}, group_by="queue")["groups"]}
    assert {f"{each['headers']['X-Rookery-Namespace']}::q" for each in (space, other)} <= keys


def test_only_the_period_counts(api: Api, space: dict[str, Any]) -> None:
    report(api, "q", space, cost_usd=1)

    assert summary(api, space, period="1h30m")["totals"]["count"] == 1
    assert summary(api, space, period="1h30m")["period"] == "1h30m"
    assert summary(api, space, period="1ns")["totals"]["count"] == 0
    assert summary(api, space, period="")["period"] == "24h"


@pytest.mark.parametrize(
    ("params", "word"),
    [
        ({"period": "soon"}, "period"),
        ({"period": "-1h"}, "period"),
        ({"period": "0s"}, "period"),
        ({"period": "36501d"}, "period"),
        ({"group_by": "job"}, "group_by"),
        ({"group_by": "Queue"}, "group_by"),
    ],
)
def test_a_bad_period_or_grouping_is_refused(api: Api, params: dict[str, str], word: str) -> None:
    assert_refused(api.get("/usage/summary", params=params), 400, "USAGE_SUMMARY_ERROR", word)
