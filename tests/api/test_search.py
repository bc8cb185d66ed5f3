"""Search: every filter, every order, pages, totals; the dead; many by their ids."""

import base64
import json
from collections.abc import Callable
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rookery.model.job import STATES
from tests.api.expectations import (
    FAR_FUTURE,
    LONG_AGO,
    assert_refused,
    bury_job,
    claim,
    finish_job,
    job_in_state,
    moment,
    start_job,
)
from tests.api.test_namespaces import Tenant
from tests.conftest import Api, ServerProcess

SUMMARY = {
    "id",
    "queue",
    "state",
    "payload",
    "priority",
    "priority_name",
    "attempt",
    "max_retries",
    "unique_key",
    "batch_id",
    "worker_id",
    "tags",
    "parent_id",
    "chain_id",
    "chain_step",
    "scheduled_at",
    "created_at",
    "started_at",
    "completed_at",
    "failed_at",
    "expire_at",
    "hold_reason",
    "last_error",
}


def find(api: Api, **body: Any) -> dict[str, Any]:
    """The answer to a search."""
    answer = api.post("/jobs/search", body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def ids(api: Api, **body: Any) -> list[str]:
    """The ids that a search finds, oldest first; the total agrees."""
    found = find(api, **{"order": "asc", **body})
    assert found["total"] == len(found["jobs"])
    return [job["id"] for job in found["jobs"]]


def shifted(text: str, milliseconds: int) -> str:
    """A time that is later by so much."""
    return (moment(text) + timedelta(milliseconds=milliseconds)).isoformat()


# --- the answer


def test_a_search_without_a_body_finds_all_jobs(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue)
    answer = api.post("/jobs/search")
    assert answer.status_code == 200
    assert set(answer.json()) == {"jobs", "total", "is_partial", "cursor", "has_more", "duration_ms"}
    assert answer.json()["jobs"][0]["id"] == job_id


def test_nothing_found_is_an_empty_list(api: Api, queue: str) -> None:
    found = find(api, queue=queue)
    assert (found["jobs"], found["total"], found["cursor"], found["has_more"]) == ([], 0, None, False)
    assert found["duration_ms"] >= 0


def test_a_row_says_what_the_job_says(api: Api, queue: str) -> None:
    fields = {
        "priority": "high",
        "tags": {"tenant": "acme"},
        "unique_key": "k",
        "max_retries": 1,
        "parent_id": "p",
        "expire_after": "1h",
    }
    job_id = api.enqueue(queue, {"n": 1.5, "é": [None]}, **fields)
    claim(api, queue)
    api.post(f"/fail/{job_id}", {"error": "first"})
    (row,) = find(api, queue=queue)["jobs"]
    job = api.job(job_id)
    assert set(row) == SUMMARY
    assert {key: row[key] for key in SUMMARY - {"last_error"}} == {key: job[key] for key in SUMMARY - {"last_error"}}
    assert row["last_error"] == "first"


def test_the_last_error_is_the_newest(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue, max_retries=2, retry_backoff="none")
    for error in ("first", "second"):
        claim(api, queue)
        api.post(f"/fail/{job_id}", {"error": error})
    assert [job["last_error"] for job in find(api, queue=queue)["jobs"]] == ["second"]


def test_a_search_sees_what_was_acknowledged_before_it(api: Api, queue: str) -> None:
    for number in range(1, 30):
        api.enqueue(queue)
        assert find(api, queue=queue)["total"] == number


def test_unknown_fields_are_ignored(api: Api, queue: str) -> None:
    api.enqueue(queue)
    assert find(api, queue=queue, colour="red")["total"] == 1


# --- filters


def test_a_queue_has_its_own_jobs(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue)
    api.enqueue(f"{queue}-other")
    assert ids(api, queue=queue) == [job_id]


@pytest.mark.parametrize("blank", ["", "  ", None])
def test_a_blank_queue_is_no_filter(api: Api, queue: str, blank: str | None) -> None:
    job_id = api.enqueue(queue)
    assert ids(api, queue=blank, job_id_prefix=job_id) == [job_id]


@pytest.mark.parametrize("state", STATES)
def test_each_state_can_be_searched_for(api: Api, queue: str, state: str) -> None:
    job_id = job_in_state(api, queue, state)
    others = [other for other in STATES if other != state]
    assert ids(api, queue=queue, state=[state]) == [job_id]
    assert ids(api, queue=queue, state=state) == [job_id]
    assert ids(api, queue=queue, state=others) == []
    assert ids(api, queue=queue, state=[]) == [job_id]


def test_several_states_mean_any_of_them(api: Api, queue: str) -> None:
    wanted = [job_in_state(api, queue, state) for state in ("completed", "cancelled", "held", "dead", "pending")]
    assert ids(api, queue=queue, state=["held", "dead", "completed", "held"]) == [wanted[0], wanted[2], wanted[3]]
    everywhere = find(api, state=["held", "dead"], limit=1000)
    assert {wanted[2], wanted[3]} <= {job["id"] for job in everywhere["jobs"]}
    assert {job["state"] for job in everywhere["jobs"]} == {"held", "dead"}


def test_a_priority_may_be_a_name_or_a_number(api: Api, queue: str) -> None:
    critical, high, normal = (api.enqueue(queue, priority=name) for name in ("critical", "high", "normal"))
    for given, expected in (("critical", critical), (0, critical), ("high", high), (1, high), ("normal", normal)):
        assert ids(api, queue=queue, priority=given) == [expected]
    assert ids(api, queue=queue, priority="whatever") == [normal]


def test_every_tag_must_be_equal(api: Api, queue: str) -> None:
    both = api.enqueue(queue, tags={"tenant": "acme", "env": "prod"})
    one = api.enqueue(queue, tags={"tenant": "acme"})
    api.enqueue(queue)
    assert ids(api, queue=queue, tags={"tenant": "acme"}) == [both, one]
    assert ids(api, queue=queue, tags={"tenant": "acme", "env": "prod"}) == [both]
    assert ids(api, queue=queue, tags={"tenant": "ACME"}) == []
    assert ids(api, queue=queue, tags={"tenant": "acm"}) == []
    assert len(ids(api, queue=queue, tags={})) == 3


def test_tags_keep_their_types(api: Api, queue: str) -> None:
    values: list[Any] = [1, "1", True, "true", None, "null", 1.5, 'a"b', "é\n", ""]
    tagged = [api.enqueue(queue, tags={"v": value}) for value in values]
    for value, job_id in zip(values, tagged, strict=True):
        assert ids(api, queue=queue, tags={"v": value}) == [job_id]
    assert ids(api, queue=queue, tags={"v": 1.0}) == [tagged[0]]
    assert ids(api, queue=queue, tags={"v": 2**70}) == []


def test_tags_follow_a_replaced_job_and_go_with_a_deleted_one(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue, tags={"a": "old", "b": 1}, unique_key="k")
    api.enqueue(queue, tags={"a": "new"}, unique_key="k", unique_on_conflict="replace")
    assert ids(api, queue=queue, tags={"a": "old"}) == []
    assert ids(api, queue=queue, tags={"b": 1}) == []
    assert ids(api, queue=queue, tags={"a": "new"}) == [job_id]
    api.delete(f"/jobs/{job_id}")
    assert ids(api, queue=queue, tags={"a": "new"}) == []


@pytest.mark.parametrize("is_ascii", [True, False])
def test_text_is_found_in_the_compact_payload(api: Api, queue: str, is_ascii: bool) -> None:
    body = json.dumps({"queue": queue, "payload": {"to": "Acme 100%_é", "n": [1, 2]}}, ensure_ascii=is_ascii)
    job_id = api.post("/enqueue", content=body).json()["job_id"]
    for text in ("acme", "ACME", '"to":"acme 100%_é', '"TO":', "100%", "%_", "é", "[1,2]"):
        assert ids(api, queue=queue, payload_contains=text) == [job_id]
    for text in ("a%e", "a_me", '"to": "', "É", "!", "\0", "\\\\"):
        assert ids(api, queue=queue, payload_contains=text) == []


def test_a_payload_can_be_judged(api: Api, queue: str) -> None:
    old = api.enqueue(queue, {"user": {"age": 40, "name": "Ann"}, "to": ["a", "b", 3]})
    young = api.enqueue(queue, {"user": {"age": 7}, "to": []})
    api.enqueue(queue, "text")
    assert ids(api, queue=queue, payload_jq=".user.age >= 18") == [old]
    assert ids(api, queue=queue, payload_jq=".user.age<18") == [young]
    assert ids(api, queue=queue, payload_jq='.to | contains("3")') == [old]
    assert ids(api, queue=queue, payload_jq='.user.name | startswith("A")') == [old]
    assert ids(api, queue=queue, payload_jq=".to | length > 0") == [old]
    assert len(ids(api, queue=queue, payload_jq=".user.name == null")) == 2
    assert len(ids(api, queue=queue, payload_jq="")) == 3


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        (".a", ["character 3", "=="]),
        ("a == 1", ["character 1", "path"]),
        (".a == 'x'", ["character 7"]),
        (".a > null", ["null"]),
        (".a == 1 or .b == 2", ["character 9", "or .b"]),
        (".a | test(1)", ["character 6", "contains"]),
        ("   ", ["path"]),
        ("' OR 1=1 --", ["character 1"]),
    ],
)
def test_a_wrong_expression_is_refused_with_the_place(api: Api, expression: str, words: list[str]) -> None:
    answer = api.post("/jobs/search", {"payload_jq": expression})
    assert_refused(answer, 400, "VALIDATION_ERROR", "payload_jq", *words)


