"""The admin password: who gets in, and how."""

from collections.abc import Callable, Iterator

import httpx
import pytest

from tests.api.expectations import assert_refused
from tests.conftest import Api, ServerProcess

PASSWORD = "correct horse"
WAYS = {
    "key": {"X-API-Key": PASSWORD},
    "bearer": {"Authorization": f"Bearer {PASSWORD}"},
    "bearer-in-lower-case": {"Authorization": f"bearer {PASSWORD}"},
    "corvo-cookie": {"Cookie": f"corvo_api_key={PASSWORD}"},
    "rookery-cookie": {"Cookie": f"other=1; rookery_api_key={PASSWORD}"},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server with an admin password."""
    data = tmp_path_factory.mktemp("server") / "data"
    server = ServerProcess(data, "--rate-limit-enabled=false", f"--admin-password={PASSWORD}")
    yield server
    server.kill()


@pytest.mark.parametrize("headers", WAYS.values(), ids=WAYS)
def test_the_password_opens_the_door(api: Api, headers: dict[str, str]) -> None:
    assert api.get("/queues", headers=headers).status_code == 200
    assert api.post("/enqueue", {"queue": "q"}, headers=headers).status_code == 201
    fetched = api.post("/fetch", {"queues": ["q"], "timeout": 1}, headers=headers)
    assert fetched.status_code == 200
    assert api.post(f"/ack/{fetched.json()['job_id']}", headers=headers).status_code == 200


CALLS = [
    ("POST", "/api/v1/enqueue"),
    ("POST", "/api/v1/enqueue/batch"),
    ("POST", "/api/v1/fetch"),
    ("POST", "/api/v1/fetch/batch"),
    ("POST", "/api/v1/ack/job_x"),
    ("POST", "/api/v1/ack/batch"),
    ("POST", "/api/v1/fail/job_x"),
    ("POST", "/api/v1/heartbeat"),
    ("POST", "/api/v1/release/job_x"),
    ("GET", "/api/v1/jobs/job_x"),
    ("GET", "/api/v1/jobs/job_x/wait"),
    ("DELETE", "/api/v1/jobs/job_x"),
    ("POST", "/api/v1/jobs/job_x/retry"),
    ("POST", "/api/v1/jobs/job_x/cancel"),
    ("POST", "/api/v1/jobs/job_x/move"),
    ("POST", "/api/v1/jobs/job_x/hold"),
    ("POST", "/api/v1/jobs/job_x/approve"),
    ("POST", "/api/v1/jobs/job_x/reject"),
    ("GET", "/api/v1/queues"),
    ("GET", "/api/v1/queues/q"),
    ("DELETE", "/api/v1/queues/q?confirm=true"),
    ("POST", "/api/v1/queues/q/pause"),
    ("POST", "/api/v1/queues/q/resume"),
    ("POST", "/api/v1/queues/q/drain"),
    ("POST", "/api/v1/queues/q/clear"),
    ("POST", "/api/v1/queues/q/concurrency"),
    ("POST", "/api/v1/queues/q/throttle"),
    ("DELETE", "/api/v1/queues/q/throttle"),
    ("GET", "/api/v1/workers"),
    ("POST", "/api/v1/workers/w1"),
    ("GET", "/api/v1/batches/batch_x"),
    ("GET", "/api/v1/events"),
    ("GET", "/api/v1/cluster/events"),
]


@pytest.mark.parametrize(("method", "path"), CALLS)
def test_nothing_can_be_done_without_a_credential(server: ServerProcess, method: str, path: str) -> None:
    assert_refused(server.http.request(method, path), 401, "UNAUTHORIZED", "missing API key")


@pytest.mark.parametrize(("method", "path"), CALLS)
def test_nothing_can_be_done_with_a_wrong_credential(server: ServerProcess, method: str, path: str) -> None:
    answer = server.http.request(method, path, headers={"X-API-Key": "wrong"})
    assert_refused(answer, 401, "UNAUTHORIZED", "invalid API key")


def test_every_call_of_the_api_asks_for_a_credential(server: ServerProcess) -> None:
    document = server.http.get("/openapi.json").json()
    public = {"/healthz", "/api/v1/info", "/metrics"}  # the last on loopback only
    for path, methods in document["paths"].items():
        for method in methods:
            if path not in public:
                answer = server.http.request(method, path.replace("{", "").replace("}", ""))
                assert answer.status_code == 401, (method, path)


@pytest.mark.parametrize("path", ["/healthz", "/api/v1/info", "/openapi.json", "/docs"])
@pytest.mark.parametrize("headers", [{}, {"X-API-Key": "wrong"}], ids=["without", "wrong"])
def test_public_paths_ask_for_no_credential(server: ServerProcess, path: str, headers: dict[str, str]) -> None:
    assert server.http.get(path, headers=headers).status_code == 200


@pytest.mark.parametrize("path", ["/api/v1/enqueue", "/api/v1/queues", "/nothing"])
def test_options_asks_for_no_credential(server: ServerProcess, path: str) -> None:
    assert server.http.options(path).status_code == 200


def with_headers(api: Api, headers: dict[str, str]) -> httpx.Response:
    return api.get("/queues", headers=headers)


@pytest.mark.parametrize(
    "headers",
    [
        {"X-API-Key": ""},
        {"Authorization": "Bearer"},
        {"Authorization": "Basic Y29ycmVjdCBob3JzZQ=="},
        {"Cookie": "other=1"},
        {"Cookie": "corvo_api_key="},
    ],
)
def test_an_empty_credential_is_none(api: Api, headers: dict[str, str]) -> None:
    assert_refused(with_headers(api, headers), 401, "UNAUTHORIZED", "missing API key")


@pytest.mark.parametrize(
    "wrong",
    [
        {"X-API-Key": "wrong"},
        {"X-API-Key": PASSWORD + "r"},
        {"X-API-Key": PASSWORD[:-1]},
        {"X-API-Key": PASSWORD.upper()},
        {"Authorization": "Bearer wrong"},
        {"Cookie": "rookery_api_key=wrong"},
        {"X-API-Key": "wrong", **WAYS["bearer"]},
        {"X-API-Key": "wrong", **WAYS["rookery-cookie"]},
        {"Authorization": "Bearer wrong", **WAYS["rookery-cookie"]},
    ],
)
def test_the_first_credential_counts_and_must_be_right(api: Api, wrong: dict[str, str]) -> None:
    assert_refused(with_headers(api, wrong), 401, "UNAUTHORIZED", "invalid API key")


@pytest.mark.parametrize(
    "headers",
    [
        {**WAYS["key"], "Authorization": "Bearer wrong", "Cookie": "rookery_api_key=wrong"},
        {**WAYS["bearer"], "Cookie": "rookery_api_key=wrong"},
    ],
)
def test_a_right_credential_outweighs_those_behind_it(api: Api, headers: dict[str, str]) -> None:
    assert with_headers(api, headers).status_code == 200


def test_a_credential_that_is_not_ascii_is_just_wrong(server: ServerProcess) -> None:
    answer = server.http.get("/api/v1/queues", headers=[(b"x-api-key", "pässwörd".encode())])
    assert_refused(answer, 401, "UNAUTHORIZED", "invalid API key")


def test_a_refused_call_changes_nothing(api: Api) -> None:
    assert api.post("/enqueue", {"queue": "refused"}).status_code == 401
    assert api.get("/queues/refused", headers=WAYS["key"]).status_code == 404


def test_events_can_be_read_with_a_cookie(server: ServerProcess) -> None:
    with server.http.stream("GET", "/api/v1/events", headers=WAYS["corvo-cookie"]) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")


def test_the_password_chooses_its_namespace(api: Api) -> None:
    headers = {**WAYS["key"], "X-Corvo-Namespace": "team-a"}
    job_id = api.post("/enqueue", {"queue": "spaced"}, headers=headers).json()["job_id"]
    assert api.get(f"/jobs/{job_id}", headers=headers).json()["queue"] == "spaced"
    assert api.get(f"/jobs/{job_id}", headers=WAYS["key"]).json()["queue"] == "team-a::spaced"


def test_the_password_can_come_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, start_server: Callable[..., ServerProcess]
) -> None:
    monkeypatch.setenv("ROOKERY_ADMIN_PASSWORD", "from outside")
    api = Api(start_server())
    assert api.get("/queues").status_code == 401
    assert api.get("/queues", headers={"X-API-Key": "from outside"}).status_code == 200


def test_without_a_password_everybody_is_admin(start_server: Callable[..., ServerProcess]) -> None:
    api = Api(start_server())
    assert api.get("/queues").status_code == 200
    assert api.get("/queues", headers={"X-API-Key": "anything"}).status_code == 200
