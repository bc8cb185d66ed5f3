"""What all calls have in common: paths, bodies, times, durations, ids, names, headers and limits."""

import json
import re
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.api.expectations import FAR_FUTURE, TIME, assert_refused, claim, start_job
from tests.conftest import Api, ServerProcess


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/"),
        ("GET", "/nothing"),
        ("GET", "/api/v1"),
        ("GET", "/api/v1/nothing"),
        ("POST", "/api/v1/nothing"),
        ("GET", "/api/v1/queues/"),
        ("POST", "/api/v1/jobs/job_x/explode"),
        ("GET", "/api/v2/queues"),
        ("POST", "/api/v1/ack/"),
        ("GET", "/api/v1/../v1/queues/../secret"),
    ],
)
def test_an_unknown_path_is_not_found(server: ServerProcess, method: str, path: str) -> None:
    assert_refused(server.http.request(method, path), 404, "NOT_FOUND")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/v1/enqueue"),
        ("GET", "/api/v1/enqueue/batch"),
        ("PUT", "/api/v1/fetch"),
        ("GET", "/api/v1/fetch/batch"),
        ("DELETE", "/api/v1/ack/job_x"),
        ("GET", "/api/v1/ack/batch"),
        ("GET", "/api/v1/fail/job_x"),
        ("GET", "/api/v1/heartbeat"),
        ("GET", "/api/v1/release/job_x"),
        ("POST", "/api/v1/jobs/job_x"),
        ("GET", "/api/v1/jobs/job_x/retry"),
        ("POST", "/api/v1/queues"),
        ("GET", "/api/v1/queues/q/pause"),
        ("GET", "/api/v1/queues/q/throttle"),
        ("POST", "/api/v1/workers"),
        ("GET", "/api/v1/workers/w1"),
        ("POST", "/api/v1/events"),
        ("POST", "/api/v1/cluster/events"),
        ("POST", "/api/v1/info"),
        ("POST", "/healthz"),
        ("PATCH", "/api/v1/queues/q"),
    ],
)
def test_a_wrong_method_is_not_allowed(server: ServerProcess, method: str, path: str) -> None:
    answer = server.http.request(method, path)
    assert_refused(answer, 405, "METHOD_NOT_ALLOWED")
    allowed = answer.headers["allow"].split(", ")
    assert allowed
    assert method not in allowed


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", None])
def test_the_content_type_of_a_request_does_not_matter(api: Api, queue: str, content_type: str | None) -> None:
    headers = {} if content_type is None else {"Content-Type": content_type}
    body = json.dumps({"queue": queue}).encode()
    assert api.post("/enqueue", content=body, headers=headers).status_code == 201


def test_unknown_fields_are_ignored(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue, {"a": 1}, colour="red", nested={"deep": [1]})
    assert api.job(job_id)["payload"] == {"a": 1}


def test_an_empty_body_counts_as_an_empty_object(api: Api, queue: str) -> None:
    job_id = start_job(api, queue)["job_id"]
    assert api.post("/heartbeat").status_code == 200
    assert api.post(f"/ack/{job_id}").json() == {"status": "ok"}
    assert_refused(api.post("/enqueue"), 400, "VALIDATION_ERROR", "queue is required")


@pytest.mark.parametrize(
    "body", [b"{", b"nonsense", b"[1, 2]", b'"text"', b"1", b"null", b'{"queue": "q"} {}', b"\xff"]
)
@pytest.mark.parametrize(
    "path",
    ["/enqueue", "/enqueue/batch", "/fetch", "/fetch/batch", "/ack/batch", "/heartbeat", "/queues/q/throttle"],
)
def test_a_body_that_is_not_a_json_object_cannot_be_parsed(api: Api, path: str, body: bytes) -> None:
    assert_refused(api.post(path, content=body), 400, "PARSE_ERROR")


