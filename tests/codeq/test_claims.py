"""Claiming tasks, keeping them and giving them back."""

import json
import socket
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from time import monotonic
from typing import Any

import httpx
import pytest

from rookery.http.codeq.settings import CodeqSettings
from rookery.http.codeq.tasks import retry_policy
from rookery.model.backoff import retry_delay
from tests.codeq.conftest import Codeq, StartCodeq, assert_error, codeq_variables
from tests.codeq.steps import claim, complete, create, nack, take, task
from tests.conftest import ServerProcess, wait_for

ALL_SCOPES = [f"codeq:{name}" for name in ("claim", "heartbeat", "abandon", "nack", "result", "subscribe")]
WORKERS = [
    {"token": "some", "subject": "some", "eventTypes": ["Mail", "sms"], "scopes": ALL_SCOPES},
    {"token": "all", "subject": "all", "eventTypes": ["*"], "scopes": ALL_SCOPES},
    {"token": "claims-only", "subject": "claims-only", "eventTypes": ["*"], "scopes": ["codeq:claim"]},
    {"token": "no-claims", "subject": "no-claims", "eventTypes": ["*"], "scopes": ["codeq:result"]},
]


@pytest.fixture(scope="module")
def codeq(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Codeq]:
    """One server for the file that retries at once."""
    with codeq_variables({"BACKOFF_POLICY": "fixed", "BACKOFF_BASE_SECONDS": "0"}):
        server = ServerProcess(tmp_path_factory.mktemp("claims") / "data")
    yield Codeq(server)
    server.kill()


@pytest.fixture
def worker(codeq: Codeq) -> Codeq:
    return codeq.like("w1")


@pytest.fixture
def tokens(start_codeq: StartCodeq) -> Codeq:
    """A server whose workers have tokens."""
    return start_codeq({"WORKER_AUTH_PROVIDER": "static", "WORKER_AUTH_CONFIG": json.dumps(WORKERS)})


# --- claiming


def test_a_claimed_task_says_who_has_it_and_until_when(codeq: Codeq, worker: Codeq, queue: str) -> None:
    created = create(codeq, queue, {"a": 1})

    claimed = claim(worker, queue, leaseSeconds=100)

    assert claimed is not None
    assert (claimed["id"], claimed["status"], claimed["workerId"]) == (created["id"], "IN_PROGRESS", "w1")
    assert (claimed["attempts"], claimed["lastKnownLocation"]) == (1, "INPROG_SET")
    assert claimed["leaseUntil"].endswith("Z")
    assert 90 < (datetime.fromisoformat(claimed["leaseUntil"]) - datetime.now(UTC)).total_seconds() <= 100
    assert task(codeq, created["id"]) == claimed
    assert claim(worker, queue) is None


@pytest.mark.parametrize("lease", [None, 0, -1])
def test_a_lease_lasts_five_minutes_unless_told_otherwise(codeq: Codeq, queue: str, lease: int | None) -> None:
    create(codeq, queue)

    until = datetime.fromisoformat(take(codeq, queue, leaseSeconds=lease)["leaseUntil"])

    assert 290 < (until - datetime.now(UTC)).total_seconds() <= 300


def test_the_highest_priority_goes_first_and_then_the_oldest(codeq: Codeq, queue: str) -> None:
    ids = {p: [create(codeq, queue, priority=p)["id"] for _ in range(2)] for p in (0, 9, 4, 1)}

    assert [take(codeq, queue)["id"] for _ in range(8)] == [*ids[9], *ids[4], *ids[1], *ids[0]]


def test_an_earlier_command_wins_whatever_the_priorities_of_later_ones(codeq: Codeq, queue: str) -> None:
    first, second = f"{queue}.1", f"{queue}.2"
    urgent, plain = create(codeq, second, priority=9)["id"], create(codeq, first)["id"]

    assert [take(codeq, first, second)["id"] for _ in range(2)] == [plain, urgent]


WRONG_TYPES = {
    "/tasks/claim": {"commands": "x"},
    "/tasks/claim/batch": {"count": 1, "leaseSeconds": "x"},
    "/tasks/x/heartbeat": {"extendSeconds": "x"},
    "/tasks/x/nack": {"reason": 7},
}


