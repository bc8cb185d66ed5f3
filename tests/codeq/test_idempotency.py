"""Keys of producers: the same key finds the same task."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.codeq.conftest import Codeq
from tests.codeq.steps import complete, create, take, task
from tests.conftest import Api


@pytest.fixture
def codeq(open_codeq: Codeq) -> Codeq:
    return open_codeq


def test_a_key_finds_the_task_as_it_is_now_whatever_else_is_asked_for(codeq: Codeq, queue: str) -> None:
    first = create(codeq, queue, {"n": 1}, idempotencyKey=queue, priority=3)
    assert create(codeq, queue, {"n": 1}, idempotencyKey=queue) == first

    claimed = take(codeq.like("w1"), queue)
    assert create(codeq, f"{queue}.other", {"n": 2}, idempotencyKey=queue, priority=9) == claimed
    complete(codeq.like("w1"), first["id"])
    again = create(codeq, queue, idempotencyKey=queue)
    assert (again["id"], again["status"]) == (first["id"], "COMPLETED")
    assert codeq.stats(f"{queue}.other")["ready"] == 0


def test_a_key_is_not_in_the_record(codeq: Codeq, queue: str) -> None:
    assert queue not in str({**create(codeq, "c", idempotencyKey=f"key-{queue}"), "command": ""})


@pytest.mark.parametrize("key", ["", " ", None])
def test_a_blank_key_is_none(codeq: Codeq, queue: str, key: str | None) -> None:
    assert create(codeq, queue, idempotencyKey=key)["id"] != create(codeq, queue, idempotencyKey=key)["id"]


def test_of_many_who_come_with_one_key_at_the_same_time_one_makes_a_task(codeq: Codeq, queue: str) -> None:
    with ThreadPoolExecutor(16) as threads:
        tasks = list(threads.map(lambda n: create(codeq, queue, {"n": n}, idempotencyKey=queue), range(48)))

    assert len({task["id"] for task in tasks}) == 1
    assert len({task["payload"] for task in tasks}) == 1
    assert codeq.stats(queue)["ready"] == 1


def test_a_key_holds_inside_one_batch_too(codeq: Codeq, queue: str) -> None:
    items = [{"command": queue, "payload": n, "idempotencyKey": f"{queue}-{n % 2}"} for n in range(6)]

    results = codeq.post("/tasks/batch", {"tasks": items}).json()["results"]

    assert [item["task"]["payload"] for item in results] == ["0", "1"] * 3
    assert codeq.stats(queue)["ready"] == 2


def test_a_key_is_free_again_when_its_task_is_gone(codeq: Codeq, queue: str) -> None:
    first = create(codeq, queue, idempotencyKey=queue)
    assert codeq.server.http.delete(f"/api/v1/jobs/{first['id']}").status_code == 200

    second = create(codeq, queue, idempotencyKey=queue)

    assert second["id"] != first["id"]
    assert create(codeq, queue, idempotencyKey=queue) == second


def test_a_key_of_the_native_api_is_another_key(codeq: Codeq, queue: str) -> None:
    created = create(codeq, queue, idempotencyKey=queue)

    answer = Api(codeq.server).post("/enqueue", {"queue": queue}, headers={"Idempotency-Key": queue})

    assert answer.status_code == 201
    assert answer.json()["job_id"] != created["id"]


def test_a_key_outlives_the_server(codeq: Codeq, queue: str) -> None:
    first = create(codeq, queue, idempotencyKey=queue)
    codeq.server.kill()
    codeq.server.start()

    assert create(codeq, queue, idempotencyKey=queue)["id"] == first["id"]
    assert task(codeq, first["id"])["status"] == "PENDING"