def assert_bounds(api: Api, queue: str, name: str, column: str, job_id: str) -> None:
    """The job is found between the times before and after its own, and not at its own."""
    at = api.job(job_id)[column]
    before, after = shifted(at, -1), shifted(at, 1)
    assert ids(api, queue=queue, **{f"{name}_after": before}) == [job_id]
    assert ids(api, queue=queue, **{f"{name}_after": at}) == []
    assert ids(api, queue=queue, **{f"{name}_before": after}) == [job_id]
    assert ids(api, queue=queue, **{f"{name}_before": at}) == []
    assert ids(api, queue=queue, **{f"{name}_after": before, f"{name}_before": after}) == [job_id]
    assert ids(api, queue=queue, **{f"{name}_after": LONG_AGO}) == [job_id]
    assert ids(api, queue=queue, **{f"{name}_before": "2001-01-01"}) == []


def test_jobs_are_found_by_their_times(api: Api, queue: str) -> None:
    assert_bounds(api, f"{queue}1", "created", "created_at", api.enqueue(f"{queue}1"))
    assert_bounds(api, f"{queue}2", "scheduled", "scheduled_at", api.enqueue(f"{queue}2", scheduled_at=FAR_FUTURE))
    assert_bounds(api, f"{queue}3", "started", "started_at", start_job(api, f"{queue}3")["job_id"])
    assert_bounds(api, f"{queue}4", "completed", "completed_at", finish_job(api, f"{queue}4"))
    assert_bounds(api, f"{queue}5", "expire", "expire_at", api.enqueue(f"{queue}5", expire_after="1h"))


