"""Namespaces: what one cannot see of another."""

from typing import Any

import pytest

from tests.api.expectations import assert_refused, wait_for_state
from tests.conftest import Api, ServerProcess


class Tenant(Api):
    """A caller in a namespace."""

    def __init__(self, server: ServerProcess, namespace: str, header: str = "X-Rookery-Namespace") -> None:
        super().__init__(server)
        self.headers = {header: namespace}

    def post(self, path: str, body: Any = None, **options: Any) -> Any:
        return super().post(path, body, **self._with_namespace(options))

    def get(self, path: str, **options: Any) -> Any:
        return super().get(path, **self._with_namespace(options))

    def delete(self, path: str, **options: Any) -> Any:
        return super().delete(path, **self._with_namespace(options))

    def _with_namespace(self, options: dict[str, Any]) -> dict[str, Any]:
        return {**options, "headers": {**self.headers, **options.get("headers", {})}}


@pytest.fixture
def ours(server: ServerProcess) -> Tenant:
    return Tenant(server, "ours")


@pytest.fixture
def theirs(server: ServerProcess) -> Tenant:
    return Tenant(server, "theirs")


def start(tenant: Api, queue: str, **fields: Any) -> dict[str, Any]:
    tenant.enqueue(queue, **fields)
    job = tenant.fetch(queue)
    assert job is not None
    return job


@pytest.mark.parametrize("header", ["X-Rookery-Namespace", "X-Corvo-Namespace"])
def test_a_namespace_is_chosen_by_its_header(server: ServerProcess, api: Api, queue: str, header: str) -> None:
    tenant = Tenant(server, "chosen", header)
    job_id = tenant.enqueue(queue)
    assert tenant.job(job_id)["queue"] == queue
    assert api.job(job_id)["queue"] == f"chosen::{queue}"


def test_our_own_header_is_preferred(server: ServerProcess, api: Api, queue: str) -> None:
    headers = {"X-Rookery-Namespace": "first", "X-Corvo-Namespace": "second"}
    job_id = api.post("/enqueue", {"queue": queue}, headers=headers).json()["job_id"]
    assert api.job(job_id)["queue"] == f"first::{queue}"


@pytest.mark.parametrize("name", ["default", ""])
def test_the_default_namespace_may_be_named(server: ServerProcess, api: Api, queue: str, name: str) -> None:
    job_id = Tenant(server, name).enqueue(queue)
    assert api.job(job_id)["queue"] == queue


@pytest.mark.parametrize("name", ["Upper", "a b", "a::b", "-a", "a-", "a_b", "x" * 64])
def test_a_name_that_no_namespace_can_have_is_refused(server: ServerProcess, name: str) -> None:
    assert_refused(Tenant(server, name).get("/queues"), 400, "VALIDATION_ERROR", "amespace")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/jobs/{}"),
        ("GET", "/jobs/{}/wait?timeout=0.1"),
        ("DELETE", "/jobs/{}"),
        ("POST", "/jobs/{}/retry"),
        ("POST", "/jobs/{}/cancel"),
        ("POST", "/jobs/{}/hold"),
        ("POST", "/jobs/{}/approve"),
        ("POST", "/jobs/{}/reject"),
        ("POST", "/jobs/{}/move"),
        ("POST", "/ack/{}"),
        ("POST", "/fail/{}"),
        ("POST", "/release/{}"),
    ],
)
def test_a_job_of_another_namespace_does_not_exist(
    ours: Tenant, theirs: Tenant, queue: str, method: str, path: str
) -> None:
    job_id = start(theirs, queue)["job_id"]
    before = theirs.job(job_id)
    path = path.format(job_id)
    if method == "POST":
        answer = ours.post(path, {"queue": queue} if path.endswith("move") else None)
    else:
        answer = ours.get(path) if method == "GET" else ours.delete(path)
    assert_refused(answer, 404, "NOT_FOUND")
    assert theirs.job(job_id) == before


