"""Commands that go together, in a real shell."""

import json
import re
from typing import Any

import pytest

from tests.api.expectations import bury_job, finish_job
from tests.cli.conftest import Run, said
from tests.conftest import Api


@pytest.fixture
def dead(api: Api, queue: str) -> list[str]:
    """More dead jobs than a search shows on a terminal."""
    jobs = [{"queue": queue, "max_retries": 1}] * 60
    ids: list[str] = api.post("/enqueue/batch", {"jobs": jobs}).json()["job_ids"]
    fetched = api.post("/fetch/batch", {"queues": [queue], "count": 60}).json()["jobs"]
    for job in fetched:
        api.post(f"/fail/{job['job_id']}", {"error": "boom"})
    return ids


def affected(run: Any) -> int:
    match = re.fullmatch(r"Affected: (\d+) jobs \(\d+ms\)\n", said(run))
    assert match, run.stdout
    return int(match[1])


def count(api: Api, **filters: Any) -> int:
    return int(api.post("/jobs/search", filters).json()["total"])


@pytest.mark.parametrize("form", ["", "--output json"])
def test_dead_jobs_are_retried(shell: Run, api: Api, queue: str, dead: list[str], form: str) -> None:
    assert affected(shell(f"rookery search --queue {queue} --state dead {form} | rookery bulk retry")) == 60
    assert count(api, queue=queue, state="pending") == 60


def test_waiting_jobs_are_moved(shell: Run, api: Api, queue: str) -> None:
    for _ in range(3):
        api.enqueue(queue)

    line = f"rookery search --queue {queue} --state pending --output json | rookery bulk move {queue}.new"
    assert affected(shell(line)) == 3
    assert count(api, queue=f"{queue}.new") == 3


def test_jobs_with_a_payload_are_deleted(shell: Run, api: Api, queue: str) -> None:
    api.enqueue(queue, {"legacy": True})
    api.enqueue(queue, {"legacy": False})

    assert affected(shell("rookery search --payload-jq '.legacy == true' | rookery bulk delete")) == 1
    assert count(api, queue=queue) == 1


@pytest.mark.parametrize(("when", "left"), [("7 days ago", 1), ("next year", 0)])
def test_old_jobs_are_deleted(shell: Run, api: Api, queue: str, when: str, left: int) -> None:
    finish_job(api, queue)

    run = shell(
        f"rookery search --queue {queue} --state completed --created-before \"$(date -d '{when}' -Iseconds)\" "
        "--output json | rookery bulk delete"
    )

    if left:
        assert (run.returncode, run.stdout) == (1, "")
        assert run.stderr == "Error: no job IDs provided (pipe from search or use --filter)\n"
    else:
        assert affected(run) == 1
    assert count(api, queue=queue) == left


def test_a_filter_needs_no_pipe(shell: Run, api: Api, queue: str, dead: list[str]) -> None:
    line = f"""rookery bulk retry --filter '{{"queue":"{queue}","state":["dead"]}}'"""
    assert affected(shell(line)) == 60


def test_jq_counts_what_is_dead(shell: Run, api: Api, queue: str, dead: list[str]) -> None:
    bury_job(api, f"{queue}.2")

    line = "rookery search --state dead --output json | jq 'group_by(.queue) | map({queue: .[0].queue, count: length})'"
    counts = {group["queue"]: group["count"] for group in json.loads(said(shell(line)))}
    assert (counts[queue], counts[f"{queue}.2"]) == (60, 1)


def test_what_jq_makes_of_a_search_is_understood(shell: Run, api: Api, queue: str) -> None:
    for number in range(4):
        api.enqueue(queue, {"n": number})
    search = f"rookery search --queue {queue} --output json"

    assert affected(shell(f"{search} | jq '.[] | select(.payload.n < 2)' | rookery bulk hold")) == 2
    assert affected(shell(f"{search} | jq -c '.[] | select(.state == \"held\")' | rookery bulk approve")) == 2
    assert affected(shell(f"{search} | jq '.[].id' | rookery bulk hold")) == 4
    assert affected(shell(f"{search} | jq -r '.[].id' | head -n 1 | rookery bulk approve")) == 1
    assert affected(shell("rookery held --output json | rookery bulk reject")) == 3
    assert affected(shell(f"rookery search --queue {queue} --state dead | grep job_ | rookery bulk delete")) == 3


def test_a_failed_search_stops_the_pipe(shell: Run) -> None:
    run = shell("rookery search --state asleep | rookery bulk delete")

    assert (run.returncode, run.stdout) == (1, "")
    assert "asleep" in run.stderr
    assert "no job IDs provided" in run.stderr


def test_closed_streams_are_no_reason_for_a_traceback(shell: Run, queue: str) -> None:
    run = shell("rookery bulk delete <&-")
    assert (run.returncode, run.stderr) == (1, "Error: no job IDs provided (pipe from search or use --filter)\n")
    run = shell(f"rookery enqueue {queue} - <&-")
    assert (run.returncode, run.stderr.startswith("Error: payload is not valid JSON")) == (1, True)
    run = shell(f"rookery search --queue {queue} >&-")
    assert (run.returncode, run.stdout) == (0, "")
    assert "Traceback" not in run.stderr


def test_a_payload_comes_through_a_pipe(shell: Run, api: Api, queue: str) -> None:
    line = f"""echo '{{"n": 1.50}}' | rookery enqueue {queue} - --output json | jq -r .job_id | xargs rookery inspect"""
    assert '"n": 1.50' in said(shell(line))
