"""Commands that show how the server is: status, workers, cluster, schedules, usage, cache."""

import json
import re
from collections.abc import Callable

import pytest

from tests.api.expectations import start_job
from tests.cli.conftest import Do, Run, assert_failed, said
from tests.conftest import Api, ServerProcess


def test_an_empty_server_says_so(start_server: Callable[..., ServerProcess], rookery: Run) -> None:
    env = {"ROOKERY_URL": start_server().url}

    assert said(rookery("status", env=env)) == "Mode: single  Status: healthy\n\nNo queues\n"
    assert said(rookery("workers", env=env)) == "No workers connected\n"
    assert said(rookery("schedules", env=env)) == "No schedules\n"
    assert said(rookery("cache", "stats", env=env)).endswith("\nEstimated hit rate: 0.0%\n")


def test_the_status_of_the_server_and_its_queues(ask: Run, do: Do, api: Api, queue: str) -> None:
    api.enqueue(queue)

    lines = said(ask("status")).splitlines()
    assert lines[:2] == ["Mode: single  Status: healthy", ""]
    assert lines[2].split() == ["QUEUE", "PENDING", "ACTIVE", "HELD", "COMPLETED", "DEAD"]
    assert [queue, "1", "0", "0", "0", "0"] in [line.split() for line in lines[3:]]
    shown = json.loads(said(do("status", "-o", "json")))
    assert list(shown) == ["cluster", "queues"]
    assert shown["cluster"]["mode"] == "single"
    assert shown["queues"] == api.get("/queues").json()


def test_workers_are_listed(ask: Run, do: Do, api: Api, queue: str) -> None:
    api.fetch(queue, worker_id="w-1", hostname="host one", timeout=0.01)
    api.fetch(queue, worker_id="w-2", timeout=0.01)
    api.enqueue(queue)
    api.fetch(queue, worker_id="w-3", hostname="there")
    api.post("/workers/w-3", {"slots": 1200, "draining": True})

    workers = api.get("/workers").json()
    lines = said(ask("workers")).splitlines()
    assert re.split(r" {2,}", lines[0]) == ["ID", "HOSTNAME", "LAST HEARTBEAT", "JOBS", "STATE"]
    named = {worker["id"]: worker["last_heartbeat"] for worker in workers}
    rows = [re.split(r" {2,}", line) for line in lines]
    assert ["w-1", "host one", named["w-1"], "0"] in rows
    assert ["w-2", named["w-2"], "0"] in rows
    assert ["w-3", "there", named["w-3"], "1/1,200", "draining"] in rows
    assert json.loads(said(do("workers", "-o", "json"))) == workers


def test_the_nodes_of_a_cluster_are_listed(ask: Run, do: Do) -> None:
    header, row = said(ask("cluster", "status")).splitlines()
    assert header == "NODE    ROLE    ADDRESS  VOTER  STATUS   LAG"
    assert row == "node-1  leader           yes    healthy  0"
    assert json.loads(said(do("cluster", "status", "-o", "json")))["mode"] == "single"
    assert json.loads(said(do("cluster", "-o", "json", "status")))["mode"] == "single"


# --- schedules


def test_schedules_are_created_listed_and_deleted(ask: Run, do: Do, api: Api, queue: str) -> None:
    text = said(ask("schedules", "create", queue, f"{queue}.q", "0 3 * * *", "--timezone", "Europe/Paris"))
    match = re.fullmatch(r"Schedule created: (sched_\w{26})\n", text)
    assert match, text
    schedule = api.get(f"/schedules/{match[1]}").json()

    lines = said(ask("schedules")).splitlines()
    assert re.split(r" {2,}", lines[0]) == ["NAME", "QUEUE", "CRON", "TIMEZONE", "NEXT RUN", "LAST RUN"]
    row = [queue, f"{queue}.q", "0 3 * * *", "Europe/Paris", schedule["next_run"]]
    assert row in [re.split(r" {2,}", line) for line in lines[1:]]
    assert schedule in json.loads(said(do("schedules", "-o", "json")))
    assert said(ask("schedules", "delete", match[1])) == f"Schedule deleted: {match[1]}\n"
    assert_failed(do("schedules", "delete", match[1]), f"schedule {match[1]} not found")


