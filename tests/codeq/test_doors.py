"""Every endpoint asks for the token it should, against a real server."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from rookery.http.codeq.auth import WORKER_SCOPES
from rookery.http.codeq.call import Route
from rookery.http.codeq.face import ROUTES
from tests.codeq.conftest import Codeq, StartCodeq, assert_error, codeq_variables
from tests.codeq.identity import ISSUER, IdentityService, sign
from tests.codeq.test_auth import static
from tests.conftest import ServerProcess

GUARDED = [route for route in ROUTES if route.who != "anyone"]
TOKENS = static(
    producer=["producer", {"token": "admin", "subject": "admin", "raw": {"role": "ADMIN"}}],
    worker=[
        {"token": "worker", "subject": "w", "eventTypes": ["*"], "scopes": sorted(WORKER_SCOPES)},
        {"token": "idle", "subject": "i", "eventTypes": ["*"], "scopes": ["codeq:nothing"]},
    ],
)
WELCOME = {
    "producer": {"producer", "admin"},
    "worker": {"worker"},
    "either": {"producer", "admin", "worker", "idle"},
    "admin": {"admin"},
}


@pytest.fixture(scope="module")
def codeq(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Codeq]:
    with codeq_variables(TOKENS):
        server = ServerProcess(tmp_path_factory.mktemp("doors") / "data")
    yield Codeq(server)
    server.kill()


def name_of(route: Route) -> str:
    return f"{route.method} {route.path}"


def call(codeq: Codeq, token: str | None, route: Route) -> Any:
    path = route.path.replace("{", "").replace("}", "")
    body = {"json": {}} if route.method == "POST" else {}
    return codeq.like(token).call(route.method, path, **body)


@pytest.mark.parametrize("route", GUARDED, ids=name_of)
def test_an_endpoint_is_for_those_it_is_for(codeq: Codeq, route: Route) -> None:
    assert_error(call(codeq, None, route), 401, "missing Authorization header")
    assert_error(call(codeq, "nobody", route), 401)
    for token in ("producer", "admin", "worker", "idle"):
        answer = call(codeq, token, route)
        if token in WELCOME[route.who]:
            assert answer.status_code not in (401, 500), answer.text
        elif token == "idle" and route.who == "worker":
            assert_error(answer, 403, "missing scope")
        else:
            assert_error(answer, 401)


@pytest.mark.parametrize(
    ("method", "path", "who", "scope", "limit"),
    [
        ("POST", "/tasks", "producer", None, "producer"),
        ("POST", "/tasks/batch", "producer", None, "producer"),
        ("POST", "/tasks/claim", "worker", "codeq:claim", "worker"),
        ("POST", "/tasks/claim/batch", "worker", "codeq:claim", "worker"),
        ("POST", "/tasks/{id}/heartbeat", "worker", "codeq:heartbeat", None),
        ("POST", "/tasks/{id}/abandon", "worker", "codeq:abandon", None),
        ("POST", "/tasks/{id}/nack", "worker", "codeq:nack", None),
        ("POST", "/tasks/{id}/result", "worker", "codeq:result", None),
        ("POST", "/tasks/batch/results", "worker", "codeq:result", None),
        ("GET", "/tasks/{id}", "either", None, None),
        ("GET", "/tasks/{id}/result", "either", None, None),
        ("GET", "/admin/queues", "admin", None, None),
        ("GET", "/admin/queues/{command}", "admin", None, None),
        ("POST", "/admin/tasks/cleanup", "admin", None, "admin"),
    ],
)
def test_endpoints_are_guarded_as_the_contract_has_it(
    method: str, path: str, who: str, scope: str | None, limit: str | None
) -> None:
    (found,) = [route for route in ROUTES if route.method == method and route.path.replace("{task_id}", "{id}") == path]
    assert (found.who, found.scope, found.limit) == (who, scope, limit)


# --- limits at the door


@pytest.mark.parametrize(
    ("scope", "operation", "token", "calls"),
    [
        ("producer", "create_task", "producer", [("/tasks", {}), ("/tasks/batch", {"tasks": []})]),
        ("worker", "claim", "worker", [("/tasks/claim", {}), ("/tasks/claim/batch", {"count": 1})]),
        ("admin", "cleanup", "admin", [("/admin/tasks/cleanup", {}), ("/admin/tasks/cleanup", {})]),
    ],
)
def test_who_is_over_the_limit_hears_when_to_come_again(
    start_codeq: StartCodeq, scope: str, operation: str, token: str, calls: list[tuple[str, Any]]
) -> None:
    limit = {f"RATE_LIMIT_{scope.upper()}_{name}": "2" for name in ("REQUESTS_PER_MINUTE", "BURST_SIZE")}
    codeq = start_codeq(TOKENS | limit).like(token)
    for path, body in calls:
        assert codeq.post(path, body).status_code != 429
    answer = codeq.post(*calls[0])
    assert answer.status_code == 429
    wait = answer.json()["retryAfterSeconds"]
    assert answer.json() == {
        "error": "rate limit exceeded",
        "scope": scope,
        "operation": operation,
        "retryAfterSeconds": wait,
    }
    assert 1 <= wait <= 30
    assert answer.headers["retry-after"] == str(wait)
    assert codeq.like("admin").get("/admin/queues").status_code == 200
    assert_error(codeq.like("nobody").post(*calls[0]), 401)


def test_a_body_without_end_is_refused_in_codeqs_words(start_codeq: StartCodeq) -> None:
    codeq = start_codeq({}, "--max-payload-size=1000")
    answer = codeq.post("/tasks", {"command": "c", "payload": "x" * 3_000_000})
    assert_error(answer, 413)
    assert answer.headers["x-request-id"]
    assert codeq.get("/admin/queues").json() == {}


# --- from end to end


def test_producer_and_worker_of_one_tenant_meet_and_others_do_not(start_codeq: StartCodeq) -> None:
    workers = [
        {
            "token": f"work-{tenant}",
            "subject": f"w-{tenant}",
            "eventTypes": ["*"],
            "scopes": ["codeq:claim"],
            "raw": {"organization_id": tenant},
        }
        for tenant in ("Ünï", "default")
    ]
    producers = [{"token": "ask", "subject": "p", "raw": {"tenantId": "Ünï", "role": "ADMIN"}}]
    codeq = start_codeq(static(producer=producers, worker=workers) | {"TENANCY_ENABLED": "true"})
    asks = codeq.like("ask")
    task = asks.post("/tasks", {"command": "Draw", "payload": {}})
    assert task.status_code == 202, task.text
    assert task.json()["tenantId"] == "Ünï"
    path = f"/tasks/{task.json()['id']}"
    assert asks.stats("DRAW")["ready"] == 1
    outsider = codeq.like("work-default")
    assert outsider.post("/tasks/claim", {}).status_code == 204
    assert outsider.post("/tasks/claim", {"commands": ["Draw"]}).status_code == 204
    assert_error(outsider.get(path), 404, "not found")
    claimed = codeq.like("work-Ünï").post("/tasks/claim", {})
    assert claimed.status_code == 200, claimed.text
    assert (claimed.json()["command"], claimed.json()["workerId"]) == ("Draw", "w-Ünï")
    assert asks.get(path).json()["status"] == "IN_PROGRESS"


def test_a_producer_works_where_that_is_allowed(start_codeq: StartCodeq) -> None:
    codeq = start_codeq(TOKENS | {"ALLOW_PRODUCER_AS_WORKER": "true"}).like("admin")
    assert codeq.post("/tasks", {"command": "c", "payload": 1}).status_code == 202
    assert codeq.post("/tasks/claim", {"commands": ["c"]}).json()["workerId"] == "admin"


def test_signed_tokens_of_both_sides(start_codeq: StartCodeq) -> None:
    with IdentityService() as identity:
        codeq = start_codeq(
            {
                "IDENTITY_JWKS_URL": identity.url,
                "IDENTITY_AUDIENCE": "codeq",
                "WORKER_JWKS_URL": identity.url,
                "WORKER_ISSUER": ISSUER,
            },
            "--admin-password=secret",
        )
        producer = codeq.like(sign({"aud": "codeq", "sub": "p"}))
        task = producer.post("/tasks", {"command": "Email", "payload": {}}).json()
        claims = {"aud": ["codeq-worker"], "sub": "w", "eventTypes": ["Email"], "scope": "codeq:claim codeq:nack"}
        worker = codeq.like(sign(claims))
        assert_error(worker.post("/tasks/claim", {"commands": ["Sms"]}), 403, "event type not allowed")
        assert_error(worker.post("/tasks/claim", {"commands": ["email"]}), 403, "event type not allowed")
        assert worker.post("/tasks/claim", {}).json()["id"] == task["id"]
        assert_error(
            worker.post(f"/tasks/{task['id']}/result", {"status": "COMPLETED", "result": {}}), 403, "missing scope"
        )
        assert_error(producer.post("/tasks/claim", {}), 401)
        assert_error(worker.post("/tasks", {"command": "a", "payload": 1}), 401)
        assert producer.get(f"/tasks/{task['id']}").json()["workerId"] == "w"
        assert worker.get(f"/tasks/{task['id']}").status_code == 200


def test_strangers_are_told_apart_by_their_tokens(start_codeq: StartCodeq) -> None:
    codeq = start_codeq()
    codeq.post("/tasks", {"command": "c", "payload": json.dumps({})})
    task = codeq.like("one").post("/tasks/claim", {}).json()
    assert task["workerId"] == "one"
    assert_error(codeq.like("two").post(f"/tasks/{task['id']}/nack", {}), 403)
    assert codeq.like("one").post(f"/tasks/{task['id']}/nack", {}).status_code == 200
    codeq.post("/tasks", {"command": "d", "payload": 1})
    assert codeq.post("/tasks/claim", {"commands": ["d"]}).json()["workerId"] == "anonymous"
