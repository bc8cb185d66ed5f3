"""The metrics: every series by its name and kind, and what makes it go up."""

import math
import re
import socket
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.api.expectations import (
    assert_refused,
    bury_job,
    claim,
    finish_job,
    job_in_state,
    start_job,
    wait_until_parked,
)
from tests.api.scrapes import Scrape
from tests.api.test_overload import storm
from tests.api.test_server import run_server
from tests.conftest import Api, ServerProcess, wait_for

Start = Callable[..., ServerProcess]

CHORES = ("promote", "reclaim", "expire", "purge")
STATES = ["pending", "active", "held", "completed", "dead", "scheduled", "retrying"]
GAUGES = [
    "queues_total",
    "queue_jobs",
    "queue_oldest_waiting_age_seconds",
    "jobs",
    "workers_registered",
    "workers_active",
    "cluster_is_leader",
    *(f"lifecycle_{name}" for name in ("streams_open", "streams_max", "frames_inflight", "frames_max_inflight")),
    *(f"raft_{name}" for name in ("state", "apply_pending", "apply_max_pending", "applied_index", "commit_index")),
    "raft_snapshot_latest_index",
    "sqlite_mirror_lag_updates",
    *(f"scheduler_last_{chore}_seconds" for chore in CHORES),
    *(f"process_{name}" for name in ("goroutines", "heap_inuse_bytes", "stack_inuse_bytes", "gc_pause_ns")),
    "http_requests_in_flight",
]
COUNTERS = [
    *(f"throughput_{what}_total" for what in ("enqueued", "completed", "failed")),
    *(f"lifecycle_{name}_total" for name in ("frames", "streams", "overload", "idle_fetch")),
    *(f"raft_{name}_total" for name in ("apply_overload", "fetch_overload", "applied")),
    "sqlite_mirror_dropped_total",
    *(f"scheduler_{chore}_total" for chore in CHORES),
    *(f"scheduler_{chore}_errors_total" for chore in CHORES),
    "http_requests_total",
    "http_request_errors_total",
    "rate_limit_throttled_total",
]
HISTOGRAMS = [
    "raft_queue_time_seconds",
    "raft_apply_time_seconds",
    "http_request_duration_seconds",
    "commit_seconds",
    "batch_operations",
    "queue_wait_seconds",
    "job_run_seconds",
]
PIPELINE_BOUNDS = [0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, math.inf]
REQUEST_BOUNDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, math.inf]


def scrape(api: Api, path: str = "/metrics", **options: Any) -> Scrape:
    return Scrape(api.get(path, **options))


@pytest.mark.parametrize("path", ["/metrics", "/api/v1/metrics"])
def test_every_series_is_there_under_its_kind(server: ServerProcess, api: Api, queue: str, path: str) -> None:
    finish_job(api, queue)
    found = Scrape(server.http.get(path))
    kinds = {name: found.kind(f"rookery_{name}") for name in (*GAUGES, *COUNTERS, *HISTOGRAMS)}
    assert kinds == {
        **dict.fromkeys(GAUGES, "gauge"),
        **dict.fromkeys(COUNTERS, "counter"),
        **dict.fromkeys(HISTOGRAMS, "histogram"),
    }
    without_value = [
        name
        for name in (*GAUGES, *COUNTERS, *(f"{name}_count" for name in HISTOGRAMS))
        if not found.labelled(f"rookery_{name}")
    ]
    assert without_value == []


def test_the_guide_names_every_series_and_no_other(api: Api, queue: str) -> None:
    finish_job(api, queue)
    guide = (Path(__file__).parents[2] / "docs/metrics.md").read_text()
    shown = re.findall(r"^# TYPE (\w+)", scrape(api).text, re.MULTILINE)
    assert sorted(set(re.findall(r"`((?:rookery|codeq)_\w+)`", guide))) == sorted(shown)
    assert not re.search(r"_created[ {]", scrape(api).text)


@pytest.mark.parametrize(("given", "prefix"), [("corvo", "corvo"), ("my_jobs_", "my_jobs")])
def test_the_prefix_can_be_chosen(start_server: Start, given: str, prefix: str) -> None:
    found = scrape(Api(start_server(f"--metrics-prefix={given}")))
    assert found.value(f"{prefix}_raft_state") == 2
    assert [name for name in found.families if not name.startswith((f"{prefix}_", "codeq_"))] == []