@pytest.mark.parametrize("path", WRONG_TYPES)
def test_a_body_is_needed_and_must_be_json(codeq: Codeq, path: str) -> None:
    for body in ("", "{", "[]", "null", json.dumps(WRONG_TYPES[path])):
        assert_error(codeq.call("POST", path, content=body), 400, "invalid body")


def test_nothing_to_claim_is_answered_without_a_body(codeq: Codeq, queue: str) -> None:
    answer = codeq.post("/tasks/claim", {"commands": [queue]})

    assert (answer.status_code, answer.content) == (204, b"")


# --- what a token allows


def test_a_worker_has_the_commands_of_its_token_by_default(tokens: Codeq) -> None:
    worker = tokens.like("some")
    ids = {command: create(tokens, command)["id"] for command in ("other", "sms", "mail")}

    assert [take(worker)["id"] for _ in range(2)] == [ids["mail"], ids["sms"]]
    assert claim(worker) is None


@pytest.mark.parametrize("commands", [["other"], ["Mail", "other"], ["mail"], ["*"]])
def test_a_command_that_is_not_the_tokens_is_refused_with_all_others(tokens: Codeq, commands: list[str]) -> None:
    create(tokens, "Mail")

    for path, extra in (("/tasks/claim", {}), ("/tasks/claim/batch", {"count": 1})):
        answer = tokens.like("some").post(path, {"commands": commands, **extra})
        assert_error(answer, 403, "event type not allowed")
    assert tokens.stats("Mail")["ready"] == 1


def test_a_worker_of_everything_gets_every_command_there_is(tokens: Codeq) -> None:
    worker = tokens.like("all")
    assert claim(worker) is None
    plain, urgent = create(tokens, "a")["id"], create(tokens, "b", priority=1)["id"]

    assert [take(worker)["id"], take(worker)["id"]] == [urgent, plain]


def test_a_worker_of_everything_hears_of_commands_that_are_new(tokens: Codeq) -> None:
    with in_background(lambda: take(tokens.like("all"), wait=20)) as taken:
        wait_for(lambda: is_waiting(tokens, "all"))
        created = create(tokens, "never-seen-before")

    assert taken() == created["id"]


@pytest.mark.parametrize("path", ["/tasks/claim", "/tasks/claim/batch"])
def test_claiming_needs_its_scope(tokens: Codeq, path: str) -> None:
    assert_error(tokens.like("no-claims").post(path, {"count": 1}), 403, "missing scope")


@pytest.mark.parametrize("action", ["heartbeat", "abandon", "nack", "result"])
def test_every_action_needs_its_scope(tokens: Codeq, action: str) -> None:
    task_id = create(tokens, "c")["id"]
    take(tokens.like("claims-only"), "c")

    assert_error(tokens.like("claims-only").post(f"/tasks/{task_id}/{action}", {}), 403, "missing scope")


# --- waiting


class in_background:  # noqa: N801
    """Do something in a thread; called afterwards, the id of the task that it got."""

    def __init__(self, work: Any) -> None:
        self._results: list[Any] = []
        self._thread = threading.Thread(target=lambda: self._results.append(work()))

    def __enter__(self) -> "in_background":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join(40)

    def __call__(self) -> Any:
        return self._results[0]["id"]


def is_waiting(codeq: Codeq, worker: str) -> bool:
    """Whether a worker of that name has asked for work."""
    workers = codeq.server.http.get("/api/v1/workers").json()
    return any(known["id"] == worker for known in workers)


def test_a_worker_who_waits_gets_a_task_as_soon_as_there_is_one(codeq: Codeq, queue: str) -> None:
    with in_background(lambda: take(codeq.like(queue), queue, wait=30)) as taken:
        wait_for(lambda: is_waiting(codeq, queue))
        created = create(codeq, queue)

    assert taken() == created["id"]


def test_a_worker_who_waits_gets_what_becomes_due(codeq: Codeq, queue: str) -> None:
    created = create(codeq, queue, delaySeconds=1)
    retried = create(codeq, f"{queue}.2")["id"]
    take(codeq, f"{queue}.2", leaseSeconds=1)

    assert {take(codeq, queue, f"{queue}.2")["id"] for _ in range(2)} == {created["id"], retried}


