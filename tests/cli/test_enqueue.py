"""`rookery enqueue`."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from rookery.model.instants import parse_instant
from tests.cli.conftest import Do, Run, assert_failed, said
from tests.conftest import Api

EXACT = '{"a": 1.0, "n": 123456789012345678901234567890, "e": 1E5, "u": "\\u00fc ü", "z": [], "dup": 1, "dup": 2}'


def enqueued(text: str) -> str:
    """The id of the job that a command says it has added."""
    match = re.fullmatch(r"Job enqueued: (job_\w{26}) \(status: (\w+)\)\n", text)
    assert match, text
    return match[1]


def test_a_job_is_added_and_named(ask: Run, api: Api, queue: str) -> None:
    job = api.job(enqueued(said(ask("enqueue", queue, '{"to": "a@example.com"}'))))

    assert (job["queue"], job["payload"], job["state"]) == (queue, {"to": "a@example.com"}, "pending")
    assert (job["max_retries"], job["priority_name"], job["tags"], job["agent"]) == (3, "normal", None, None)


def test_json_is_the_servers_answer(do: Do, queue: str) -> None:
    first = json.loads(said(do("enqueue", queue, "{}", "--unique-key", "k", "--output", "json")))
    again = do("enqueue", queue, "{}", "--unique-key", "k", "-o", "json")

    assert first == {"job_id": first["job_id"], "status": "pending", "unique_existing": False}
    expected = f'{{\n  "job_id": "{first["job_id"]}",\n  "status": "duplicate",\n  "unique_existing": true\n}}\n'
    assert said(again) == expected


def test_every_field_arrives(do: Do, api: Api, queue: str) -> None:
    before = api.enqueue(f"{queue}.before")
    other = api.enqueue(f"{queue}.before")
    chain = {"steps": [{"queue": queue}, {"queue": "next", "payload": {"x": 1}}], "on_exit": None}
    job_id = enqueued(
        said(
            do(
                *["enqueue", queue, "[1]", "--priority", "high", "--unique-key", "k", "--unique-period", 60],
                *["--max-retries", 7, "--scheduled-at", "2090-01-01T00:00:00Z", "--tags", '{"a": "b", "n": 1}'],
                *["--expire-after", "1h30m", "--retry-backoff", "linear", "--retry-base-delay", "7s"],
                *["--retry-max-delay", "9m", "--depends-on", before, "--depends-on", other],
                *["--chain", json.dumps(chain), "--agent-max-iterations", 4, "--agent-max-cost-usd", "1.50"],
                *["--agent-iteration-timeout", "5m", "--parent-id", "job_parent"],
            )
        )
    )
    job = api.job(job_id)

    expected: dict[str, Any] = {
        "payload": [1],
        "state": "scheduled",
        "scheduled_at": "2090-01-01T00:00:00.000Z",
        "priority": 1,
        "unique_key": "k",
        "unique_period": 60,
        "max_retries": 7,
        "tags": {"a": "b", "n": 1},
        "expire_after": "1h30m",
        "retry_backoff": "linear",
        "retry_base_delay": "7s",
        "retry_max_delay": "9m",
        "depends_on": [before, other],
        "chain_step": 0,
        "parent_id": "job_parent",
    }
    assert {field: job[field] for field in expected} == expected
    assert job["chain_config"]["steps"] == chain["steps"]
    assert job["agent"] == {
        "max_iterations": 4,
        "max_cost_usd": 1.5,
        "iteration_timeout": "5m",
        "iteration": 1,
        "total_cost_usd": 0,
    }


def test_own_ids_and_ways_to_treat_a_duplicate(do: Do, api: Api, queue: str) -> None:
    arguments = ["enqueue", queue, "1", "--unique-key", "k"]
    said(do(*arguments, "--job-id", f"{queue}-1"))

    assert "(status: replaced)" in said(do("enqueue", queue, "2", *arguments[3:], "--unique-on-conflict", "replace"))
    assert api.job(f"{queue}-1")["payload"] == 2
    assert_failed(do("enqueue", queue, "3", "--job-id", f"{queue}-1"), f"{queue}-1")


def test_a_payload_arrives_as_it_was_written(ask: Run, do: Do, api: Api, queue: str, tmp_path: Path) -> None:
    file = tmp_path / "payload.json"
    file.write_text(EXACT)

    by_argument = enqueued(said(ask("enqueue", queue, EXACT)))
    by_stdin = enqueued(said(ask("enqueue", queue, "-", input=EXACT)))
    by_file = enqueued(said(do("enqueue", queue, f"@{file}")))

    kept = '"payload":{"a":1.0,"n":123456789012345678901234567890,"e":1E5,"u":"ü ü","z":[],"dup":1,"dup":2}'
    for job_id in (by_argument, by_stdin, by_file):
        assert kept in api.get(f"/jobs/{job_id}").text
    shown = said(ask("inspect", by_argument))
    for line in ('    "a": 1.0,', '    "n": 123456789012345678901234567890,', '    "e": 1E5,', '    "u": "ü ü",'):
        assert line in shown.splitlines()


@pytest.mark.parametrize("payload", ["null", "5", '"text"', "[]", "true", '  {"a": 1}\n'])
def test_any_json_value_is_a_payload(do: Do, api: Api, queue: str, payload: str) -> None:
    assert api.job(enqueued(said(do("enqueue", queue, payload))))["payload"] == json.loads(payload)


def test_what_begins_with_a_dash_comes_behind_two(do: Do, api: Api, queue: str) -> None:
    assert api.job(enqueued(said(do("enqueue", queue, "--", "-5"))))["payload"] == -5


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("2090-02-10", "2090-02-10T00:00:00.000Z"),
        ("2090-02-10T12:00:00Z", "2090-02-10T12:00:00.000Z"),
        ("2090-02-10T12:00:00+01:00", "2090-02-10T11:00:00.000Z"),
        ("2090-02-10T12:00:00+0100", "2090-02-10T11:00:00.000Z"),
        ("2090-02-10T12:00:00.123456789-02:30", "2090-02-10T14:30:00.124Z"),
        ("2090-02-10T12:00:00,5+01", "2090-02-10T11:00:00.500Z"),
        ("2090-02-10T12:00+01:00", "2090-02-10T11:00:00.000Z"),
        ("2090-02-10T12+01:00", "2090-02-10T11:00:00.000Z"),
        ("20900210T120000Z", "2090-02-10T12:00:00.000Z"),
        ("2090-02-10 12:00:00Z", "2090-02-10T12:00:00.000Z"),
    ],
)
def test_times_are_taken_as_people_and_date_write_them(do: Do, api: Api, queue: str, given: str, kept: str) -> None:
    job = api.job(enqueued(said(do("enqueue", queue, "{}", "--scheduled-at", given))))

    assert (job["state"], job["scheduled_at"]) == ("scheduled", kept)


@pytest.mark.parametrize(
    ("arguments", "words", "code"),
    [
        (["{bad"], ["payload is not valid JSON"], 1),
        ([""], ["payload is not valid JSON"], 1),
        (["NaN"], ["payload is not valid JSON"], 1),
        (["{} {}"], ["payload is not valid JSON"], 1),
        (["-"], ["payload is not valid JSON"], 1),
        (["@/no/such/file"], ["payload", "/no/such/file", "No such file"], 1),
        (["@/"], ["payload", "directory"], 1),
        (["{}", "--tags", "a=b"], ["--tags is not valid JSON"], 1),
        (["{}", "--chain", "{"], ["--chain is not valid JSON"], 1),
        (["{}", "--tags", "[]"], ["tags"], 1),
        (["{}", "--max-retries", "-1"], ["max_retries"], 1),
        (["{}", "--retry-backoff", "hope"], ["retry_backoff"], 1),
        (["{}", "--expire-after", "soon"], ["expire_after"], 1),
        (["{}", "--depends-on", "job_x"], ["job_x"], 1),
        (["{}", "--max-retries", "many"], ["many"], 2),
        (["{}", "--agent-max-cost-usd", "nan"], ["nan"], 2),
        (["{}", "--agent-max-cost-usd", "1,5"], ["1,5"], 2),
        (["{}", "--scheduled-at", "soon"], ["soon"], 2),
        (["{}", "--scheduled-at", "2090-02-10T12:00:00"], ["offset"], 2),
        (["{}", "--scheduled-at", "2090-02-30"], ["2090-02-30"], 2),
        (["{}", "--unique-on-conflict", "fight"], ["fight"], 2),
        ([], ["PAYLOAD"], 2),
    ],
)
def test_bad_input_adds_nothing(
    do: Do, api: Api, queue: str, arguments: list[str], words: list[str], code: int
) -> None:
    assert_failed(do("enqueue", queue, *arguments), *words, code=code)

    assert queue not in [each["name"] for each in api.get("/queues").json()]


def test_bad_json_is_found_before_anything_is_sent(rookery: Run, tmp_path: Path) -> None:
    file = tmp_path / "payload.json"
    file.write_bytes(b'"\xff"')
    for payload in ("{bad", f"@{file}"):
        run = rookery("enqueue", "q", payload, "--server", "http://127.0.0.1:9")
        assert_failed(run, "payload is not valid JSON")


def test_a_job_can_wait_for_a_while(do: Do, api: Api, queue: str) -> None:
    job = api.job(enqueued(said(do("enqueue", queue, "{}", "--delay", "1h30m"))))

    assert job["state"] == "scheduled"
    waits = parse_instant(job["scheduled_at"]) - parse_instant(job["created_at"])
    assert 5_340_000 < waits <= 5_400_000
    both = do("enqueue", queue, "{}", "--delay", "5m", "--scheduled-at", "2090-01-01")
    assert_failed(both, "--delay and --scheduled-at exclude each other", code=2)
    assert_failed(do("enqueue", queue, "{}", "--delay", "soon"), "invalid duration 'soon'", code=2)