@pytest.mark.parametrize("prefix", ["9lives", "", "with-dash", "__", "ümlaut"])
def test_a_prefix_that_no_name_can_have_is_refused(tmp_path: Path, prefix: str) -> None:
    run = run_server(f"--metrics-prefix={prefix}", "--data-dir", str(tmp_path / "data"))
    assert run.returncode == 2
    assert "--metrics-prefix" in run.stderr


def test_queue_jobs_are_counted_by_state(api: Api, queue: str) -> None:
    for state in STATES:
        job_in_state(api, f"{queue}-{state}", state)
    found = scrape(api)
    for state in STATES:
        counts = [found.value("rookery_queue_jobs", queue=f"{queue}-{state}", state=each) for each in STATES]
        assert counts == [float(each == state) for each in STATES]


def test_the_series_without_queues_add_up(api: Api, queue: str) -> None:
    api.enqueue(f"{queue}-a")
    api.enqueue(f"{queue}-b")
    found = scrape(api)
    rows = api.get("/queues").json()
    assert found.value("rookery_queues_total") == len(rows)
    assert [labels["state"] for labels in found.labelled("rookery_jobs")] == STATES
    for state in STATES:
        assert found.value("rookery_jobs", state=state) == sum(row[state] for row in rows)


def test_label_values_are_escaped(api: Api) -> None:
    name = 'back\\slash "quote" ümlaut {}'
    api.enqueue(name)
    found = scrape(api)
    assert found.value("rookery_queue_jobs", queue=name, state="pending") == 1
    assert 'queue="back\\\\slash \\"quote\\" ümlaut {}"' in found.text


def test_workers_are_counted(api: Api, queue: str) -> None:
    before = scrape(api).value("rookery_workers_registered")
    api.fetch(queue, worker_id=queue, timeout=0.01)
    found = scrape(api)
    assert before is not None
    assert found.value("rookery_workers_registered") == found.value("rookery_workers_active") == before + 1


def test_throughput_counters_go_up_with_the_jobs(api: Api, queue: str) -> None:
    def totals() -> list[float]:
        found = scrape(api)
        return [found.value(f"rookery_throughput_{what}_total") or 0 for what in ("enqueued", "completed", "failed")]

    before = totals()
    finish_job(api, queue)
    bury_job(api, queue)
    assert [now - then for now, then in zip(totals(), before, strict=True)] == [2, 1, 1]


def test_waits_and_runs_are_measured_by_queue(api: Api, queue: str) -> None:
    found = scrape(api)
    assert found.value("rookery_queue_wait_seconds_count", queue=queue) is None
    finish_job(api, queue)
    job = start_job(api, queue)
    found = scrape(api)
    assert found.value("rookery_queue_wait_seconds_count", queue=queue) == 2
    assert found.value("rookery_job_run_seconds_count", queue=queue) == 1
    api.post(f"/fail/{job['job_id']}", {"error": "boom"})
    found = scrape(api)
    assert found.value("rookery_job_run_seconds_count", queue=queue) == 2
    assert 0 <= (found.value("rookery_job_run_seconds_sum", queue=queue) or 0) < 20
    assert found.value("rookery_job_run_seconds_bucket", queue=queue, le="+Inf") == 2


def test_the_age_of_the_oldest_waiting_job_grows_until_it_is_taken(api: Api, queue: str) -> None:
    api.enqueue(queue)

    def age() -> float | None:
        return scrape(api).value("rookery_queue_oldest_waiting_age_seconds", queue=queue)

    first = age()
    assert first is not None
    assert wait_for(lambda: (age() or 0) > first)
    claim(api, queue)
    assert age() == 0


def test_a_deleted_queue_leaves_the_metrics(api: Api, queue: str) -> None:
    finish_job(api, queue)
    assert f'queue="{queue}"' in scrape(api).text
    api.delete(f"/queues/{queue}", params={"confirm": "true"})
    assert f'queue="{queue}"' not in scrape(api).text