@pytest.mark.parametrize("name", ["scheduled", "started", "completed", "expire"])
def test_a_job_without_that_time_never_matches(api: Api, queue: str, name: str) -> None:
    api.enqueue(queue)
    assert ids(api, queue=queue, **{f"{name}_after": LONG_AGO}) == []
    assert ids(api, queue=queue, **{f"{name}_before": "9999-12-31"}) == []


def test_times_may_have_any_offset_a_fraction_or_be_a_day(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue)
    at = moment(api.job(job_id)["created_at"])
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).date().isoformat()
    just_before, just_after = (at + timedelta(microseconds=step) for step in (-1, 1))
    assert ids(api, queue=queue, created_before=tomorrow, created_after="1969-07-20") == [job_id]
    assert ids(api, queue=queue, created_after=f"{just_before.isoformat()}", created_before=just_after.isoformat())
    assert ids(api, queue=queue, created_after=just_after.isoformat()) == []
    shown = (at - timedelta(seconds=1) + timedelta(hours=5)).strftime("%Y-%m-%dT%H:%M:%S.%f+05:00")
    assert ids(api, queue=queue, created_after=shown) == [job_id]


@pytest.mark.parametrize(
    "field", ["created_after", "scheduled_before", "started_after", "completed_before", "expire_after"]
)
@pytest.mark.parametrize("text", ["yesterday", "2026-13-01", "2026-02-30T00:00:00Z", "", "2026-01-01T00:00:00", "12"])
def test_a_time_that_is_none_cannot_be_parsed(api: Api, field: str, text: str) -> None:
    assert_refused(api.post("/jobs/search", {field: text}), 400, "PARSE_ERROR", field)


def test_attempts_are_counted_inclusively(api: Api, queue: str) -> None:
    fresh, tried = api.enqueue(f"{queue}"), bury_job(api, f"{queue}-tried")
    prefix = {"job_id_prefix": "job_", "order": "asc"}
    assert ids(api, queue=queue, attempt_min=0, attempt_max=0, **prefix) == [fresh]
    assert ids(api, queue=f"{queue}-tried", attempt_min=1, attempt_max=1) == [tried]
    assert ids(api, queue=f"{queue}-tried", attempt_min=2) == []
    assert ids(api, queue=f"{queue}-tried", attempt_max=0) == []
    assert ids(api, queue=f"{queue}-tried", attempt_min=-(2**63), attempt_max=2**63 - 1) == [tried]


