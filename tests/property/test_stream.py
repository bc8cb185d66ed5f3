"""One contract, two ways: whatever is said by HTTP and on a stream, in whatever order, comes to the same."""

import re
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.api.wires import Wire
from tests.conftest import Api, ServerProcess

TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
_rounds = count()

names = st.sampled_from(["a", "b", "c"])
tokens = st.sampled_from(["current", "none", "old", "wrong"])
new_jobs = st.fixed_dictionaries(
    {"queue": st.sampled_from(["one", "two", "two", ""])},
    optional={
        "job_id": names,
        "payload": st.sampled_from([{"n": 1}, [], None, "text", 2**60, 0.1]),
        "priority": st.sampled_from(["high", 0, 2, 7, True]),
        "max_retries": st.sampled_from([0, 1, 2, -1, "3"]),
        "unique_key": st.sampled_from(["k", ""]),
        "unique_on_conflict": st.sampled_from(["keep", "replace", "odd"]),
        "retry_base_delay": st.sampled_from(["1h", "soon", 5]),
        "scheduled_at": st.sampled_from(["2999-01-01T00:00:00Z", "tomorrow"]),
        "depends_on": st.lists(names, max_size=2),
        "tags": st.sampled_from([{"x": 1}, [], {"x": []}]),
    },
)
acks = st.fixed_dictionaries(
    {},
    optional={
        "result": st.sampled_from([1, {"a": []}, None]),
        "usage": st.sampled_from([{"input_tokens": 5}, 5]),
        "agent_status": st.just("done"),
    },
)
fails = st.fixed_dictionaries(
    {},
    optional={
        "error": st.sampled_from(["boom", "", 5]),
        "backtrace": st.sampled_from(["here", "", None]),
        "retry_after": st.sampled_from(["1h", "soon"]),
        "end": st.sampled_from(["dead", "cancelled", "gone", ""]),
    },
)
releases = st.fixed_dictionaries(
    {},
    optional={
        "delay": st.sampled_from(["1h", "", "x"]),
        "checkpoint": st.sampled_from([1, None]),
        "reason": st.just("r"),
    },
)
beats = st.fixed_dictionaries(
    {}, optional={"progress": st.sampled_from([1, None]), "usage": st.sampled_from([{"cost_usd": 0.5}, "x"])}
)
steps = st.one_of(
    st.tuples(st.just("enqueue"), new_jobs, st.just("none")),
    st.tuples(st.just("enqueue"), new_jobs, st.just("none")),
    st.tuples(st.just("claim"), st.integers(1, 3), st.just("none")),
    st.tuples(st.just("ack"), acks, tokens),
    st.tuples(st.just("fail"), fails, tokens),
    st.tuples(st.just("release"), releases, tokens),
    st.tuples(st.just("heartbeat"), beats, tokens),
)