@pytest.mark.parametrize("path", ["ack", "fail", "release"])
def test_malformed_json_leaves_an_active_job_as_it_is(api: Api, queue: str, path: str) -> None:
    job_id = start_job(api, queue)["job_id"]
    assert_refused(api.post(f"/{path}/{job_id}", content=b'{"result":'), 400, "PARSE_ERROR")
    assert api.job(job_id)["state"] == "active"


def test_json_that_is_nested_without_end_cannot_be_parsed(api: Api, queue: str) -> None:
    deep = b'{"queue": "q", "tags": ' + b'{"a":' * 50_000 + b"1" + b"}" * 50_001
    assert_refused(api.post("/enqueue", content=deep), 400, "PARSE_ERROR")


@pytest.mark.parametrize("lone", [rb'"\ud800"', rb'{"\udfff": 1}'])
def test_half_a_surrogate_pair_is_taken_or_refused_but_breaks_nothing(api: Api, queue: str, lone: bytes) -> None:
    body = b'{"queue": "%s", "payload": %s}' % (queue.encode(), lone)
    answer = api.post("/enqueue", content=body)
    if answer.status_code == 201:
        assert api.get(f"/jobs/{answer.json()['job_id']}").status_code == 200
        assert claim(api, queue)["job_id"] == answer.json()["job_id"]
    else:
        assert_refused(answer, 400, "PARSE_ERROR")


def test_every_answer_but_no_content_is_json(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue)
    fetched = api.post("/fetch", {"queues": [queue], "timeout": 1})
    nothing = api.post("/fetch", {"queues": [queue], "timeout": 0.05})
    answers = [fetched, api.get(f"/jobs/{job_id}"), api.get("/queues"), api.post(f"/ack/{job_id}"), api.get("/nothing")]
    for answer in answers:
        assert answer.headers["content-type"].startswith("application/json")
        answer.json()
    assert nothing.status_code == 204
    assert nothing.content == b""


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("2090-01-01T00:00:00Z", "2090-01-01T00:00:00.000"),
        ("2090-01-01T00:00:00.5Z", "2090-01-01T00:00:00.500"),
        ("2090-01-01T00:00:00.123000000Z", "2090-01-01T00:00:00.123"),
        ("2090-01-01T00:00:00.999999999Z", "2090-01-01T00:00:0"),
        ("2090-01-01T02:30:00+02:30", "2090-01-01T00:00:00.000"),
        ("2089-12-31T16:00:00-08:00", "2090-01-01T00:00:00.000"),
        ("2088-02-29T00:00:00Z", "2088-02-29T00:00:00.000"),
    ],
)
def test_a_time_is_taken_with_any_offset_and_given_back_in_utc(api: Api, queue: str, given: str, kept: str) -> None:
    scheduled_at = api.job(api.enqueue(queue, scheduled_at=given))["scheduled_at"]
    assert scheduled_at.startswith(kept)
    assert TIME.fullmatch(scheduled_at)


@pytest.mark.parametrize(
    "given",
    [
        "tomorrow",
        "",
        "2090-13-01T00:00:00Z",
        "2090-02-30T00:00:00Z",
        "2090-01-01T24:01:00Z",
        "2090-01-01T00:00:00",
        "2090-01-01",
        "2090-01-01T00:00:00+25:00",
        "1800000000",
        1800000000,
    ],
)
def test_a_time_that_cannot_be_read_is_refused(api: Api, queue: str, given: Any) -> None:
    answer = api.post("/enqueue", {"queue": queue, "scheduled_at": given})
    assert_refused(answer, 400, "PARSE_ERROR", "scheduled_at")


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("5s", 5_000),
        ("10m", 600_000),
        ("1h0m0s", 3_600_000),
        ("1.5h", 5_400_000),
        ("500ms", 500),
        ("2000us", 2),
        ("3000000ns", 3),
        ("1d", 86_400_000),
        ("1h30m15s", 5_415_000),
        ("0s", 0),
        ("", 5_000),
    ],
)
def test_a_duration_is_numbers_with_units(api: Api, queue: str, text: str, milliseconds: int) -> None:
    assert api.job(api.enqueue(queue, retry_base_delay=text))["retry_base_delay_ms"] == milliseconds


