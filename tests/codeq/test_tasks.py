"""Creating tasks, one or many, and reading them back."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.codeq.conftest import Codeq, StartCodeq, assert_error
from tests.codeq.steps import claim, complete, create, take, task
from tests.conftest import Api, wait_for

ALWAYS = {"id", "command", "payload", "status", "maxAttempts", "lastKnownLocation", "createdAt", "updatedAt"}


@pytest.fixture
def codeq(open_codeq: Codeq) -> Codeq:
    return open_codeq


@pytest.fixture
def api(codeq: Codeq) -> Api:
    return Api(codeq.server)


# --- the record


def test_a_new_task_is_shown_without_what_is_empty_or_zero(codeq: Codeq, queue: str) -> None:
    answer = codeq.post("/tasks", {"command": queue, "payload": {"a": [1, None]}})

    assert answer.status_code == 202
    created = answer.json()
    assert created.keys() == ALWAYS
    assert UUID(created["id"]).version == 4
    assert (created["command"], created["payload"]) == (queue, '{"a":[1,null]}')
    assert (created["status"], created["maxAttempts"], created["lastKnownLocation"]) == ("PENDING", 5, "PENDING_LIST")
    assert task(codeq, created["id"]) == created


def test_times_are_in_sao_paulo_unless_told_otherwise(codeq: Codeq, queue: str, start_codeq: StartCodeq) -> None:
    elsewhere = start_codeq({"TIMEZONE": "Asia/Kolkata"})

    for there, offset in ((codeq, "-03:00"), (elsewhere, "+05:30")):
        created = create(there, queue)
        for name in ("createdAt", "updatedAt"):
            assert created[name].endswith(offset)
            assert abs(datetime.fromisoformat(created[name]) - datetime.now(UTC)) < timedelta(minutes=1)


def test_what_was_asked_for_is_kept(codeq: Codeq, queue: str) -> None:
    created = create(codeq, queue, priority=7, maxAttempts=2, webhook="http://127.0.0.1:9/hook")

    assert (created["priority"], created["maxAttempts"], created["webhook"]) == (7, 2, "http://127.0.0.1:9/hook")


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        ('{ "b" : 1,\n "a" : { "x" : [ 1 , 2 ] } }', '{"b":1,"a":{"x":[1,2]}}'),
        ("12345678901234567890.12345678901234567890", "12345678901234567890.12345678901234567890"),
        (
            '{"big":123456789012345678901234567890,"small":1e-400}',
            '{"big":123456789012345678901234567890,"small":1e-400}',
        ),
        ('"text with \\"quotes\\" and  spaces"', '"text with \\"quotes\\" and  spaces"'),
        ("[]", "[]"),
        ("false", "false"),
        ("0", "0"),
        ('""', '""'),
    ],
)
def test_a_payload_is_any_json_value_and_comes_back_as_its_compact_text(
    codeq: Codeq, queue: str, payload: str, text: str
) -> None:
    body = f'{{"command": "{queue}", "payload": {payload}}}'
    answer = codeq.call("POST", "/tasks", content=body)

    assert answer.status_code == 202, answer.text
    assert answer.json()["payload"] == text
    assert task(codeq, answer.json()["id"])["payload"] == text
    claimed = claim(codeq, queue)
    assert claimed is not None
    assert claimed["payload"] == text


@pytest.mark.parametrize(
    ("given", "kept"), [(-5, None), (0, None), (1, 1), (9, 9), (10, 9), (42, 9), (10**30, 9), (None, None)]
)
def test_priorities_are_clamped(codeq: Codeq, queue: str, given: int | None, kept: int | None) -> None:
    assert create(codeq, queue, priority=given).get("priority") == kept


@pytest.mark.parametrize(("given", "kept"), [(0, 5), (-3, 5), (None, 5), (1, 1), (10**20, 2**31 - 1)])
def test_a_task_without_a_sensible_number_of_attempts_has_the_default(
    codeq: Codeq, queue: str, given: int | None, kept: int
) -> None:
    assert create(codeq, queue, maxAttempts=given)["maxAttempts"] == kept


def test_a_server_may_have_another_default_of_attempts(start_codeq: StartCodeq) -> None:
    assert create(start_codeq({"MAX_ATTEMPTS_DEFAULT": "8"}), "c")["maxAttempts"] == 8


def test_a_command_keeps_its_spelling_but_is_one_queue_whatever_its_case(codeq: Codeq, queue: str) -> None:
    spelled = queue.upper()
    created = create(codeq, spelled)

    assert created["command"] == spelled
    claimed = claim(codeq, queue)
    assert claimed is not None
    assert (claimed["id"], claimed["command"]) == (created["id"], spelled)


@pytest.mark.parametrize("command", ["with space", "a/b::c", "ünïcode", "x" * 400, "tab\there", "%41"])
def test_any_text_can_be_a_command(codeq: Codeq, command: str) -> None:
    created = create(codeq, command)

    assert created["command"] == command
    assert take(codeq, command, wait=0)["id"] == created["id"]


# --- what is wrong with a request


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("", "invalid body"),
        ("{", "invalid body"),
        ("[]", "invalid body"),
        ("null", "invalid body"),
        ("\xff", "invalid body"),
        ('{"command":"c"}', "invalid body"),
        ('{"command":"c","payload":null}', "invalid body"),
        ('{"command":7,"payload":{}}', "invalid body"),
        ('{"command":"c","payload":"\\ud800"}', "invalid body"),
        ('{"command":"c","payload":{},"priority":"high"}', "invalid body"),
        ('{"command":"c","payload":' + "[" * 250 + "]" * 250 + "}", "invalid body"),
        ('{"payload":{}}', "invalid command"),
        ('{"command":"","payload":{}}', "invalid command"),
        ('{"command":" \\t","payload":{}}', "invalid command"),
        ('{"command":null,"payload":{}}', "invalid command"),
        ('{"command":"c","payload":{},"runAt":"tomorrow"}', "invalid 'runAt' (use RFC3339)"),
        ('{"command":"c","payload":{},"runAt":"2030-01-01"}', "invalid 'runAt' (use RFC3339)"),
        ('{"command":"c","payload":{},"runAt":"2030-01-01T00:00:00"}', "invalid 'runAt' (use RFC3339)"),
        ('{"command":"c","payload":{},"runAt":"2030-01-01 00:00:00Z"}', "invalid 'runAt' (use RFC3339)"),
        ('{"command":"c","payload":{},"runAt":"2030-01-01T00:00:00-0300"}', "invalid 'runAt' (use RFC3339)"),
        ('{"command":"c","payload":{},"runAt":"2030-01-01T00:00:00,5Z"}', "invalid 'runAt' (use RFC3339)"),
        ('{"command":"c","payload":{},"runAt":"2030-02-30T00:00:00Z"}', "invalid 'runAt' (use RFC3339)"),
        ('{"command":"c","payload":{},"delaySeconds":-1}', "invalid 'delaySeconds' (must be >= 0)"),
        ('{"command":"c","payload":{},"webhook":"ftp://host/x"}', "invalid webhook url"),
        ('{"command":"c","payload":{},"webhook":"/relative"}', "invalid webhook url"),
        ('{"command":"c","payload":{},"webhook":"http://"}', "invalid webhook url"),
    ],
)
def test_a_bad_request_says_what_is_wrong_and_adds_nothing(codeq: Codeq, body: str, text: str) -> None:
    api = Api(codeq.server)
    before = api.post("/jobs/search", {"limit": 1}).json()["total"]

    assert_error(codeq.call("POST", "/tasks", content=body.encode("latin-1")), 400, text)

    assert api.post("/jobs/search", {"limit": 1}).json()["total"] == before
    assert claim(codeq, "c") is None


def test_unknown_keys_are_ignored_and_null_is_the_same_as_nothing(codeq: Codeq, queue: str) -> None:
    created = create(
        codeq, queue, tenantId="mine", status="FAILED", colour="red", webhook=None, runAt=None, idempotencyKey=""
    )

    assert created.keys() == ALWAYS
    assert created["status"] == "PENDING"


def test_a_payload_over_the_limit_is_refused(start_codeq: StartCodeq) -> None:
    codeq = start_codeq({}, "--max-payload-size", "1024")

    answer = codeq.post("/tasks", {"command": "c", "payload": "x" * 1024})

    assert_error(answer, 413)
    assert create(codeq, "c", "x" * 1000)


# --- later


def test_a_delayed_task_is_pending_and_comes_when_it_is_due(codeq: Codeq, queue: str) -> None:
    created = create(codeq, queue, delaySeconds=1)

    assert (created["status"], created["lastKnownLocation"]) == ("PENDING", "DELAYED_ZSET")
    assert claim(codeq, queue) is None
    assert codeq.stats(queue)["delayed"] == 1
    assert take(codeq, queue)["id"] == created["id"]


def test_a_time_to_run_at_wins_over_a_delay(codeq: Codeq, queue: str) -> None:
    past = create(codeq, queue, runAt="1969-07-20T20:17:40Z", delaySeconds=-9)
    far = create(codeq, queue, runAt="2100-01-01T00:00:00.5+02:00", delaySeconds=0)
    soon = create(codeq, queue, runAt=(datetime.now(UTC) + timedelta(seconds=1)).isoformat())

    assert [take(codeq, queue)["id"] for _ in range(2)] == [past["id"], soon["id"]]
    assert task(codeq, far["id"])["lastKnownLocation"] == "DELAYED_ZSET"


def test_a_delay_of_ages_is_as_long_as_time_lasts(codeq: Codeq, queue: str) -> None:
    assert create(codeq, queue, delaySeconds=10**18)["lastKnownLocation"] == "DELAYED_ZSET"


def test_a_task_that_becomes_ready_goes_to_the_tail_of_its_tier(codeq: Codeq, queue: str) -> None:
    delayed = create(codeq, queue, delaySeconds=1)
    ready = create(codeq, queue)
    wait_for(lambda: codeq.stats(queue)["ready"] == 2)

    assert [take(codeq, queue)["id"] for _ in range(2)] == [ready["id"], delayed["id"]]


# --- trace context


def test_the_callers_trace_context_is_kept_with_the_task(codeq: Codeq, queue: str) -> None:
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    headers = {"traceparent": parent, "tracestate": "vendor=value,other=1"}
    body = {"command": queue, "payload": {}}

    created = codeq.post("/tasks", body, headers=headers).json()
    assert (created["traceParent"], created["traceState"]) == (parent, "vendor=value,other=1")
    assert task(codeq, created["id"])["traceState"] == "vendor=value,other=1"

    nonsense = codeq.post("/tasks", body, headers={"traceparent": "nonsense", "tracestate": "a=b"}).json()
    assert nonsense.keys() == ALWAYS


# --- many at once


def test_each_task_of_a_batch_stands_alone(codeq: Codeq, queue: str) -> None:
    items: list[Any] = [
        {"command": queue, "payload": {"n": 1}},
        {"command": "", "payload": {}},
        {"command": queue},
        7,
        {"command": queue, "payload": {}, "webhook": "nonsense"},
        {"command": queue, "payload": {"n": 2}, "priority": 99},
    ]
    answer = codeq.post("/tasks/batch", {"tasks": items})

    assert answer.status_code == 200
    results = answer.json()["results"]
    assert [item.get("error") for item in results] == [
        *(None, "invalid command", "invalid body", "invalid body", "invalid webhook url", None),
    ]
    assert [item["task"]["payload"] for item in results if "task" in item] == ['{"n":1}', '{"n":2}']
    assert results[5]["task"]["priority"] == 9
    assert codeq.stats(queue)["ready"] == 2


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({}, "invalid body"),
        ({"tasks": []}, "invalid body"),
        ({"tasks": None}, "invalid body"),
        ({"tasks": {}}, "invalid body"),
        ({"tasks": [{"command": "c", "payload": 1}] * 101}, "batch size exceeds maximum of 100"),
    ],
)
def test_a_batch_is_neither_empty_nor_too_large(codeq: Codeq, body: Any, text: str) -> None:
    assert_error(codeq.post("/tasks/batch", body), 400, text)
    assert claim(codeq, "c") is None


def test_a_hundred_tasks_are_added_in_their_order(codeq: Codeq, queue: str) -> None:
    items = [{"command": queue, "payload": n} for n in range(100)]

    results = codeq.post("/tasks/batch", {"tasks": items}).json()["results"]

    assert [item["task"]["payload"] for item in results] == [str(n) for n in range(100)]
    assert [take(codeq, queue)["payload"] for _ in range(3)] == ["0", "1", "2"]


# --- reading


@pytest.mark.parametrize("task_id", ["no-such-task", "00000000-0000-4000-8000-000000000000", "%00", "..", "a%2Fb"])
def test_a_task_that_is_not_there_is_not_found(codeq: Codeq, task_id: str) -> None:
    assert_error(codeq.get(f"/tasks/{task_id}"), 404)


def test_not_found_is_said_like_this(codeq: Codeq) -> None:
    assert_error(codeq.get("/tasks/nowhere"), 404, "not found")


# --- beside the native API


def test_a_task_is_a_job_of_its_commands_queue(codeq: Codeq, api: Api, queue: str) -> None:
    created = create(codeq, queue.upper(), {"a": 1}, priority=9)

    job = api.job(created["id"])
    assert (job["queue"], job["payload"], job["state"], job["priority"]) == (queue, {"a": 1}, "pending", -7)
    fetched = api.fetch(queue, worker_id="native")
    assert fetched is not None
    assert fetched["job_id"] == created["id"]
    shown = task(codeq, created["id"])
    assert (shown["status"], shown["workerId"], shown["attempts"]) == ("IN_PROGRESS", "native", 1)


def test_a_native_job_can_be_claimed_and_finished_as_a_task(codeq: Codeq, api: Api, queue: str) -> None:
    job_id = api.enqueue(queue, {"n": 10**18}, priority="critical")

    claimed = take(codeq.like("w1"), queue)
    assert (claimed["id"], claimed["command"], claimed["payload"]) == (job_id, queue, '{"n":1000000000000000000}')
    assert (claimed["priority"], claimed["maxAttempts"]) == (2, 3)
    answer = codeq.like("w1").post(f"/tasks/{job_id}/result", {"status": "COMPLETED", "result": {"done": True}})
    assert answer.status_code == 200, answer.text
    assert (api.job(job_id)["state"], api.job(job_id)["result"]) == ("completed", {"done": True})


@pytest.mark.parametrize("first", ["", "claimed"])
def test_what_is_cancelled_natively_has_failed(codeq: Codeq, api: Api, queue: str, first: str) -> None:
    task_id = create(codeq, queue)["id"]
    if first:
        take(codeq, queue)

    assert api.post(f"/jobs/{task_id}/cancel").status_code == 200

    shown = task(codeq, task_id)
    assert (shown["status"], shown["error"], shown["lastKnownLocation"]) == ("FAILED", "CANCELLED", "NONE")
    assert "workerId" not in shown
    assert_error(codeq.get(f"/tasks/{task_id}/result"), 404, "result not found")
    assert_error(codeq.post(f"/tasks/{task_id}/heartbeat", {}), 403, "not-owner")


def test_what_is_held_natively_is_pending(codeq: Codeq, api: Api, queue: str) -> None:
    task_id = create(codeq, queue)["id"]

    assert api.post(f"/jobs/{task_id}/hold").status_code == 200

    assert task(codeq, task_id)["status"] == "PENDING"
    assert claim(codeq, queue) is None


def test_what_has_expired_natively_has_failed(codeq: Codeq, api: Api, queue: str) -> None:
    job_id = api.enqueue(queue, expire_after="10ms")

    wait_for(lambda: task(codeq, job_id)["status"] == "FAILED")
    assert task(codeq, job_id)["error"] == "EXPIRED"


def test_what_is_moved_natively_has_the_command_of_its_new_queue(codeq: Codeq, api: Api, queue: str) -> None:
    task_id = create(codeq, queue)["id"]

    assert api.post(f"/jobs/{task_id}/move", {"queue": f"{queue}-2"}).status_code == 200

    assert task(codeq, task_id)["command"] == f"{queue}-2"


def test_what_is_retried_natively_has_all_its_attempts_again(codeq: Codeq, api: Api, queue: str) -> None:
    task_id = create(codeq, queue, maxAttempts=1)["id"]
    take(codeq, queue)
    codeq.post(f"/tasks/{task_id}/nack", {"reason": "no luck"})
    assert task(codeq, task_id)["error"] == "no luck"

    assert api.post(f"/jobs/{task_id}/retry").status_code == 200

    shown = task(codeq, task_id)
    assert shown["status"] == "PENDING"
    assert not {"error", "attempts"} & shown.keys()
    assert take(codeq, queue)["attempts"] == 1


def test_a_backup_brings_tasks_back_as_they_were(start_codeq: StartCodeq) -> None:
    source, target = start_codeq({}, data="source"), start_codeq({}, data="target")
    hook, command = "http://127.0.0.1:9/hook", "Some::Command"
    ids = [create(source, command, {"n": n}, webhook=hook, maxAttempts=1)["id"] for n in range(4)]
    for _ in range(3):
        take(source, command)
    complete(source, ids[0], artifacts=[{"name": "a", "url": "http://a/"}])
    source.post(f"/tasks/{ids[1]}/result", {"status": "FAILED", "error": "no"})
    source.post(f"/tasks/{ids[2]}/nack", {"reason": "tired"})

    document = Api(source.server).get("/admin/backup").json()
    assert Api(target.server).post("/admin/restore", document).status_code == 200

    for task_id in ids:
        assert task(target, task_id) | {"updatedAt": ""} == task(source, task_id) | {"updatedAt": ""}
    for task_id in ids[:2]:
        results = [codeq.get(f"/tasks/{task_id}/result").json()["result"] for codeq in (source, target)]
        assert results[0] == results[1]
    assert target.stats(command) == source.stats(command)

    document["jobs"][0]["internal"]["callback"] = "ftp://nowhere/"
    refused = Api(target.server).post("/admin/restore", document)
    assert refused.status_code == 400
    assert "callback" in refused.json()["error"]


# --- for admins


def test_a_dead_letter_can_be_put_back_but_a_failed_result_cannot(codeq: Codeq, queue: str) -> None:
    dead, failed, fresh = (create(codeq, queue, maxAttempts=1)["id"] for _ in range(3))
    for _ in range(2):
        take(codeq, queue)
    codeq.post(f"/tasks/{dead}/nack", {})
    codeq.post(f"/tasks/{failed}/result", {"status": "FAILED", "error": "no"})
    assert codeq.stats(queue) == {"command": queue, "ready": 1, "delayed": 0, "inProgress": 0, "dlq": 1}

    answer = codeq.post(f"/tasks/{dead}/requeue")
    assert (answer.status_code, answer.json()) == (200, {"status": "requeued"})
    assert task(codeq, dead)["status"] == "PENDING"
    for task_id in (failed, fresh):
        assert_error(codeq.post(f"/tasks/{task_id}/requeue"), 409, "not-in-dlq")
    assert_error(codeq.post("/tasks/nowhere/requeue"), 404, "not-found")


def test_tasks_of_a_status_can_be_listed(codeq: Codeq, queue: str) -> None:
    first, second, third = (create(codeq, queue, maxAttempts=1)["id"] for _ in range(3))
    take(codeq, queue)
    codeq.post(f"/tasks/{first}/nack", {})

    def listed(**query: str) -> list[str]:
        answer = codeq.get("/admin/tasks", params={"command": queue.upper(), **query})
        assert answer.status_code == 200, answer.text
        return [task["id"] for task in answer.json()["tasks"]]

    assert listed(status="FAILED") == [first]
    assert listed(status="pending") == [third, second]
    assert listed() == [third, second, first]
    assert listed(limit="1") == [third]
    assert_error(codeq.get("/admin/tasks", params={"status": "DELAYED"}), 400, "invalid status")
    assert_error(codeq.get("/admin/tasks", params={"limit": "-1"}), 400)


def test_retrying_all_dead_jobs_natively_spares_failed_results(codeq: Codeq, api: Api, queue: str) -> None:
    dead, failed = (create(codeq, queue, maxAttempts=1)["id"] for _ in range(2))
    for _ in range(2):
        take(codeq, queue)
    codeq.post(f"/tasks/{dead}/nack", {})
    codeq.post(f"/tasks/{failed}/result", {"status": "FAILED", "error": "no"})

    def retry(**which: Any) -> int:
        answer = api.post("/jobs/bulk", {"action": "retry", **which})
        assert answer.status_code == 200, answer.text
        affected: int = answer.json()["affected"]
        return affected

    assert retry(filter={"queue": queue, "state": ["dead"]}) == 1
    assert (task(codeq, dead)["status"], task(codeq, failed)["status"]) == ("PENDING", "FAILED")
    assert retry(job_ids=[failed]) == 1
    assert task(codeq, failed)["status"] == "PENDING"


# --- tenants

TENANTS = [
    {"token": f"{side}-{name}", "subject": f"{side}-{name}", "raw": {"tenantId": name}}
    for side in ("p", "w")
    for name in ("acme", "Other Inc")
]


@pytest.fixture
def tenants(start_codeq: StartCodeq) -> Codeq:
    workers = [{**token, "eventTypes": ["*"], "scopes": ["codeq:claim", "codeq:result"]} for token in TENANTS[2:]]
    return start_codeq(
        {
            "TENANCY_ENABLED": "true",
            "PRODUCER_AUTH_PROVIDER": "static",
            "PRODUCER_AUTH_CONFIG": json.dumps(TENANTS[:2]),
            "WORKER_AUTH_PROVIDER": "static",
            "WORKER_AUTH_CONFIG": json.dumps(workers),
        }
    )


def test_tenants_do_not_see_each_others_tasks(tenants: Codeq) -> None:
    acme, other = tenants.like("p-acme"), tenants.like("p-Other Inc")
    created = create(acme, "Mail", idempotencyKey="k", tenantId="Other Inc")

    assert created["tenantId"] == "acme"
    assert_error(other.get(f"/tasks/{created['id']}"), 404, "not found")
    assert claim(tenants.like("w-Other Inc"), "Mail") is None
    assert claim(tenants.like("w-Other Inc")) is None
    theirs = create(other, "Mail", idempotencyKey="k")
    assert (theirs["tenantId"], theirs["id"] == created["id"]) == ("Other Inc", False)
    worker = tenants.like("w-acme")
    assert take(worker)["id"] == created["id"]
    assert_error(
        tenants.like("w-Other Inc").post(f"/tasks/{created['id']}/result", {"status": "COMPLETED", "result": {}}),
        404,
        "task not found",
    )
    complete(worker, created["id"])
    assert_error(other.get(f"/tasks/{created['id']}/result"), 404, "task not found")
    assert acme.get(f"/tasks/{created['id']}/result").status_code == 200
