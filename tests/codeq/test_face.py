"""The door itself: paths, errors, request ids, the switch, and what lies outside it."""

import re
from collections.abc import Callable

import pytest

from tests.codeq.conftest import Codeq, StartCodeq, assert_error
from tests.conftest import ServerProcess


def test_an_unknown_path_is_404_in_codeqs_words(open_codeq: Codeq) -> None:
    for path in ("", "/", "/nothing", "/admin", "/admin/queues/a/b"):
        assert_error(open_codeq.get(path), 404, "not found")


def test_a_wrong_method_is_405_in_codeqs_words(open_codeq: Codeq) -> None:
    answer = open_codeq.post("/admin/queues", {})
    assert_error(answer, 405)
    assert answer.headers["allow"] == "GET"
    assert open_codeq.call("PUT", "/tasks").headers["allow"] == "POST"


def test_what_only_begins_like_it_is_not_codeqs(open_codeq: Codeq) -> None:
    answer = open_codeq.server.http.get("/v1/codeqs")
    assert answer.status_code == 404
    assert answer.json()["code"] == "NOT_FOUND"


@pytest.mark.parametrize("path", ["/v1/codeq/admin/queues", "/v1/codeq/nothing", "/healthz", "/metrics"])
def test_a_request_id_comes_back(open_codeq: Codeq, path: str) -> None:
    http = open_codeq.server.http
    assert http.get(path, headers={"X-Request-Id": "my-own 1"}).headers["x-request-id"] == "my-own 1"
    made = [http.get(path).headers["x-request-id"] for _ in range(2)]
    assert all(re.fullmatch("[0-9a-f]{32}", one) for one in made)
    assert made[0] != made[1]
    assert re.fullmatch("[0-9a-f]{32}", http.get(path, headers={"X-Request-Id": ""}).headers["x-request-id"])


def test_whoever_asks_for_options_gets_its_request_id_back_too(open_codeq: Codeq) -> None:
    answer = open_codeq.call("OPTIONS", "/tasks", headers={"X-Request-Id": "mine"})
    assert (answer.status_code, answer.headers["x-request-id"]) == (200, "mine")


def test_native_limits_and_namespaces_mean_nothing_here(start_codeq: StartCodeq) -> None:
    codeq = start_codeq({}, "--rate-limit-read-rps=0.001", "--rate-limit-read-burst=1")
    for _ in range(5):
        answer = codeq.get("/admin/queues", headers={"X-Rookery-Namespace": "NOT A NAMESPACE"})
        assert answer.status_code == 200
    statuses = [codeq.server.http.get("/api/v1/queues").status_code for _ in range(2)]
    assert statuses == [200, 429]


@pytest.mark.parametrize("off", ["--codeq=off", "--codeq=false", "variable"])
def test_switched_off_there_is_nothing_at_its_path(
    start_server: Callable[..., ServerProcess], monkeypatch: pytest.MonkeyPatch, off: str
) -> None:
    monkeypatch.setenv("CODEQ_ENV", "production")
    if off == "variable":
        monkeypatch.setenv("ROOKERY_CODEQ", "off")
    server = start_server(*([off] if off.startswith("--") else []))
    answer = server.http.get("/v1/codeq/admin/queues")
    assert answer.status_code == 404
    assert answer.json()["code"] == "NOT_FOUND"
    assert server.http.get("/healthz").json()["status"] == "ok"


def test_the_flag_goes_before_the_variable(
    start_server: Callable[..., ServerProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROOKERY_CODEQ", "off")
    assert start_server("--codeq=on").http.get("/v1/codeq/admin/queues").status_code == 200


def test_health_is_the_same_for_both(open_codeq: Codeq) -> None:
    answer = open_codeq.server.http.get("/healthz")
    assert answer.status_code == 200
    assert answer.json() == {"status": "ok", "raft_state": "Leader", "leader": True}


def test_calls_are_counted_by_their_route(open_codeq: Codeq) -> None:
    open_codeq.get("/admin/queues/one")
    open_codeq.get("/admin/queues/two")
    metrics = open_codeq.server.http.get("/metrics").text
    assert 'rookery_http_requests_total{method="GET",route="/v1/codeq/admin/queues/:id"}' in metrics


def test_on_loopback_metrics_need_no_credential_whatever_the_password(start_codeq: StartCodeq) -> None:
    http = start_codeq({}, "--admin-password=secret").server.http
    assert http.get("/metrics").status_code == 200
    assert http.get("/metrics", headers={"Authorization": "Bearer wrong"}).status_code == 200
    assert http.get("/api/v1/metrics").status_code == 401
    assert http.get("/healthz").status_code == 200


def test_reachable_from_elsewhere_metrics_need_the_password_if_there_is_one(
    start_server: Callable[..., ServerProcess],
) -> None:
    shut = start_server("--bind=0.0.0.0:0", "--admin-password=secret", data="shut")
    port = shut.url.rpartition(":")[2]
    shut.http.base_url = f"http://127.0.0.1:{port}"
    assert shut.http.get("/metrics").status_code == 401
    assert shut.http.get("/metrics", headers={"Authorization": "Bearer secret"}).status_code == 200
    assert shut.http.get("/healthz").status_code == 200
