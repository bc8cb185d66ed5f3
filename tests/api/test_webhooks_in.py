"""Webhooks in: whatever somebody else sends becomes a job."""

from typing import Any

import pytest

from tests.api.expectations import FAR_FUTURE, assert_refused
from tests.api.test_namespaces import Tenant
from tests.conftest import Api, ServerProcess


@pytest.mark.parametrize(
    ("body", "payload"),
    [
        (b"", {}),
        (b'{"a": [1, 2.5, null]}', {"a": [1, 2.5, None]}),
        (b"[]", []),
        (b"17", 17),
        (b"null", None),
        (b'"text"', "text"),
        (b"hello", "hello"),
        (b'{"a": 1', '{"a": 1'),
        (b"a=1&b=2", "a=1&b=2"),
        (b"   ", "   "),
        ("grüße ☃ \x00\n".encode(), "grüße ☃ \x00\n"),
    ],
)
def test_json_is_the_payload_and_other_text_a_string(api: Api, queue: str, body: bytes, payload: Any) -> None:
    answer = api.post(f"/webhooks/{queue}", content=body)
    assert answer.status_code == 201, answer.text
    assert answer.json() == {"job_id": answer.json()["job_id"], "status": "pending", "unique_existing": False}
    job = api.job(answer.json()["job_id"])
    assert (job["queue"], job["payload"]) == (queue, payload)
    assert (job["priority"], job["max_retries"], job["tags"]) == (2, 3, None)
    assert api.events_of(job["id"]) == ["enqueued"]


def test_the_query_says_what_the_body_cannot(api: Api, queue: str) -> None:
    query = {
        "priority": "high",
        "unique_key": "k",
        "max_retries": "7",
        "scheduled_at": FAR_FUTURE,
        "tags": "source:github,ref:refs/heads/main, when :12:30,empty:",
    }
    answer = api.post(f"/webhooks/{queue}", {"n": 1}, params=query)
    assert (answer.status_code, answer.json()["status"]) == (201, "scheduled")
    job = api.job(answer.json()["job_id"])
    assert (job["priority_name"], job["unique_key"], job["max_retries"]) == ("high", "k", 7)
    assert job["scheduled_at"] == "2090-01-01T00:00:00.000Z"
    assert job["tags"] == {"source": "github", "ref": "refs/heads/main", "when": "12:30", "empty": ""}

    again = api.post(f"/webhooks/{queue}", {"n": 2}, params=query)
    assert (again.status_code, again.json()) == (
        200,
        {"job_id": job["id"], "status": "duplicate", "unique_existing": True},
    )


@pytest.mark.parametrize(("priority", "rank"), [("0", 0), ("1", 1), ("critical", 0), ("low", 2), ("7", 2), ("", 2)])
def test_a_priority_is_a_name_or_a_number(api: Api, queue: str, priority: str, rank: int) -> None:
    job_id = api.post(f"/webhooks/{queue}", params={"priority": priority}).json()["job_id"]
    assert api.job(job_id)["priority"] == rank


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("max_retries", "many"),
        ("max_retries", "1.5"),
        ("max_retries", "-1"),
        ("max_retries", "9999999999"),
        ("scheduled_at", "tomorrow"),
        ("scheduled_at", "2026-02-30T00:00:00Z"),
        ("tags", "novalue"),
        ("tags", "a:b,,c:d"),
        ("tags", ":b"),
    ],
)
def test_a_wrong_parameter_is_named_and_nothing_is_added(api: Api, queue: str, field: str, value: str) -> None:
    assert_refused(api.post(f"/webhooks/{queue}", {}, params={field: value}), 400, "VALIDATION_ERROR", field)
    assert api.fetch(queue, timeout=0.01) is None


def test_what_is_neither_json_nor_text_is_refused(api: Api, queue: str) -> None:
    assert_refused(api.post(f"/webhooks/{queue}", content=b"\xff\xfe\x00"), 400, "VALIDATION_ERROR", "UTF-8")
    assert_refused(api.post(f"/webhooks/{queue}", content=b"[" * 5000 + b"]" * 5000), 400, "VALIDATION_ERROR", "deep")
    assert_refused(api.post(f"/webhooks/{queue}", content=b"[" * 500 + b"]" * 500), 400, "VALIDATION_ERROR", "deep")
    assert api.fetch(queue, timeout=0.01) is None


def test_the_payload_has_its_usual_limit(api: Api, queue: str) -> None:
    fits, too_long = b"x" * (262_144 - 2), b"x" * (262_144 - 1)
    assert api.post(f"/webhooks/{queue}", content=fits).status_code == 201
    assert_refused(api.post(f"/webhooks/{queue}", content=too_long), 413, "PAYLOAD_TOO_LARGE", "payload")


def test_a_body_has_at_most_four_mebibytes(start_server: Any) -> None:
    api = Api(start_server("--max-payload-size", "0"))
    assert api.post("/webhooks/q", content=b" " * ((4 << 20) - 2) + b"{}").status_code == 201
    assert_refused(api.post("/webhooks/q", content=b" " * ((4 << 20) - 1) + b"{}"), 413, "PAYLOAD_TOO_LARGE")


def test_a_queue_may_have_any_name(api: Api) -> None:
    answer = api.post("/webhooks/a%2Fb%20c", {"n": 1})
    assert api.job(answer.json()["job_id"])["queue"] == "a/b c"
    assert_refused(api.post("/webhooks/%20"), 400, "VALIDATION_ERROR", "queue")
    assert_refused(api.post(f"/webhooks/{'x' * 256}"), 400, "VALIDATION_ERROR", "queue")


def test_a_job_lands_in_the_callers_namespace(server: ServerProcess, api: Api, queue: str) -> None:
    tenant = Tenant(server, "inbound")
    job_id = tenant.post(f"/webhooks/{queue}", {"n": 1}).json()["job_id"]
    assert tenant.job(job_id)["queue"] == queue
    assert api.job(job_id)["queue"] == f"inbound::{queue}"
    assert_refused(tenant.post("/webhooks/other::q"), 400, "VALIDATION_ERROR", "::")


def test_an_idempotency_key_works_as_for_enqueue(api: Api, queue: str) -> None:
    headers = {"Idempotency-Key": queue}
    first = api.post(f"/webhooks/{queue}", {"n": 1}, headers=headers)
    again = api.post(f"/webhooks/{queue}", {"n": 1}, headers=headers)
    assert again.json() == first.json()
    other = api.post(f"/webhooks/{queue}", {"n": 1}, headers=headers, params={"priority": "high"})
    assert_refused(other, 422, "IDEMPOTENCY_MISMATCH")
    assert_refused(api.post(f"/webhooks/{queue}", {"n": 2}, headers=headers), 422, "IDEMPOTENCY_MISMATCH")


def test_what_is_meant_for_a_webhook_does_not_become_a_job(api: Api) -> None:
    webhook_id = api.post("/webhooks", {"url": "http://example.com/", "enabled": False}).json()["id"]
    assert_refused(
        api.post(f"/webhooks/{webhook_id}", {"enabled": True}), 400, "WEBHOOK_ERROR", "POST /api/v1/webhooks"
    )
    assert webhook_id not in {queue["name"] for queue in api.get("/queues").json()}
