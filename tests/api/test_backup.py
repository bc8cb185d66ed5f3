"""The backup document: written from one view of the store, and brought back as it was."""

import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import httpx
import pytest

from rookery.model.job import STATES
from tests.api.expectations import (
    FAR_FUTURE,
    LONG_AGO,
    assert_refused,
    claim,
    finish_job,
    is_empty,
    job_in_state,
    moment,
    seconds_from_now,
    start_job,
    wait_for_state,
)
from tests.conftest import Api, ServerProcess, wait_for

TEAM = {"X-Rookery-Namespace": "team"}
CHANGED_BY_RESTORE = {"state", "worker_id", "hostname", "worker", "lease_expires_at"}


@pytest.fixture
def start_api(start_server: Callable[..., ServerProcess]) -> Callable[[str], Api]:
    """Starts a server of its own for a test."""
    return lambda name: Api(start_server("--rate-limit-enabled=false", data=name))


def back_up(api: Api, **options: Any) -> dict[str, Any]:
    answer = api.get("/admin/backup", **options)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/json"
    document: dict[str, Any] = answer.json()
    return document


def restore(api: Api, document: Any, **options: Any) -> dict[str, Any]:
    answer = api.post("/admin/restore", document, **options)
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


def copied(source: Api, target: Api) -> dict[str, Any]:
    """Bring everything over, byte by byte as it came."""
    answer = target.post("/admin/restore", content=source.get("/admin/backup").content)
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


def without_error_ids(job: dict[str, Any]) -> dict[str, Any]:
    return {**job, "errors": [{**error, "id": None} for error in job["errors"]]}


# --- there and back


def test_a_document_has_everything_in_the_order_of_the_contract(start_api: Callable[[str], Api]) -> None:
    api = start_api("a")
    ids = [api.enqueue("z"), api.enqueue("a"), api.enqueue("z")]
    api.post("/queues/z/pause")
    api.post("/queues/z/throttle", {"rate": 5, "period": "1m"})
    api.post("/schedules", {"name": "nightly", "queue": "a", "cron": "0 3 * * *", "payload": [1]})

    document = back_up(api)

    assert list(document) == ["namespace", "created_at", "jobs", "queues", "budgets", "schedules", "meta"]
    assert (document["namespace"], document["budgets"], document["meta"]) == ("default", [], {"format": 1})
    assert -60 < seconds_from_now(document["created_at"]) < 60
    assert [job["id"] for job in document["jobs"]] == ids
    assert {**document["jobs"][0], "internal": None} == {**api.job(ids[0]), "internal": None}
    assert [queue["name"] for queue in document["queues"]] == ["a", "z"]
    assert list(document["queues"][1].items())[:-1] == [
        ("name", "z"),
        ("paused", True),
        ("max_concurrency", None),
        ("rate_limit", 5),
        ("rate_window_ms", 60000),
    ]
    (schedule,) = document["schedules"]
    shown = api.get("/schedules").json()[0]
    assert schedule == {name: shown[name] for name in schedule}
    assert schedule["next_run"] is not None


def test_an_empty_server_has_an_empty_document(start_api: Callable[[str], Api]) -> None:
    document = back_up(start_api("a"))

    assert (document["jobs"], document["queues"], document["schedules"]) == ([], [], [])


def test_jobs_of_every_state_come_back_as_they_were(start_api: Callable[[str], Api]) -> None:
    source, target = start_api("a"), start_api("b")
    ids = {state: job_in_state(source, f"q.{state}", state) for state in STATES}

    assert copied(source, target) == {
        "status": "ok",
        "restored_jobs": len(STATES),
        "skipped_jobs": 0,
        "namespace": "default",
    }

    for state, job_id in ids.items():
        before, after = without_error_ids(source.job(job_id)), without_error_ids(target.job(job_id))
        if state == "active":
            assert {field for field in before if before[field] != after[field]} <= CHANGED_BY_RESTORE
            assert after["state"] == "pending"
        else:
            assert after == before
        assert target.get(f"/queues/q.{state}").json()[after["state"]] == 1
    assert target.events_of(ids["dead"]) == ["restored"]