@pytest.mark.parametrize("field", ["retry_base_delay", "retry_max_delay", "expire_after"])
@pytest.mark.parametrize("text", ["5", "s", "fast", "-5s", "1h-5m", "5x", "1..5s", "5s!", "5s5", "ms5", "nans", "infs"])
def test_a_duration_that_cannot_be_read_is_refused(api: Api, queue: str, field: str, text: str) -> None:
    assert_refused(api.post("/enqueue", {"queue": queue, field: text}), 400, "VALIDATION_ERROR", field)


@pytest.mark.parametrize("field", ["retry_base_delay", "retry_max_delay", "expire_after"])
def test_a_duration_of_more_than_all_time_is_refused(api: Api, queue: str, field: str) -> None:
    answer = api.post("/enqueue", {"queue": queue, field: "9" * 30 + "h"})
    assert_refused(answer, 400, "VALIDATION_ERROR", field)


def test_job_ids_have_thirty_characters_and_increase(api: Api, queue: str) -> None:
    single = [api.enqueue(queue) for _ in range(20)]
    batch = api.post("/enqueue/batch", {"jobs": [{"queue": queue}] * 200}).json()["job_ids"]
    ids = single + batch
    assert all(re.fullmatch(r"job_[0-9A-HJKMNP-TV-Z]{26}", job_id) for job_id in ids)
    assert ids == sorted(set(ids))


def test_ids_of_batches_and_chains_say_what_they_are(api: Api, queue: str) -> None:
    answer = api.post("/enqueue/batch", {"jobs": [{"queue": queue}], "batch": {}})
    chain_job = api.enqueue(queue, chain={"steps": [{"queue": queue}, {"queue": queue}]})
    assert re.fullmatch(r"batch_[0-9A-HJKMNP-TV-Z]{26}", answer.json()["batch_id"])
    assert re.fullmatch(r"chn_[0-9A-HJKMNP-TV-Z]{26}", api.job(chain_job)["chain_id"])


@pytest.mark.parametrize(
    "name",
    ["", "  ", "\t", "a\nb", "a\x00b", "\x1f", "a\x7fb", "x" * 256, "é" * 128],
    ids=["empty", "blank", "tab", "newline", "nul", "control", "delete", "256-bytes", "256-bytes-in-utf-8"],
)
def test_a_name_that_no_queue_can_have_is_refused(api: Api, name: str) -> None:
    assert_refused(api.post("/enqueue", {"queue": name}), 400, "VALIDATION_ERROR", "queue")


@pytest.mark.parametrize(
    "name",
    ["x" * 255, "é" * 127, "a/b", "a b", "50%", "a?b#c", "日本.🐦", "a::b", "..", "a+b"],
    ids=["255-bytes", "254-bytes", "slash", "space", "percent", "query", "unicode", "colons", "dots", "plus"],
)
def test_a_queue_name_is_percent_encoded_in_paths(api: Api, name: str) -> None:
    api.enqueue(name)
    answer = api.get(f"/queues/{quote(name, safe='').replace('.', '%2E')}")
    assert answer.status_code == 200
    assert answer.json()["name"] == name
    assert claim(api, name)["queue"] == name


@pytest.mark.parametrize(
    ("given", "number", "name"),
    [
        ("critical", 0, "critical"),
        ("high", 1, "high"),
        ("normal", 2, "normal"),
        ("low", 2, "normal"),
        ("whatever", 2, "normal"),
        ("", 2, "normal"),
        (0, 0, "critical"),
        (1, 1, "high"),
        (2, 2, "normal"),
        (None, 2, "normal"),
    ],
)
def test_a_priority_is_a_name_or_a_number(api: Api, queue: str, given: Any, number: int, name: str) -> None:
    job = api.job(api.enqueue(queue, priority=given))
    assert job["priority"] == number
    assert job["priority_name"] == name