def test_a_single_node_leads(api: Api, queue: str) -> None:
    found = scrape(api)
    assert found.value("rookery_cluster_is_leader") == 1
    assert found.value("rookery_raft_state") == 2
    assert found.value("rookery_raft_apply_pending") == 0
    assert found.value("rookery_raft_apply_max_pending") == 16_384
    assert found.value("rookery_raft_snapshot_latest_index") == 0
    wait_for(lambda: scrape(api).value("rookery_sqlite_mirror_lag_updates") == 0)
    assert found.value("rookery_sqlite_mirror_dropped_total") == 0
    before = found.value("rookery_raft_applied_index")
    assert before is not None
    api.enqueue(queue)
    found = scrape(api)
    assert found.value("rookery_raft_applied_index") == found.value("rookery_raft_commit_index") == before + 1


def test_the_pipeline_is_timed(api: Api, queue: str) -> None:
    before = scrape(api)
    api.enqueue(queue)
    found = scrape(api)
    for name in ("raft_queue_time_seconds", "raft_apply_time_seconds", "commit_seconds", "batch_operations"):
        was, now = before.value(f"rookery_{name}_count"), found.value(f"rookery_{name}_count")
        assert was is not None
        assert now is not None
        assert now > was
        assert (found.value(f"rookery_{name}_sum") or 0) > (before.value(f"rookery_{name}_sum") or 0)
    assert (found.value("rookery_raft_applied_total") or 0) > (before.value("rookery_raft_applied_total") or 0)


@pytest.mark.parametrize("name", ["raft_queue_time_seconds", "raft_apply_time_seconds", "commit_seconds"])
def test_the_pipelines_bounds(api: Api, name: str) -> None:
    assert scrape(api).bounds(f"rookery_{name}") == PIPELINE_BOUNDS


def test_overload_is_counted(start_server: Start) -> None:
    server = start_server("--rate-limit-enabled=false", "--raft-max-pending=1", "--raft-max-fetch-inflight=1")
    api = Api(server)
    before = scrape(api).value("rookery_raft_apply_overload_total")
    assert before is not None
    refused = sum(status == 429 for status, _, _ in storm(server, "/enqueue", {"queue": "q"}))
    found = scrape(api)
    assert refused > 0
    assert found.value("rookery_raft_apply_overload_total") == before + refused
    assert found.value("rookery_raft_apply_max_pending") == 1
    assert found.value("rookery_http_request_errors_total", method="POST", route="/api/v1/enqueue") == refused
    api.post("/enqueue/batch", {"jobs": [{"queue": "many"}] * 200})
    refused = sum(status == 429 for status, _, _ in storm(server, "/fetch", {"queues": ["many"], "timeout": 1}))
    assert refused > 0
    assert scrape(api).value("rookery_raft_fetch_overload_total") == refused


def test_the_scheduler_counts_what_it_does(start_server: Start) -> None:
    server = start_server("--retention=1ms", "--retention-interval=1s")
    api = Api(server)
    api.enqueue("due", scheduled_at="2001-01-01T00:00:00Z")
    api.enqueue("expiring", expire_after="1ms")
    api.enqueue("leased", max_lost_leases=0)
    claim(api, "leased", lease_duration=1)
    finish_job(api, "old")
    wait_for(lambda: all((scrape(api).value(f"rookery_scheduler_{chore}_total") or 0) >= 1 for chore in CHORES))
    found = scrape(api)
    assert found.value("rookery_scheduler_promote_total") == 1
    for chore in CHORES:
        assert found.value(f"rookery_scheduler_{chore}_errors_total") == 0
        assert abs((found.value(f"rookery_scheduler_last_{chore}_seconds") or 0) - time.time()) < 60


def test_the_scheduler_shows_that_it_is_alive_while_nothing_is_due(api: Api) -> None:
    def last() -> float:
        return scrape(api).value("rookery_scheduler_last_promote_seconds") or 0

    first = wait_for(last)
    assert wait_for(lambda: last() > first)


def test_the_process_is_described(api: Api) -> None:
    found = scrape(api)
    assert (found.value("rookery_process_goroutines") or 0) >= 2
    assert (found.value("rookery_process_heap_inuse_bytes") or 0) > 1 << 20
    assert (found.value("rookery_process_stack_inuse_bytes") or 0) > 0
    assert (found.value("rookery_process_gc_pause_ns") or 0) >= 0