def test_every_value_comes_back_exactly(start_api: Callable[[str], Api]) -> None:
    source, target = start_api("a"), start_api("b")
    body = (
        '{"queue":"q","payload":{"big":123456789012345678901234567890,"small":1e-400,"exact":0.10,"z":1,"a":[null,{}]},'
        '"tags":{"ключ":"значение 🐦","n":1,"yes":true,"none":null},"checkpoint":[1,2],"priority":"high",'
        '"unique_key":"k","unique_period":7200,"max_retries":9,"retry_backoff":"linear","retry_base_delay":"1.5s",'
        '"retry_max_delay":"0s","expire_after":"48h","parent_id":"job_x","max_lost_leases":2,'
        '"agent":{"max_iterations":4,"max_cost_usd":1.5}}'
    )
    job_id = source.post("/enqueue", content=body).json()["job_id"]
    job = claim(source, "q")
    source.post("/heartbeat", {"jobs": {job_id: {"progress": {"done": 3}, "lease_token": job["lease_token"]}}})
    usage = {"cost_usd": 0.25}
    answer = source.post(f"/ack/{job_id}", {"agent_status": "continue", "result": "раз", "usage": usage})
    assert answer.status_code == 200, answer.text

    copied(source, target)

    raw = source.get(f"/jobs/{job_id}").content
    assert b"123456789012345678901234567890" in raw
    assert b"1e-400" in raw
    assert target.get(f"/jobs/{job_id}").content == raw
    assert source.job(job_id)["agent"]["iteration"] == 2


def test_restoring_twice_changes_nothing(start_api: Callable[[str], Api]) -> None:
    source, target = start_api("a"), start_api("b")
    for state in STATES:
        job_in_state(source, f"q.{state}", state)
    copied(source, target)
    first = back_up(target)

    again = copied(source, target)

    assert (again["restored_jobs"], again["skipped_jobs"]) == (0, len(STATES))
    assert back_up(target)["jobs"] == first["jobs"]
    assert copied(target, target)["restored_jobs"] == 0


def test_a_restored_server_goes_on(start_api: Callable[[str], Api]) -> None:
    source, target = start_api("a"), start_api("b")
    first = source.enqueue("deps")
    second = source.enqueue("deps", depends_on=[first])
    held = source.enqueue("unique", unique_key="k")
    steps = [{"queue": "chain"}, {"queue": "next"}]
    chained = source.enqueue("chain", chain={"steps": steps})
    retrying = start_job(source, "retry", retry_base_delay="10ms", retry_backoff="fixed")["job_id"]
    source.post("/queues/retry/pause")
    source.post(f"/fail/{retrying}", {"error": "boom"})

    copied(source, target)

    assert claim(target, "deps")["job_id"] == first
    assert is_empty(target, "deps")
    target.post(f"/ack/{first}")
    assert claim(target, "deps")["job_id"] == second
    assert target.enqueue("unique", unique_key="k") == held
    assert claim(target, "chain")["job_id"] == chained
    target.post(f"/ack/{chained}", {"result": 1})
    assert claim(target, "next")["payload"] == {"previous_job_id": chained, "previous_result": 1}
    wait_for_state(target, retrying, "pending")
    assert target.get("/queues/retry").json()["paused"]


def test_settings_are_set_as_they_were_and_schedules_are_found_by_name(start_api: Callable[[str], Api]) -> None:
    source, target = start_api("a"), start_api("b")
    source.post("/queues/q/concurrency", {"max": 2})
    source.post("/queues/q/throttle", {"rate": 7, "window_ms": 500})
    made = [
        source.post("/schedules", {"name": name, "queue": "q", "cron": "@daily", "timezone": "Europe/Paris"}).json()
        for name in ("new", "known")
    ]
    known = target.post("/schedules", {"name": "known", "queue": "x", "cron": "@hourly"}).json()
    target.post("/queues/q/pause")

    copied(source, target)

    queue = target.get("/queues/q").json()
    assert (queue["max_concurrency"], queue["rate_limit"], queue["rate_window_ms"]) == (2, 7, 500)
    assert queue["paused"] is False
    schedules = {schedule["name"]: schedule for schedule in target.get("/schedules").json()}
    assert set(schedules) == {"new", "known"}
    assert schedules["new"] == made[0]
    assert schedules["known"] == {**made[1], "id": known["id"], "created_at": known["created_at"]}


