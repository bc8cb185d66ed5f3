"""codeQ's metrics: by command as it is spelled, beside the server's own."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.scrapes import Scrape
from tests.codeq.conftest import Codeq, StartCodeq
from tests.codeq.test_callbacks import begin, submit
from tests.codeq.test_notifications import claim, create, subscribe
from tests.conftest import wait_for
from tests.receiver import Receiver, receiving

BOUNDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600]
LATENCY = "codeq_task_processing_latency_seconds"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture
def command(queue: str) -> str:
    return queue.title()


def scrape(codeq: Codeq) -> Scrape:
    return Scrape(codeq.server.http.get("/metrics"))


def value(codeq: Codeq, name: str, **labels: str) -> float | None:
    return scrape(codeq).value(f"codeq_{name}", **labels)


def depths(codeq: Codeq, command: str) -> dict[str, Any]:
    found = scrape(codeq)
    places = ("ready", "delayed", "in_progress", "dlq")
    return {place: found.value("codeq_queue_depth", command=command, queue=place) for place in places}


def test_tasks_are_counted_from_their_creation_to_their_end(open_codeq: Codeq, command: str) -> None:
    tasks = [create(open_codeq, command) for _ in range(3)]
    create(open_codeq, command, delaySeconds=3600)
    for _ in range(2):
        claim(open_codeq, command)
    submit(open_codeq, tasks[0])
    submit(open_codeq, tasks[1], status="FAILED", error="no")

    found = scrape(open_codeq)
    assert found.value("codeq_task_created_total", command=command) == 4
    assert found.value("codeq_task_claimed_total", command=command) == 2
    for status in ("COMPLETED", "FAILED"):
        labels = {"command": command, "status": status}
        assert found.value("codeq_task_completed_total", **labels) == 1
        assert found.value(f"{LATENCY}_count", **labels) == 1
        assert found.bounds(LATENCY, **labels) == [*BOUNDS, float("inf")]
    assert found.value("codeq_lease_expired_total", command=command) == 0
    assert depths(open_codeq, command) == {"ready": 1, "delayed": 1, "in_progress": 0, "dlq": 0}


def test_they_are_what_they_are_said_to_be(open_codeq: Codeq, command: str) -> None:
    create(open_codeq, command)
    found = scrape(open_codeq)

    for name in ("task_created", "task_claimed", "task_completed", "lease_expired", "webhook_deliveries"):
        assert found.kind(f"codeq_{name}_total") == "counter"
    assert found.kind("codeq_rate_limit_hits_total") == "counter"
    assert found.kind(LATENCY) == "histogram"
    for name in ("queue_depth", "dlq_depth", "subscriptions_active"):
        assert found.kind(f"codeq_{name}") == "gauge"
    assert "rookery_queues_total" in found.text


def test_one_name_has_one_spelling_the_first(open_codeq: Codeq, command: str) -> None:
    create(open_codeq, command)
    create(open_codeq, command.upper())
    create(open_codeq, command.lower())

    assert value(open_codeq, "task_created_total", command=command) == 3
    assert depths(open_codeq, command)["ready"] == 3
    assert depths(open_codeq, command.upper())["ready"] is None


def test_a_repeated_create_counts_once(open_codeq: Codeq, command: str) -> None:
    for _ in range(2):
        create(open_codeq, command, idempotencyKey=command)
    batch = {"tasks": [{"command": command, "payload": 1}, {"command": command}, {"command": command, "payload": 2}]}
    assert open_codeq.post("/tasks/batch", batch).status_code == 200

    assert value(open_codeq, "task_created_total", command=command) == 3


def test_claims_of_a_batch_count_each(open_codeq: Codeq, command: str) -> None:
    for _ in range(3):
        create(open_codeq, command)
    assert len(open_codeq.post("/tasks/claim/batch", {"count": 5, "commands": [command]}).json()["tasks"]) == 3

    assert value(open_codeq, "task_claimed_total", command=command) == 3


def test_a_dead_letter_counts_as_failed_and_stays_in_sight(open_codeq: Codeq, command: str) -> None:
    task = create(open_codeq, command, maxAttempts=1)
    claim(open_codeq, command)
    assert open_codeq.post(f"/tasks/{task}/nack", {}).json()["status"] == "dlq"

    assert value(open_codeq, "task_completed_total", command=command, status="FAILED") == 1
    assert value(open_codeq, "dlq_depth", command=command) == 1
    assert depths(open_codeq, command)["dlq"] == 1


def test_a_failed_result_is_no_dead_letter(open_codeq: Codeq, command: str) -> None:
    task = create(open_codeq, command)
    claim(open_codeq, command)
    submit(open_codeq, task, status="FAILED", error="no")

    assert value(open_codeq, "dlq_depth", command=command) == 0


def test_lost_leases_are_counted_without_anybody_asking(open_codeq: Codeq, command: str) -> None:
    create(open_codeq, command, maxAttempts=1)
    claim(open_codeq, command, leaseSeconds=1)
    assert depths(open_codeq, command)["in_progress"] == 1

    wait_for(lambda: value(open_codeq, "lease_expired_total", command=command) == 1)
    found = scrape(open_codeq)
    assert found.value("codeq_task_completed_total", command=command, status="FAILED") == 1
    assert (found.value(f"{LATENCY}_bucket", command=command, status="FAILED", le="0.5") or 0) == 0


def test_deliveries_are_counted_by_what_came_of_them(open_codeq: Codeq, receiver: Receiver, command: str) -> None:
    subscribe(open_codeq, receiver.url("/ready"), command)
    subscribe(open_codeq, "http://127.0.0.1:9/nobody", command)
    submit(open_codeq, begin(open_codeq, command, receiver.url("/done")))

    def counted(kind: str, outcome: str) -> float | None:
        return value(open_codeq, "webhook_deliveries_total", kind=kind, command=command, outcome=outcome)

    wait_for(lambda: counted("task_result", "success") == 1)
    wait_for(lambda: counted("queue_ready", "success") == 1)
    wait_for(lambda: counted("queue_ready", "failure") == 1)
    assert counted("task_result", "failure") is None


def test_subscriptions_are_counted_for_what_they_are_about(start_codeq: StartCodeq) -> None:
    codeq = start_codeq()
    create(codeq, "Mail")
    subscribe(codeq, "http://127.0.0.1:9/", "Mail", "Print")
    subscribe(codeq, "http://127.0.0.1:9/", "*")
    subscribe(codeq, "http://127.0.0.1:9/", "print", ttlSeconds=1)

    assert value(codeq, "subscriptions_active", command="Mail") == 2
    wait_for(lambda: value(codeq, "subscriptions_active", command="Print") == 2)
    assert depths(codeq, "Print") == {"ready": 0, "delayed": 0, "in_progress": 0, "dlq": 0}


def test_what_a_rate_limit_refuses_is_counted(start_codeq: StartCodeq) -> None:
    codeq = start_codeq({"RATE_LIMIT_PRODUCER_REQUESTS_PER_MINUTE": "1", "RATE_LIMIT_PRODUCER_BURST_SIZE": "1"})
    create(codeq, "Mail")
    assert codeq.post("/tasks", {"command": "Mail", "payload": 1}).status_code == 429

    assert value(codeq, "rate_limit_hits_total", scope="producer", operation="create_task") == 1


def test_after_a_restart_counters_begin_anew_and_gauges_and_spellings_stay(start_codeq: StartCodeq) -> None:
    codeq = start_codeq()
    create(codeq, "Mail")
    codeq.server.kill()
    codeq.server.start()

    assert value(codeq, "task_created_total", command="Mail") == 0
    assert value(codeq, "task_completed_total", command="Mail", status="COMPLETED") == 0
    assert depths(codeq, "Mail")["ready"] == 1


def test_tenants_are_counted_together(start_codeq: StartCodeq) -> None:
    codeq = start_codeq({"TENANCY_ENABLED": "true"})
    for tenant in ("ann", "bob", "Ltd & Co"):
        create(codeq.like(tenant), "Mail")

    assert value(codeq, "task_created_total", command="Mail") == 3
    assert depths(codeq, "Mail")["ready"] == 3


def test_native_queues_are_commands_too_but_say_little(start_codeq: StartCodeq) -> None:
    codeq = start_codeq()
    assert codeq.server.http.post("/api/v1/enqueue", json={"queue": "native"}).status_code == 201

    assert depths(codeq, "native")["ready"] == 1
    found = scrape(codeq)
    assert found.value("codeq_task_created_total", command="native") == 0
    assert found.bounds(LATENCY, command="native", status="COMPLETED") == []


def test_of_what_has_not_ended_no_times_are_shown(open_codeq: Codeq, command: str) -> None:
    submit(open_codeq, begin(open_codeq, command, "http://127.0.0.1:9/"))
    create(open_codeq, f"{command}-2")

    found = scrape(open_codeq)
    assert found.bounds(LATENCY, command=command, status="COMPLETED") != []
    assert found.bounds(LATENCY, command=command, status="FAILED") == []
    assert found.bounds(LATENCY, command=f"{command}-2", status="COMPLETED") == []
    assert found.value("codeq_task_completed_total", command=f"{command}-2", status="COMPLETED") == 0


def test_there_is_nothing_of_it_while_the_api_is_off(start_codeq: StartCodeq) -> None:
    codeq = start_codeq({}, "--codeq=off")
    assert "codeq_" not in scrape(codeq).text


def test_a_caller_of_a_namespace_sees_nothing_of_it(open_codeq: Codeq, command: str) -> None:
    create(open_codeq, command)
    found = Scrape(open_codeq.server.http.get("/api/v1/metrics", headers={"X-Rookery-Namespace": "other"}))
    assert "codeq_" not in found.text
