"""The state of a single node, and figures of its process."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import apsw
import httpx
import msgspec
import pytest

from rookery.http.cluster import spread
from rookery.model.histogram import Histogram
from tests.api.expectations import assert_refused, finish_job, moment
from tests.api.scrapes import Scrape
from tests.conftest import Api, ServerProcess, wait_for

DURATION = re.compile(r"\d+(\.\d+)?(ns|us|ms|s)")


def status(api: Api) -> dict[str, Any]:
    answer = api.get("/cluster/status")
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


def test_a_single_node_is_healthy_and_leads(api: Api) -> None:
    found = status(api)
    assert (found["mode"], found["status"]) == ("single", "healthy")
    (node,) = found["nodes"]
    assert (node["role"], node["status"]) == ("leader", "healthy")
    assert node["id"]


def test_a_store_that_cannot_be_written_shows(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server()
    api = Api(server)
    api.enqueue("q", scheduled_at=(datetime.now(UTC) + timedelta(seconds=1)).isoformat())
    somebody = apsw.Connection(str(server.data_dir / "rookery.db"))
    try:
        somebody.execute("BEGIN IMMEDIATE")
        assert api.post("/enqueue", {"queue": "q"}).status_code == 503
        found = status(api)
        assert (found["status"], found["nodes"][0]["status"]) == ("degraded", "degraded")
        failed = "rookery_scheduler_promote_errors_total"
        wait_for(lambda: (Scrape(api.get("/metrics")).value(failed) or 0) >= 1)
        somebody.execute("ROLLBACK")
    finally:
        somebody.close()
    api.enqueue("q")
    assert status(api)["status"] == "healthy"
    wait_for(lambda: Scrape(api.get("/metrics")).value("rookery_scheduler_promote_total") == 1)


def test_the_pipeline_is_described(api: Api, queue: str) -> None:
    before = status(api)
    finish_job(api, queue)
    found = status(api)
    assert found["apply_pending_now"] == 0
    assert found["apply_max_pending"] == 16_384
    assert (found["overload_total"], found["fetch_overload_total"]) == (0, 0)
    assert found["applied_total"] >= before["applied_total"] + 3
    assert found["applied_index"] == found["commit_index"] == before["applied_index"] + 3
    assert found["snapshot"] == {"latest_index": 0}
    assert found["sqlite_mirror"].keys() == {"async", "lag", "dropped", "queued", "applied"}
    assert found["sqlite_mirror"]["async"] is True


def test_the_full_text_index_catches_up_and_tells_when_it_was_made_anew(api: Api, queue: str) -> None:
    finish_job(api, queue)
    wait_for(lambda: status(api)["sqlite_mirror"]["lag"] == 0)
    assert status(api)["sqlite_mirror"]["applied"] == status(api)["applied_index"]
    assert api.post("/admin/rebuild-sqlite").status_code == 200
    rebuilt = status(api)["sqlite_rebuild"]
    assert (rebuilt["ran"], rebuilt["last_success"]) == (True, True)
    assert rebuilt.keys() == {"ran", "last_success", "last_started_at", "last_duration_ms"}


@pytest.mark.parametrize("name", ["queue_time_hist", "apply_time_hist"])
def test_a_histogram_is_told_in_durations(api: Api, queue: str, name: str) -> None:
    finish_job(api, queue)
    found = status(api)[name]
    assert found.keys() == {"count", "avg", "p50", "p90", "p99", "buckets"}
    assert found["count"] > 0
    assert [found[key] for key in ("avg", "p50", "p90", "p99") if not DURATION.fullmatch(found[key])] == []
    assert [bucket["le"] for bucket in found["buckets"]] == [
        *("50us", "100us", "200us", "500us", "1ms", "2ms", "5ms", "10ms", "20ms", "50ms"),
        *("100ms", "200ms", "500ms", "1s", "+Inf"),
    ]
    counts = [bucket["count"] for bucket in found["buckets"]]
    assert counts == sorted(counts)
    assert counts[-1] == found["count"]


def test_an_empty_histogram_has_only_its_count() -> None:
    assert msgspec.json.encode(spread(Histogram((1, 2)))) == b'{"count":0}'


def test_no_node_can_join_a_single_node(api: Api) -> None:
    assert_refused(api.post("/cluster/join", {"node_id": "node-2", "addr": "host:9400"}), 501, "UNSUPPORTED")


@pytest.mark.parametrize(
    ("body", "field"),
    [({}, "node_id"), ({"node_id": "node-2"}, "addr"), ({"node_id": " ", "addr": "host:1"}, "node_id")],
)
def test_a_join_without_a_name_or_an_address_is_wrong(api: Api, body: dict[str, str], field: str) -> None:
    assert_refused(api.post("/cluster/join", body), 400, "JOIN_ERROR", field)


def test_a_join_of_the_wrong_shape_is_wrong(api: Api) -> None:
    assert_refused(api.post("/cluster/join", {"node_id": 2, "addr": "host:1"}), 400, "PARSE_ERROR", "node_id")


def test_the_process_is_described(server: ServerProcess, api: Api) -> None:
    found = api.get("/debug/runtime").json()
    assert found["pid"] == server.process.pid
    assert moment(found["started_at"])
    assert found["uptime_seconds"] >= 0
    assert found["threads"] >= 1
    assert found["tasks"] >= 1
    assert found["connections"] == 1
    assert found["requests_in_flight"] == 1
    assert found["resident_bytes"] >= found["heap_bytes"] > 0
    assert found["store"]["pages"] > 0
    assert found["store"]["page_size"] * found["store"]["pages"] > 0
    assert found["store"]["wal_bytes"] + found["store"]["file_bytes"] > 0
    assert found["gc"].keys() == {"collections", "last_pause_ns", "total_pause_ns", "counts"}


def test_limits_are_those_the_server_was_started_with(start_server: Callable[..., ServerProcess]) -> None:
    limits = Api(start_server("--max-payload-size=1000", "--retention=2h")).get("/debug/runtime").json()["limits"]
    assert (limits["max_payload_bytes"], limits["retention_ms"]) == (1000, 7_200_000)
    assert limits["max_streams"] > 0


def test_a_server_without_rate_limits_says_so(start_server: Callable[..., ServerProcess]) -> None:
    free = Api(start_server("--rate-limit-enabled=false")).get("/debug/runtime").json()["limits"]
    assert (free["reads_per_second"], free["writes_per_second"]) == (None, None)


def test_connections_are_counted(start_server: Callable[..., ServerProcess]) -> None:
    api = Api(start_server())
    with httpx.Client(base_url=api.server.url) as other:
        other.get("/healthz")
        assert api.get("/debug/runtime").json()["connections"] == 2
    wait_for(lambda: api.get("/debug/runtime").json()["connections"] == 1)
