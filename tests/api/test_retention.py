"""Ended jobs are kept for the retention period, then forgotten."""

from collections.abc import Callable

from tests.conftest import Api, ServerProcess, wait_for


def test_a_running_server_forgets_what_ended_long_enough_ago(start_server: Callable[..., ServerProcess]) -> None:
    api = Api(start_server("--retention", "1ms", "--retention-interval", "1s"))
    ended, waiting = api.enqueue("q"), api.enqueue("other")
    assert api.fetch("q") is not None
    api.post(f"/ack/{ended}", {})

    wait_for(lambda: api.get(f"/jobs/{ended}").status_code == 404)

    assert api.job(waiting)["state"] == "pending"
    assert api.get("/queues/q").json()["completed"] == 0


def test_by_default_ended_jobs_stay(start_server: Callable[..., ServerProcess]) -> None:
    api = Api(start_server("--retention-interval", "1s"))
    ended = api.enqueue("q")
    assert api.fetch("q") is not None
    api.post(f"/ack/{ended}", {})
    assert api.get(f"/jobs/{ended}/wait").status_code == 200
    assert api.fetch("q", timeout=2) is None

    assert api.job(ended)["state"] == "completed"