# --- minimal documents


def test_a_job_needs_only_a_queue(api: Api, queue: str) -> None:
    before = set(back_up_ids(api, queue))

    assert restore(api, {"jobs": [{"queue": queue}, {"queue": queue, "priority": "critical"}]}) == {
        "status": "ok",
        "restored_jobs": 2,
        "skipped_jobs": 0,
        "namespace": "default",
    }

    assert not before
    first = claim(api, queue)
    job = api.job(first["job_id"])
    assert (job["priority"], job["payload"], job["max_retries"], job["attempt"]) == (0, {}, 3, 1)
    assert claim(api, queue)["job_id"] != first["job_id"]


def back_up_ids(api: Api, queue: str) -> list[str]:
    return [job["id"] for job in back_up(api)["jobs"] if job["queue"] == queue]


@pytest.mark.parametrize(
    ("given", "state"),
    [({}, "pending"), ({"state": None}, "pending"), *(({"state": s}, s) for s in STATES if s != "active")],
)
def test_a_state_is_enough_to_be_in_it(api: Api, queue: str, given: dict[str, Any], state: str) -> None:
    api.post(f"/queues/{queue}/pause")
    restore(api, {"jobs": [{"id": f"{queue}.x", "queue": queue, **given}]})

    due_at_once = state in ("scheduled", "retrying")
    wait_for_state(api, f"{queue}.x", "pending" if due_at_once else state)


@pytest.mark.parametrize(("priority", "shown"), [(0, 0), (1, 1), ("high", 1), ("whatever", 2), (None, 2), (7, 7)])
def test_a_priority_is_a_number_or_a_name(api: Api, queue: str, priority: Any, shown: int) -> None:
    restore(api, {"jobs": [{"id": f"{queue}.x", "queue": queue, "priority": priority}]})

    assert api.job(f"{queue}.x")["priority"] == shown


@pytest.mark.parametrize("document", [{}, {"jobs": []}, {"jobs": None, "queues": None, "budgets": [], "meta": None}])
def test_a_document_may_be_empty(api: Api, document: dict[str, Any]) -> None:
    assert restore(api, document)["restored_jobs"] == 0


def test_a_job_without_a_past_holds_its_unique_key_from_its_creation(api: Api, queue: str) -> None:
    jobs = [
        {"id": f"{queue}.live", "queue": queue, "unique_key": "live"},
        {"id": f"{queue}.late", "queue": queue, "unique_key": "late", "created_at": LONG_AGO},
        {"id": f"{queue}.done", "queue": queue, "unique_key": "done", "state": "completed"},
    ]
    restore(api, {"jobs": jobs})

    assert api.enqueue(queue, unique_key="live") == f"{queue}.live"
    assert api.enqueue(queue, unique_key="late") != f"{queue}.late"
    assert api.enqueue(queue, unique_key="done") != f"{queue}.done"


def test_expiry_is_found_from_creation(api: Api, queue: str) -> None:
    created_at = "2089-12-31T23:00:00.000Z"
    restore(api, {"jobs": [{"id": f"{queue}.x", "queue": queue, "created_at": created_at, "expire_after": "1h"}]})

    assert moment(api.job(f"{queue}.x")["expire_at"]) == moment("2090-01-01T00:00:00.000Z")