@pytest.mark.parametrize("field", ["attempt_min", "attempt_max"])
def test_attempts_must_be_reasonable_numbers(api: Api, field: str) -> None:
    assert_refused(api.post("/jobs/search", {field: 2**63}), 400, "VALIDATION_ERROR", field)
    assert_refused(api.post("/jobs/search", {field: "1"}), 400, "PARSE_ERROR", field)


def test_jobs_are_found_by_what_ties_them_together(api: Api, queue: str) -> None:
    keyed = api.enqueue(queue, unique_key="k", parent_id="p", chain_id="c")
    api.enqueue(queue, unique_key="K", parent_id="pp", chain_id="C")
    for field, value in (("unique_key", "k"), ("parent_id", "p"), ("chain_id", "c")):
        assert ids(api, queue=queue, **{field: value}) == [keyed]
        assert ids(api, queue=queue, **{field: "none"}) == []
        assert len(ids(api, queue=queue, **{field: ""})) == 2


def test_jobs_are_found_by_what_they_depend_on_also_when_they_wait_no_longer(api: Api, queue: str) -> None:
    first, second = api.enqueue(queue), api.enqueue(queue)
    both = api.enqueue(f"{queue}-after", depends_on=[first, second])
    one = api.enqueue(queue, depends_on=[second])
    assert ids(api, depends_on=first) == [both]
    assert ids(api, depends_on=second) == [both, one]
    assert ids(api, depends_on=second, queue=queue, state="pending") == [one]
    assert ids(api, depends_on=one) == ids(api, depends_on="job_none") == ids(api, depends_on=second[:-1]) == []
    assert len(ids(api, queue=queue, depends_on="")) == 3

    for _ in range(2):
        api.post(f"/ack/{claim(api, queue)['job_id']}")
    assert ids(api, depends_on=first) == [both]
    late = api.enqueue(queue, depends_on=[first])
    assert ids(api, depends_on=first) == [both, late]
    api.delete(f"/jobs/{both}")
    assert ids(api, depends_on=first) == [late]
    api.delete(f"/jobs/{first}")
    assert ids(api, depends_on=first) == [late]


@pytest.mark.parametrize(("given", "code"), [(["job_1"], "PARSE_ERROR"), ("j" * 4097, "VALIDATION_ERROR")])
def test_a_dependency_to_search_by_is_one_id(api: Api, given: Any, code: str) -> None:
    assert_refused(api.post("/jobs/search", {"depends_on": given}), 400, code, "depends_on")


def test_a_batch_has_its_jobs(api: Api, queue: str) -> None:
    batch = api.post("/enqueue/batch", {"jobs": [{"queue": queue}] * 3, "batch": {}}).json()
    api.enqueue(queue)
    assert ids(api, batch_id=batch["batch_id"]) == batch["job_ids"]
    assert ids(api, batch_id="batch_none") == []


def test_a_worker_has_the_jobs_it_works_on_and_has_finished(api: Api, queue: str) -> None:
    running = api.enqueue(queue)
    claim(api, queue, worker_id=f"{queue}-w")
    done = api.enqueue(queue)
    claim(api, queue, worker_id=f"{queue}-w")
    api.post(f"/ack/{done}")
    api.enqueue(queue)
    assert ids(api, worker_id=f"{queue}-w") == [running, done]


def test_jobs_with_and_without_errors(api: Api, queue: str) -> None:
    failed, retrying, fine = bury_job(api, queue), job_in_state(api, queue, "retrying"), api.enqueue(queue)
    assert ids(api, queue=queue, has_errors=True) == [failed, retrying]
    assert ids(api, queue=queue, has_errors=False) == [fine]


def test_text_is_found_in_any_error(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue, max_retries=2, retry_backoff="none")
    for error in ("Disk 100% FULL_", "timed out"):
        claim(api, queue)
        api.post(f"/fail/{job_id}", {"error": error})
    for text in ("disk", "100%", "full_", "OUT"):
        assert ids(api, queue=queue, error_contains=text) == [job_id]
    for text in ("1%F", "disk_", "other"):
        assert ids(api, queue=queue, error_contains=text) == []


