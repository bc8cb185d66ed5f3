"""The stream: how it is opened, what its frames are, and what becomes of each item."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.exceptions import InvalidStatus

from tests.api.expectations import seconds_from_now, start_job
from tests.api.wires import Wire, connected_socket, lease_of
from tests.conftest import Api, ServerProcess

PASSWORD = "correct horse"
BOTH = pytest.mark.parametrize("subprotocol", ["rookery.json", "rookery.msgpack"])


@pytest.fixture
def wire(api: Api) -> Iterator[Wire]:
    with Wire(api) as wire:
        yield wire


def refusal(api: Api, **options: Any) -> tuple[int, dict[str, Any]]:
    """How the server refuses to open a stream."""
    with pytest.raises(InvalidStatus) as refused:
        Wire(api, **options)
    response = refused.value.response
    assert response.headers["content-type"] == "application/json"
    assert response.headers["access-control-allow-origin"] == "*"
    return response.status_code, json.loads(response.body or b"")


# --- opening


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        ((), None),
        (("rookery.json",), "rookery.json"),
        (("rookery.msgpack",), "rookery.msgpack"),
        (("rookery.msgpack", "rookery.json"), "rookery.msgpack"),
        (("soap", "rookery.json"), "rookery.json"),
    ],
)
def test_a_subprotocol_is_chosen(api: Api, offered: tuple[str, ...], chosen: str | None) -> None:
    with Wire(api, subprotocols=offered) as wire:
        assert wire.websocket.subprotocol == chosen
        assert wire.ask(id=7) == {"id": 7}


def test_who_knows_none_of_the_subprotocols_is_refused(api: Api) -> None:
    status, error = refusal(api, subprotocols=("soap", "graphql-ws"))
    assert (status, error["code"]) == (400, "VALIDATION_ERROR")
    assert "rookery.json" in error["error"]


def test_nothing_is_compressed(wire: Wire) -> None:
    assert "Sec-WebSocket-Extensions" not in wire.websocket.response.headers


def test_a_plain_request_is_told_to_upgrade(api: Api) -> None:
    answer = api.get("/stream")
    assert (answer.status_code, answer.json()["code"]) == (426, "UPGRADE_REQUIRED")
    assert answer.headers["upgrade"] == "websocket"
    assert api.get("/queues").status_code == 200
    assert api.post("/stream").status_code == 405


@pytest.mark.parametrize(
    ("changed", "status"),
    [({"Sec-WebSocket-Version": "7"}, 400), ({"Sec-WebSocket-Key": "short"}, 400), ({"Upgrade": "h2c"}, 426)],
)
def test_what_is_not_quite_a_websocket_is_refused(api: Api, changed: dict[str, str], status: int) -> None:
    headers = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version": "13",
    }
    answer = api.get("/stream", headers=headers | changed)
    assert answer.status_code == status
    assert answer.json()["error"]


def test_an_upgrade_to_anything_else_is_an_ordinary_request(api: Api) -> None:
    answer = api.get("/queues", headers={"Connection": "Upgrade", "Upgrade": "websocket"})
    assert answer.status_code == 200
    assert api.get("/queues").status_code == 200


@pytest.fixture
def guarded(start_server: Callable[..., ServerProcess]) -> Api:
    return Api(start_server("--rate-limit-enabled=false", f"--admin-password={PASSWORD}"))


def test_credentials_are_checked_before_the_upgrade(guarded: Api) -> None:
    assert refusal(guarded) == (401, {"error": "missing API key", "code": "UNAUTHORIZED"})
    assert refusal(guarded, headers={"X-API-Key": "no"}) == (401, {"error": "invalid API key", "code": "UNAUTHORIZED"})
    cookie = {"Cookie": f"rookery_api_key={PASSWORD}"}
    for headers in ({"X-API-Key": PASSWORD}, {"Authorization": f"Bearer {PASSWORD}"}, cookie):
        with Wire(guarded, headers=headers) as wire:
            assert wire.ask(id=1) == {"id": 1}
    elsewhere = {"Origin": "http://elsewhere.example"}
    assert refusal(guarded, headers=cookie | elsewhere)[0] == 403
    here = {"Origin": guarded.server.url}
    for headers in (cookie | here, elsewhere | {"X-API-Key": PASSWORD}):
        with Wire(guarded, headers=headers) as wire:
            assert wire.ask(id=1) == {"id": 1}
    assert guarded.get("/stream").status_code == 401


def test_a_stream_works_in_the_namespace_of_its_caller(api: Api, queue: str) -> None:
    assert refusal(api, headers={"X-Rookery-Namespace": "No Such"})[0] == 400
    inside = {"X-Rookery-Namespace": "tenant"}
    with Wire(api, headers=inside) as wire, Wire(api) as outside:
        (added, refused) = wire.ask(enqueue=[{"queue": queue}, {"queue": "tenant::q"}])["enqueued"]
        assert refused["code"] == "VALIDATION_ERROR"
        wire.want(queue, count=1)
        (job,) = wire.take(1)
        assert (job["job_id"], job["queue"]) == (added["job_id"], queue)
        assert api.job(job["job_id"])["queue"] == f"tenant::{queue}"
        foreign = api.enqueue(queue)
        outcomes = wire.ask(ack=[{"job_id": foreign}, lease_of(job)])["acked"]
        assert outcomes[0]["code"] == "NOT_FOUND"
        assert outcomes[1] == {"job_id": job["job_id"], "status": "ok"}
        outside.want(queue, count=1)
        assert outside.take(1)[0]["job_id"] == foreign


# --- frames


@BOTH
@pytest.mark.parametrize("id", [1, 0, -5, 2**53, 2**63 - 1])
def test_the_answer_has_the_id_of_its_frame(api: Api, subprotocol: str, id: int) -> None:
    with Wire(api, subprotocols=(subprotocol,)) as wire:
        assert wire.ask(id=id) == {"id": id}


@pytest.mark.parametrize("frame", [{}, {"id": None}, {"id": "1"}, {"id": 1.5}, {"id": True}, {"id": [1]}])
def test_a_frame_without_an_id_is_refused(api: Api, queue: str, frame: dict[str, Any]) -> None:
    with Wire(api) as wire:
        wire.websocket.send(json.dumps({**frame, "enqueue": [{"queue": queue}]}))
        answer = wire.hear()
        assert (answer["id"], answer["code"]) == (None, "VALIDATION_ERROR")
        assert "id" in answer["error"]
        assert api.get(f"/queues/{queue}").status_code == 404


@pytest.mark.parametrize("text", ["", "{", "[]", "7", '"x"', '{"id":1,}', '{"id":1}{"id":2}'])
def test_what_is_no_frame_is_refused(wire: Wire, text: str) -> None:
    wire.websocket.send(text)
    answer = wire.hear()
    assert (answer["id"], answer["code"]) == (None, "PARSE_ERROR")
    assert wire.ask(id=2) == {"id": 2}


@pytest.mark.parametrize(
    "part",
    [
        {"ack": {}},
        {"ack": 5},
        {"enqueue": "x"},
        {"heartbeat": []},
        {"heartbeat": {"jobs": [1]}},
        {"want": []},
        {"want": {"queues": "q"}},
        {"got": [1]},
        {"release": True},
        {"fail": "x"},
    ],
)
def test_a_part_of_the_wrong_kind_refuses_the_frame_and_names_the_part(
    api: Api, queue: str, wire: Wire, part: dict[str, Any]
) -> None:
    answer = wire.ask(id=9, **{"enqueue": [{"queue": queue}], **part})
    assert answer.keys() == {"id", "error", "code"}
    assert answer["code"] == "PARSE_ERROR"
    assert next(iter(part)) in answer["error"]
    assert api.get(f"/queues/{queue}").status_code == 404


def test_parts_that_are_null_are_not_there_and_empty_ones_are_answered(wire: Wire) -> None:
    parts = ("enqueue", "ack", "fail", "release", "heartbeat", "want", "got")
    assert wire.ask(id=1, **dict.fromkeys(parts)) == {"id": 1}
    answer = wire.ask(id=2, enqueue=[], ack=[], fail=[], release=[], heartbeat={}, got=[], unknown=1)
    lists = {"enqueued": [], "acked": [], "failed": [], "released": []}
    assert answer == {"id": 2, **lists, "heartbeat": {"jobs": {}, "acked": [], "unknown": [], "canceled": []}}


def test_the_kind_of_a_frame_is_that_of_the_subprotocol(api: Api) -> None:
    with Wire(api) as wire:
        wire.websocket.send(b'{"id":1}')
        assert wire.hear() == {"id": None, "error": "the frames of this subprotocol are text", "code": "PARSE_ERROR"}
    with Wire(api, subprotocols=("rookery.msgpack",)) as wire:
        wire.websocket.send('{"id":1}')
        assert wire.hear()["error"] == "the frames of this subprotocol are binary"
        wire.websocket.send(b"\xc1")
        assert wire.hear()["code"] == "PARSE_ERROR"


def test_a_frame_may_come_in_pieces(wire: Wire) -> None:
    wire.websocket.send(iter(['{"i', 'd":', "3}"]))
    assert wire.hear() == {"id": 3}


def test_frames_may_be_sent_before_earlier_ones_are_answered(api: Api, queue: str, wire: Wire) -> None:
    ids = [wire.say(enqueue=[{"queue": queue, "payload": number}]) for number in range(50)]
    answers = [wire.answer(id) for id in ids]
    assert [answer["enqueued"][0]["status"] for answer in answers] == ["pending"] * 50
    payloads = [api.job(answer["enqueued"][0]["job_id"])["payload"] for answer in answers]
    assert payloads == list(range(50))


# --- items


@BOTH
def test_new_jobs_are_answered_one_by_one(api: Api, queue: str, subprotocol: str) -> None:
    with Wire(api, subprotocols=(subprotocol,)) as wire:
        first, later, twin, blank, odd, own = wire.ask(
            enqueue=[
                {"queue": queue, "payload": {"n": [1, "ä", None, True, 1.5]}, "unique_key": "k", "priority": "high"},
                {"queue": queue, "scheduled_at": "2999-01-01T00:00:00Z"},
                {"queue": queue, "unique_key": "k"},
                {"queue": " ", "job_id": "blank"},
                {"queue": 5, "job_id": "odd"},
                {"queue": queue, "job_id": f"own-{queue}-{subprotocol}"[:100]},
            ]
        )["enqueued"]
        assert first == {"job_id": first["job_id"], "status": "pending", "unique_existing": False}
        assert (later["status"], twin["status"], own["status"]) == ("scheduled", "duplicate", "pending")
        assert twin == {"job_id": first["job_id"], "status": "duplicate", "unique_existing": True}
        assert blank == {"job_id": "blank", "error": "queue is required", "code": "VALIDATION_ERROR"}
        assert (odd["job_id"], odd["code"]) == ("odd", "PARSE_ERROR")
        assert "queue" in odd["error"]
        assert api.job(first["job_id"])["payload"] == {"n": [1, "ä", None, True, 1.5]}
        assert api.job(first["job_id"])["priority_name"] == "high"


def test_a_job_that_cannot_be_added_does_not_keep_the_others_out(api: Api, queue: str, wire: Wire) -> None:
    taken = api.enqueue(queue, job_id=f"{queue}-1")
    outcomes = wire.ask(
        enqueue=[
            {"queue": queue},
            {"queue": queue, "job_id": taken},
            {"queue": queue, "job_id": f"{queue}-2"},
            {"queue": queue, "depends_on": [f"{queue}-2"]},
            {"queue": queue, "depends_on": ["job_nowhere"], "job_id": f"{queue}-3"},
            {"queue": queue, "job_id": f"{queue}-2"},
        ]
    )["enqueued"]
    assert [outcome.get("status") for outcome in outcomes] == ["pending", None, "pending", "pending", None, None]
    assert outcomes[1] == {"job_id": taken, "error": f"job_id {taken} is already taken", "code": "CONFLICT"}
    assert (outcomes[4]["job_id"], outcomes[4]["code"]) == (f"{queue}-3", "VALIDATION_ERROR")
    assert outcomes[5]["code"] == "CONFLICT"
    assert api.get(f"/queues/{queue}").json()["pending"] == 4


def test_the_answer_comes_before_the_jobs_that_it_brings(api: Api, queue: str, wire: Wire) -> None:
    taken, waiting = api.enqueue(queue, job_id=queue), api.enqueue(queue)
    wire.want(queue, count=1)
    job = wire.take(1)[0]
    id = wire.say(enqueue=[{"queue": queue}, {"queue": queue, "job_id": taken}], ack=[lease_of(job)])
    answer = wire.hear()
    assert answer["id"] == id
    assert [outcome.get("code") for outcome in answer["enqueued"]] == [None, "CONFLICT"]
    assert wire.take(1)[0]["job_id"] == waiting


def test_a_payload_over_the_limit_is_refused_in_its_place(queue: str, wire: Wire) -> None:
    outcomes = wire.ask(enqueue=[{"queue": queue, "payload": "x" * 300_000}, {"queue": queue}])["enqueued"]
    assert [outcome.get("code") for outcome in outcomes] == ["PAYLOAD_TOO_LARGE", None]


@pytest.mark.parametrize(("part", "most"), [("ack", 512), ("fail", 512), ("release", 512), ("enqueue", 20_000)])
def test_a_frame_has_only_so_many_items(wire: Wire, part: str, most: int) -> None:
    answer = wire.ask(**{part: [{}] * (most + 1)})
    assert (answer["code"], part in answer["error"]) == ("VALIDATION_ERROR", True)
    assert len(wire.ask(ack=[{"job_id": "x"}] * 512)["acked"]) == 512


@BOTH
def test_outcomes_of_attempts_are_as_in_http(api: Api, queue: str, subprotocol: str) -> None:
    jobs = [start_job(api, queue) for _ in range(6)]
    with Wire(api, subprotocols=(subprotocol,)) as wire:
        answer = wire.ask(
            ack=[{**lease_of(jobs[0]), "result": {"sum": 7}}, {"job_id": jobs[1]["job_id"]}, {"job_id": "job_nowhere"}],
            fail=[{**lease_of(jobs[2]), "error": "boom", "backtrace": "here"}, {"job_id": "job_nowhere"}],
            release=[lease_of(jobs[3]), {**lease_of(jobs[4]), "delay": "1h", "reason": "later"}],
            heartbeat={"jobs": {jobs[5]["job_id"]: {"progress": 0.5}, "job_nowhere": {}}},
        )
    assert answer["acked"] == [
        {"job_id": jobs[0]["job_id"], "status": "ok"},
        {"job_id": jobs[1]["job_id"], "status": "ok"},
        {"job_id": "job_nowhere", "error": "job job_nowhere not found", "code": "NOT_FOUND"},
    ]
    failed = answer["failed"][0]
    assert failed.keys() == {"job_id", "status", "next_attempt_at", "attempts_remaining", "attempt"}
    assert (failed["job_id"], failed["status"], failed["attempts_remaining"]) == (jobs[2]["job_id"], "retrying", 2)
    assert 0 < seconds_from_now(failed["next_attempt_at"]) <= 5
    assert answer["failed"][1]["code"] == "NOT_FOUND"
    assert answer["released"] == [
        {"job_id": jobs[3]["job_id"], "status": "pending"},
        {"job_id": jobs[4]["job_id"], "status": "scheduled"},
    ]
    assert answer["heartbeat"] == {
        "jobs": {jobs[5]["job_id"]: {"status": "ok"}, "job_nowhere": {"status": "cancel"}},
        "acked": [jobs[5]["job_id"]],
        "unknown": ["job_nowhere"],
        "canceled": [],
    }
    assert api.job(jobs[0]["job_id"])["result"] == {"sum": 7}
    assert [error["error"] for error in api.job(jobs[2]["job_id"])["errors"]] == ["boom"]
    assert [api.job(job["job_id"])["attempt"] for job in jobs[3:]] == [0, 0, 1]
    assert api.job(jobs[5]["job_id"])["progress"] == 0.5


def test_a_zombie_is_told_in_each_place_that_its_lease_is_lost(api: Api, queue: str, wire: Wire) -> None:
    old = start_job(api, queue)
    api.post(f"/release/{old['job_id']}", lease_of(old))
    current = api.fetch(queue)
    assert current is not None
    answer = wire.ask(
        ack=[lease_of(old)],
        fail=[{**lease_of(old), "error": "late"}],
        release=[lease_of(old)],
        heartbeat={old["job_id"]: {"lease_token": old["lease_token"]}},
    )
    assert [answer[part][0]["code"] for part in ("acked", "failed", "released")] == ["LEASE_LOST"] * 3
    assert answer["heartbeat"]["jobs"] == {old["job_id"]: {"status": "lost"}}
    assert wire.ask(ack=[lease_of(current)])["acked"][0]["status"] == "ok"


def test_an_ack_or_fail_said_twice_gets_the_same_outcome(api: Api, queue: str, wire: Wire) -> None:
    done, gone = start_job(api, queue), start_job(api, queue)
    fail = {**lease_of(gone), "error": "no such user", "end": "cancelled"}
    first = wire.ask(id=1, ack=[lease_of(done)], fail=[fail])
    assert first["failed"][0]["status"] == "cancelled"
    assert wire.ask(id=1, ack=[lease_of(done)], fail=[fail]) == first


@pytest.mark.parametrize(
    ("part", "answered", "item", "named"),
    [
        ("ack", "acked", {"job_id": " "}, "job_id"),
        ("ack", "acked", {}, "job_id"),
        ("ack", "acked", {"job_id": 5}, "job_id"),
        ("ack", "acked", 5, "object"),
        ("ack", "acked", {"job_id": "x", "usage": 5}, "usage"),
        ("fail", "failed", {"job_id": "x", "end": "gone"}, "end"),
        ("fail", "failed", {"job_id": "x", "retry_after": "soon"}, "retry_after"),
        ("fail", "failed", {"job_id": "x", "error": 5}, "error"),
        ("release", "released", {"job_id": "x", "delay": "soon"}, "delay"),
        ("release", "released", {"job_id": ""}, "job_id"),
        ("enqueue", "enqueued", {"queue": "q", "retry_backoff": "odd"}, "retry_backoff"),
        ("enqueue", "enqueued", None, "object"),
    ],
)
def test_a_bad_item_is_named_in_its_place_and_the_good_ones_are_done(
    api: Api, queue: str, wire: Wire, part: str, answered: str, item: Any, named: str
) -> None:
    job = start_job(api, queue)
    good = {"queue": queue} if part == "enqueue" else lease_of(job)
    outcomes = wire.ask(**{part: [item, good, item]})[answered]
    assert "error" not in outcomes[1]
    for outcome in (outcomes[0], outcomes[2]):
        assert outcome["code"] in ("VALIDATION_ERROR", "PARSE_ERROR")
        assert named in outcome["error"]


def test_a_bad_sign_of_life_is_named_in_its_place(api: Api, queue: str, wire: Wire) -> None:
    job = start_job(api, queue)
    answer = wire.ask(heartbeat={job["job_id"]: {"lease_token": job["lease_token"]}, "other": {"lease_token": 5}})
    beats = answer["heartbeat"]
    assert beats["jobs"][job["job_id"]] == {"status": "ok"}
    assert beats["jobs"]["other"]["code"] == "PARSE_ERROR"
    assert beats["acked"] == [job["job_id"]]


def test_what_json_cannot_say_is_said_otherwise_in_messagepack(api: Api, queue: str) -> None:
    huge = 2**70
    api.enqueue(queue, {"huge": huge})
    with Wire(api, subprotocols=("rookery.msgpack",)) as wire:
        wire.want(queue, count=2)
        assert wire.take(1)[0]["payload"] == {"huge": float(huge)}
        wire.ask(enqueue=[{"queue": queue, "payload": {"raw": b"\x00\xff", 5: "five"}}])
        assert wire.take(1)[0]["payload"] == {"raw": "AP8=", "5": "five"}


def test_the_stream_is_described(api: Api) -> None:
    document = httpx.get(f"{api.server.url}/openapi.json").json()
    described = document["paths"]["/api/v1/stream"]["get"]
    assert {"101", "426"} <= described["responses"].keys()
    assert {"id", "enqueue", "ack", "fail", "release", "heartbeat", "want", "got"} == set(
        document["components"]["schemas"]["ClientFrame"]["properties"]
    )
    assert described["x-frames"][0] == {"$ref": "#/components/schemas/ClientFrame"}


def test_the_example_of_the_guide_works(api: Api) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "stream.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    example = example.replace("ws://localhost:8080", api.server.url.replace("http", "ws"))
    run = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, timeout=30)
    assert (run.returncode, run.stdout) == (0, "Hello, Ada!\nHello, Alan!\n"), run.stderr


def test_a_request_behind_one_that_still_waits_cannot_become_a_stream(api: Api, queue: str) -> None:
    waits = f"GET /api/v1/jobs/{api.enqueue(queue)}/wait?timeout=30 HTTP/1.1\r\nHost: x\r\n\r\n"
    upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    with connected_socket(api) as raw:
        raw.sendall(
            f"{waits}GET /api/v1/stream HTTP/1.1\r\nHost: x\r\n{upgrade}Sec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        heard = b""
        while some := raw.recv(65536):
            heard += some
    assert heard.startswith(b"HTTP/1.1 400 ")