def test_who_waits_in_vain_is_told_when_the_time_is_up(codeq: Codeq, queue: str) -> None:
    started = monotonic()

    assert claim(codeq, queue, waitSeconds=1) is None

    assert monotonic() - started >= 1


@pytest.mark.parametrize("commands", ["named", "all"])
def test_a_caller_who_goes_away_while_waiting_takes_no_task_along(
    codeq: Codeq, start_codeq: StartCodeq, queue: str, commands: str
) -> None:
    codeq = start_codeq({}) if commands == "all" else codeq
    named = [queue] if commands == "named" else []
    body = json.dumps({"commands": named, "waitSeconds": 30}).encode()
    url = httpx.URL(codeq.server.url)
    with socket.create_connection((url.host, url.port)) as caller:
        caller.sendall(
            b"POST /v1/codeq/tasks/claim HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer gone-%s\r\n" % queue[:40].encode()
            + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
        )
        wait_for(lambda: is_waiting(codeq, f"gone-{queue[:40]}"))

    created = create(codeq, queue)
    claimed = take(codeq.like("w1"), queue)
    assert (claimed["id"], claimed["attempts"]) == (created["id"], 1)


def test_a_caller_who_goes_away_before_the_answer_takes_no_task_along(codeq: Codeq, queue: str) -> None:
    created = create(codeq, queue)
    name = f"gone-{queue[:40]}"
    body = json.dumps({"commands": [queue]}).encode()
    url = httpx.URL(codeq.server.url)
    with codeq.server.frozen(), socket.create_connection((url.host, url.port)) as caller:
        caller.sendall(
            b"POST /v1/codeq/tasks/claim HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n" % name.encode()
            + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
        )
        caller.close()

    wait_for(lambda: is_waiting(codeq, name))
    claimed = take(codeq.like("w1"), queue)
    assert (claimed["id"], claimed["attempts"]) == (created["id"], 1)


# --- several at once


def test_several_tasks_are_claimed_in_the_order_of_their_commands(codeq: Codeq, queue: str) -> None:
    first, second = f"{queue}.1", f"{queue}.2"
    later = [create(codeq, second, priority=9)["id"] for _ in range(2)]
    earlier = [create(codeq, first)["id"] for _ in range(2)]

    body = {"commands": [first, second], "count": 3, "leaseSeconds": 60}
    answer = codeq.like("w1").post("/tasks/claim/batch", body)
    assert answer.status_code == 200
    assert answer.json().keys() == {"tasks"}
    assert [task["id"] for task in answer.json()["tasks"]] == [*earlier, later[0]]
    assert all(task["workerId"] == "w1" for task in answer.json()["tasks"])
    rest = codeq.post("/tasks/claim/batch", body)
    assert [task["id"] for task in rest.json()["tasks"]] == [later[1]]
    nothing = codeq.post("/tasks/claim/batch", body)
    assert (nothing.status_code, nothing.content) == (204, b"")


@pytest.mark.parametrize(
    ("count", "text"),
    [(None, "invalid body"), (0, "invalid body"), (-1, "invalid body"), (11, "count exceeds maximum of 10")],
)
def test_one_to_ten_tasks_are_claimed_at_once(codeq: Codeq, queue: str, count: int | None, text: str) -> None:
    create(codeq, queue)

    assert_error(codeq.post("/tasks/claim/batch", {"commands": [queue], "count": count}), 400, text)
    assert codeq.stats(queue)["inProgress"] == 0


# --- who may say what


@pytest.mark.parametrize("action", ["heartbeat", "abandon", "nack"])
def test_only_the_worker_who_has_a_task_may_act_on_it(codeq: Codeq, queue: str, action: str) -> None:
    mine, other = codeq.like("w1"), codeq.like("w2")
    task_id = create(codeq, queue)["id"]

    assert_error(mine.post(f"/tasks/nowhere/{action}", {}), 404, "not-found")
    assert_error(mine.post(f"/tasks/{task_id}/{action}", {}), 403, "not-owner")
    take(mine, queue)
    assert_error(other.post(f"/tasks/{task_id}/{action}", {}), 403, "not-owner")
    before = task(codeq, task_id)
    assert (before["workerId"], before["attempts"]) == ("w1", 1)
    complete(mine, task_id)
    assert_error(mine.post(f"/tasks/{task_id}/{action}", {}), 403, "not-owner")
    assert task(codeq, task_id)["status"] == "COMPLETED"