def test_an_id_may_be_cut_short(api: Api, queue: str) -> None:
    one, two = api.enqueue(queue, job_id=f"{queue}.a_1"), api.enqueue(queue, job_id=f"{queue}.b-1")
    assert ids(api, job_id_prefix=f"{queue}.") == [one, two]
    assert ids(api, job_id_prefix=f"{queue}.a") == [one]
    assert ids(api, job_id_prefix=two) == [two]
    assert ids(api, job_id_prefix=f"{queue}.%") == []
    assert ids(api, job_id_prefix=f"{queue}.A") == []


def test_filters_are_combined_with_and(api: Api, queue: str) -> None:
    wanted = api.enqueue(queue, {"n": 1}, tags={"a": "x"}, priority="high")
    api.enqueue(queue, {"n": 2}, tags={"a": "x"}, priority="high")
    api.enqueue(queue, {"n": 1}, tags={"a": "y"}, priority="high")
    api.enqueue(queue, {"n": 1}, tags={"a": "x"})
    both = {"queue": queue, "state": ["pending"], "priority": "high", "tags": {"a": "x"}, "created_after": LONG_AGO}
    assert ids(api, **both, payload_contains='"n":1') == [wanted]
    assert ids(api, **both, payload_jq=".n == 1", has_errors=False, job_id_prefix="job_") == [wanted]


# --- what is refused


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("queue", 5),
        ("state", 5),
        ("state", [5]),
        ("priority", []),
        ("tags", "x"),
        ("tags", {"a": {}}),
        ("tags", {"a": [1]}),
        ("payload_contains", 5),
        ("payload_jq", {}),
        ("created_after", 5),
        ("has_errors", "yes"),
        ("limit", "5"),
        ("limit", 1.5),
        ("cursor", 5),
        ("sort", []),
    ],
)
def test_a_wrong_type_cannot_be_parsed(api: Api, field: str, value: Any) -> None:
    assert_refused(api.post("/jobs/search", {field: value}), 400, "PARSE_ERROR", field)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"state": ["pending", "sleeping"]}, ["state", "sleeping", "scheduled"]),
        ({"state": "Pending"}, ["state", "Pending"]),
        ({"state": ""}, ["state"]),
        ({"priority": 3}, ["priority"]),
        ({"queue": "a\nb"}, ["queue"]),
        ({"queue": "x" * 300}, ["queue"]),
        ({"tags": {str(n): n for n in range(101)}}, ["tags", "100"]),
        ({"payload_contains": "x" * 5000}, ["payload_contains", "4096"]),
        ({"error_contains": "x" * 5000}, ["error_contains"]),
    ],
)
def test_a_value_that_makes_no_sense_is_refused(api: Api, body: dict[str, Any], words: list[str]) -> None:
    assert_refused(api.post("/jobs/search", body), 400, "VALIDATION_ERROR", *words)


def test_a_body_that_is_no_json_cannot_be_parsed(api: Api) -> None:
    assert_refused(api.post("/jobs/search", content="{"), 400, "PARSE_ERROR")
    assert_refused(api.post("/jobs/bulk-get", content="[]"), 400, "PARSE_ERROR")


# --- order


def in_order(api: Api, queue: str, **body: Any) -> list[str]:
    return [job["id"] for job in find(api, queue=queue, **body)["jobs"]]


def test_the_newest_job_comes_first_unless_told_otherwise(api: Api, queue: str) -> None:
    added = [api.enqueue(queue) for _ in range(4)]
    assert in_order(api, queue) == added[::-1]
    assert in_order(api, queue, order="asc") == added
    assert in_order(api, queue, order="sideways", sort="colour") == added[::-1]
    assert in_order(api, queue, sort="created_at", order="desc") == added[::-1]


def test_ties_go_by_id_in_the_same_direction(api: Api, queue: str) -> None:
    names = [f"{queue}-{name}" for name in ("b", "d", "a", "c")]
    api.post("/enqueue/batch", {"jobs": [{"queue": queue, "job_id": name} for name in names]})
    assert in_order(api, queue, order="asc") == sorted(names)
    assert in_order(api, queue, order="desc") == sorted(names, reverse=True)
    assert in_order(api, queue, sort="attempt", order="asc") == sorted(names)


def test_jobs_can_be_sorted_by_priority_and_attempt(api: Api, queue: str) -> None:
    normal, critical, high = (api.enqueue(queue, priority=name) for name in ("normal", "critical", "high"))
    assert in_order(api, queue, sort="priority", order="asc") == [critical, high, normal]
    assert in_order(api, queue, sort="priority") == [normal, high, critical]
    claim(api, queue)
    assert in_order(api, queue, sort="attempt") == [critical, high, normal]
    assert in_order(api, queue, sort="attempt", order="asc") == [normal, high, critical]