@pytest.mark.parametrize("given", [3, -1])
def test_a_priority_outside_its_range_is_refused(api: Api, queue: str, given: int) -> None:
    assert_refused(api.post("/enqueue", {"queue": queue, "priority": given}), 400, "VALIDATION_ERROR", "priority")


VALUES = [
    '{"z":1,"a":{"y":[],"b":null}}',
    "[1,2,[3]]",
    '"text"',
    '""',
    "0",
    "-1.5",
    "1e100",
    "12345678901234567890123",
    "true",
    "false",
    "null",
    '{"":""}',
    '"日本 🐦 \\u0000 \\" \\\\"',
]


@pytest.mark.parametrize("text", VALUES, ids=range(len(VALUES)))
def test_any_json_payload_comes_back_equal(api: Api, queue: str, text: str) -> None:
    answer = api.post("/enqueue", content=f'{{"queue":"{queue}","payload":{text}}}'.encode())
    job_id = answer.json()["job_id"]
    assert json.dumps(api.job(job_id)["payload"]) == json.dumps(json.loads(text))
    assert json.dumps(claim(api, queue)["payload"]) == json.dumps(json.loads(text))


@pytest.mark.parametrize("text", [value for value in VALUES if value != "null"], ids=range(len(VALUES) - 1))
def test_any_json_result_checkpoint_and_progress_comes_back_equal(api: Api, queue: str, text: str) -> None:
    job_id = start_job(api, queue)["job_id"]
    beat = f'{{"jobs":{{"{job_id}":{{"progress":{text},"checkpoint":{text}}}}}}}'
    assert api.post("/heartbeat", content=beat.encode()).status_code == 200
    assert api.post(f"/ack/{job_id}", content=f'{{"result":{text}}}'.encode()).status_code == 200
    job = api.job(job_id)
    for field in ("result", "checkpoint", "progress"):
        assert json.dumps(job[field]) == json.dumps(json.loads(text))


def answers_of_every_kind(api: Api, queue: str) -> list[httpx.Response]:
    return [
        api.post("/enqueue", {"queue": queue}),
        api.post("/fetch", {"queues": [f"{queue}-empty"], "timeout": 0.05}),
        api.post("/enqueue", {}),
        api.post("/enqueue", content=b"{"),
        api.post("/enqueue", {"queue": queue, "payload": "x" * 300_000}),
        api.get("/queues"),
        api.get("/jobs/job_x"),
        api.get("/nothing"),
        api.get("/enqueue"),
        api.server.http.get("/healthz"),
        api.server.http.get("/docs"),
        api.server.http.options("/api/v1/queues"),
    ]


def test_every_answer_says_how_long_it_took(api: Api, queue: str) -> None:
    for answer in answers_of_every_kind(api, queue):
        assert re.fullmatch(r"proc;dur=\d+\.\d{3}", answer.headers["Server-Timing"])


def test_every_answer_lets_other_origins_in(api: Api, queue: str) -> None:
    for answer in answers_of_every_kind(api, queue):
        assert answer.headers["Access-Control-Allow-Origin"] == "*"
        assert answer.headers["Access-Control-Allow-Methods"] == "GET, POST, PUT, DELETE, OPTIONS"
        allowed = answer.headers["Access-Control-Allow-Headers"].split(", ")
        assert {"Content-Type", "Authorization", "X-API-Key", "X-Corvo-Namespace", "X-Rookery-Namespace"} <= {*allowed}


@pytest.mark.parametrize("path", ["/", "/healthz", "/api/v1/enqueue", "/api/v1/jobs/x/retry", "/no/such/path", "/ui/"])
def test_options_is_answered_on_any_path(server: ServerProcess, path: str) -> None:
    answer = server.http.options(path)
    assert answer.status_code == 200
    assert answer.headers["Access-Control-Allow-Origin"] == "*"


