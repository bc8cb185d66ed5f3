"""A server that is killed while it delivers goes on with every delivery after its next start."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.conftest import Api, ServerProcess, wait_for
from tests.receiver import Receiver, receiving


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


def hook_of(api: Api, hook: str) -> dict[str, Any]:
    return dict(api.get(f"/webhooks/{hook}").json())


def is_done(api: Api, hook: str) -> bool:
    """Whether everything that has happened is delivered."""
    shown = hook_of(api, hook)
    return (shown["behind"], shown["waiting"]) == (0, 0)


def test_a_server_killed_in_the_middle_of_retries_goes_on_with_them(
    start_server: Callable[..., ServerProcess], receiver: Receiver
) -> None:
    server = start_server()
    api = Api(server)
    receiver.statuses["/hook"] = 500
    hook = api.post("/webhooks", {"url": receiver.url("/hook"), "retry_limit": 6, "secret": "s"}).json()["id"]
    job_id = api.enqueue("q")
    wait_for(lambda: len(api.get(f"/webhooks/{hook}/deliveries").json()) == 2)
    server.kill()
    before = len(receiver.at("/hook"))

    server.start()
    assert hook_of(api, hook)["waiting"] == 1
    wait_for(lambda: len(receiver.at("/hook")) > before)
    receiver.statuses["/hook"] = 200
    wait_for(lambda: is_done(api, hook))

    assert {request.event["job_id"] for request in receiver.at("/hook")} == {job_id}
    log = [(delivery["attempt"], delivery["outcome"]) for delivery in api.get(f"/webhooks/{hook}/deliveries").json()]
    assert log[0][1] == "delivered"
    assert [attempt for attempt, _ in log] == list(range(len(log), 0, -1))
    assert hook_of(api, hook)["failures"] == 0


def test_every_acknowledged_job_is_told_whatever_is_killed_in_between(
    start_server: Callable[..., ServerProcess], receiver: Receiver
) -> None:
    server = start_server("--rate-limit-enabled=false")
    api = Api(server)
    hook = api.post("/webhooks", {"url": receiver.url("/hook"), "events": ["enqueued"]}).json()["id"]
    told: set[str] = set()
    for round_number in range(4):
        for _ in range(40):
            told.add(api.enqueue("q"))
        wait_for(lambda at_least=round_number * 10: len(receiver.at("/hook")) > at_least)
        server.kill()
        server.start()
    wait_for(lambda: is_done(api, hook))

    assert {request.event["job_id"] for request in receiver.at("/hook")} == told
    assert hook_of(api, hook)["dropped"] == 0


def test_events_that_were_committed_but_not_told_when_the_server_was_killed_are_told_once(
    start_server: Callable[..., ServerProcess], receiver: Receiver
) -> None:
    server = start_server("--rate-limit-enabled=false")
    api = Api(server)
    hooks = [api.post("/webhooks", {"url": receiver.url("/hang"), "retry_limit": 100}).json()["id"] for _ in range(20)]
    for _ in range(3):
        assert len(api.post("/enqueue/batch", {"jobs": [{"queue": "q"}] * 1000}).json()["job_ids"]) == 1000
    server.kill()

    server.start()
    for hook in hooks:
        wait_for(lambda hook=hook: hook_of(api, hook)["behind"] == 0)
        assert (hook_of(api, hook)["waiting"], hook_of(api, hook)["dropped"]) == (3000, 0)


def test_what_was_under_way_to_somebody_who_hangs_is_sent_again(
    start_server: Callable[..., ServerProcess], receiver: Receiver
) -> None:
    server = start_server()
    api = Api(server)
    hook = api.post("/webhooks", {"url": receiver.url("/hang")}).json()["id"]
    job_id = api.enqueue("q")
    wait_for(lambda: len(receiver.at("/hang")) == 1)
    server.kill()
    receiver.released.set()

    server.start()
    wait_for(lambda: is_done(api, hook))
    assert [request.event["job_id"] for request in receiver.at("/hang")] == [job_id] * 2
    (delivery,) = api.get(f"/webhooks/{hook}/deliveries").json()
    assert (delivery["attempt"], delivery["outcome"]) == (1, "delivered")