def test_a_heartbeat_for_another_namespace_is_cancelled(ours: Tenant, theirs: Tenant, queue: str) -> None:
    job_id = start(theirs, queue)["job_id"]
    answer = ours.post("/heartbeat", {"jobs": {job_id: {"progress": 1}}}).json()
    assert answer["jobs"] == {job_id: {"status": "cancel"}}
    assert answer["acked"] == []
    assert theirs.job(job_id)["progress"] is None


def test_acks_for_another_namespace_are_skipped(ours: Tenant, theirs: Tenant, queue: str) -> None:
    job = start(theirs, queue)
    acks = [{"job_id": job["job_id"], "lease_token": job["lease_token"]}]
    assert ours.post("/ack/batch", {"acks": acks}).json()["acked"] == 0
    assert theirs.job(job["job_id"])["state"] == "active"


def test_queues_of_one_name_are_two(ours: Tenant, theirs: Tenant, api: Api, queue: str) -> None:
    mine, yours = ours.enqueue(queue, 1), theirs.enqueue(queue, 2)
    job = ours.fetch(queue)
    assert job is not None
    assert (job["job_id"], job["queue"]) == (mine, queue)
    assert ours.fetch(queue, timeout=0.05) is None
    assert api.fetch(queue, timeout=0.05) is None
    assert theirs.job(yours)["state"] == "pending"


def test_queues_of_other_namespaces_are_not_listed(ours: Tenant, theirs: Tenant, api: Api, queue: str) -> None:
    theirs.enqueue(queue)
    ours.enqueue(f"{queue}-ours")
    api.enqueue(f"{queue}-default")
    names = [row["name"] for row in ours.get("/queues").json()]
    assert f"{queue}-ours" in names
    assert not {queue, f"{queue}-default"} & set(names)
    assert not any("::" in name for name in names)
    assert ours.get(f"/queues/{queue}").status_code == 404


def test_the_default_namespace_sees_everything_by_its_full_name(ours: Tenant, api: Api, queue: str) -> None:
    job_id = ours.enqueue(queue)
    names = [row["name"] for row in api.get("/queues").json()]
    assert f"ours::{queue}" in names
    assert api.job(job_id)["queue"] == f"ours::{queue}"


@pytest.mark.parametrize("action", ["pause", "drain", "clear", "concurrency", "throttle", "delete"])
def test_settings_of_a_queue_stay_in_its_namespace(ours: Tenant, theirs: Tenant, queue: str, action: str) -> None:
    job_id = theirs.enqueue(queue)
    ours.enqueue(queue)
    body = {"concurrency": {"max": 1}, "throttle": {"rate": 1, "period": "1h"}}.get(action)
    before = theirs.get(f"/queues/{queue}").json()
    if action == "delete":
        assert ours.delete(f"/queues/{queue}?confirm=true").status_code == 200
    else:
        assert ours.post(f"/queues/{queue}/{action}", body).status_code == 200
    assert theirs.get(f"/queues/{queue}").json() == before
    job = theirs.fetch(queue)
    assert job is not None
    assert job["job_id"] == job_id


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/enqueue", {"queue": "theirs::q"}),
        ("/enqueue/batch", {"jobs": [{"queue": "theirs::q"}]}),
        ("/enqueue/batch", {"jobs": [{"queue": "q"}], "batch": {"callback_queue": "theirs::q"}}),
        ("/enqueue", {"queue": "q", "chain": {"steps": [{"queue": "q"}, {"queue": "theirs::q"}]}}),
        (
            "/enqueue",
            {"queue": "q", "chain": {"steps": [{"queue": "q"}, {"queue": "q"}], "on_exit": {"queue": "theirs::q"}}},
        ),
        ("/enqueue", {"queue": "q", "chain": {"steps": [{"queue": "q"}, {"queue": "q"}], "on_failure": "theirs::q"}}),
        ("/fetch", {"queues": ["theirs::q"], "timeout": 0.05}),
        ("/fetch/batch", {"queues": ["theirs::q"], "timeout": 0.05}),
        ("/queues/theirs%3A%3Aq/pause", None),
        ("/queues/theirs%3A%3Aq/throttle", {"rate": 1, "period": "1s"}),
    ],
    ids=range(10),
)
def test_nobody_reaches_into_a_namespace_by_a_name(ours: Tenant, path: str, body: Any) -> None:
    assert_refused(ours.post(path, body), 400, "VALIDATION_ERROR", "::")


