"""Traces: a job carries its producer's context to its worker, and the server sends spans of its own."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.collector import SERVER, Collector, Span
from tests.api.expectations import claim
from tests.api.test_server import run_server
from tests.conftest import Api, ServerProcess, wait_for

Start = Callable[..., ServerProcess]

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
CONTEXT = f"00-{TRACE}-{PARENT}-01"


def enqueue(api: Api, body: dict[str, Any], context: str | None = CONTEXT, path: str = "/enqueue") -> Any:
    answer = api.post(path, body, headers={} if context is None else {"traceparent": context})
    assert answer.status_code in (200, 201), answer.text
    return answer.json()


@pytest.mark.parametrize("path", ["/enqueue", "/enqueue?slow=1"])
def test_a_job_carries_its_producers_context_to_its_worker(api: Api, queue: str, path: str) -> None:
    job_id = enqueue(api, {"queue": queue}, path=path)["job_id"]
    assert api.job(job_id)["traceparent"] == CONTEXT
    assert claim(api, queue)["traceparent"] == CONTEXT


def test_every_job_of_a_batch_carries_it(api: Api, queue: str) -> None:
    enqueue(api, {"jobs": [{"queue": queue}] * 3}, path="/enqueue/batch")
    jobs = api.post("/fetch/batch", {"queues": [queue], "count": 3}).json()["jobs"]
    assert [job["traceparent"] for job in jobs] == [CONTEXT] * 3


@pytest.mark.parametrize("context", [None, "garbage", f"00-{'0' * 32}-{PARENT}-01", f"{CONTEXT}-more"])
def test_without_a_valid_context_there_is_none(api: Api, queue: str, context: str | None) -> None:
    job_id = enqueue(api, {"queue": queue}, context)["job_id"]
    assert api.job(job_id)["traceparent"] is None
    assert "traceparent" not in claim(api, queue)


def test_it_is_handed_out_again_with_every_attempt(api: Api, queue: str) -> None:
    enqueue(api, {"queue": queue, "retry_backoff": "none"})
    job_id = claim(api, queue)["job_id"]
    api.post(f"/fail/{job_id}", {"error": "boom"})
    assert claim(api, queue, timeout=20)["traceparent"] == CONTEXT


def test_chains_and_callbacks_go_on_with_it(api: Api, queue: str) -> None:
    steps = [{"queue": f"{queue}-0"}, {"queue": f"{queue}-1"}]
    enqueue(api, {"queue": f"{queue}-0", "chain": {"steps": steps}})
    api.post(f"/ack/{claim(api, f'{queue}-0')['job_id']}")
    assert claim(api, f"{queue}-1")["traceparent"] == CONTEXT
    batch = {"jobs": [{"queue": queue}], "batch": {"callback_queue": f"{queue}-done"}}
    enqueue(api, batch, path="/enqueue/batch")
    api.post(f"/ack/{claim(api, queue)['job_id']}")
    assert claim(api, f"{queue}-done")["traceparent"] == CONTEXT


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as collector:
        yield collector


@pytest.fixture
def traced(start_server: Start, collector: Collector, monkeypatch: pytest.MonkeyPatch) -> ServerProcess:
    """A server that sends its spans to the collector, every tenth of a second."""
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
    return start_server("--otel-enabled", f"--otel-endpoint={collector.url}")


def spans(collector: Collector, name: str, count: int = 1) -> list[Span]:
    """So many spans of that name, once they have come."""
    wait_for(lambda: len(collector.named(name)) >= count)
    return collector.named(name)


@pytest.mark.parametrize("path", ["/enqueue", "/enqueue?slow=1"])
def test_a_request_is_a_span_of_its_callers_trace(traced: ServerProcess, collector: Collector, path: str) -> None:
    began = time.time_ns()
    enqueue(Api(traced), {"queue": "q"}, path=path)
    (span,) = spans(collector, "http POST /api/v1/enqueue")
    assert (span.trace, span.parent, span.kind) == (TRACE, PARENT, SERVER)
    assert span.attributes == {
        "http.request.method": "POST",
        "http.route": "/api/v1/enqueue",
        "http.response.status_code": 201,
    }
    assert began - 10**9 < span.start < span.end <= time.time_ns()
    assert collector.service == "rookery"


def test_refused_requests_are_spans_too(traced: ServerProcess, collector: Collector) -> None:
    traced.http.get("/api/v1/jobs/nobody")
    traced.http.post("/api/v1/enqueue", json={})
    assert spans(collector, "http GET /api/v1/jobs/:id")[0].attributes["http.response.status_code"] == 404
    assert spans(collector, "http POST /api/v1/enqueue")[0].attributes["http.response.status_code"] == 400


@pytest.mark.parametrize("path", ["/enqueue", "/enqueue?slow=1"])
def test_a_job_without_a_context_belongs_to_the_request_that_made_it(
    traced: ServerProcess, collector: Collector, path: str
) -> None:
    api = Api(traced)
    job_id = enqueue(api, {"queue": "q"}, None, path)["job_id"]
    (span,) = spans(collector, "http POST /api/v1/enqueue")
    assert span.parent == ""
    context = api.job(job_id)["traceparent"]
    assert context.rpartition("-")[0] == f"00-{span.trace}-{span.id}"
    assert int(context.rpartition("-")[2], 16) & 1, "it says that the trace is recorded"
    assert claim(api, "q")["traceparent"] == context


def test_a_job_with_a_context_keeps_its_own(traced: ServerProcess) -> None:
    api = Api(traced)
    enqueue(api, {"queue": "q"})
    assert claim(api, "q")["traceparent"] == CONTEXT


def test_batches_and_their_commits_are_spans(traced: ServerProcess, collector: Collector) -> None:
    enqueue(Api(traced), {"jobs": [{"queue": "q"}] * 42}, path="/enqueue/batch")
    batch = wait_for(lambda: [span for span in collector.named("batch") if span.attributes["rookery.jobs"] >= 42])[0]
    others = batch.attributes["rookery.operations"] - 1
    assert batch.attributes == {"rookery.operations": 1 + others, "rookery.jobs": 42 + others}
    commit = wait_for(lambda: [span for span in collector.named("commit") if span.parent == batch.id])[0]
    assert commit.trace == batch.trace
    assert batch.start <= commit.start < commit.end <= batch.end


def test_the_last_spans_are_sent_when_the_server_stops(start_server: Start, collector: Collector) -> None:
    server = start_server("--otel-enabled", f"--otel-endpoint={collector.url}")
    enqueue(Api(server), {"queue": "q"})
    assert server.stop() == 0
    assert len(collector.named("http POST /api/v1/enqueue")) == 1


def test_a_collector_that_is_not_there_holds_nobody_up(start_server: Start) -> None:
    server = start_server("--otel-enabled", "--otel-endpoint=127.0.0.1:1")
    enqueue(Api(server), {"queue": "q"})
    assert server.stop() == 0


def test_without_the_extra_the_server_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "opentelemetry.py").write_text("raise ImportError('it is not installed')")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    monkeypatch.setenv("PYTHONPATH", path)
    run = run_server("--otel-enabled", "--bind", "127.0.0.1:0", "--data-dir", str(tmp_path / "data"))
    assert run.returncode == 1
    assert "rookery[otel]" in run.stderr
    assert "Traceback" not in run.stderr
    assert not (tmp_path / "data").exists()


def test_an_endpoint_without_the_switch_sends_nothing_and_says_so(start_server: Start, collector: Collector) -> None:
    server = start_server(f"--otel-endpoint={collector.url}")
    enqueue(Api(server), {"queue": "q"})
    assert server.stop() == 0
    assert collector.spans == []
    assert "--otel-endpoint means nothing without --otel-enabled" in server.log.read_text()


@pytest.mark.parametrize("endpoint", ["ftp://host", "http://", "host:port"])
def test_an_endpoint_that_is_no_address_is_refused(tmp_path: Path, endpoint: str) -> None:
    run = run_server(f"--otel-endpoint={endpoint}", "--data-dir", str(tmp_path / "data"))
    assert run.returncode == 2
    assert "--otel-endpoint" in run.stderr
