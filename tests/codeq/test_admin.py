"""What admins see of the queues."""

import pytest

from tests.codeq.conftest import Codeq, assert_error
from tests.conftest import Api


@pytest.fixture
def api(open_codeq: Codeq) -> Api:
    return Api(open_codeq.server)


def test_a_command_nobody_has_heard_of_has_zeros(open_codeq: Codeq) -> None:
    assert open_codeq.stats("Never") == {"command": "Never", "ready": 0, "delayed": 0, "inProgress": 0, "dlq": 0}
    assert not any("never" in key for key in open_codeq.get("/admin/queues").json())


@pytest.mark.parametrize("path", ["/admin/queues/", "/admin/queues/%20", "/admin/queues/%09%0A"])
def test_a_blank_command_is_refused(open_codeq: Codeq, path: str) -> None:
    assert_error(open_codeq.get(path), 400, "command is required")


def test_jobs_of_a_queue_are_tasks_of_a_command(open_codeq: Codeq, api: Api, queue: str) -> None:
    for _ in range(3):
        api.enqueue(queue)
    api.enqueue(queue, priority="high")
    api.enqueue(queue, priority="critical")
    api.enqueue(queue, scheduled_at="2099-01-01T00:00:00Z")
    assert open_codeq.stats(queue.upper()) == {
        "command": queue.upper(),
        "ready": 5,
        "delayed": 1,
        "inProgress": 0,
        "dlq": 0,
    }
    tiers = {str(priority): 0 for priority in range(10)} | {"0": 3, "1": 1, "2": 1}
    name = f"codeq:q:{queue}"
    buckets = {key: count for key, count in open_codeq.get("/admin/queues").json().items() if key.startswith(name)}
    assert buckets == {f"{name}:pending:{tier}": count for tier, count in tiers.items()} | {
        f"{name}:inprog": 0,
        f"{name}:delayed": 1,
        f"{name}:dlq": 0,
    }


def test_a_job_is_counted_where_it_is(open_codeq: Codeq, api: Api, queue: str) -> None:
    api.enqueue(queue, max_retries=2, retry_backoff="fixed", retry_base_delay="1h")
    job = api.fetch(queue)
    assert job is not None
    assert open_codeq.stats(queue) == {"command": queue, "ready": 0, "delayed": 0, "inProgress": 1, "dlq": 0}
    api.post(f"/fail/{job['job_id']}", {"error": "no"})
    assert open_codeq.stats(queue) == {"command": queue, "ready": 0, "delayed": 1, "inProgress": 0, "dlq": 0}
    api.enqueue(queue, max_retries=1)
    job = api.fetch(queue)
    assert job is not None
    api.post(f"/fail/{job['job_id']}", {"error": "no"})
    assert open_codeq.stats(queue) == {"command": queue, "ready": 0, "delayed": 1, "inProgress": 0, "dlq": 1}
    assert open_codeq.get("/admin/queues").json()[f"codeq:q:{queue}:dlq"] == 1


def test_a_job_that_waits_for_another_is_not_ready(open_codeq: Codeq, api: Api, queue: str) -> None:
    first = api.enqueue(f"{queue}-first")
    api.enqueue(queue, depends_on=[first])
    assert open_codeq.stats(queue)["ready"] == 0


def test_a_command_may_have_any_letters(open_codeq: Codeq, api: Api) -> None:
    api.enqueue("a/b c?ü")
    assert open_codeq.stats("A%2FB%20C%3F%C3%9C") == {
        "command": "A/B C?Ü",
        "ready": 1,
        "delayed": 0,
        "inProgress": 0,
        "dlq": 0,
    }


def test_no_command_reaches_into_a_namespace(open_codeq: Codeq, api: Api, queue: str) -> None:
    api.post("/enqueue", {"queue": queue}, headers={"X-Rookery-Namespace": "acme"})
    assert api.get(f"/queues/acme::{queue}").status_code == 200
    assert open_codeq.stats(f"acme::{queue}")["ready"] == 0
    assert not any(queue in key for key in open_codeq.get("/admin/queues").json())


def test_a_native_queue_that_no_command_can_mean_is_not_shown(open_codeq: Codeq, api: Api) -> None:
    api.enqueue("Mixed-Case")
    assert open_codeq.stats("Mixed-Case")["ready"] == 0
    assert not any("mixed-case" in key.lower() for key in open_codeq.get("/admin/queues").json())
