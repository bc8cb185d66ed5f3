"""The API in memory answers like a server, call for call, as far as time does not matter."""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rookery.testing.api import MemoryApi
from rookery.testing.node import MemoryNode
from tests.conftest import START, ServerProcess

QUEUES = ["mail", "reports/weekly", "a b"]
NAME = re.compile(r"[a-z]+_[0-9A-HJKMNP-TV-Z]{26}|\b\d{15,19}\b")
"""Ids and lease tokens."""
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
OF_TIME = {"in", "detail", "eta", "duration_ms", "at_ns", "seq", "last_event_id", "throughput_per_min"}


class Request(NamedTuple):
    """A call; `{0}` in its path or body stands for the first id that was seen on its side, and so on."""

    method: str
    path: str
    body: Any = None
    headers: dict[str, str] = {}


class Side:
    """One of the two that are compared: what it has called things, and its answers without that."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def name(self, number: int) -> str:
        return self.names[number % len(self.names)] if self.names else "job_unknown"

    def fill_in(self, text: str) -> str:
        return re.sub(r"<(\d+)>", lambda match: self.name(int(match[1])), text)

    def plain(self, value: Any, key: str = "") -> Any:
        if key in OF_TIME:
            return "…"
        if isinstance(value, dict):
            return {self.plain(name): self.plain(item, name) for name, item in value.items()}
        if isinstance(value, list):
            return [self.plain(item) for item in value]
        if isinstance(value, str):
            return NAME.sub(lambda match: self.number(match[0]), TIME.sub("<time>", value))
        return value

    def number(self, name: str) -> str:
        if name not in self.names:
            self.names.append(name)
        return f"<{self.names.index(name)}>"


Strategy = st.SearchStrategy[Any]
NOTHING, NO_HEADERS = st.none(), st.just({})

numbers = st.integers(0, 12).map(lambda number: f"<{number}>")
queues = st.sampled_from(QUEUES)
payloads = st.one_of(
    st.none(), st.integers(-5, 5), st.text(max_size=5), st.dictionaries(st.sampled_from("abc"), st.integers(0, 9))
)


def some_of(fields: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=fields)


new_jobs = st.tuples(
    queues,
    some_of(
        {
            "payload": payloads,
            "priority": st.sampled_from(["critical", "high", "normal", 1, "other"]),
            "unique_key": st.sampled_from(["u1", "u2"]),
            "unique_on_conflict": st.sampled_from(["keep", "replace", "reschedule", "wrong"]),
            "max_retries": st.integers(-1, 3),
            "scheduled_at": st.sampled_from(["2001-01-01T00:00:00Z", "2999-01-01T00:00:00Z", "soon"]),
            "expire_after": st.sampled_from(["1000h", "x"]),
            "tags": st.dictionaries(st.sampled_from("xy"), st.one_of(st.integers(0, 3), st.text(max_size=3))),
            "depends_on": st.lists(numbers, max_size=2),
            "retry_base_delay": st.sampled_from(["5h", "5"]),
            "agent": st.just({"max_iterations": 2}),
        }
    ),
).map(lambda pair: {"queue": pair[0], **pair[1]})
chains = st.tuples(queues, queues).map(
    lambda pair: {"queue": pair[0], "chain": {"steps": [{"queue": pair[0], "payload": {"n": 1}}, {"queue": pair[1]}]}}
)


def call(
    method: str, path: Strategy, body: Strategy = NOTHING, headers: Strategy = NO_HEADERS
) -> st.SearchStrategy[Request]:
    return st.builds(Request, st.just(method), path, body, headers)


def post(path: str | Strategy, body: Strategy, headers: Strategy = NO_HEADERS) -> st.SearchStrategy[Request]:
    return call("POST", st.just(path) if isinstance(path, str) else path, body, headers)


def quoted(queue: str) -> str:
    return queue.replace("/", "%2F").replace(" ", "%20")


requests = st.one_of(
    post("/enqueue", new_jobs | chains),
    post("/enqueue", new_jobs, st.sampled_from(["k1", "k2"]).map(lambda key: {"Idempotency-Key": key})),
    post(
        "/enqueue/batch",
        st.fixed_dictionaries(
            {"jobs": st.lists(new_jobs, max_size=3)}, optional={"batch": st.just({"callback_queue": "mail"})}
        ),
    ),
    post("/fetch", st.fixed_dictionaries({"queues": st.lists(queues, max_size=3), "timeout": st.just(0.01)})),
    post(
        "/fetch/batch",
        st.fixed_dictionaries(
            {"queues": st.just(QUEUES), "count": st.integers(0, 3), "timeout": st.just(0.01), "worker_id": st.just("w")}
        ),
    ),
    post(
        numbers.map("/ack/{}".format),
        some_of({"result": payloads, "lease_token": numbers, "step_status": st.just("exit")}),
    ),
    post("/ack/batch", st.fixed_dictionaries({"acks": st.lists(numbers.map(lambda id: {"job_id": id}), max_size=3)})),
    post(numbers.map("/fail/{}".format), some_of({"error": st.just("boom"), "lease_token": numbers})),
    post(
        numbers.map("/release/{}".format), some_of({"delay": st.sampled_from(["1000h", "?"]), "checkpoint": payloads})
    ),
    post("/heartbeat", st.dictionaries(numbers, st.just({"progress": 1}), max_size=2).map(lambda jobs: {"jobs": jobs})),
    post(
        st.tuples(numbers, st.sampled_from(["retry", "cancel", "hold", "approve", "reject"])).map(
            lambda pair: f"/jobs/{pair[0]}/{pair[1]}"
        ),
        st.just({}),
    ),
    post(numbers.map("/jobs/{}/move".format), st.fixed_dictionaries({"queue": queues})),
    post(numbers.map("/jobs/{}/logs".format), st.just({"lines": [{"message": "hello"}]})),
    post("/jobs/search", some_of({"queue": queues, "state": st.lists(st.sampled_from(["pending", "dead"]))})),
    post(
        "/jobs/bulk",
        st.fixed_dictionaries(
            {
                "action": st.sampled_from(["cancel", "retry", "delete", "hold", "fly"]),
                "filter": some_of({"queue": queues}),
            }
        ),
    ),
    post(
        st.tuples(queues, st.sampled_from(["pause", "resume", "clear", "drain"])).map(
            lambda pair: f"/queues/{quoted(pair[0])}/{pair[1]}"
        ),
        st.just({}),
    ),
    post(queues.map(lambda queue: f"/queues/{quoted(queue)}/concurrency"), st.just({"max": 1})),
    post(queues.map(lambda queue: f"/queues/{quoted(queue)}/throttle"), st.just({"rate": 1, "window": "1h"})),
    post(
        "/schedules",
        st.builds(
            lambda name, cron: {"name": name, "queue": "mail", "cron": cron, "timezone": "Europe/Paris"},
            st.sampled_from(["a", "b"]),
            st.sampled_from(["0 3 1 1 *", "never"]),
        ),
    ),
    post(numbers.map("/schedules/{}/run".format), st.just({})),
    call(
        "GET",
        st.one_of(
            numbers.map("/jobs/{}".format),
            numbers.map("/jobs/{}/why".format),
            numbers.map("/jobs/{}/logs".format),
            numbers.map("/batches/{}".format),
            numbers.map("/schedules/{}".format),
            queues.map(lambda queue: f"/queues/{quoted(queue)}"),
            st.sampled_from(["/queues", "/schedules", "/dead", "/workers", "/nothing", "/cluster/events?limit=5"]),
        ),
    ),
    call("DELETE", numbers.map("/jobs/{}".format) | queues.map(lambda q: f"/queues/{quoted(q)}")),
)


@pytest.fixture(scope="module")
def namespaces() -> Iterator[str]:
    return (f"round-{number}" for number in range(1_000_000))


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(calls=st.lists(requests, min_size=3, max_size=25))
def test_every_call_is_answered_as_by_a_server(
    calls: list[Request], server: ServerProcess, namespaces: Iterator[str]
) -> None:
    namespace = {"X-Rookery-Namespace": next(namespaces)}
    node = MemoryNode(START)
    api, there, here = MemoryApi(node), Side(), Side()
    for number, call in enumerate(calls):
        headers = {"Content-Type": "application/json", **call.headers, **namespace}
        body = "" if call.body is None else json.dumps(call.body)
        answer = server.http.request(
            call.method, there.fill_in(f"/api/v1{call.path}"), content=there.fill_in(body).encode(), headers=headers
        )
        answered, _ = api.exchange(
            call.method, here.fill_in(f"/api/v1{call.path}"), headers, here.fill_in(body).encode()
        )
        server_says = (answer.status_code, there.plain(json.loads(answer.content or b"null")))
        memory_says = (answered.status, here.plain(json.loads(answered.body or b"null")))
        assert memory_says == server_says, f"call {number}: {call}"
    node.close()