def test_jobs_may_stand_before_what_they_wait_for(api: Api, queue: str) -> None:
    jobs = [
        {"id": f"{queue}.{name}", "queue": queue, "depends_on": [f"{queue}.{other}" for other in others]}
        for name, others in [("c", "ab"), ("b", "a"), ("a", "")]
    ]
    restore(api, {"jobs": jobs})

    for name in "abc":
        job = claim(api, queue)
        assert job["job_id"] == f"{queue}.{name}"
        assert is_empty(api, queue)
        api.post(f"/ack/{job['job_id']}")


def test_a_large_document_comes_back_in_chunks(api: Api, queue: str) -> None:
    jobs = [{"id": f"{queue}.{n}", "queue": queue, "payload": n, "created_at": FAR_FUTURE} for n in range(1203)]

    assert restore(api, {"jobs": jobs})["restored_jobs"] == 1203
    assert api.get(f"/queues/{queue}").json()["pending"] == 1203
    assert [job["payload"] for job in back_up(api)["jobs"] if job["queue"] == queue] == list(range(1203))


def test_one_document_is_restored_at_a_time(start_api: Callable[[str], Api]) -> None:
    api, document = start_api("a"), b'{"jobs":[{"queue":"q"}]}'
    head = f"POST /api/v1/admin/restore HTTP/1.1\r\nhost: x\r\ncontent-length: {len(document)}\r\n"
    address = httpx.URL(api.server.url)

    with socket.create_connection((address.host, address.port), timeout=30) as first:
        first.sendall(f"{head}expect: 100-continue\r\nconnection: close\r\n\r\n".encode())
        assert first.recv(100).startswith(b"HTTP/1.1 100 ")
        refused = api.post("/admin/restore", {"jobs": [{"queue": "other", "payload": "x" * 100_000}]})
        first.sendall(document)
        with first.makefile("rb") as answer:
            assert b'"restored_jobs":1' in answer.read()

    assert_refused(refused, 429, "OVERLOADED", "restore")
    assert (refused.headers["retry-after"], refused.json()["retry_after_ms"]) == ("5", 5000)
    assert api.get("/queues/other").status_code == 404
    assert restore(api, {"jobs": [{"queue": "other"}]})["restored_jobs"] == 1


def test_large_jobs_come_back_few_at_a_time(api: Api, queue: str) -> None:
    jobs = [{"queue": queue, "id": f"{queue}.{number}", "payload": "x" * 400_000} for number in range(7)]

    assert restore(api, {"jobs": jobs})["restored_jobs"] == 7
    assert all(api.job(job["id"])["payload"] == job["payload"] for job in jobs)


def test_a_payload_may_be_larger_than_what_is_accepted_now(start_server: Callable[..., ServerProcess]) -> None:
    api = Api(start_server("--max-payload-size=100"))

    restore(api, {"jobs": [{"id": "x", "queue": "q", "payload": "x" * 1000}]})

    assert len(api.job("x")["payload"]) == 1000


# --- refusals