def test_jobs_without_the_time_they_are_sorted_by_come_last_when_the_newest_come_first(api: Api, queue: str) -> None:
    first, second = finish_job(api, queue), finish_job(api, queue)
    waiting = api.enqueue(queue)
    times = [api.job(job_id)["completed_at"] for job_id in (first, second)]
    expected = [second, first] if times[0] < times[1] else sorted((first, second), reverse=True)
    for sort in ("completed_at", "started_at"):
        assert in_order(api, queue, sort=sort)[-1] == waiting
        assert in_order(api, queue, sort=sort, order="asc")[0] == waiting
    assert in_order(api, queue, sort="completed_at")[:2] == expected


# --- pages


@pytest.mark.parametrize("sort", ["created_at", "priority", "started_at", "completed_at", "attempt"])
@pytest.mark.parametrize("order", ["asc", "desc"])
def test_pages_make_up_the_whole(api: Api, queue: str, sort: str, order: str) -> None:
    for state in ("completed", "dead", "active", "held"):
        job_in_state(api, queue, state)
    api.post("/enqueue/batch", {"jobs": [{"queue": queue, "priority": n % 3} for n in range(6)]})
    whole = find(api, queue=queue, sort=sort, order=order)
    assert (whole["total"], whole["has_more"], whole["cursor"]) == (10, False, None)
    pages, cursor = [], None
    while len(pages) < 10:
        page = find(api, queue=queue, sort=sort, order=order, limit=3, cursor=cursor)
        assert page["total"] == 10
        pages.append(page["jobs"])
        assert page["has_more"] == (page["cursor"] is not None)
        if not page["has_more"]:
            break
        cursor = page["cursor"]
    assert [len(page) for page in pages] == [3, 3, 3, 1]
    assert [job for page in pages for job in page] == whole["jobs"]


def test_a_page_that_ends_with_the_last_job_has_no_more(api: Api, queue: str) -> None:
    for _ in range(2):
        api.enqueue(queue)
    page = find(api, queue=queue, limit=2)
    assert (len(page["jobs"]), page["has_more"], page["cursor"]) == (2, False, None)


@pytest.mark.parametrize(("limit", "expected"), [(None, 50), (0, 50), (-1, 50), (-(10**30), 50), (1, 1), (1000, 1000)])
def test_a_limit_has_bounds(api: Api, queue: str, limit: int | None, expected: int) -> None:
    if find(api, queue="limits")["total"] == 0:
        api.post("/enqueue/batch", {"jobs": [{"queue": "limits"}] * 1005})
    page = find(api, queue="limits", limit=limit)
    assert (len(page["jobs"]), page["total"], page["has_more"]) == (expected, 1005, True)


@pytest.mark.parametrize("limit", [1001, 10**6, 10**30])
def test_a_limit_above_the_largest_means_the_largest(api: Api, limit: int) -> None:
    test_a_limit_has_bounds(api, "", 1000, 1000)
    assert len(find(api, queue="limits", limit=limit)["jobs"]) == 1000


def cursor_of(*values: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(values).encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "garbage",
        "!!!",
        "é",
        "AAAA",
        cursor_of(1, 2),
        cursor_of("created_at", True, "x", "y"),
        cursor_of("created_at", True, 2**63, "y"),
        cursor_of("created_at", True, 2**200, "y"),
        cursor_of("created_at", False, 5, "y"),
        cursor_of("priority", True, 5, "y"),
        cursor_of("rank; DROP TABLE job", True, 5, "y"),
        "=" * 100,
        "A" * 10_000,
    ],
)
def test_a_cursor_that_is_none_means_the_start(api: Api, queue: str, cursor: str) -> None:
    job_id = api.enqueue(queue)
    assert ids(api, job_id_prefix=job_id, cursor=cursor, order="desc") == [job_id]


def test_a_cursor_of_another_order_means_the_start(api: Api, queue: str) -> None:
    added = [api.enqueue(queue) for _ in range(3)]
    cursor = find(api, queue=queue, limit=1)["cursor"]
    assert in_order(api, queue, cursor=cursor) == [added[1], added[0]]
    assert in_order(api, queue, cursor=cursor, order="asc") == added
    assert len(in_order(api, queue, cursor=cursor, sort="attempt")) == 3


