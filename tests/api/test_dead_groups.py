"""Dead jobs taken together by their last error, and the filter that finds a group again."""

from typing import Any

import pytest

from tests.api.expectations import FAR_FUTURE, assert_refused, bury_job, start_job, wait_for_state
from tests.api.test_namespaces import Tenant
from tests.api.test_search import ids
from tests.conftest import Api, ServerProcess


def bury(api: Api, queue: str, *errors: str) -> str:
    """A job whose attempts fail with these errors, one after the other."""
    job: dict[str, Any] = start_job(api, queue, max_retries=len(errors), retry_backoff="none")
    for error in errors[:-1]:
        api.post(f"/fail/{job['job_id']}", {"error": error})
        assert api.fetch(queue) is not None
    assert api.post(f"/fail/{job['job_id']}", {"error": errors[-1]}).json()["status"] == "dead"
    return str(job["job_id"])


def groups(api: Api, queue: str) -> list[dict[str, Any]]:
    """The groups of one queue."""
    answer = api.get("/dead/groups", params={"queue": queue})
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["groups"]
    return found


def test_errors_that_differ_in_numbers_only_are_one_group(api: Api, queue: str) -> None:
    first = bury(api, queue, "timeout after 31 ms")
    other = bury(api, queue, "mailbox full")
    last = bury(api, queue, "timeout after 9.5 ms\n  at line 3")
    large, small = groups(api, queue)
    assert large["error"] == "timeout after 9.5 ms\n  at line 3"
    assert large["error_matches"] == "timeout after * ms"
    assert large["jobs"] == 2
    assert large["queues"] == [queue]
    assert large["job_ids"] == [last, first]
    assert large["first_at"] <= large["last_at"]
    assert small["error_matches"] == "mailbox full"
    assert small["job_ids"] == [other]


def test_the_last_error_decides(api: Api, queue: str) -> None:
    bury(api, queue, "first this", "then that")
    assert [group["error_matches"] for group in groups(api, queue)] == ["then that"]
    assert ids(api, queue=queue, error_matches="first this") == []


@pytest.mark.parametrize(
    "error",
    [
        "boom",
        "  padded \r\nmore",
        "KeyError: ['a?'] is not * there",
        "42",
        "x" * 400,
        "job_01ARZ3NDEKTSV4RRFFQ69G5FAV not found at 0x7ffe",
        "Grüße: ↯ 3",
    ],
)
def test_the_filter_of_a_group_finds_its_jobs_and_no_others(api: Api, queue: str, error: str) -> None:
    bury(api, queue, "before " + error)
    job_id = bury(api, queue, error)
    bury(api, queue, error.partition("\n")[0].strip()[:200] + " and more")
    mine = next(group for group in groups(api, queue) if job_id in group["job_ids"])
    assert ids(api, queue=queue, state="dead", error_matches=mine["error_matches"]) == [job_id]


def test_a_group_is_retried_as_one(api: Api, queue: str) -> None:
    dead = [bury(api, queue, f"timeout {n}") for n in range(3)]
    other = bury(api, queue, "timeout")
    wanted = {"queue": queue, "state": "dead", "error_matches": groups(api, queue)[0]["error_matches"]}
    done = api.post("/jobs/bulk", {"action": "retry", "filter": wanted}).json()
    assert done["affected"] == 3
    assert [api.job(job_id)["state"] for job_id in dead] == ["pending"] * 3
    assert api.job(other)["state"] == "dead"
    assert [group["job_ids"] for group in groups(api, queue)] == [[other]]


def test_jobs_that_died_without_a_word_are_a_group(api: Api, queue: str) -> None:
    dead = [bury(api, queue, error) for error in ("", " \n ")]
    bury(api, queue, "boom")
    group = groups(api, queue)[0]
    assert (group["error_matches"], group["job_ids"]) == ("", dead[::-1])
    assert ids(api, queue=queue, state="dead", error_matches="") == dead


def test_jobs_that_expired_are_a_group(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue, scheduled_at=FAR_FUTURE, expire_after="1ms")
    wait_for_state(api, job_id, "dead")
    assert [(group["error"], group["job_ids"]) for group in groups(api, queue)] == [("expired", [job_id])]


def test_the_answer_says_how_much_was_looked_at(api: Api, queue: str) -> None:
    bury_job(api, queue)
    answer = api.get("/dead/groups", params={"queue": queue}).json()
    assert (answer["looked_at"], answer["total"], answer["is_partial"]) == (1, 1, False)


def test_a_queue_without_dead_jobs_has_no_groups(api: Api, queue: str) -> None:
    api.enqueue(queue)
    assert groups(api, queue) == groups(api, "nowhere") == []


def test_a_namespace_sees_its_own_dead(api: Api, server: ServerProcess, queue: str) -> None:
    bury(api, queue, "not yours")
    theirs = Tenant(server, "theirs")
    assert theirs.get("/dead/groups").json()["groups"] == []
    job_id = bury(theirs, queue, "theirs")
    assert [group["job_ids"] for group in groups(theirs, queue)] == [[job_id]]


def test_a_pattern_that_is_too_long_is_refused(api: Api) -> None:
    assert_refused(api.post("/jobs/search", {"error_matches": "x" * 5000}), 400, "VALIDATION_ERROR", "error_matches")
