"""Bulk: one action on many jobs, at once or in the background."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from tests.api.expectations import FAR_FUTURE, assert_refused, bury_job, job_in_state, moment, start_job
from tests.conftest import Api, ServerProcess, wait_for

VIEW = {
    *("id", "status", "action", "total", "processed", "affected", "errors", "error"),
    *("created_at", "updated_at", "finished_at", "failures"),
}
EVENT = {"type", "task_id", "status", "total", "processed", "affected", "percent", "created_at_ns"}
MANY = 10_001


def bulk(api: Api, action: str, **fields: Any) -> dict[str, Any]:
    """Do it at once; the answer without its time."""
    answer = api.post("/jobs/bulk", {"action": action, **fields})
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    assert body.pop("duration_ms") >= 0
    return body


def begin(api: Api, action: str, **fields: Any) -> str:
    """Have it done in the background; its id."""
    answer = api.post("/jobs/bulk", {"action": action, **fields})
    assert answer.status_code == 202, answer.text
    body = answer.json()
    bulk_id = str(body["bulk_operation_id"])
    assert body.keys() == {"bulk_operation_id", "status", "estimated_total", "progress_url"}
    assert (body["status"], body["progress_url"]) == ("processing", f"/api/v1/bulk/{bulk_id}/progress")
    assert bulk_id.startswith("bulk_")
    return bulk_id


def view(api: Api, bulk_id: str) -> dict[str, Any]:
    answer = api.get(f"/bulk/{bulk_id}")
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    assert body.keys() == VIEW
    assert body["status"] in ("queued", "running", "completed", "failed")
    return body


def wait_until_done(api: Api, bulk_id: str) -> dict[str, Any]:
    done: dict[str, Any] = wait_for(lambda: (seen := view(api, bulk_id))["finished_at"] and seen, timeout=60)
    return done


def enqueue_many(api: Api, queue: str, count: int) -> list[str]:
    ids: list[str] = []
    while len(ids) < count:
        jobs = [{"queue": queue}] * min(5000, count - len(ids))
        answer = api.post("/enqueue/batch", {"jobs": jobs})
        assert answer.status_code == 201, answer.text
        ids += answer.json()["job_ids"]
    return ids


def counts(api: Api, queue: str) -> dict[str, Any]:
    shown: dict[str, Any] = api.get(f"/queues/{queue}").json()
    return shown


@contextmanager
def following(api: Api, bulk_id: str) -> Iterator[Iterator[dict[str, Any]]]:
    """The events of a bulk's progress, each as its own frame."""
    with httpx.stream("GET", f"{api.server.url}/api/v1/bulk/{bulk_id}/progress", timeout=60) as answer:
        assert answer.status_code == 200
        assert answer.headers["Content-Type"] == "text/event-stream; charset=utf-8"
        assert answer.headers["Cache-Control"] == "no-cache"
        yield _events(answer.iter_lines())