def requests(api: Api, method: str, route: str) -> list[float]:
    """Requests and errors so far."""
    found = scrape(api)
    return [
        found.value(f"rookery_http_{name}_total", method=method, route=route) or 0
        for name in ("requests", "request_errors")
    ]


@pytest.mark.parametrize(
    ("method", "path", "route"),
    [
        ("GET", "/api/v1/queues", "/api/v1/queues"),
        ("GET", "/api/v1/queues/nobody", "/api/v1/queues/:id"),
        ("POST", "/api/v1/queues/any/pause", "/api/v1/queues/:id/pause"),
        ("POST", "/api/v1/jobs/any/retry", "/api/v1/jobs/:id/retry"),
        ("POST", "/api/v1/enqueue", "/api/v1/enqueue"),
        ("POST", "/api/v1/enqueue?slow=1", "/api/v1/enqueue"),
        ("POST", "/api/v1/ack/any", "/api/v1/ack/:id"),
        ("POST", "/api/v1/ack/any?slow=1", "/api/v1/ack/:id"),
        ("GET", "/healthz", "/healthz"),
        ("GET", "/api/v1/made-up/by/somebody", "other"),
        ("DELETE", "/api/v1/enqueue", "other"),
        ("OPTIONS", "/api/v1/enqueue", "other"),
    ],
)
def test_requests_are_counted_by_route(server: ServerProcess, api: Api, method: str, path: str, route: str) -> None:
    before = requests(api, method, route)
    status = server.http.request(method, path, json={} if method == "POST" else None).status_code
    after = requests(api, method, route)
    assert [now - then for now, then in zip(after, before, strict=True)] == [1, float(status >= 400)]


def test_nobody_can_make_up_labels(server: ServerProcess, api: Api) -> None:
    for number in range(20):
        server.http.get(f"/made/up/{number}")
        server.http.request("BREW", f"/api/v1/queues/{number}")
        server.http.request("PROPFIND", f"/api/v1/queues/{number}")
    labels = scrape(api).labelled("rookery_http_requests_total")
    assert [found for found in labels if "made" in found["route"] or found["method"] == "PROPFIND"] == []
    assert {"method": "other", "route": "other"} in labels


def test_requests_are_timed(api: Api, queue: str) -> None:
    labels = {"method": "POST", "route": "/api/v1/fetch"}
    api.fetch(queue, timeout=0.01)
    found = scrape(api)
    assert found.bounds("rookery_http_request_duration_seconds", **labels) == REQUEST_BOUNDS
    before = found.value("rookery_http_request_duration_seconds_sum", **labels) or 0
    api.fetch(queue, timeout=1)
    found = scrape(api)
    assert (found.value("rookery_http_request_duration_seconds_sum", **labels) or 0) - before > 0.5
    assert found.value("rookery_http_request_duration_seconds_count", **labels) == found.value(
        "rookery_http_requests_total", **labels
    )


def in_flight(api: Api) -> float:
    return scrape(api).value("rookery_http_requests_in_flight") or 0


@pytest.mark.parametrize("path", ["/fetch", "/fetch?slow=1"])
def test_requests_under_way_are_counted(
    api: Api, queue: str, background: Callable[..., Future[Any]], path: str
) -> None:
    wait_for(lambda: in_flight(api) == 1)
    parked = background(api.post, path, {"queues": [queue], "worker_id": queue, "timeout": 20})
    wait_until_parked(api, queue)
    assert in_flight(api) == 2
    api.enqueue(queue)
    assert parked.result(20).status_code == 200
    assert in_flight(api) == 1