def test_pages_neither_skip_nor_repeat_while_jobs_change(
    api: Api, queue: str, background: Callable[..., Future[Any]]
) -> None:
    steady = api.post("/enqueue/batch", {"jobs": [{"queue": queue}] * 300}).json()["job_ids"]

    def work() -> None:
        for _ in range(20):
            api.post("/enqueue/batch", {"jobs": [{"queue": queue}] * 5})
            jobs = api.post("/fetch/batch", {"queues": [queue], "count": 10, "timeout": 1}).json()["jobs"]
            api.post("/ack/batch", {"acks": [{"job_id": job["job_id"]} for job in jobs]})

    working = background(work)
    for order in ("asc", "desc"):
        seen: list[str] = []
        cursor = None
        while len(seen) < 1000:
            page = find(api, queue=queue, limit=7, order=order, cursor=cursor)
            seen += [job["id"] for job in page["jobs"]]
            cursor = page["cursor"]
            if cursor is None:
                break
        assert len(seen) == len(set(seen))
        assert set(steady) <= set(seen)
        assert seen == sorted(seen, reverse=order == "desc")
    working.result(60)


def test_the_total_follows_the_jobs(api: Api, queue: str) -> None:
    added = [api.enqueue(queue) for _ in range(3)]
    assert find(api, queue=queue, state="pending")["total"] == 3
    api.post(f"/jobs/{added[0]}/cancel")
    assert find(api, queue=queue, state="pending")["total"] == 2
    assert find(api, queue=queue, state="cancelled")["total"] == 1
    api.post(f"/jobs/{added[1]}/move", {"queue": f"{queue}-2"})
    assert find(api, queue=queue)["total"] == 2
    api.delete(f"/jobs/{added[0]}")
    assert find(api, queue=queue)["total"] == 1


# --- the dead


def test_the_dead_are_listed(api: Api, queue: str) -> None:
    dead = [bury_job(api, queue) for _ in range(3)]
    api.enqueue(queue)
    found = api.get("/dead", params={"queue": queue}).json()
    assert [job["id"] for job in found["jobs"]] == dead[::-1]
    assert (found["total"], found["cursor"], found["has_more"]) == (3, None, False)
    assert {job["last_error"] for job in found["jobs"]} == {"boom"}
    everywhere = api.get("/dead", params={"limit": 1000}).json()["jobs"]
    assert set(dead) <= {job["id"] for job in everywhere}
    assert {job["state"] for job in everywhere} == {"dead"}


def test_the_dead_come_in_pages_and_orders(api: Api, queue: str) -> None:
    dead = [bury_job(api, queue) for _ in range(3)]
    query = {"queue": queue, "limit": 2, "order": "asc", "sort": "attempt"}
    first = api.get("/dead", params=query).json()
    assert ([job["id"] for job in first["jobs"]], first["has_more"]) == (dead[:2], True)
    second = api.get("/dead", params={**query, "cursor": first["cursor"]}).json()
    assert ([job["id"] for job in second["jobs"]], second["has_more"]) == (dead[2:], False)


@pytest.mark.parametrize(("limit", "expected"), [("", 3), ("0", 3), ("-5", 3), ("1", 1), ("9" * 30, 3)])
def test_the_dead_have_a_limit(api: Api, queue: str, limit: str, expected: int) -> None:
    for _ in range(3):
        bury_job(api, queue)
    assert len(api.get("/dead", params={"queue": queue, "limit": limit}).json()["jobs"]) == expected


def test_a_limit_of_the_dead_must_be_a_number(api: Api) -> None:
    for text in ("x", "1.5", "²"):
        assert_refused(api.get("/dead", params={"limit": text}), 400, "VALIDATION_ERROR", "limit")


# --- many by their ids


def test_jobs_are_given_whole_in_the_order_of_their_ids(api: Api, queue: str) -> None:
    dead, pending = bury_job(api, queue), api.enqueue(queue, {"n": 1})
    answer = api.post("/jobs/bulk-get", {"job_ids": [pending, "job_none", dead, pending, "a\0b", ""]})
    assert answer.status_code == 200
    assert answer.json() == {"jobs": [api.job(pending), api.job(dead), api.job(pending)]}


@pytest.mark.parametrize("body", [{"job_ids": []}, {}, None, {"job_ids": None}])
def test_no_ids_give_no_jobs(api: Api, body: Any) -> None:
    answer = api.post("/jobs/bulk-get", body)
    assert (answer.status_code, answer.json()) == (200, {"jobs": []})