def _events(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    for line in lines:
        if line.startswith(":"):
            continue
        assert line.startswith("event: "), line
        data = next(lines)
        assert data.startswith("data: "), data
        assert next(lines) == ""
        event = json.loads(data[6:])
        assert event.keys() - {"error"} == EVENT
        assert event["type"] == line[7:]
        yield event


# --- at once


@pytest.mark.parametrize(
    ("action", "arguments", "touched", "event"),
    [
        ("retry", {}, {"dead", "cancelled", "completed", "scheduled"}, "retried"),
        (
            "delete",
            {},
            {"pending", "active", "held", "completed", "dead", "scheduled", "retrying", "cancelled"},
            "deleted",
        ),
        ("cancel", {}, {"pending", "active", "scheduled", "retrying"}, "cancelled"),
        (
            "move",
            {"move_to_queue": "moved"},
            {"pending", "held", "completed", "dead", "scheduled", "retrying", "cancelled"},
            "moved",
        ),
        ("requeue", {}, {"dead"}, "retried"),
        ("change_priority", {"priority": "critical"}, {"pending", "scheduled"}, "reprioritized"),
        ("hold", {}, {"pending", "active", "scheduled", "retrying"}, "held"),
        ("approve", {}, {"held"}, "approved"),
        ("reject", {}, {"held"}, "dead"),
    ],
)
def test_each_action_touches_jobs_in_its_states(
    api: Api, queue: str, action: str, arguments: dict[str, Any], touched: set[str], event: str
) -> None:
    states = ("active", "held", "completed", "dead", "scheduled", "retrying", "cancelled", "pending")
    jobs = {state: job_in_state(api, f"{queue}-{state}", state) for state in states}
    before = {state: api.events_of(job_id) for state, job_id in jobs.items()}

    done = bulk(api, action, job_ids=list(jobs.values()), **arguments)

    assert done == {"affected": len(touched), "errors": 0, "skipped": len(jobs) - len(touched)}
    for state, job_id in jobs.items():
        events = api.events_of(job_id)
        assert (events[-1] == event and len(events) > len(before[state])) == (state in touched), (state, events)


def test_a_filter_touches_every_match_and_nothing_else(api: Api, queue: str) -> None:
    ids = enqueue_many(api, queue, 1203)
    other = api.enqueue(f"{queue}-other")
    scheduled = api.enqueue(queue, scheduled_at=FAR_FUTURE)

    done = bulk(api, "cancel", filter={"queue": queue, "state": ["pending"], "limit": 5, "cursor": "x"})

    assert done == {"affected": 1203, "errors": 0, "skipped": 0}
    assert (counts(api, queue)["cancelled"], counts(api, queue)["pending"]) == (1203, 0)
    assert [api.job(job_id)["state"] for job_id in (ids[0], ids[-1], other, scheduled)] == [
        *("cancelled", "cancelled", "pending", "scheduled")
    ]


def test_a_filter_may_look_into_payloads_and_errors(api: Api, queue: str) -> None:
    legacy, current = api.enqueue(queue, {"legacy": True}), api.enqueue(queue, {"legacy": False})
    dead = bury_job(api, f"{queue}-dead")

    assert bulk(api, "delete", filter={"queue": queue, "payload_jq": ".legacy == true"})["affected"] == 1
    assert [api.get(f"/jobs/{job_id}").status_code for job_id in (legacy, current)] == [404, 200]
    wanted = {"queue": f"{queue}-dead", "error_contains": "BOOM"}
    assert bulk(api, "requeue", filter=wanted)["affected"] == 1
    assert api.job(dead)["state"] == "pending"


def test_all_that_depends_on_a_job_can_be_acted_on(api: Api, queue: str) -> None:
    first = api.enqueue(queue)
    waiting = [api.enqueue(f"{queue}-{number}", depends_on=[first]) for number in range(3)]

    assert bulk(api, "cancel", filter={"depends_on": first})["affected"] == 3
    assert [api.job(job_id)["state"] for job_id in (first, *waiting)] == ["pending"] + ["cancelled"] * 3


def test_matches_in_other_states_are_skipped(api: Api, queue: str) -> None:
    start_job(api, queue)
    enqueue_many(api, queue, 2)

    done = bulk(api, "move", filter={"queue": queue}, move_to_queue=f"{queue}-new")

    assert done == {"affected": 2, "errors": 0, "skipped": 1}


def test_ids_win_over_the_filter(api: Api, queue: str) -> None:
    first, second = enqueue_many(api, queue, 2)

    assert bulk(api, "cancel", job_ids=[first], filter={"queue": queue})["affected"] == 1
    assert api.job(second)["state"] == "pending"


def test_an_empty_list_leaves_the_filter_in_force(api: Api, queue: str) -> None:
    enqueue_many(api, queue, 2)

    assert bulk(api, "cancel", job_ids=[], filter={"queue": queue})["affected"] == 2


@pytest.mark.parametrize("nothing", [{}, {"job_ids": []}, {"job_ids": None, "filter": None}])
def test_neither_ids_nor_filter_is_nothing_to_do(api: Api, queue: str, nothing: dict[str, Any]) -> None:
    api.enqueue(queue)

    assert bulk(api, "delete", **nothing) == {"affected": 0, "errors": 0, "skipped": 0}


def test_an_empty_filter_means_all_jobs_of_the_namespace(api: Api, queue: str) -> None:
    headers = {"X-Rookery-Namespace": "everything"}
    for _ in range(3):
        assert api.post("/enqueue", {"queue": queue}, headers=headers).status_code == 201
    outside = api.enqueue(queue)

    answer = api.post("/jobs/bulk", {"action": "delete", "filter": {}}, headers=headers)

    assert (answer.status_code, answer.json()["affected"]) == (200, 3)
    assert api.job(outside)["state"] == "pending"


def test_repeated_and_unknown_ids_do_not_count_twice(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue)

    done = bulk(api, "cancel", job_ids=[job_id, "job_nowhere", job_id, "job_nowhere", "\0"])

    assert done == {"affected": 1, "errors": 0, "skipped": 2}
    assert api.events_of(job_id) == ["enqueued", "cancelled"]


@pytest.mark.parametrize(("priority", "number"), [("critical", 0), ("high", 1), ("low", 2), (0, 0)])
def test_a_priority_is_given_by_name_or_number(api: Api, queue: str, priority: str | int, number: int) -> None:
    job_id = api.enqueue(queue, priority="high" if number == 2 else "normal")

    assert bulk(api, "change_priority", job_ids=[job_id], priority=priority)["affected"] == 1
    assert api.job(job_id)["priority"] == number


def test_a_requeued_job_keeps_its_attempt(api: Api, queue: str) -> None:
    job_id = bury_job(api, queue)
    bulk(api, "requeue", job_ids=[job_id])

    job = api.job(job_id)
    assert (job["state"], job["attempt"], job["failed_at"], job["queue"]) == ("pending", 1, None, queue)
    fetched = api.fetch(queue)
    assert fetched is not None
    assert fetched["attempt"] == 2


def test_bulk_works_in_the_callers_namespace(api: Api, queue: str) -> None:
    mine, theirs = {"X-Rookery-Namespace": "mine"}, {"X-Rookery-Namespace": "theirs"}
    job_id = api.post("/enqueue", {"queue": queue}, headers=mine).json()["job_id"]
    move = {"action": "move", "job_ids": [job_id], "move_to_queue": f"{queue}-new"}

    assert api.post("/jobs/bulk", move, headers=theirs).json()["skipped"] == 1
    assert api.post("/jobs/bulk", move, headers=mine).json()["affected"] == 1
    assert api.get(f"/jobs/{job_id}", headers=mine).json()["queue"] == f"{queue}-new"
    assert api.job(job_id)["queue"] == f"mine::{queue}-new"
    assert_refused(api.post("/jobs/bulk", {**move, "move_to_queue": "a::b"}, headers=mine), 400, "VALIDATION_ERROR")


# --- what is wrong with a call


@pytest.mark.parametrize(
    ("body", "code", "word"),
    [
        ({}, "VALIDATION_ERROR", "action"),
        ({"action": None}, "VALIDATION_ERROR", "action"),
        ({"action": "  "}, "VALIDATION_ERROR", "action"),
        ({"action": "explode"}, "BULK_ERROR", "action"),
        ({"action": "move"}, "BULK_ERROR", "move_to_queue"),
        ({"action": "move", "move_to_queue": " "}, "BULK_ERROR", "move_to_queue"),
        ({"action": "move", "move_to_queue": "x" * 256}, "VALIDATION_ERROR", "move_to_queue"),
        ({"action": "change_priority"}, "BULK_ERROR", "priority"),
        ({"action": "change_priority", "priority": ""}, "BULK_ERROR", "priority"),
        ({"action": "change_priority", "priority": 7}, "VALIDATION_ERROR", "priority"),
        ({"action": "delete", "job_ids": "job_1"}, "PARSE_ERROR", "job_ids"),
        ({"action": "delete", "job_ids": [1]}, "PARSE_ERROR", "job_ids"),
        ({"action": "delete", "async": "yes"}, "PARSE_ERROR", "async"),
        ({"action": "delete", "job_ids": None, "filter": {"payload_jq": "rm -rf"}}, "VALIDATION_ERROR", "payload_jq"),
        ({"action": "delete", "job_ids": None, "filter": {"created_after": "soon"}}, "PARSE_ERROR", "created_after"),
    ],
)
def test_a_call_that_makes_no_sense_is_refused(
    api: Api, queue: str, body: dict[str, Any], code: str, word: str
) -> None:
    job_id = api.enqueue(queue)

    assert_refused(api.post("/jobs/bulk", {"job_ids": [job_id], **body}), 400, code, word)
    assert api.events_of(job_id) == ["enqueued"]


def test_a_field_that_filters_do_not_have_is_refused_and_nothing_is_done(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue)
    answer = api.post("/jobs/bulk", {"action": "delete", "filter": {"queue": queue, "states": ["completed"]}})
    assert_refused(answer, 400, "PARSE_ERROR", "states")
    assert api.job(job_id)["state"] == "pending"


def test_one_job_named_ten_thousand_times_is_one_job(api: Api, queue: str) -> None:
    answer = api.post("/jobs/bulk", {"action": "hold", "job_ids": [api.enqueue(queue)] * 10_001})
    assert (answer.status_code, answer.json()["affected"], answer.json()["skipped"]) == (200, 1, 0)


@pytest.mark.parametrize("path", ["/bulk/bulk_nowhere", "/bulk/bulk_nowhere/progress"])
def test_an_unknown_bulk_is_not_found(api: Api, path: str) -> None:
    assert_refused(api.get(path), 404, "NOT_FOUND", "bulk_nowhere")


def test_an_unknown_bulk_cannot_be_cancelled(api: Api) -> None:
    assert_refused(api.post("/bulk/bulk_nowhere/cancel"), 404, "NOT_FOUND", "bulk_nowhere")


# --- in the background


def test_a_background_bulk_says_what_it_did(api: Api, queue: str) -> None:
    ids = enqueue_many(api, queue, 700)

    bulk_id = begin(api, "cancel", job_ids=[*ids, "job_nowhere"], **{"async": True})

    done = wait_until_done(api, bulk_id)
    assert (done["id"], done["action"], done["status"], done["error"]) == (bulk_id, "cancel", "completed", None)
    assert (done["total"], done["processed"], done["affected"], done["errors"]) == (701, 701, 700, 0)
    assert moment(done["created_at"]) <= moment(done["updated_at"]) == moment(done["finished_at"])
    assert done["failures"] == [{"job_id": "job_nowhere", "error": "not found"}]
    assert counts(api, queue)["cancelled"] == 700


def test_a_background_bulk_names_the_jobs_that_it_could_not_change_and_why(api: Api, queue: str) -> None:
    jobs = {state: job_in_state(api, f"{queue}-{state}", state) for state in ("completed", "pending", "held", "dead")}

    bulk_id = begin(api, "cancel", job_ids=["job_nowhere", *jobs.values()], **{"async": True})

    done = wait_until_done(api, bulk_id)
    assert (done["processed"], done["affected"], done["errors"]) == (5, 1, 0)
    assert done["failures"] == [
        {"job_id": "job_nowhere", "error": "not found"},
        *(
            {"job_id": jobs[state], "error": f"cannot cancel it: it is {state}"}
            for state in ("completed", "held", "dead")
        ),
    ]


def test_a_background_bulk_names_the_first_hundred_and_counts_all(api: Api, queue: str) -> None:
    unknown = [f"job_{number}" for number in range(620)]

    done = wait_until_done(api, begin(api, "delete", job_ids=[*unknown, api.enqueue(queue)], **{"async": True}))

    assert (done["processed"], done["affected"]) == (621, 1)
    assert [failure["job_id"] for failure in done["failures"]] == unknown[:100]


def test_what_is_not_changed_is_described_in_the_api(api: Api) -> None:
    records = api.server.http.get("/openapi.json").json()["components"]["schemas"]

    assert records["BulkView"]["properties"]["failures"]["items"] == {"$ref": "#/components/schemas/BulkFailure"}
    assert records["BulkFailure"]["properties"].keys() == {"job_id", "error"}


def test_a_background_bulk_by_filter_touches_all_that_were_there(api: Api, queue: str) -> None:
    enqueue_many(api, queue, 1500)

    bulk_id = begin(api, "hold", filter={"queue": queue}, **{"async": True})
    later = api.enqueue(queue)

    done = wait_until_done(api, bulk_id)
    assert (done["total"], done["processed"], done["affected"]) == (1500, 1500, 1500)
    assert api.job(later)["state"] == "pending"


@pytest.mark.parametrize("nothing", [{}, {"filter": {"queue": "there-is-no-such-queue"}}, {"job_ids": ["job_x"]}])
def test_a_background_bulk_of_nothing_completes(api: Api, nothing: dict[str, Any]) -> None:
    done = wait_until_done(api, begin(api, "delete", **nothing, **{"async": True}))

    assert (done["status"], done["affected"], done["total"]) == ("completed", 0, len(nothing.get("job_ids", [])))


def test_more_than_ten_thousand_ids_go_to_the_background(api: Api, queue: str) -> None:
    ids = enqueue_many(api, queue, MANY)

    assert bulk(api, "hold", job_ids=ids[: MANY - 1])["affected"] == MANY - 1
    bulk_id = begin(api, "approve", job_ids=ids)

    done = wait_until_done(api, bulk_id)
    assert (done["total"], done["processed"], done["affected"]) == (MANY, MANY, MANY - 1)
    assert (counts(api, queue)["pending"], counts(api, queue)["held"]) == (MANY, 0)


def test_more_than_ten_thousand_matches_go_to_the_background(api: Api, queue: str) -> None:
    enqueue_many(api, queue, MANY)

    answer = api.post("/jobs/bulk", {"action": "delete", "filter": {"queue": queue}})

    assert answer.status_code == 202, answer.text
    assert answer.json()["estimated_total"] == MANY
    assert wait_until_done(api, answer.json()["bulk_operation_id"])["affected"] == MANY
    assert sum(counts(api, queue)[state] for state in ("pending", "cancelled")) == 0


def test_bulks_are_worked_off_one_after_the_other(api: Api, queue: str) -> None:
    ids = enqueue_many(api, queue, 3000)
    steps = ["hold", "approve", "cancel", "retry"]

    bulk_ids = [begin(api, action, job_ids=ids, **{"async": True}) for action in steps]

    assert [wait_until_done(api, bulk_id)["affected"] for bulk_id in bulk_ids] == [3000] * 4
    assert api.events_of(ids[-1]) == ["enqueued", "held", "approved", "cancelled", "retried"]


def test_a_bulk_belongs_to_its_namespace(api: Api) -> None:
    mine, theirs = {"X-Rookery-Namespace": "mine"}, {"X-Rookery-Namespace": "theirs"}
    answer = api.post("/jobs/bulk", {"action": "delete", "async": True}, headers=mine)
    path = f"/bulk/{answer.json()['bulk_operation_id']}"

    assert api.get(path, headers=mine).status_code == api.get(path).status_code == 200
    assert_refused(api.get(path, headers=theirs), 404, "NOT_FOUND")
    assert_refused(api.get(f"{path}/progress", headers=theirs), 404, "NOT_FOUND")
    assert_refused(api.post(f"{path}/cancel", headers=theirs), 404, "NOT_FOUND")


# --- progress


def test_progress_is_told_after_each_chunk_until_the_end(api: Api, queue: str) -> None:
    ids = enqueue_many(api, queue, 20_000)
    begin(api, "hold", job_ids=ids)
    bulk_id = begin(api, "approve", job_ids=ids)

    with following(api, bulk_id) as stream:
        events = list(stream)

    types = [event["type"].removeprefix("bulk.async.") for event in events]
    assert types == ["started", *["progress"] * (len(events) - 2), "completed"]
    assert len(events) > 3
    assert {event["task_id"] for event in events} == {bulk_id}
    assert {event["total"] for event in events} == {20_000}
    assert [event["status"] for event in events] == ["running"] * (len(events) - 1) + ["completed"]
    processed = [event["processed"] for event in events]
    assert processed == sorted(processed)
    assert len(set(processed[1:-1])) == len(processed) - 2
    assert events[-1]["processed"] == events[-2]["processed"] == 20_000
    assert all(event["percent"] == pytest.approx(event["processed"] / 200, abs=0.01) for event in events)
    assert all(event["created_at_ns"] > 1_700_000_000 * 10**9 for event in events)
    assert not any("error" in event for event in events)


def test_of_a_finished_bulk_only_the_end_is_told(api: Api, queue: str) -> None:
    bulk_id = begin(api, "delete", job_ids=[api.enqueue(queue)], **{"async": True})
    wait_until_done(api, bulk_id)

    with following(api, bulk_id) as stream:
        [event] = stream

    assert event["type"] == "bulk.async.completed"
    assert (event["affected"], event["percent"]) == (1, 100)


def test_each_frame_is_a_chunk_of_its_own(api: Api, queue: str) -> None:
    bulk_id = begin(api, "hold", job_ids=enqueue_many(api, queue, 12_000))

    with httpx.stream("GET", f"{api.server.url}/api/v1/bulk/{bulk_id}/progress", timeout=60) as answer:
        assert answer.headers["Transfer-Encoding"] == "chunked"
        text = "".join(answer.iter_text())

    assert text.endswith("\n\n")
    assert text.count("event: bulk.async.") == text.count("data: {") == text.count("\n\n")


# --- cancelling


def test_a_cancelled_bulk_stops_and_says_what_it_had_done(api: Api, queue: str) -> None:
    ids = enqueue_many(api, queue, 30_000)
    bulk_id = begin(api, "hold", job_ids=ids)
    with following(api, bulk_id) as stream:
        next(stream)
        answer = api.post(f"/bulk/{bulk_id}/cancel")
        last = list(stream)[-1]

    assert answer.status_code == 200, answer.text
    assert answer.json().keys() == VIEW
    assert (answer.json()["status"], answer.json()["error"]) == ("failed", "cancelled")
    assert (last["type"], last["error"], last["status"]) == ("bulk.async.failed", "cancelled", "failed")
    assert view(api, bulk_id) == answer.json()
    assert counts(api, queue)["held"] == answer.json()["affected"] < 30_000
    assert_refused(api.post(f"/bulk/{bulk_id}/cancel"), 400, "BULK_ERROR", "failed")


def test_a_waiting_bulk_can_be_cancelled_before_it_begins(api: Api, queue: str) -> None:
    ids = enqueue_many(api, queue, 20_000)
    busy = begin(api, "hold", job_ids=ids)
    waiting = begin(api, "delete", job_ids=ids)

    answer = api.post(f"/bulk/{waiting}/cancel")

    assert (answer.json()["status"], answer.json()["affected"]) == ("failed", 0)
    assert wait_until_done(api, busy)["affected"] == 20_000


def test_a_completed_bulk_cannot_be_cancelled(api: Api) -> None:
    bulk_id = begin(api, "delete", **{"async": True})
    wait_until_done(api, bulk_id)

    assert_refused(api.post(f"/bulk/{bulk_id}/cancel"), 400, "BULK_ERROR", "completed")


# --- stopping and starting


def test_a_bulk_goes_on_after_a_restart(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server("--rate-limit-enabled=false")
    api = Api(server)
    ids = enqueue_many(api, "q", 20_000)
    bulk_id = begin(api, "cancel", job_ids=ids)
    wait_for(lambda: view(api, bulk_id)["processed"] > 0)
    assert server.stop() == 0

    server.start()

    done = wait_until_done(api, bulk_id)
    assert (done["status"], done["processed"], done["affected"], done["errors"]) == ("completed", 20_000, 20_000, 0)
    assert counts(api, "q")["cancelled"] == 20_000