@pytest.mark.parametrize("path", ["/fetch", "/fetch?slow=1", "/enqueue", "/enqueue?slow=1"])
def test_a_caller_who_goes_is_not_under_way_any_more(server: ServerProcess, api: Api, queue: str, path: str) -> None:
    wait_for(lambda: in_flight(api) == 1)
    route = f"/api/v1{path.partition('?')[0]}"
    before = requests(api, "POST", route)
    host, port = server.url.removeprefix("http://").split(":")
    body = b'{"queues":["%s"],"timeout":30}' % queue.encode()
    length = len(body) if "fetch" in path else 1000
    with socket.create_connection((host, int(port)), timeout=10) as caller:
        caller.sendall(b"POST /api/v1%s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (path.encode(), length))
        caller.sendall(body)
        wait_for(lambda: in_flight(api) == 2)
    wait_for(lambda: in_flight(api) == 1)
    assert [now - then for now, then in zip(requests(api, "POST", route), before, strict=True)] == [1, 0]


def test_a_stream_of_events_is_under_way_until_its_reader_goes(server: ServerProcess, api: Api) -> None:
    wait_for(lambda: in_flight(api) == 1)
    with server.http.stream("GET", "/api/v1/events"):
        assert in_flight(api) == 2
    wait_for(lambda: in_flight(api) == 1)


def test_refusals_of_the_rate_limit_are_counted(start_server: Start) -> None:
    server = start_server("--rate-limit-write-rps=0.001", "--rate-limit-write-burst=2")
    api = Api(server)
    assert [api.post("/heartbeat", {}).status_code for _ in range(4)] == [200, 200, 429, 429]
    assert api.post("/queues/q/pause").status_code == 429
    found = scrape(api)
    throttled = "rookery_rate_limit_throttled_total"
    assert found.value(throttled, method="POST", route="/api/v1/heartbeat") == 2
    assert found.value(throttled, method="POST", route="/api/v1/queues/:id/pause") == 1
    assert found.value(throttled, method="GET", route="/api/v1/metrics") == 0


def test_a_batch_that_costs_too_much_counts_as_throttled(start_server: Start) -> None:
    api = Api(start_server("--rate-limit-write-rps=0.001", "--rate-limit-write-burst=5"))
    api.post("/heartbeat", {})
    assert api.post("/enqueue/batch", {"jobs": [{"queue": "q"}] * 5}).status_code == 429
    assert scrape(api).value("rookery_rate_limit_throttled_total", method="POST", route="/api/v1/enqueue/batch") == 1


def test_a_namespace_sees_only_its_queues(api: Api, queue: str) -> None:
    ours = {"X-Rookery-Namespace": "ours"}
    for headers in (ours, {"X-Rookery-Namespace": "theirs"}, {}):
        api.post("/enqueue", {"queue": queue}, headers=headers)
        api.post("/fetch", {"queues": [queue], "worker_id": queue}, headers=headers)
    found = scrape(api, headers=ours)
    assert found.value("rookery_queues_total") == 1
    assert {labels["queue"] for labels in found.labelled("rookery_queue_jobs")} == {queue}
    assert {labels["queue"] for labels in found.labelled("rookery_queue_wait_seconds_count")} == {queue}
    assert found.value("rookery_jobs", state="active") == 1
    assert found.value("rookery_workers_registered") == 1
    assert found.value("rookery_throughput_enqueued_total") == 1
    everything = scrape(api)
    assert everything.value("rookery_queue_jobs", queue=f"ours::{queue}", state="active") == 1


@pytest.mark.parametrize("path", ["/api/v1/metrics", "/api/v1/metrics/throughput", "/api/v1/cluster/status"])
def test_figures_need_the_credential_of_the_api(start_server: Start, path: str) -> None:
    server = start_server("--admin-password=secret")
    assert_refused(server.http.get(path), 401, "UNAUTHORIZED")
    assert server.http.get(path, headers={"Authorization": "Bearer secret"}).status_code == 200


def test_counters_of_the_process_begin_anew_and_the_store_goes_on(start_server: Start) -> None:
    server = start_server()
    api = Api(server)
    finish_job(api, "q")
    index = scrape(api).value("rookery_raft_applied_index")
    server.stop()
    server.start()
    found = scrape(Api(server))
    assert found.value("rookery_raft_applied_index") == index
    assert found.value("rookery_throughput_completed_total") == 1
    assert found.value("rookery_queue_wait_seconds_count", queue="q") is None


def test_a_queues_name_in_a_path_is_one_id(server: ServerProcess, api: Api) -> None:
    before = requests(api, "GET", "/api/v1/queues/:id")[0]
    server.http.get(f"/api/v1/queues/{quote('a/b', safe='')}")
    assert requests(api, "GET", "/api/v1/queues/:id")[0] == before + 1