def test_the_identity_of_a_client_changes_nothing(api: Api, queue: str) -> None:
    headers = {"X-Corvo-Client-Name": "corvo-python", "X-Corvo-Client-Version": "0.3.0"}
    assert api.post("/enqueue", {"queue": queue}, headers=headers).status_code == 201


def payload_of(size: int) -> str:
    return "x" * (size - 2)


def test_a_payload_may_be_as_large_as_the_limit_and_no_larger(api: Api, queue: str) -> None:
    assert api.post("/enqueue", {"queue": queue, "payload": payload_of(262_144)}).status_code == 201
    refused = api.post("/enqueue", {"queue": queue, "payload": payload_of(262_145)})
    assert_refused(refused, 413, "PAYLOAD_TOO_LARGE", "payload")
    assert api.get(f"/queues/{queue}").json()["pending"] == 1


def test_the_size_of_a_payload_is_counted_in_bytes(api: Api, queue: str) -> None:
    fits, too_large = "é" * 131_071, "é" * 131_072
    for payload, status in ((fits, 201), (too_large, 413)):
        body = json.dumps({"queue": queue, "payload": payload}, ensure_ascii=False).encode()
        assert api.post("/enqueue", content=body).status_code == status


def test_white_space_around_a_payload_does_not_count(api: Api, queue: str) -> None:
    body = b'{"queue": "%s", "payload": {"a":%s1}}' % (queue.encode(), b" " * 270_000)
    answer = api.post("/enqueue", content=body)
    assert answer.status_code == 201
    assert api.job(answer.json()["job_id"])["payload"] == {"a": 1}


def test_one_large_payload_fails_a_whole_batch(api: Api, queue: str) -> None:
    jobs = [{"queue": queue}, {"queue": queue, "payload": payload_of(262_145)}]
    assert_refused(api.post("/enqueue/batch", {"jobs": jobs}), 413, "PAYLOAD_TOO_LARGE", "payload")
    assert api.get(f"/queues/{queue}").status_code == 404


def test_many_payloads_of_the_largest_size_fit_into_one_batch(api: Api, queue: str) -> None:
    jobs = [{"queue": queue, "payload": payload_of(262_144)}] * 8
    assert api.post("/enqueue/batch", {"jobs": jobs}).status_code == 201


def test_the_limit_of_payloads_is_a_flag(start_server: Any) -> None:
    api = Api(start_server("--max-payload-size=100"))
    assert api.post("/enqueue", {"queue": "q", "payload": payload_of(100)}).status_code == 201
    assert_refused(api.post("/enqueue", {"queue": "q", "payload": payload_of(101)}), 413, "PAYLOAD_TOO_LARGE", "100")


def test_without_a_limit_a_payload_may_be_large(start_server: Any) -> None:
    api = Api(start_server("--max-payload-size=0"))
    job_id = api.enqueue("q", payload_of(2_000_000))
    assert len(api.job(job_id)["payload"]) == 1_999_998


def test_a_write_is_seen_by_the_next_read(api: Api, queue: str) -> None:
    for _ in range(20):
        job_id = api.enqueue(queue, scheduled_at=FAR_FUTURE)
        assert api.job(job_id)["state"] == "scheduled"
        api.post(f"/jobs/{job_id}/cancel")
        assert api.job(job_id)["state"] == "cancelled"
        api.delete(f"/jobs/{job_id}")
        assert api.get(f"/jobs/{job_id}").status_code == 404


def test_the_server_is_healthy_and_says_what_it_is(server: ServerProcess) -> None:
    assert server.http.get("/healthz").json() == {"status": "ok", "raft_state": "Leader", "leader": True}
    info = server.http.get("/api/v1/info").json()
    assert info["server_version"] == info["api_version"]
    assert re.match(r"\d+\.\d+", info["server_version"])