class World:
    """Queues and jobs of one's own, and the tokens one was given."""

    def __init__(self, api: Api, mark: str) -> None:
        self._api = api
        self._mark = mark
        self._ids: dict[str, str] = {}
        self._tokens: dict[str, list[str]] = {}

    def inside(self, item: Any) -> Any:
        """An item in the names of this world."""
        if isinstance(item, dict):
            item = dict(item)
            if item.get("queue"):
                item["queue"] = f"{item['queue']}-{self._mark}"
            if isinstance(item.get("job_id"), str):
                item["job_id"] = f"{item['job_id']}-{self._mark}"
            if "depends_on" in item:
                item["depends_on"] = [f"{name}-{self._mark}" for name in item["depends_on"]]
        return item

    def shared(self, said: Any) -> Any:
        """What was said, in names that all worlds share."""
        if isinstance(said, dict):
            hidden = ("lease_token", "next_attempt_at")
            shown = {self.shared(name): self.shared(value) for name, value in said.items() if name not in hidden}
            return {**shown, **{name: said[name] is not None for name in hidden if name in said}}
        if isinstance(said, list):
            return [self.shared(one) for one in said]
        if isinstance(said, str):
            for number, (job_id, _) in enumerate(self._ids.items()):
                said = said.replace(job_id, f"job {number}")
            return TIME.sub("then", said.replace(f"-{self._mark}", ""))
        return said

    def learn(self, job_id: str, token: str | None = None) -> None:
        """There is such a job."""
        self._ids.setdefault(job_id, job_id)
        if token is not None:
            self._tokens.setdefault(job_id, []).append(token)

    def about(self, number: int, which: str, fields: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """One of the jobs, and what is said of it with one of its tokens."""
        known = [*self._ids, "job_nowhere"]
        job_id = known[number % len(known)]
        given = self._tokens.get(job_id, [])
        token = {"current": given[-1:], "old": given[:1], "wrong": ["0" * 16], "none": []}[which]
        return job_id, {**fields, **({"lease_token": token[0]} if token else {})}

    @property
    def queues(self) -> list[str]:
        return [f"{name}-{self._mark}" for name in ("one", "two")]


class Http(World):
    """One call for each thing."""

    def do(self, kind: str, what: Any, number: int, which: str) -> Any:
        if kind == "claim":
            body = {"queues": self.queues, "count": what, "timeout": 0.001}
            return self._api.post("/fetch/batch", body).json()["jobs"]
        if kind == "enqueue":
            return self._api.post("/enqueue", self.inside(what)).json()
        job_id, item = self.about(number, which, what)
        if kind == "heartbeat":
            answer = self._api.post("/heartbeat", {"jobs": {job_id: item}}).json()
            return answer.get("jobs", {}).get(job_id, answer)
        return self._api.post(f"/{kind}/{job_id}", item).json()


class Streamed(World):
    """The same on a stream."""

    def __init__(self, api: Api, mark: str, wire: Wire) -> None:
        super().__init__(api, mark)
        self._wire = wire

    def do(self, kind: str, what: Any, number: int, which: str) -> Any:
        wire = self._wire
        if kind == "claim":
            expected = number
            wire.want(*self.queues, count=what)
            jobs = wire.take(expected)
            wire.ask(want={"count": 0}, got=[job["job_id"] for job in jobs])
            assert not wire.jobs
            return jobs
        if kind == "enqueue":
            (outcome,) = wire.ask(enqueue=[self.inside(what)])["enqueued"]
            return outcome
        job_id, item = self.about(number, which, what)
        if kind == "heartbeat":
            return wire.ask(heartbeat={job_id: item})["heartbeat"]["jobs"][job_id]
        (outcome,) = wire.ask(**{kind: [{**item, "job_id": job_id}]})[_ANSWERED[kind]]
        return outcome


_ANSWERED = {"ack": "acked", "fail": "failed", "release": "released"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    flags = ("--rate-limit-enabled=false", "--durability=relaxed", "--stream-max-fps=100000")
    server = ServerProcess(tmp_path_factory.mktemp("server") / "data", *flags)
    yield server
    server.kill()


@pytest.fixture(scope="module")
def wires(server: ServerProcess) -> Iterator[dict[str, Wire]]:
    names = ("rookery.json", "rookery.msgpack")
    wires = {name: Wire(Api(server), subprotocols=(name,)) for name in names}
    yield wires
    for wire in wires.values():
        wire.close()


@given(st.lists(st.tuples(steps, st.integers(0, 9)), max_size=25), st.sampled_from(["rookery.json", "rookery.msgpack"]))
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_by_either_way_everything_comes_to_the_same(
    api: Api, wires: dict[str, Wire], story: list[Any], subprotocol: str
) -> None:
    round = next(_rounds)
    plain, streamed = Http(api, f"{round}x"), Streamed(api, f"{round}y", wires[subprotocol])
    for (kind, what, which), number in story:
        first = plain.do(kind, what, number, which)
        second = streamed.do(kind, what, len(first) if kind == "claim" else number, which)
        for world, said in ((plain, first), (streamed, second)):
            for job in said if kind == "claim" else [said]:
                if job.get("job_id") and "error" not in job:
                    world.learn(job["job_id"], job.get("lease_token"))
        assert comparable(plain.shared(first)) == comparable(streamed.shared(second))
    assert [plain.shared(state) for state in states(api, plain)] == [
        streamed.shared(state) for state in states(api, streamed)
    ]


def comparable(said: Any) -> Any:
    """What must be the same: a stream adds the job's id, and the place of a fault is within the item."""
    if isinstance(said, list):
        return said
    shown = {name: value for name, value in said.items() if name != "job_id"}
    if "error" in shown:
        shown["error"] = shown["error"].replace("$.jobs[...]", "$")
    return shown


def states(api: Api, world: World) -> Iterator[dict[str, Any]]:
    """What has become of all jobs of a world."""
    kept = ("state", "attempt", "priority", "payload", "result", "checkpoint", "progress", "unique_key", "errors")
    for job_id in world._ids:
        job = api.job(job_id)
        errors = [(error["attempt"], error["error"], error["backtrace"]) for error in job["errors"]]
        yield {**{name: job[name] for name in kept}, "errors": errors, "events": api.events_of(job_id)}