def test_two_processes_of_one_name_may_finish_each_others_tasks(codeq: Codeq, queue: str) -> None:
    task_id = create(codeq, queue)["id"]
    take(codeq.like("same"), queue)

    complete(codeq.like("same"), task_id)


# --- leases


def test_a_heartbeat_sets_the_end_of_the_lease_anew(codeq: Codeq, worker: Codeq, queue: str) -> None:
    task_id = create(codeq, queue)["id"]
    first = take(worker, queue, leaseSeconds=30)

    for extend, least, most in ((1000, 990, 1000), (0, 290, 300), (None, 290, 300), (60, 50, 60)):
        answer = worker.post(f"/tasks/{task_id}/heartbeat", {"extendSeconds": extend})
        assert (answer.status_code, answer.json()) == (200, {"ok": True})
        left = (datetime.fromisoformat(task(codeq, task_id)["leaseUntil"]) - datetime.now(UTC)).total_seconds()
        assert least < left <= most
    assert task(codeq, task_id)["updatedAt"] > first["updatedAt"]


def test_a_heartbeat_may_shorten_a_lease_and_its_loss_counts_as_a_failure(codeq: Codeq, queue: str) -> None:
    worker, task_id = codeq.like("w1"), create(codeq, queue, maxAttempts=2)["id"]
    take(worker, queue)
    worker.post(f"/tasks/{task_id}/heartbeat", {"extendSeconds": 1})

    again = take(codeq.like("w2"), queue, leaseSeconds=1)
    assert (again["id"], again["attempts"]) == (task_id, 2)
    assert "error" not in again
    wait_for(lambda: task(codeq, task_id)["status"] == "FAILED")
    assert task(codeq, task_id)["error"] == "LEASE_EXPIRED"
    assert codeq.stats(queue)["dlq"] == 1
    assert_error(worker.post(f"/tasks/{task_id}/heartbeat", {}), 403, "not-owner")


def test_a_lost_lease_comes_back_after_a_backoff_and_a_late_result_is_refused(start_codeq: StartCodeq) -> None:
    codeq = start_codeq({"BACKOFF_POLICY": "exponential", "BACKOFF_BASE_SECONDS": "600"})
    task_id = create(codeq, "c")["id"]
    take(codeq, "c", leaseSeconds=1)

    wait_for(lambda: codeq.stats("c")["delayed"] == 1)

    shown = task(codeq, task_id)
    assert (shown["status"], shown["attempts"], shown["lastKnownLocation"]) == ("PENDING", 1, "DELAYED_ZSET")
    assert not {"workerId", "leaseUntil", "error"} & shown.keys()
    late = codeq.post(f"/tasks/{task_id}/result", {"status": "COMPLETED", "result": {}})
    assert_error(late, 409, "not-in-progress")


# --- abandoning


def test_an_abandoned_task_is_ready_again_at_the_tail_of_its_tier(codeq: Codeq, worker: Codeq, queue: str) -> None:
    first, second = create(codeq, queue)["id"], create(codeq, queue)["id"]
    take(worker, queue)

    answer = worker.call("POST", f"/tasks/{first}/abandon")
    assert (answer.status_code, answer.json()) == (200, {"status": "requeued"})

    shown = task(codeq, first)
    assert (shown["status"], shown["attempts"], shown["lastKnownLocation"]) == ("PENDING", 1, "PENDING_LIST")
    assert not {"workerId", "leaseUntil"} & shown.keys()
    again = [take(worker, queue, wait=0) for _ in range(2)]
    assert [(one["id"], one["attempts"]) for one in again] == [(second, 1), (first, 2)]


def test_a_task_may_be_abandoned_more_often_than_it_may_fail(codeq: Codeq, worker: Codeq, queue: str) -> None:
    task_id = create(codeq, queue, maxAttempts=1)["id"]
    for attempt in (1, 2, 3):
        assert take(worker, queue)["attempts"] == attempt
        assert worker.post(f"/tasks/{task_id}/abandon", {}).status_code == 200

    take(worker, queue)
    assert nack(worker, task_id) == {"status": "dlq", "delaySeconds": 0}


# --- nacking


