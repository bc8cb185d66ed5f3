"""Requests per client."""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import httpx
import pytest

from tests.conftest import Api, ServerProcess, wait_for

REFUSAL = {"error": "rate limit exceeded", "code": "RATE_LIMITED", "retry_after": 1, "retry_after_ms": 1000}
BURST = 5
_addresses = count(1)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server whose buckets hold five and hardly fill again."""
    flags = [f"--rate-limit-{side}-{name}" for side in ("read", "write") for name in ("rps=0.001", f"burst={BURST}")]
    server = ServerProcess(tmp_path_factory.mktemp("server") / "data", *flags)
    yield server
    server.kill()


@pytest.fixture
def client() -> dict[str, str]:
    """The headers of a client that no other test is."""
    return {"X-Forwarded-For": f"10.0.0.{next(_addresses)}"}


def write(api: Api, headers: dict[str, str]) -> httpx.Response:
    return api.post("/heartbeat", {}, headers=headers)


def read(api: Api, headers: dict[str, str]) -> httpx.Response:
    return api.get("/queues", headers=headers)


@pytest.mark.parametrize("call", [read, write])
def test_a_client_that_asks_too_often_is_refused(
    api: Api, client: dict[str, str], call: Callable[[Api, dict[str, str]], httpx.Response]
) -> None:
    assert [call(api, client).status_code for _ in range(BURST)] == [200] * BURST
    refused = call(api, client)
    assert refused.status_code == 429
    assert refused.json() == REFUSAL
    assert refused.headers["Retry-After"] == "1"
    assert "Server-Timing" in refused.headers


def test_reading_and_writing_have_buckets_of_their_own(api: Api, client: dict[str, str]) -> None:
    for _ in range(BURST + 1):
        write(api, client)
    assert write(api, client).status_code == 429
    assert read(api, client).status_code == 200


def test_a_refused_write_changes_nothing(api: Api, client: dict[str, str]) -> None:
    for _ in range(BURST):
        write(api, client)
    assert api.post("/enqueue", {"queue": "refused"}, headers=client).status_code == 429
    assert api.get("/queues/refused", headers=client).status_code == 404


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"X-API-Key": "a"}, {"X-API-Key": "b"}),
        ({"Authorization": "Bearer a"}, {"Authorization": "Bearer b"}),
        ({"X-Forwarded-For": "192.0.2.1"}, {"X-Forwarded-For": "192.0.2.2"}),
        ({"X-Forwarded-For": "192.0.2.3"}, {}),
    ],
    ids=["key", "authorization", "forwarded", "peer"],
)
def test_clients_do_not_pay_for_each_other(api: Api, one: dict[str, str], other: dict[str, str]) -> None:
    for _ in range(BURST):
        write(api, one)
    assert write(api, one).status_code == 429
    assert write(api, other).status_code == 200


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            {"X-API-Key": "k1", "X-Forwarded-For": "198.51.100.1"},
            {"X-API-Key": "k1", "X-Forwarded-For": "198.51.100.2"},
        ),
        ({"X-API-Key": "k2", "Authorization": "Bearer x"}, {"X-API-Key": "k2", "Authorization": "Bearer y"}),
        (
            {"Authorization": "Bearer z", "X-Forwarded-For": "198.51.100.3"},
            {"Authorization": "Bearer z", "X-Forwarded-For": "198.51.100.4"},
        ),
        ({"X-Forwarded-For": "198.51.100.5, 1.1.1.1"}, {"X-Forwarded-For": "198.51.100.5, 2.2.2.2"}),
    ],
    ids=["key-before-address", "key-before-authorization", "authorization-before-address", "first-address"],
)
def test_the_strongest_mark_says_who_a_client_is(api: Api, first: dict[str, str], second: dict[str, str]) -> None:
    for _ in range(BURST):
        write(api, first)
    assert write(api, second).status_code == 429


def batch_of_jobs(api: Api, size: int, headers: dict[str, str]) -> httpx.Response:
    return api.post("/enqueue/batch", {"jobs": [{"queue": "batches"}] * size}, headers=headers)


def batch_of_acks(api: Api, size: int, headers: dict[str, str]) -> httpx.Response:
    return api.post("/ack/batch", {"acks": [{"job_id": "job_x"}] * size}, headers=headers)


def batch_of_fetches(api: Api, size: int, headers: dict[str, str]) -> httpx.Response:
    body = {"queues": ["nothing-here"], "count": size, "timeout": 0.01}
    return api.post("/fetch/batch", body, headers=headers)


@pytest.mark.parametrize("call", [batch_of_jobs, batch_of_acks, batch_of_fetches])
def test_a_batch_costs_as_much_as_it_has_items(api: Api, client: dict[str, str], call: Callable[..., Any]) -> None:
    assert call(api, 3, client).status_code < 300
    assert call(api, 3, client).status_code == 429
    assert call(api, 2, client).status_code < 300


@pytest.mark.parametrize("call", [batch_of_jobs, batch_of_acks, batch_of_fetches])
def test_a_batch_above_the_burst_costs_the_burst(api: Api, client: dict[str, str], call: Callable[..., Any]) -> None:
    assert call(api, BURST * 10, client).status_code < 300
    assert write(api, client).status_code == 429


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/healthz"),
        ("GET", "/api/v1/info"),
        ("GET", "/docs"),
        ("GET", "/openapi.json"),
        ("OPTIONS", "/api/v1/enqueue"),
        ("OPTIONS", "/api/v1/queues"),
    ],
)
def test_what_is_not_limited_never_runs_out(
    server: ServerProcess, client: dict[str, str], method: str, path: str
) -> None:
    statuses = {server.http.request(method, path, headers=client).status_code for _ in range(BURST * 3)}
    assert statuses == {200}
    assert read(Api(server), client).status_code == 200


def test_tokens_come_back_with_time(start_server: Callable[..., ServerProcess]) -> None:
    api = Api(start_server("--rate-limit-write-rps=0.5", "--rate-limit-write-burst=1"))
    assert write(api, {}).status_code == 200
    assert write(api, {}).status_code == 429
    wait_for(lambda: write(api, {}).status_code == 200)


def test_without_limits_nobody_is_refused(start_server: Callable[..., ServerProcess]) -> None:
    api = Api(start_server("--rate-limit-enabled=false", "--rate-limit-write-burst=1", "--rate-limit-write-rps=0.001"))
    assert {write(api, {}).status_code for _ in range(20)} == {200}


def test_the_default_bursts_are_generous(start_server: Callable[..., ServerProcess]) -> None:
    api = Api(start_server())
    assert batch_of_jobs(api, 1000, {}).status_code == 201
    assert batch_of_jobs(api, 900, {}).status_code == 201
    assert batch_of_jobs(api, 2000, {}).status_code == 429
