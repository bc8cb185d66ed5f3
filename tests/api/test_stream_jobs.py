"""The stream as workers use it: standing credit, jobs that are pushed, and what is put back when it is closed."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.api.expectations import claim, wait_for_state, wait_until_parked
from tests.api.wires import Wire, lease_of, raw_stream
from tests.conftest import Api, ServerProcess, wait_for


@pytest.fixture
def wire(api: Api) -> Iterator[Wire]:
    with Wire(api) as wire:
        yield wire


def add(api: Api, queue: str, count: int, **fields: Any) -> list[str]:
    """Enqueue so many jobs; their ids."""
    answer = api.post("/enqueue/batch", {"jobs": [{"queue": queue, **fields}] * count})
    assert answer.status_code == 201, answer.text
    ids: list[str] = answer.json()["job_ids"]
    return ids


def ids_of(jobs: list[dict[str, Any]]) -> list[str]:
    return [job["job_id"] for job in jobs]


# --- credit


def test_a_pushed_job_looks_like_a_fetched_one(api: Api, queue: str, wire: Wire) -> None:
    for _ in range(2):
        api.enqueue(queue, {"n": 1}, checkpoint="here", tags={"a": "b"}, max_retries=9, priority="high", agent={})
    fetched = claim(api, queue, lease_duration=120)
    wire.want(queue, count=1, worker_id="w1", lease_duration=120)
    (pushed,) = wire.take(1)
    assert pushed.keys() == fetched.keys()
    own = {"job_id", "lease_token"}
    assert {name: pushed[name] for name in pushed if name not in own} == {
        name: fetched[name] for name in fetched if name not in own
    }
    assert api.job(pushed["job_id"])["worker_id"] == "w1"


def test_jobs_that_are_there_are_pushed_at_once_in_their_order(api: Api, queue: str, wire: Wire) -> None:
    normal = add(api, queue, 3)
    high = add(api, queue, 2, priority="high")
    wire.want(queue, count=4)
    assert ids_of(wire.take(4)) == [*high, *normal[:2]]
    assert wire.is_silent()


def test_jobs_are_pushed_as_they_become_claimable(api: Api, queue: str, wire: Wire) -> None:
    wire.want(queue, f"{queue}-2", count=10)
    for name in (queue, f"{queue}-2", queue):
        added = api.enqueue(name)
        assert ids_of(wire.take(1)) == [added]
    api.post(f"/queues/{queue}/pause")
    added = api.enqueue(queue)
    assert wire.is_silent()
    api.post(f"/queues/{queue}/resume")
    assert ids_of(wire.take(1)) == [added]


def test_what_a_producer_enqueues_on_the_same_stream_comes_back_on_it(queue: str, wire: Wire) -> None:
    wire.want(queue, count=3)
    id = wire.say(enqueue=[{"queue": queue, "payload": n} for n in range(5)])
    answer = wire.hear()
    assert answer["id"] == id, "the answer comes first"
    jobs = wire.take(3)
    assert [job["payload"] for job in jobs] == [0, 1, 2]
    assert ids_of(jobs) == [item["job_id"] for item in answer["enqueued"]][:3]
    assert wire.is_silent()


@pytest.mark.parametrize("ending", ["ack", "fail", "release"])
def test_each_job_that_comes_to_an_end_gives_one_credit_back(api: Api, queue: str, wire: Wire, ending: str) -> None:
    ids = add(api, queue, 6, retry_base_delay="1h")
    wire.want(queue, count=2)
    jobs = wire.take(2)
    assert wire.is_silent()
    item = {**lease_of(jobs[0]), **({"delay": "1h"} if ending == "release" else {})}
    wire.ask(**{ending: [item]})
    assert ids_of(wire.take(1)) == [ids[2]]
    assert wire.is_silent()
    wire.ask(**{ending: [item]})
    assert wire.is_silent(), "said twice, it counts once"


def test_only_jobs_that_were_pushed_here_give_credit_back(api: Api, queue: str, wire: Wire) -> None:
    add(api, queue, 5)
    elsewhere = claim(api, queue)
    wire.want(queue, count=1)
    (job,) = wire.take(1)
    wire.ask(ack=[lease_of(elsewhere), {"job_id": "job_nowhere"}, {"job_id": ""}])
    wire.ask(heartbeat={job["job_id"]: {}}, got=[job["job_id"]])
    assert wire.is_silent()


def test_an_ack_of_a_lease_that_was_lost_gives_its_credit_back(api: Api, queue: str, wire: Wire) -> None:
    api.enqueue(queue)
    wire.want(queue, count=1, lease_duration=1)
    (first,) = wire.take(1)
    wait_for_state(api, first["job_id"], "pending")
    assert wire.is_silent(), "there is no room for it"
    assert wire.ask(ack=[lease_of(first)])["acked"][0]["code"] == "LEASE_LOST"
    (second,) = wire.take(1)
    assert (second["job_id"], second["attempt"]) == (first["job_id"], 2)


def test_a_job_that_comes_again_while_its_first_lease_is_in_hand_counts_twice(api: Api, queue: str, wire: Wire) -> None:
    api.enqueue(queue)
    wire.want(queue, count=2, lease_duration=1)
    (first,) = wire.take(1)
    (second,) = wire.take(1)
    assert (first["job_id"], second["attempt"]) == (second["job_id"], 2)
    add(api, queue, 5)
    assert wire.is_silent()
    wire.ask(heartbeat={second["job_id"]: {"lease_token": second["lease_token"]}})
    outcomes = wire.ask(ack=[lease_of(first), lease_of(second)])["acked"]
    assert [outcome.get("code") for outcome in outcomes] == ["LEASE_LOST", None]
    assert len(wire.take(2)) == 2
    assert wire.is_silent()


def test_a_client_that_says_nothing_for_long_is_not_handed_the_job_again_and_again(
    api: Api, queue: str, wire: Wire
) -> None:
    wire.want(queue, count=5, lease_duration=1)
    job_id = api.enqueue(queue)
    assert [job["attempt"] for job in wire.take(2)] == [1, 2]
    wait_for_state(api, job_id, "pending")
    add(api, "elsewhere", 2)
    assert api.job(job_id)["state"] == "pending"

    wire.ask(got=[])
    assert [job["attempt"] for job in wire.take(1)] == [3]


def test_a_new_want_sets_the_credit_anew(api: Api, queue: str, wire: Wire) -> None:
    add(api, queue, 20)
    wire.want(queue, count=2)
    jobs = wire.take(2)
    wire.want(queue, count=3)
    jobs += wire.take(3)
    assert wire.is_silent()
    wire.ask(ack=[lease_of(job) for job in jobs], want={"queues": [queue], "count": 1})
    jobs = wire.take(1)
    assert wire.is_silent(), "the acks of the same frame count before it"
    wire.ask(ack=[lease_of(jobs[0])])
    wire.take(1)
    assert wire.is_silent()


def test_a_want_that_says_the_same_again_and_again_undoes_no_claim(api: Api, queue: str, wire: Wire) -> None:
    wire.want(queue, count=4)
    want = {"queues": [queue], "count": 4}
    jobs: list[dict[str, Any]] = []
    for _ in range(20):
        wire.ask(enqueue=[{"queue": queue}], ack=[lease_of(job) for job in jobs], want=want)
        jobs = wire.take(1)
    assert {tuple(api.events_of(job["job_id"])) for job in jobs} == {("enqueued", "started")}
    types = api.get("/cluster/events", params={"queues": queue, "types": "released", "limit": 100}).json()["events"]
    assert types == []


def test_a_want_of_less_takes_back_what_is_too_much(api: Api, queue: str, wire: Wire) -> None:
    add(api, queue, 50)
    wire.say_at_once(*[{"id": n, "want": {"queues": [queue], "count": n}} for n in (40, 30, 20, 2)])
    taken = wire.take(2)
    assert wire.is_silent()
    assert api.get(f"/queues/{queue}").json()["active"] == 2
    assert {job["attempt"] for job in taken} == {1}


def test_a_want_of_nothing_ends_it(api: Api, queue: str, wire: Wire) -> None:
    add(api, queue, 5)
    wire.want(queue, count=2)
    jobs = wire.take(2)
    id = wire.say(want={"count": 0})
    assert wire.answer(id) == {"id": id}
    wire.ask(ack=[lease_of(job) for job in jobs])
    assert wire.is_silent()
    wire.want(queue, count=1)
    assert len(wire.take(1)) == 1


def test_a_want_may_turn_to_other_queues(api: Api, queue: str, wire: Wire) -> None:
    wire.want(queue, count=5)
    wire.want(f"{queue}-2", count=5)
    add(api, queue, 1)
    assert wire.is_silent()
    added = add(api, f"{queue}-2", 1)
    assert ids_of(wire.take(1)) == added


@pytest.mark.parametrize(
    ("want", "named"),
    [
        ({"count": 1}, "queues"),
        ({"queues": [], "count": 1}, "queues"),
        ({"queues": [""], "count": 1}, "queues"),
        ({"queues": ["q"], "count": -1}, "count"),
        ({"queues": ["q"], "count": 1, "lease_duration": 0}, "lease_duration"),
        ({"queues": ["q"], "count": 1, "lease_duration": 90_000}, "lease_duration"),
    ],
)
def test_a_want_that_cannot_be_refuses_its_frame(
    api: Api, queue: str, wire: Wire, want: dict[str, Any], named: str
) -> None:
    answer = wire.ask(id=4, want=want, enqueue=[{"queue": queue}])
    assert answer.keys() == {"id", "error", "code"}
    assert answer["code"] == "VALIDATION_ERROR"
    assert named in answer["error"]
    assert api.get(f"/queues/{queue}").status_code == 404


def test_a_want_has_no_more_than_512(api: Api, queue: str, wire: Wire) -> None:
    add(api, queue, 600)
    wire.want(queue, count=100_000)
    assert len(set(ids_of(wire.take(512)))) == 512
    assert wire.is_silent()
    assert api.get(f"/queues/{queue}").json()["active"] == 512


def test_limits_of_queues_hold(api: Api, queue: str, wire: Wire) -> None:
    api.post(f"/queues/{queue}/concurrency", {"max": 2})
    add(api, queue, 5)
    wire.want(queue, count=5)
    jobs = wire.take(2)
    assert wire.is_silent()
    wire.ask(ack=[lease_of(jobs[0])])
    wire.take(1)
    assert wire.is_silent()


def test_the_rate_of_a_queue_holds(api: Api, queue: str, wire: Wire) -> None:
    api.post(f"/queues/{queue}/throttle", {"rate": 2, "period": "2s"})
    add(api, queue, 4)
    began = time.monotonic()
    wire.want(queue, count=4)
    wire.take(2)
    wire.take(2)
    assert time.monotonic() - began > 1.5


def test_credit_is_never_exceeded_while_much_goes_on(api: Api, queue: str, wire: Wire) -> None:
    wire.want(queue, count=7)
    in_hand: dict[str, dict[str, Any]] = {}
    pushed = 0
    for _ in range(40):
        wire.say(enqueue=[{"queue": queue}] * 5)
    while pushed < 200:
        if "jobs" not in wire.hear():
            continue
        pushed += len(wire.jobs)
        in_hand.update((job["job_id"], job) for job in wire.take(len(wire.jobs)))
        assert len(in_hand) <= 7
        done = [in_hand.pop(job_id) for job_id in list(in_hand)[: 1 + pushed % 7]]
        wire.say(ack=[lease_of(job) for job in done])
    assert pushed == 200


# --- others who wait


def test_a_poll_that_came_first_is_served_first(api: Api, queue: str, wire: Wire, background: Any) -> None:
    polled = background(api.fetch, queue, timeout=20, worker_id=f"{queue}-poll")
    wait_until_parked(api, f"{queue}-poll")
    wire.want(queue, count=1)
    first, second = api.enqueue(queue), api.enqueue(queue)
    assert polled.result()["job_id"] == first
    assert ids_of(wire.take(1)) == [second]


def test_a_stream_that_came_first_is_served_first_and_then_stands_at_the_end(
    api: Api, queue: str, wire: Wire, background: Any
) -> None:
    wire.want(queue, count=10)
    polled = background(api.fetch, queue, timeout=20, worker_id=f"{queue}-poll")
    wait_until_parked(api, f"{queue}-poll")
    ids = [api.enqueue(queue) for _ in range(3)]
    assert polled.result()["job_id"] == ids[1]
    assert ids_of(wire.take(2)) == [ids[0], ids[2]]


def test_two_streams_share_what_comes(api: Api, queue: str, wire: Wire) -> None:
    with Wire(api) as other:
        wire.want(queue, count=100)
        other.want(queue, count=100)
        for turn in range(6):
            added = api.enqueue(queue)
            assert ids_of((wire, other)[turn % 2].take(1)) == [added]


def test_the_worker_is_registered_and_the_queue_has_workers(api: Api, queue: str, wire: Wire) -> None:
    wire.want(queue, count=1, worker_id=f"{queue}-w", hostname="box")
    workers = wait_for(lambda: [w for w in api.get("/workers").json() if w["id"] == f"{queue}-w"])
    assert (workers[0]["hostname"], workers[0]["queues"]) == ("box", [queue])
    api.enqueue(queue)
    wire.take(1)
    waiting = api.enqueue(queue)
    reasons = [reason["code"] for reason in api.get(f"/jobs/{waiting}/why").json()["reasons"]]
    assert "no_workers" not in reasons, "it is busy, but it is there"


# --- closing


@pytest.mark.parametrize("end", ["close", "drop"])
def test_jobs_that_may_not_have_arrived_are_put_back(api: Api, queue: str, end: str) -> None:
    ids = add(api, queue, 6)
    wire = Wire(api)
    wire.want(queue, count=6, worker_id="w")
    jobs = wire.take(6)
    wire.ask(got=[jobs[0]["job_id"]])
    wire.ask(heartbeat={jobs[1]["job_id"]: {}})
    wire.ask(ack=[lease_of(jobs[2])])
    wire.ask(fail=[{**lease_of(jobs[3]), "error": "boom"}])
    getattr(wire, end)()
    for job_id in ids[4:]:
        job = wait_for_state(api, job_id, "pending")
        assert (job["attempt"], job["worker_id"], job["errors"]) == (0, None, [])
        assert api.events_of(job_id) == ["enqueued", "started", "released"]
    states = [api.job(job_id)["state"] for job_id in ids]
    assert states == ["active", "active", "completed", "retrying", "pending", "pending"]
    assert ids_of([claim(api, queue), claim(api, queue)]) == ids[4:]


def test_naming_a_job_in_a_frame_that_is_refused_still_says_that_it_arrived(api: Api, queue: str) -> None:
    add(api, queue, 2)
    with Wire(api) as wire:
        wire.want(queue, count=2)
        first, second = wire.take(2)
        assert wire.ask(got=[first["job_id"]], want={"count": -1})["code"] == "VALIDATION_ERROR"
    wait_for_state(api, second["job_id"], "pending")
    assert api.job(first["job_id"])["state"] == "active"


def test_a_job_that_somebody_else_has_by_now_is_not_disturbed(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue)
    with Wire(api) as wire:
        wire.want(queue, count=1)
        (pushed,) = wire.take(1)
        api.post(f"/release/{job_id}", {})
        current = claim(api, queue)
    with Wire(api) as wire:
        assert wire.ask(heartbeat={job_id: {"lease_token": current["lease_token"]}})["heartbeat"]["acked"] == [job_id]
    assert api.job(job_id)["attempt"] == 1
    assert pushed["lease_token"] != current["lease_token"]


def test_what_came_before_the_goodbye_is_done(api: Api, queue: str) -> None:
    add(api, queue, 3)
    wire = Wire(api)
    wire.want(queue, count=3)
    jobs = wire.take(3)
    wire.say(ack=[lease_of(job) for job in jobs[:2]], enqueue=[{"queue": f"{queue}-2"}])
    wire.close()
    wait_for_state(api, jobs[2]["job_id"], "pending")
    assert [wait_for_state(api, job["job_id"], "completed")["attempt"] for job in jobs[:2]] == [1, 1]
    assert wait_for(lambda: api.get(f"/queues/{queue}-2").status_code == 200)


def test_nothing_is_claimed_for_a_stream_that_is_gone(api: Api, queue: str) -> None:
    wire = Wire(api)
    wire.want(queue, count=5, worker_id=f"{queue}-w")
    wire.drop()
    wait_for(lambda: api.get("/metrics").text.count("\nrookery_lifecycle_streams_open 0") == 1)
    job_id = api.enqueue(queue)
    assert claim(api, queue)["job_id"] == job_id
    assert api.events_of(job_id) == ["enqueued", "started"]


def test_a_server_that_stops_answers_puts_back_and_says_goodbye(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server("--rate-limit-enabled=false")
    api = Api(server)
    ids = add(api, "q", 4)
    wire = Wire(api)
    wire.want("q", count=4)
    jobs = wire.take(4)
    wire.ask(got=[ids[0]])
    wire.say(ack=[lease_of(jobs[1])])
    server.process.terminate()
    code, reason = wire.ended()
    assert (code, reason) == (1001, "the server stops")
    assert server.process.wait(45) == 0
    assert "timeout graceful shutdown exceeded" not in server.log.read_text()
    wire.close()
    server.http.close()
    server.start()
    states = {job_id: api.job(job_id)["state"] for job_id in ids}
    assert states == {ids[0]: "active", ids[1]: "completed", ids[2]: "pending", ids[3]: "pending"}
    assert [api.job(job_id)["attempt"] for job_id in ids] == [1, 1, 0, 0]


def test_a_client_that_does_not_answer_the_goodbye_does_not_hold_up_the_end(
    start_server: Callable[..., ServerProcess],
) -> None:
    server = start_server("--rate-limit-enabled=false", "--shutdown-timeout=5s")
    with raw_stream(Api(server)) as raw:
        assert raw.recv(65536).startswith(b"HTTP/1.1 101")
        assert server.stop() == 0
    assert "timeout graceful shutdown exceeded" not in server.log.read_text()


def test_after_a_crash_the_stream_is_opened_again_and_old_leases_hold(
    start_server: Callable[..., ServerProcess],
) -> None:
    server = start_server("--rate-limit-enabled=false")
    api = Api(server)
    ids = add(api, "q", 3)
    wire = Wire(api)
    wire.want("q", count=1)
    (first,) = wire.take(1)
    wire.want("q", count=1, lease_duration=1)
    (second,) = wire.take(1)
    server.kill()
    wire.close()
    server.start()
    with Wire(api) as wire:
        assert wire.ask(ack=[lease_of(first)])["acked"] == [{"job_id": ids[0], "status": "ok"}]
        wire.want("q", count=5)
        attempts = {job["job_id"]: job["attempt"] for job in wire.take(2)}
        assert attempts == {ids[1]: 2, ids[2]: 1}
        assert wire.ask(ack=[lease_of(second)])["acked"][0]["code"] == "LEASE_LOST"