@pytest.mark.parametrize(
    ("job", "code", "words"),
    [
        ({}, "VALIDATION_ERROR", ["queue is required"]),
        ({"queue": " "}, "VALIDATION_ERROR", ["queue is required"]),
        ({"queue": "q", "state": "asleep"}, "VALIDATION_ERROR", ["state", "asleep"]),
        ({"queue": "q", "id": "a b"}, "VALIDATION_ERROR", ["id"]),
        ({"queue": "q", "created_at": "yesterday"}, "PARSE_ERROR", ["created_at", "yesterday"]),
        ({"queue": "q", "completed_at": "x"}, "PARSE_ERROR", ["completed_at"]),
        ({"queue": "q", "attempt": -1}, "VALIDATION_ERROR", ["attempt"]),
        ({"queue": "q", "attempt": "one"}, "PARSE_ERROR", ["attempt"]),
        ({"queue": "q", "max_retries": -1}, "VALIDATION_ERROR", ["max_retries"]),
        ({"queue": "q", "retry_backoff": "never"}, "VALIDATION_ERROR", ["retry_backoff"]),
        ({"queue": "q", "retry_base_delay_ms": -1}, "VALIDATION_ERROR", ["retry_base_delay_ms"]),
        ({"queue": "q", "retry_max_delay": "soon"}, "VALIDATION_ERROR", ["retry_max_delay"]),
        ({"queue": "q", "priority": 2**40}, "VALIDATION_ERROR", ["priority"]),
        ({"queue": "q", "priority": [1]}, "PARSE_ERROR", ["priority"]),
        ({"queue": "q", "expire_after": "soon"}, "VALIDATION_ERROR", ["expire_after"]),
        ({"queue": "q", "tags": [1]}, "PARSE_ERROR", ["tags"]),
        ({"queue": "q", "depends_on": "x"}, "PARSE_ERROR", ["depends_on"]),
        ({"queue": "q", "id": "me", "depends_on": ["me"]}, "VALIDATION_ERROR", ["depends_on"]),
        ({"queue": "q", "errors": [{"created_at": "x"}]}, "PARSE_ERROR", ["errors[0]", "created_at"]),
        ({"queue": "q", "agent": {"iteration": -1}}, "VALIDATION_ERROR", ["agent.iteration"]),
        ({"queue": "q", "internal": {"on_lost_lease": "cry"}}, "VALIDATION_ERROR", ["internal.on_lost_lease"]),
        ({"queue": "q", "internal": {"failures": -1}}, "VALIDATION_ERROR", ["internal.failures"]),
        ({"queue": "q", "internal": {"namespace": "A B"}}, "VALIDATION_ERROR", ["internal.namespace"]),
    ],
)
def test_a_bad_job_is_named_and_nothing_is_restored(
    api: Api, queue: str, job: dict[str, Any], code: str, words: list[str]
) -> None:
    document = {
        "jobs": [{"queue": queue, "id": f"{queue}.good"}, job],
        "queues": [{"name": queue, "paused": True}],
    }

    answer = api.post("/admin/restore", document)

    assert_refused(answer, 400, code, "jobs[1]", *words)
    assert api.get(f"/jobs/{queue}.good").status_code == 404
    assert api.get(f"/queues/{queue}").status_code == 404


def test_a_bad_job_at_the_end_of_many_is_named_and_nothing_is_restored(api: Api, queue: str) -> None:
    jobs = [{"queue": queue} for _ in range(450)]

    answer = api.post("/admin/restore", {"jobs": [*jobs, {"queue": queue, "max_retries": "many"}]})

    assert_refused(answer, 400, "PARSE_ERROR", "jobs[450]", "max_retries")
    assert api.get(f"/queues/{queue}").status_code == 404


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"queues": [{"name": ""}]}, ["queues[0]", "name is required"]),
        ({"queues": [{"name": "q", "rate_limit": 0, "rate_window_ms": 5}]}, ["queues[0]", "rate_limit"]),
        ({"queues": [{"name": "q", "rate_limit": 5}]}, ["queues[0]", "rate_window_ms"]),
        ({"schedules": [{"name": "s", "queue": "q"}]}, ["schedules[0]", "cron is required"]),
        ({"schedules": [{"name": "s", "queue": "q", "cron": "x"}]}, ["schedules[0]", "cron"]),
        ({"schedules": [{"name": "s", "queue": "q", "cron": "@daily", "timezone": "Mars"}]}, ["timezone"]),
        ({"budgets": [{"scope": "queue"}]}, ["budgets"]),
        ({"meta": {"format": 2}}, ["meta.format"]),
        ({"namespace": "No Name"}, ["namespace"]),
        ({"jobs": [{"id": a, "queue": "q", "depends_on": [b]} for a, b in ("ab", "ba")]}, ["jobs[0]", "depends_on"]),
    ],
)
def test_a_bad_document_is_refused(api: Api, document: dict[str, Any], words: list[str]) -> None:
    assert_refused(api.post("/admin/restore", document), 400, "VALIDATION_ERROR", *words)


@pytest.mark.parametrize("body", [b"[]", b'{"jobs":{}}', b'{"jobs":[1]}', b"{", b'{"jobs":[{"queue":"q"}]'])
def test_what_is_no_document_is_refused(api: Api, body: bytes) -> None:
    assert_refused(api.post("/admin/restore", content=body), 400, "PARSE_ERROR")