def test_a_job_cannot_be_moved_into_a_namespace(ours: Tenant, queue: str) -> None:
    job_id = ours.enqueue(queue)
    answer = ours.post(f"/jobs/{job_id}/move", {"queue": "theirs::q"})
    assert_refused(answer, 400, "VALIDATION_ERROR", "::")


def test_a_unique_key_belongs_to_its_namespace(ours: Tenant, theirs: Tenant, queue: str) -> None:
    mine, yours = ours.enqueue(queue, unique_key="k"), theirs.enqueue(queue, unique_key="k")
    assert mine != yours
    assert ours.enqueue(queue, unique_key="k") == mine


def test_an_idempotency_key_belongs_to_its_namespace(ours: Tenant, theirs: Tenant, queue: str) -> None:
    headers = {"Idempotency-Key": queue}
    mine = ours.post("/enqueue", {"queue": queue}, headers=headers).json()["job_id"]
    yours = theirs.post("/enqueue", {"queue": queue}, headers=headers).json()["job_id"]
    assert mine != yours
    assert theirs.job(yours)["state"] == "pending"


def test_a_job_cannot_depend_on_one_of_another_namespace(ours: Tenant, theirs: Tenant, queue: str) -> None:
    foreign = theirs.enqueue(queue)
    answer = ours.post("/enqueue", {"queue": queue, "depends_on": [foreign]})
    assert_refused(answer, 400, "VALIDATION_ERROR", "depends_on")


def test_who_depends_on_a_job_is_told_in_its_namespace(ours: Tenant, theirs: Tenant, api: Api, queue: str) -> None:
    first = ours.enqueue(queue)
    waits = ours.enqueue(queue, depends_on=[first])

    def found(caller: Any) -> list[str]:
        return [job["id"] for job in caller.post("/jobs/search", {"depends_on": first}).json()["jobs"]]

    assert found(ours) == found(api) == [waits]
    assert found(theirs) == []


def test_a_chain_stays_in_its_namespace(ours: Tenant, theirs: Tenant, api: Api, queue: str) -> None:
    chain = {
        "steps": [{"queue": queue}, {"queue": f"{queue}-2"}],
        "on_exit": {"queue": f"{queue}-exit"},
    }
    first = start(ours, queue, chain=chain)["job_id"]
    assert ours.job(first)["chain_config"]["steps"] == chain["steps"]
    ours.post(f"/ack/{first}")
    assert theirs.fetch(f"{queue}-2", timeout=0.05) is None
    assert api.fetch(f"{queue}-2", timeout=0.05) is None
    second = ours.fetch(f"{queue}-2")
    assert second is not None
    assert second["queue"] == f"{queue}-2"
    ours.post(f"/ack/{second['job_id']}")
    last = ours.fetch(f"{queue}-exit")
    assert last is not None
    assert ours.job(last["job_id"])["queue"] == f"{queue}-exit"


def test_a_failure_handler_stays_in_its_namespace(ours: Tenant, queue: str) -> None:
    chain = {"steps": [{"queue": queue}, {"queue": queue}], "on_failure": f"{queue}-failure"}
    job_id = ours.enqueue(queue, chain=chain, expire_after="50ms")
    wait_for_state(ours, job_id, "dead")
    handler = ours.fetch(f"{queue}-failure")
    assert handler is not None
    assert handler["payload"]["failed_job_id"] == job_id