def test_a_schedule_has_what_it_is_given_and_is_deleted_by_name_too(do: Do, api: Api, queue: str) -> None:
    flags = ["--payload", '{"n": 1.0}', "--unique-key", "k", "--max-retries", 5, "--output", "json"]
    text = said(do("schedules", "create", queue, "q", "@daily", *flags))
    schedule = json.loads(text)

    assert schedule == api.get(f"/schedules/{schedule['id']}").json()
    assert (schedule["unique_key"], schedule["max_retries"], schedule["timezone"]) == ("k", 5, "UTC")
    assert '"n": 1.0' in text
    assert_failed(do("schedules", "create", queue, "q", "@daily"), queue)
    assert json.loads(said(do("schedules", "delete", queue, "-o", "json"))) == {"status": "deleted"}
    assert_failed(do("schedules", "delete", queue), queue, "not found")


@pytest.mark.parametrize(
    ("arguments", "words", "code"),
    [
        (["create", "n", "q"], ["CRON"], 2),
        (["create", "", "q", "@daily"], ["blank"], 2),
        (["create", "n", " ", "@daily"], ["blank"], 2),
        (["create", "n", "q", "now and then"], ["cron"], 1),
        (["create", "n", "q", "@daily", "--timezone", "Mars"], ["timezone"], 1),
        (["create", "n", "q", "@daily", "--payload", "{"], ["--payload is not valid JSON"], 1),
        (["create", "n", "q", "@daily", "--max-retries", "x"], ["x"], 2),
        (["delete"], ["ID"], 2),
    ],
)
def test_a_bad_schedule_is_refused(do: Do, api: Api, arguments: list[str], words: list[str], code: int) -> None:
    assert_failed(do("schedules", *arguments), *words, code=code)
    assert "n" not in [schedule["name"] for schedule in api.get("/schedules").json()]


# --- costs


def test_usage_is_added_up_and_shown_by_group(start_server: Callable[..., ServerProcess], rookery: Run) -> None:
    server = start_server()
    api, env = Api(server), {"ROOKERY_URL": server.url}
    tokens = {"input_tokens": 100, "output_tokens": 20, "cache_creation_tokens": 10, "cache_read_tokens": 30}
    for queue, model, cost in (("a", "large", 0.5), ("a", "large", 0.25), ("b", "", 0.0000014)):
        job = start_job(api, queue)
        api.post(f"/ack/{job['job_id']}", {"usage": {**tokens, "model": model, "cost_usd": cost}})

    lines = said(rookery("usage", env=env)).splitlines()
    assert lines[0] == "Usage summary (24h)"
    assert re.fullmatch(r"Window: \S+Z -> \S+Z", lines[1])
    assert lines[2:] == [
        "Total rows: 3",
        "Input tokens: 300",
        "Output tokens: 60",
        "Cache create tokens: 30",
        "Cache read tokens: 90",
        "Total cost USD: 0.750001",
    ]
    lines = said(rookery("usage", "--period", "1h", "--group-by", "model", env=env)).splitlines()
    assert lines[0] == "Usage summary (1h)"
    assert lines[8:] == [
        "Groups:",
        "- large rows=2 in=200 out=40 cache_create=20 cache_read=60 cost=0.750000",
        "- (none) rows=1 in=100 out=20 cache_create=10 cache_read=30 cost=0.000001",
    ]
    assert said(rookery("cache", "stats", env=env)).splitlines() == [
        "Cache create tokens: 30",
        "Cache read tokens: 90",
        "Estimated hit rate: 75.0%",
    ]
    answer = json.loads(said(rookery("usage", "--group-by", "queue", "-o", "json", env=env)))
    assert [group["key"] for group in answer["groups"]] == ["a", "b"]
    assert json.loads(said(rookery("cache", "stats", "-o", "json", env=env)))["totals"] == answer["totals"]


def test_a_bad_period_or_grouping_is_refused(do: Do) -> None:
    assert_failed(do("usage", "--period", "soon"), "period")
    assert_failed(do("usage", "--group-by", "job"), "job", code=2)
    assert said(do("usage", "--group-by", "provider")).startswith("Usage summary (24h)\n")