# --- namespaces


def test_a_namespace_is_backed_up_without_its_prefix(start_api: Callable[[str], Api]) -> None:
    api = start_api("a")
    api.enqueue("q")
    job_id = api.post("/enqueue", {"queue": "q"}, headers=TEAM).json()["job_id"]
    api.post("/schedules", {"name": "s", "queue": "q", "cron": "@daily"}, headers=TEAM)

    own = back_up(api, headers=TEAM)
    asked_for = back_up(api, params={"namespace": "team"})

    for document in (own, asked_for):
        assert document["namespace"] == "team"
        assert [(job["id"], job["queue"]) for job in document["jobs"]] == [(job_id, "q")]
        assert [queue["name"] for queue in document["queues"]] == ["q"]
        assert [schedule["queue"] for schedule in document["schedules"]] == ["q"]
    assert [job["queue"] for job in back_up(api)["jobs"]] == ["q", "team::q"]


def test_a_document_goes_back_to_its_namespace_or_to_the_one_that_is_asked_for(
    start_api: Callable[[str], Api],
) -> None:
    source, target = start_api("a"), start_api("b")
    steps = [{"queue": "q"}, {"queue": "next"}]
    job_id = source.post("/enqueue", {"queue": "q", "chain": {"steps": steps}}, headers=TEAM).json()["job_id"]
    document = back_up(source, params={"namespace": "team"})

    assert restore(target, document)["namespace"] == "team"
    assert target.job(job_id)["queue"] == "team::q"
    target.fetch("team::q")
    target.post(f"/ack/{job_id}")
    assert target.fetch("team::next") is not None

    document["jobs"][0]["id"] = "copy"
    assert restore(target, document, params={"namespace": "other"})["namespace"] == "other"
    assert target.job("copy")["queue"] == "other::q"


def test_a_full_backup_brings_all_namespaces_back(start_api: Callable[[str], Api]) -> None:
    source, target = start_api("a"), start_api("b")
    steps = [{"queue": "q"}, {"queue": "next"}]
    source.post("/enqueue", {"queue": "q", "chain": {"steps": steps}}, headers=TEAM)
    source.enqueue("q")

    copied(source, target)

    body = {"queues": ["q"], "timeout": 0.5}
    job = target.post("/fetch", body, headers=TEAM).json()
    target.post(f"/ack/{job['job_id']}", headers=TEAM)
    assert target.post("/fetch", {**body, "queues": ["next"]}, headers=TEAM).status_code == 200
    assert target.get("/queues", headers=TEAM).json()[0]["name"] == "next"


def test_a_namespace_backs_up_and_restores_only_itself(api: Api) -> None:
    assert_refused(api.get("/admin/backup", params={"namespace": "other"}, headers=TEAM), 403, "FORBIDDEN", "other")
    assert_refused(api.get("/admin/backup", params={"namespace": "default"}, headers=TEAM), 403, "FORBIDDEN")
    for document in ({"namespace": "other"}, {"namespace": "default"}):
        assert_refused(api.post("/admin/restore", document, headers=TEAM), 403, "FORBIDDEN", document["namespace"])
    refused = api.post("/admin/restore", {}, params={"namespace": "other"}, headers=TEAM)
    assert_refused(refused, 403, "FORBIDDEN")
    assert_refused(api.get("/admin/snapshot", headers=TEAM), 403, "FORBIDDEN")
    assert api.get("/admin/backup", params={"namespace": "team"}, headers=TEAM).status_code == 200
    assert restore(api, {"namespace": "team"}, headers=TEAM)["namespace"] == "team"
    assert restore(api, {}, headers=TEAM)["namespace"] == "team"