@pytest.mark.parametrize("most", [1, 3])
def test_a_task_is_delivered_as_often_as_it_may_be_and_then_dead(
    codeq: Codeq, worker: Codeq, queue: str, most: int
) -> None:
    task_id = create(codeq, queue, maxAttempts=most)["id"]

    for attempt in range(1, most + 1):
        assert take(worker, queue)["attempts"] == attempt
        outcome = nack(worker, task_id, reason="no luck")
        assert outcome == {"status": "requeued" if attempt < most else "dlq", "delaySeconds": 0}
        assert task(codeq, task_id).get("error") == (None if attempt < most else "no luck")

    dead = task(codeq, task_id)
    assert (dead["status"], dead["attempts"], dead["lastKnownLocation"]) == ("FAILED", most, "DLQ_SET")
    assert not {"workerId", "leaseUntil", "resultKey"} & dead.keys()
    assert codeq.stats(queue) == {"command": queue, "ready": 0, "delayed": 0, "inProgress": 0, "dlq": 1}
    assert_error(codeq.get(f"/tasks/{task_id}/result"), 404, "result not found")
    assert claim(worker, queue) is None


@pytest.mark.parametrize("reason", [None, "", " "])
def test_a_task_that_dies_without_a_reason_had_its_attempts(
    codeq: Codeq, worker: Codeq, queue: str, reason: str | None
) -> None:
    task_id = create(codeq, queue, maxAttempts=1)["id"]
    take(worker, queue)

    nack(worker, task_id, reason=reason)

    assert task(codeq, task_id)["error"] == "MAX_ATTEMPTS"


def test_a_worker_may_say_when_the_task_is_to_come_again(codeq: Codeq, worker: Codeq, queue: str) -> None:
    task_id = create(codeq, queue)["id"]
    take(worker, queue)

    assert nack(worker, task_id, delaySeconds=1) == {"status": "requeued", "delaySeconds": 1}
    assert claim(worker, queue) is None
    assert codeq.stats(queue)["delayed"] == 1
    assert take(worker, queue)["attempts"] == 2
    assert nack(worker, task_id, delaySeconds=10**20) == {"status": "requeued", "delaySeconds": 900}


@pytest.mark.parametrize(
    ("policy", "least", "most"),
    [
        ("fixed", 5, 5),
        ("linear", 5, 5),
        ("exponential", 10, 10),
        ("exp_equal_jitter", 5, 10),
        ("exp_full_jitter", 0, 10),
        ("no such policy", 0, 10),
    ],
)
def test_the_first_delay_of_each_policy(start_codeq: StartCodeq, policy: str, least: int, most: int) -> None:
    codeq = start_codeq({"BACKOFF_POLICY": policy})
    tasks = [create(codeq, "c")["id"] for _ in range(20)]

    delays = set()
    for task_id in tasks:
        take(codeq, "c")
        outcome = nack(codeq, task_id, delaySeconds=-1)
        assert outcome["status"] == "requeued"
        delays.add(outcome["delaySeconds"])

    assert all(isinstance(delay, int) and least <= delay <= most for delay in delays)
    assert len(delays) == 1 if least == most else len(delays) > 1


@pytest.mark.parametrize("base", [0, 1, 5, 7])
@pytest.mark.parametrize("cap", [0, 3, 900])
@pytest.mark.parametrize("attempt", [1, 2, 3, 7, 8, 60, 1000])
def test_delays_follow_the_contract(base: int, cap: int, attempt: int) -> None:
    capped = min(base * 2**attempt, cap)
    steady = {"fixed": min(base, cap), "linear": min(base * max(1, attempt), cap), "exponential": capped}
    jittered = {"exp_equal_jitter": (capped // 2, capped // 2 * 2), "exp_full_jitter": (0, capped)}

    def delay(policy: str, jitter: float) -> float:
        settings = CodeqSettings(backoff_policy=policy, backoff_base_seconds=base, backoff_max_seconds=cap)
        return retry_delay(*retry_policy(settings), attempt, attempt, jitter) / 1000

    for policy, seconds in steady.items():
        assert delay(policy, 0.5) == seconds
    for policy, (least, most) in jittered.items():
        assert (delay(policy, 0.0), delay(policy, 1 - 2**-53)) == (least, most)
        assert delay(policy, 0.7).is_integer()