def test_a_callback_stays_in_its_namespace(ours: Tenant, theirs: Tenant, api: Api, queue: str) -> None:
    batch = {"callback_queue": f"{queue}-done"}
    answer = ours.post("/enqueue/batch", {"jobs": [{"queue": queue}], "batch": batch}).json()
    assert ours.get(f"/batches/{answer['batch_id']}").json()["callback_queue"] == f"{queue}-done"
    assert_refused(theirs.get(f"/batches/{answer['batch_id']}"), 404, "NOT_FOUND")
    job = ours.fetch(queue)
    assert job is not None
    ours.post(f"/ack/{job['job_id']}")
    assert theirs.fetch(f"{queue}-done", timeout=0.05) is None
    callback = ours.fetch(f"{queue}-done")
    assert callback is not None
    assert callback["queue"] == f"{queue}-done"


def test_events_of_other_namespaces_are_hidden(ours: Tenant, theirs: Tenant, api: Api, queue: str) -> None:
    mine, yours = ours.enqueue(queue), theirs.enqueue(queue)
    assert theirs.events_of(mine) == []
    assert ours.events_of(mine) == ["enqueued"]
    seen = ours.get("/cluster/events", params={"queues": queue}).json()["events"]
    assert [(event["job_id"], event["queue"]) for event in seen] == [(mine, queue)]
    everything = api.get("/cluster/events", params={"queues": f"ours::{queue},theirs::{queue}"}).json()["events"]
    assert [event["job_id"] for event in everything] == [mine, yours]


def test_the_event_of_a_deletion_is_hidden_too(ours: Tenant, theirs: Tenant, queue: str) -> None:
    job_id = ours.enqueue(queue)
    ours.delete(f"/jobs/{job_id}")
    assert ours.events_of(job_id) == ["enqueued", "deleted"]
    assert theirs.events_of(job_id) == []


def test_the_stream_of_events_shows_its_own_namespace(ours: Tenant, theirs: Tenant, queue: str) -> None:
    yours, mine = theirs.enqueue(queue), ours.enqueue(queue)
    params = {"last_event_id": "0", "queues": queue}
    with ours.server.http.stream("GET", "/api/v1/events", params=params, headers=ours.headers) as answer:
        lines = answer.iter_lines()
        data = next(line for line in lines if line.startswith("data: "))
    assert mine in data
    assert yours not in data
    assert "::" not in data


def test_workers_of_other_namespaces_are_hidden(ours: Tenant, theirs: Tenant, queue: str) -> None:
    ours.fetch(queue, worker_id=queue, timeout=0.05)
    mine = [row for row in ours.get("/workers").json() if row["id"] == queue]
    assert [row["queues"] for row in mine] == [[queue]]
    assert queue not in [row["id"] for row in theirs.get("/workers").json()]


def test_what_a_worker_says_is_said_in_its_namespace(ours: Tenant, theirs: Tenant, queue: str) -> None:
    assert ours.post(f"/workers/{queue}", {"queues": [queue], "slots": 4, "draining": True}).status_code == 200
    mine = [row for row in ours.get("/workers").json() if row["id"] == queue]
    assert [(row["queues"], row["slots"], row["draining"]) for row in mine] == [([queue], 4, True)]
    assert queue not in [row["id"] for row in theirs.get("/workers").json()]


def test_a_waiting_fetch_is_not_woken_by_another_namespace(ours: Tenant, theirs: Tenant, queue: str) -> None:
    theirs.enqueue(queue)
    assert ours.fetch(queue, timeout=0.3) is None


def test_a_move_tells_each_namespace_only_of_its_own_queues(ours: Tenant, theirs: Tenant, api: Api, queue: str) -> None:
    job_id = ours.enqueue(f"{queue}-secret")
    api.post(f"/jobs/{job_id}/move", {"queue": f"theirs::{queue}"})
    seen = {"job_ids": job_id, "types": "moved"}
    (theirs_event,) = theirs.get("/cluster/events", params=seen).json()["events"]
    assert (theirs_event["queue"], theirs_event["data"]) == (queue, {"to": queue})
    (event,) = api.get("/cluster/events", params=seen).json()["events"]
    assert event["data"] == {"from": f"ours::{queue}-secret", "to": f"theirs::{queue}"}
