"""The description of the API, and the page that shows it."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.api.expectations import assert_refused
from tests.conftest import ServerProcess


@pytest.fixture(scope="module")
def document(server: ServerProcess) -> dict[str, Any]:
    answer = server.http.get("/openapi.json")
    assert answer.status_code == 200
    assert answer.headers["Cache-Control"] == "public, max-age=300"
    assert answer.headers["Content-Type"].startswith("application/json")
    return dict(answer.json())


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("post", "/enqueue"),
        ("post", "/enqueue/batch"),
        ("post", "/fetch"),
        ("post", "/fetch/batch"),
        ("post", "/ack/{}"),
        ("post", "/ack/batch"),
        ("post", "/fail/{}"),
        ("post", "/heartbeat"),
        ("post", "/release/{}"),
        ("get", "/jobs/{}"),
        ("get", "/jobs/{}/wait"),
        ("delete", "/jobs/{}"),
        ("post", "/jobs/{}/retry"),
        ("post", "/jobs/{}/cancel"),
        ("post", "/jobs/{}/move"),
        ("post", "/jobs/{}/hold"),
        ("post", "/jobs/{}/approve"),
        ("post", "/jobs/{}/reject"),
        ("post", "/jobs/bulk"),
        ("get", "/bulk/{}"),
        ("get", "/bulk/{}/progress"),
        ("post", "/bulk/{}/cancel"),
        ("get", "/queues"),
        ("get", "/queues/{}"),
        ("delete", "/queues/{}"),
        ("post", "/queues/{}/pause"),
        ("post", "/queues/{}/resume"),
        ("post", "/queues/{}/clear"),
        ("post", "/queues/{}/drain"),
        ("post", "/queues/{}/concurrency"),
        ("post", "/queues/{}/throttle"),
        ("delete", "/queues/{}/throttle"),
        ("post", "/jobs/search"),
        ("post", "/jobs/bulk-get"),
        ("get", "/dead"),
        ("get", "/search/fulltext"),
        ("get", "/jobs/{}/why"),
        ("post", "/jobs/{}/logs"),
        ("get", "/jobs/{}/logs"),
        ("get", "/jobs/{}/logs/stream"),
        ("get", "/schedules"),
        ("post", "/schedules"),
        ("get", "/schedules/{}"),
        ("put", "/schedules/{}"),
        ("delete", "/schedules/{}"),
        ("post", "/schedules/{}/pause"),
        ("post", "/schedules/{}/resume"),
        ("post", "/schedules/{}/run"),
        ("get", "/metrics"),
        ("get", "/metrics/throughput"),
        ("get", "/cluster/status"),
        ("post", "/cluster/join"),
        ("get", "/debug/runtime"),
        ("post", "/admin/rebuild-sqlite"),
        ("get", "/admin/backup"),
        ("post", "/admin/restore"),
        ("get", "/admin/snapshot"),
        ("get", "/workers"),
        ("post", "/workers/{}"),
        ("get", "/batches/{}"),
        ("get", "/events"),
        ("get", "/cluster/events"),
        ("get", "/info"),
        ("get", "/webhooks"),
        ("post", "/webhooks"),
        ("post", "/webhooks/{}"),
        ("get", "/webhooks/{}"),
        ("delete", "/webhooks/{}"),
        ("get", "/webhooks/{}/deliveries"),
        ("post", "/webhooks/{}/test"),
    ],
)
def test_every_call_is_described(document: dict[str, Any], method: str, path: str) -> None:
    described = {re.sub(r"{\w+}", "{}", name): calls for name, calls in document["paths"].items()}
    call = described[f"/api/v1{path}"][method]
    assert call["summary"]
    assert call["operationId"]
    assert call["responses"]


def test_the_description_is_openapi(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.")
    assert document["info"]["title"] == "Rookery"
    operations = [call["operationId"] for calls in document["paths"].values() for call in calls.values()]
    assert len(operations) == len(set(operations))


def test_every_reference_of_the_description_leads_somewhere(document: dict[str, Any]) -> None:
    def references(node: Any) -> set[str]:
        if isinstance(node, dict):
            own = {node["$ref"]} if "$ref" in node else set()
            return own.union(*(references(value) for value in node.values()))
        if isinstance(node, list):
            return set().union(*(references(value) for value in node))
        return set()

    names = {reference.removeprefix("#/components/schemas/") for reference in references(document)}
    assert names <= document["components"]["schemas"].keys()


@pytest.mark.parametrize(
    "field",
    [
        "queue",
        "payload",
        "priority",
        "unique_key",
        "max_retries",
        "scheduled_at",
        "expire_after",
        "tags",
        "chain",
        "depends_on",
        "job_id",
        "unique_on_conflict",
        "max_lost_leases",
        "agent",
        "checkpoint",
        "parent_id",
    ],
)
def test_the_fields_of_a_new_job_are_described(document: dict[str, Any], field: str) -> None:
    content = document["paths"]["/api/v1/enqueue"]["post"]["requestBody"]["content"]
    schema = content["application/json"]["schema"]
    schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    assert field in schema["properties"]


def test_the_page_works_without_the_internet(server: ServerProcess) -> None:
    answer = server.http.get("/docs")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("text/html")
    assert "openapi.json" in answer.text
    outside = re.findall(r"""(?:src|href|@import|url\()\s*=?\s*["'(]?\s*((?:https?:)?//[^"'\s)>]+)""", answer.text)
    assert outside == []


@pytest.mark.parametrize("path", ["/docs", "/openapi.json"])
def test_documentation_can_be_switched_off(start_server: Callable[..., ServerProcess], path: str) -> None:
    server = start_server("--docs-enabled=false")
    assert_refused(server.http.get(path), 404, "NOT_FOUND")
    assert server.http.get("/healthz").status_code == 200


def test_what_a_request_must_have_is_marked_as_required(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    assert schemas["EnqueueRequest"]["required"] == ["queue"]
    assert schemas["ScheduleRequest"]["required"] == ["cron", "name", "queue"]
    assert not schemas["ScheduleChanges"].get("required")