def test_ids_have_a_limit(api: Api) -> None:
    assert api.post("/jobs/bulk-get", {"job_ids": ["x"] * 1000}).json() == {"jobs": []}
    answer = api.post("/jobs/bulk-get", {"job_ids": ["x"] * 1001})
    assert_refused(answer, 400, "VALIDATION_ERROR", "job_ids", "1000")
    assert_refused(api.post("/jobs/bulk-get", {"job_ids": [5]}), 400, "PARSE_ERROR", "job_ids")


# --- namespaces


def test_nobody_sees_the_jobs_of_another_namespace(server: ServerProcess, api: Api, queue: str) -> None:
    ours, theirs = Tenant(server, "ours"), Tenant(server, "theirs")
    mine, other, plain = (caller.enqueue(queue, {"n": 1}, tags={"t": queue}) for caller in (ours, theirs, api))
    for body in (
        {"queue": queue},
        {"tags": {"t": queue}},
        {"queue": queue, "state": "pending"},
        {"payload_jq": ".n == 1"},
    ):
        assert [job["id"] for job in find(ours, **body)["jobs"]] == [mine]
    assert [job["queue"] for job in find(ours)["jobs"]] == [queue]
    assert find(ours)["total"] == 1
    assert find(ours, job_id_prefix=other)["total"] == 0
    assert [job["queue"] for job in find(api, tags={"t": queue})["jobs"]] == [
        queue,
        f"theirs::{queue}",
        f"ours::{queue}",
    ]
    assert find(api, queue=f"ours::{queue}")["jobs"][0]["id"] == mine
    assert find(api, queue=queue)["jobs"][0]["id"] == plain
    fetched = ours.post("/jobs/bulk-get", {"job_ids": [mine, other, plain]}).json()["jobs"]
    assert [(job["id"], job["queue"]) for job in fetched] == [(mine, queue)]


def test_the_dead_of_another_namespace_are_not_listed(server: ServerProcess, queue: str) -> None:
    ours, theirs = Tenant(server, "our-dead"), Tenant(server, "their-dead")
    dead = bury_job(ours, queue)
    assert [(job["id"], job["queue"]) for job in ours.get("/dead").json()["jobs"]] == [(dead, queue)]
    assert theirs.get("/dead").json()["total"] == 0


def test_a_queue_of_another_namespace_cannot_be_named(server: ServerProcess) -> None:
    answer = Tenant(server, "ours").post("/jobs/search", {"queue": "theirs::q"})
    assert_refused(answer, 400, "VALIDATION_ERROR", "queue")


@pytest.mark.parametrize("text", ["über", "x<b&c", "p/q", "mix é é", "😀", '\\"quoted\\"'])
def test_text_is_found_however_its_characters_were_written(api: Api, queue: str, text: str) -> None:
    payload = r'{"a": "\u00fcber x\u003cb\u0026c p\/q mix \u00e9 é \ud83d\ude00 \"quoted\""}'
    body = f'{{"queue": "{queue}", "payload": {payload}}}'.encode()
    job_id = api.post("/enqueue", content=body).json()["job_id"]
    assert ids(api, queue=queue, payload_contains=text) == [job_id]
    assert api.job(job_id)["payload"] == {"a": 'über x<b&c p/q mix é é 😀 "quoted"'}


def test_an_empty_priority_asks_for_nothing(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue, priority="critical")
    assert ids(api, queue=queue, priority="") == [job_id]


def test_a_search_that_takes_too_long_is_ended(start_server: Callable[..., ServerProcess]) -> None:
    api = Api(start_server("--search-timeout=30ms"))
    assert api.post("/enqueue/batch", {"jobs": [{"queue": "q", "payload": "x" * 5000}] * 500}).status_code == 201
    answer = api.post("/jobs/search", {"payload_contains": "x" * 500 + "y"})
    assert_refused(answer, 503, "SEARCH_TIMEOUT", "0.03 s")


def test_a_caller_says_how_far_to_count(api: Api, queue: str) -> None:
    for _ in range(3):
        api.enqueue(queue, {"a": 1})
    found = api.post("/jobs/search", {"queue": queue, "payload_contains": "a", "total_up_to": 2}).json()
    assert (found["total"], found["is_partial"]) == (3, False), "few matches are known without counting"
    assert api.post("/jobs/search", {"queue": queue, "total_up_to": 0}).json()["total"] == 3


@pytest.mark.parametrize("up_to", [-1, 1_000_000_001])
def test_a_bad_bound_of_the_total_is_refused(api: Api, up_to: int) -> None:
    answer = api.post("/jobs/search", {"total_up_to": up_to})
    assert answer.status_code == 400
    assert "total_up_to" in answer.json()["error"]