def test_a_namespace_cannot_be_broken_out_of(api: Api, queue: str) -> None:
    steps = [{"queue": queue}, {"queue": f"{queue}.next"}]
    job = {
        "id": f"{queue}.x",
        "queue": queue,
        "chain_id": "chn_x",
        "chain_step": 0,
        "chain_config": {"steps": steps},
        "internal": {"namespace": "other"},
    }
    restore(api, {"jobs": [job]}, headers=TEAM)
    api.post("/fetch", {"queues": [queue]}, headers=TEAM)
    api.post(f"/ack/{queue}.x", headers=TEAM)

    assert is_empty(api, f"other::{queue}.next")
    assert api.fetch(f"team::{queue}.next") is not None
    refused = api.post("/admin/restore", {"jobs": [{"queue": "other::q"}]}, headers=TEAM)
    assert_refused(refused, 400, "VALIDATION_ERROR", "jobs[0]", "::")


# --- while others work


def test_a_document_is_one_view_while_writing_goes_on(
    start_api: Callable[[str], Api], background: Callable[..., Future[Any]]
) -> None:
    api = start_api("a")
    stop = threading.Event()
    for _ in range(3):
        api.post("/enqueue/batch", {"jobs": [{"queue": "pairs", "payload": "x" * 2000}] * 1000})

    def write() -> None:
        """Every parent is followed by its child in the same request, so no view has one without the other."""
        n = 0
        with httpx.Client(base_url=api.server.url, timeout=30) as http:
            while not stop.is_set():
                n += 1
                jobs = [
                    {"queue": "pairs", "job_id": f"p{n}"},
                    {"queue": "pairs", "job_id": f"c{n}", "parent_id": f"p{n}"},
                ]
                assert http.post("/api/v1/enqueue/batch", json={"jobs": jobs}).status_code == 201

    writer = background(write)
    try:
        wait_for(lambda: api.get("/jobs/c10").status_code == 200)
        documents = [back_up(api) for _ in range(5)]
    finally:
        stop.set()
        writer.result()

    for document in documents:
        parents = {job["id"] for job in document["jobs"] if job["id"].startswith("p")}
        children = {job["parent_id"] for job in document["jobs"] if job["id"].startswith("c")}
        assert parents == children
        assert [job["created_at"] for job in document["jobs"]] == sorted(job["created_at"] for job in document["jobs"])
    assert len(documents[-1]["jobs"]) > len(documents[0]["jobs"])


def test_a_reader_who_goes_away_leaves_room_for_another(start_api: Callable[[str], Api]) -> None:
    api = start_api("a")
    for _ in range(4):
        api.post("/enqueue/batch", {"jobs": [{"queue": "q", "payload": "x" * 50_000}] * 250})

    url = f"{api.server.url}/api/v1/admin/backup"
    with httpx.stream("GET", url) as first, httpx.stream("GET", url) as second:
        assert (first.status_code, second.status_code) == (200, 200)
        refused = api.get("/admin/backup")
        assert_refused(refused, 429, "OVERLOADED", "backups")
        assert refused.headers["retry-after"] == "5"

    wait_for(lambda: api.get("/admin/backup").status_code == 200)
    assert api.server.stop() == 0


def test_a_server_stops_although_somebody_reads_a_backup(start_api: Callable[[str], Api]) -> None:
    api = start_api("a")
    for _ in range(4):
        api.post("/enqueue/batch", {"jobs": [{"queue": "q", "payload": "x" * 50_000}] * 250})

    with httpx.stream("GET", f"{api.server.url}/api/v1/admin/backup") as answer:
        assert answer.status_code == 200
        assert api.server.stop() == 0


def test_a_dependency_that_is_gone_unfinished_still_holds_its_dependent_up(start_api: Callable[[str], Api]) -> None:
    source, target = start_api("a"), start_api("b")
    gone, done = source.enqueue("gone"), finish_job(source, "done")
    blocked = source.enqueue("blocked", depends_on=[gone])
    free = source.enqueue("free", depends_on=[done])
    source.delete(f"/jobs/{gone}")
    source.delete(f"/jobs/{done}")

    copied(source, target)

    assert is_empty(target, "blocked")
    assert target.job(blocked)["depends_on"] == [gone]
    assert claim(target, "free")["job_id"] == free
